"""A job's place in its chain, as shown to users: its dependencies and its dependents."""

from typing import Final

from hub.domain.instants import stamp
from hub.domain.workloads.chains import LinkState
from hub.store import dependencies
from hub.store.records.dependencies import Neighbour
from hub.store.records.workloads import Workload
from hub.store.transaction import Transaction
from shared.documents import Json

MOST: Final = 100  # of those that wait for it


def view(tx: Transaction, row: Workload) -> Json:
    """{"after", "before"}: its dependencies, and some of its dependents.

    For a job that the caller may not see, only the name in the annotation is shown.
    """
    return {
        "after": [_shown(tx, row, each) for each in dependencies.before(tx, row.uid)],
        "before": [
            _shown(tx, row, each)
            for each in dependencies.after(tx, row.uid, MOST)
            if tx.scope.shows(row.namespace, each.queue, each.owner)
        ],
    }


def _shown(tx: Transaction, row: Workload, each: Neighbour) -> Json:
    there = each.state is not None and tx.scope.shows(row.namespace, each.queue, each.owner)
    return {
        "name": each.name,
        "uid": each.uid if there else "",
        "condition": each.wanted,
        "state": each.link,
        "ended": each.ended,
        "jobState": each.state if there else "",
        "jobReason": each.reason if there else "",
        "jobCluster": each.cluster if there else "",
        "since": stamp(each.since.replace(microsecond=0)) if there and each.since else None,
    }


def in_words(chain: Json) -> str:
    """The states of open dependencies, to be added to a sentence; "" if there are none."""
    open_ = [each for each in chain["after"] if each["state"] == LinkState.WAITING]
    return "; ".join(_standing(each) for each in open_[:_SAID])


_SAID: Final = 5


def _standing(each: Json) -> str:
    if not each["jobState"]:
        return f"no job {each['name']} has come yet"
    where = f" in {each['jobCluster']}" if each["jobCluster"] else ""
    why = f" ({each['jobReason']})" if each["jobReason"] else ""
    return f"{each['name']} is {each['jobState']}{where}{why} since {each['since']}"
