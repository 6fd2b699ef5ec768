"""The guard that keeps the hub from running a CronJob beside a member that may run one of its name.

The hub asks it in the transaction that takes a CronJob with a queue, and in each one that creates a run.
The rule: docs/explain/exactly-once.md#runs-of-cronjobs.
"""

import re
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from hub.services.leftovers import left_cron_jobs
from hub.services.leftovers.left_cron_jobs import LeftCronJob
from hub.services.reading.cron_jobs import GROUP, KIND
from hub.services.works import accounted
from hub.store import works
from hub.store.transaction import Transaction

Place = tuple[str, str]  # namespace and name of a CronJob
_MOST_NAMED: Final = 5  # members in a message
_SAFE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")  # a uid that a shell takes as it is
_AGENTS: Final = "their agents, of this release or a later one, have reported that"
_LISTED: Final = "`roadstead restored` lists the objects, with the uid for each command"


class MayRun(NamedTuple):
    """The reason that members may run a CronJob themselves, and what ends that."""

    why: str
    remedy: str


def may_run(tx: Transaction, places: Collection[Place]) -> dict[Place, MayRun]:
    """By place, the CronJobs that members may run beside the hub; a few queries for any number of places.

    A work stays until its agent reports that the object is gone; what is left in a member, until a session
    that has read all CronJobs reports none of that uid; a member that has not read its CronJobs since the
    store was restored may have one of any name. An administrator ends each by abandoning the object, or by
    fencing or removing the member.
    """
    if not places:
        return {}
    found: dict[Place, MayRun] = {}
    if unread := accounted.unread_cron_jobs(tx):
        of_all = _unread(unread)
        found = dict.fromkeys(places, of_all)
    beyond = left_cron_jobs.members_beyond(tx, {namespace for namespace, _ in places})
    found |= {at: _beyond(at, beyond[at[0]]) for at in places if at[0] in beyond}
    left = left_cron_jobs.left_at(tx, places)
    found |= {at: _left(at, rows) for at, rows in left.items()}
    placed = works.clusters_holding(tx, GROUP, KIND, places)
    return found | {at: _placed(at, members) for at, members in placed.items()}


def _unread(members: Sequence[str]) -> MayRun:
    why = (
        "members have not read their CronJobs since the hub's store was restored, and may run one of this "
        f"name ({_named(members)})"
    )
    remedy = (
        "wait for their agents, of this release or a later one, which have to be allowed to list CronJobs; "
        f"{_gone(members[0])}"
    )
    return MayRun(why, remedy)


def _beyond(at: Place, members: Sequence[str]) -> MayRun:
    why = (
        f"members that namespace {at[0]} uses have reported more left CronJobs than the hub keeps "
        f"({_named(members)}), and {'/'.join(at)} may be among them"
    )
    remedy = (
        "a cluster administrator decides about those that are listed, one by one "
        f"({_LISTED}: `roadstead admin remove UID`, `roadstead admin abandon UID`), until the rest are "
        f"reported; {_gone(members[0])}"
    )
    return MayRun(why, remedy)


def _left(at: Place, rows: Sequence[LeftCronJob]) -> MayRun:
    uids = [each.object_uid for each in rows[:_MOST_NAMED]]
    if all(_SAFE.fullmatch(uid) for uid in uids):
        remove = ", ".join(f"`roadstead admin remove {uid}`" for uid in uids)
        abandon = ", ".join(f"`roadstead admin abandon {uid}`" for uid in uids)
        decided = f"has it deleted ({remove}) or left to the member ({abandon})"
    else:
        decided = f"has it deleted or left to the member ({_LISTED})"
    members = [each.cluster for each in rows]
    why = f"{_may_run_it(at, members)}, left there"
    remedy = (
        f"once it is gone from them, and {_AGENTS}, it may run here; a cluster administrator "
        f"{decided}; {_gone(members[0])}"
    )
    return MayRun(why, remedy)


def _placed(at: Place, members: Sequence[str]) -> MayRun:
    remedy = f"once it is gone from them, and {_AGENTS}, it may run here"
    return MayRun(_may_run_it(at, members), remedy)


def _may_run_it(at: Place, members: Sequence[str]) -> str:
    return (
        f"members may still have a CronJob {'/'.join(at)} without a schedule of the hub, which they "
        f"run ({_named(members)})"
    )


def _named(members: Sequence[str]) -> str:
    names = list(dict.fromkeys(members))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def _gone(member: str) -> str:
    return (
        f"if {member} is destroyed, fence it (`roadstead clusters fence {member} --destroyed`), or remove "
        "the member"
    )
