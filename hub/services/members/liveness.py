"""Effects of silence and of waiting: unreachable clusters, and jobs whose pods never start.

A silent cluster loses nothing: its jobs are Unknown, their quota stays charged, and they come back by
observation (docs/explain/exactly-once.md). A job that its cluster could not start in time is withdrawn.
"""

import datetime as dt
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

from hub.domain.instants import stamp
from hub.domain.workloads.states import State, Transition, WithdrawTo
from hub.services.members.faults import said_last
from hub.services.members.observe import judge_again
from hub.services.members.verdicts import api_server
from hub.services.members.verdicts.plain_text import plain
from hub.services.works import cluster_loss
from hub.services.works.avoiding import SET_ASIDE, set_aside
from hub.services.works.evict import evict
from hub.services.works.withdraw import withdraw_jobs
from hub.store import clusters, on_members, workloads
from hub.store.records.workloads import JobOnCluster, LingeringJob, WorkloadColumns
from hub.store.transaction import Transaction
from shared.failpoints import failpoint

UNREACHABLE: Final = "ClusterUnreachable"
SILENT: Final = "MemberClusterSilent"
HEARD: Final = "MemberClusterHeard"
PODS_PENDING: Final = "PodsPendingTimeout"
# The pod is on its node and its container can not be made: no other cluster would do better.
HELD_ON_NODE: Final = frozenset(
    {"ImagePullBackOff", "ErrImagePull", "InvalidImageName", "CreateContainerConfigError"}
)
_ON_MEMBER: Final = (State.OFFERED, State.APPLIED, State.RUNNING)
_NOT_STARTED: Final = (State.OFFERED, State.APPLIED)


class Heartbeats:
    """When each agent was last heard, in memory; written down by the heartbeat loop."""

    def __init__(self) -> None:
        self._heard: dict[str, dt.datetime] = {}

    def hear(self, cluster: str, now: dt.datetime) -> None:
        """An agent spoke."""
        self._heard[cluster] = now

    def take(self) -> dict[str, dt.datetime]:
        """The part that is not stored yet."""
        heard, self._heard = self._heard, {}
        return heard

    def put_back(self, heard: Mapping[str, dt.datetime]) -> None:
        """It could not be written down; what was heard since is newer."""
        self._heard = {**heard, **self._heard}


def note_heartbeats(tx: Transaction, heard: Mapping[str, dt.datetime]) -> None:
    """Write down when agents were last heard."""
    clusters.beat(tx, heard)


def joined_clusters(tx: Transaction) -> dict[str, dt.datetime | None]:
    """Clusters whose agent has registered: name → when it was last heard."""
    return {
        member.name: member.heartbeat_at
        for member in clusters.list_all(tx)
        if member.joined_at is not None
    }


def told_silent(tx: Transaction) -> frozenset[str]:
    """Members that are silent by the newest event of them."""
    return frozenset(said_last(tx, SILENT, HEARD))


def tell_silence(
    tx: Transaction, silent: Mapping[str, dt.datetime | None], heard: Collection[str], term: int
) -> None:
    """Say of those that have fallen silent when they were last heard, and of others that they are back.

    Raises StaleTerm.
    """
    tx.require_term(term)
    for name, at in sorted(silent.items()):
        since = "never" if at is None else stamp(at.replace(microsecond=0))
        text = f"its agent has been silent since {since}: it gets no new work"
        if member := clusters.get(tx, name):
            clusters.say(tx, member, SILENT, text, warning=True)
    for name in sorted(heard):
        if member := clusters.get(tx, name):
            clusters.say(tx, member, HEARD, "its agent reports again")


def lose_jobs(tx: Transaction, silent: Mapping[str, dt.datetime | None], term: int) -> int:
    """Jobs on silent clusters are Unknown from now on; how many."""
    tx.require_term(term)
    rows = on_members.jobs_on(tx, silent, _ON_MEMBER)
    moved = workloads.transition(
        tx,
        Transition.LOSE,
        [
            {
                "uid": row.uid,
                "epoch": row.epoch,
                "reason": UNREACHABLE,
                "message": _since(row, silent[row.cluster]),
            }
            for row in rows
        ],
    )
    if moved:
        failpoint("H17")
    return len(moved)


def find_again(tx: Transaction, heard: Collection[str], term: int) -> int:
    """Unknown jobs of clusters that report again return to their last observed state; returns their number.

    An agent tells what changed: of a job that went on as it was nothing new comes until the next full
    set. Its report before the silence still holds, else it would report otherwise.
    """
    rows = on_members.last_observed(tx, heard, [State.UNKNOWN])
    if not rows:
        return 0
    tx.require_term(term)
    judge_again(tx, rows)
    return len(rows)


def free_unoffered(tx: Transaction, silent: Mapping[str, dt.datetime | None], term: int) -> int:
    """Requeue jobs that a silent cluster was not offered; returns their number.

    No agent can have started them: they were never offered (docs/explain/exactly-once.md, rule 3).
    """
    tx.require_term(term)
    uids = [row.uid for row in on_members.jobs_on(tx, silent, [State.PLACED])]
    words = "its cluster fell silent before the offer"
    return len(evict(tx, uids, UNREACHABLE, words))


def take_back_stuck(
    tx: Transaction,
    timeout: dt.timedelta,
    unreachable: Collection[str],
    term: int,
    *,
    last_down: Mapping[str, dt.datetime] = MappingProxyType({}),
    awaiting_nodes: bool = False,
) -> int:
    """Take back jobs that were placed `timeout` ago and have not started, for another cluster.

    Those that their member suspended `timeout` ago after they ran go as well.

    Jobs whose cluster had to add nodes first have their own timeout (`awaiting_nodes`).
    The member's own words are the reason. A pod that is held on its node by its image or its
    configuration would be held anywhere: such a job fails. Jobs on `unreachable` clusters wait, and so do
    those on Unhealthy ones: their time begins when the cluster is healthy again (`last_down`: until when it
    was not).
    """
    tx.require_term(term)
    minutes = f"{timeout.total_seconds() / 60:g} min"
    taken = 0
    alike: dict[tuple[str, str], dict[str, LingeringJob]] = {}
    before = tx.now - timeout
    waits = api_server.waits_for(tx, last_down, timeout).union(unreachable)
    for row in on_members.jobs_placed_before(
        tx, before, _NOT_STARTED, but_on=waits, awaiting_nodes=awaiting_nodes
    ):
        words = row.message or f"{row.cluster}: its pods have not started"
        hopeless = row.reason if row.reason in HELD_ON_NODE else ""
        said = plain(f"not started within {minutes}: {words}")
        alike.setdefault((hopeless, said), {})[row.uid] = row
    for (hopeless, said), rows in alike.items():
        if hopeless:
            taken += len(withdraw_jobs(tx, rows, WithdrawTo.FAILED, hopeless, said))
        else:
            aside = {uid: _set_aside(tx, row) for uid, row in rows.items()}
            taken += len(evict(tx, rows, PODS_PENDING, said, also=aside))
    return taken


def _set_aside(tx: Transaction, row: LingeringJob) -> WorkloadColumns:
    return {"set_aside": set_aside(row.set_aside, row.cluster, tx.now, SET_ASIDE)}


def _since(row: JobOnCluster, heard: dt.datetime | None) -> str:
    when = f"since {stamp(heard.replace(microsecond=0))}" if heard else "since the hub started"
    text = f"{row.cluster} has been silent {when}: the job waits, its quota stays charged"
    if not cluster_loss.policy_of(row.annotations).text:
        return text
    return plain(f"{text}; {cluster_loss.words(row.annotations, row.cluster, heard)}")
