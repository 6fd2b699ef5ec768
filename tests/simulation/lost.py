"""Clusters that are lost: what the store says of their jobs, and whether each went as it allows (R-05)."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from hub.domain.workloads.states import ON_CLUSTER
from hub.store.records.workloads import JobOnCluster, LostJob
from shared.kinds.user_annotations import loss_policy
from tests.simulation.world import Violation

Object = dict[str, Any]
LOSS = "roadstead.dev/on-cluster-loss"
_HELD = frozenset(map(str, ON_CLUSTER))


def jobs_on(tx: Any, names: Collection[str], states: Sequence[str]) -> list[JobOnCluster]:
    return [
        JobOnCluster(
            row["uid"], row["epoch"], row["cluster"], row["reason"], row["annotations"] or {}
        )
        for row in tx.store.workloads.values()
        if row["cluster"] in names and row["state"] in states
    ]


def lost_jobs(tx: Any, names: Collection[str]) -> list[LostJob]:
    held = list(tx.store.works)
    return [
        LostJob(
            row["uid"], row["epoch"], row["cluster"], row["annotations"] or {}, row["set_aside"]
        )
        for row in tx.store.workloads.values()
        if row["cluster"] in names
        and (row["state"] == "Unknown" or row["withdraw_to"] == "Pending")
        and row["state"] in {"Unknown", "Withdrawing"}
        and not any(uid == row["uid"] and name != row["cluster"] for name, uid in held)
    ]


def _never(_cluster: str) -> float:
    return 0.0


class Losses:
    """What is really so of jobs whose clusters were lost, beside what the hub believes."""

    store: Any
    running: dict[str, dict[str, str]]
    completed: dict[str, str]
    failed: set[tuple[str, int]]

    def __init__(self) -> None:
        self.left: set[tuple[str, int]] = set()  # job uid, epoch: left behind in a lost cluster
        self.beside: dict[str, dict[str, str]] = {}  # job uid: pod uid → cluster, of these
        self.ran: set[tuple[str, int]] = set()  # job uid, epoch: a pod has run
        self.silent_for: Callable[[str], float] = _never  # s, of a cluster, as the hub knows

    def leaves_behind(self, row: Object, name: str) -> bool:
        """Whether a transition leaves an epoch behind; one that ends a job is of its present epoch."""
        if name == "requeue" and row["reason"] == "ClusterLost":
            self._left_behind(row)
            return True
        if name == "succeed" and any(row["uid"] == uid for uid, _ in self.left):
            self._counts_once(row["uid"], row["epoch"])
        return False

    def _left_behind(self, row: Object) -> None:
        """R-05: a job starts elsewhere when it allows that, not before, and its cluster is to withdraw it."""
        uid, epoch = row["uid"], row["epoch"]
        policy = loss_policy((row["annotations"] or {}).get(LOSS, ""))
        if policy is None or policy[1] is None:
            raise Violation("R-05", f"{uid} is to start elsewhere, and does not allow it")
        held = [work for work in self.store.works.values() if work["uid"] == uid]
        if [(work["epoch"], work["action"]) for work in held] != [(epoch, "Withdraw")]:
            raise Violation(
                "R-05", f"{uid} is left behind, with {len(held)} works that say otherwise"
            )
        silent_s = self.silent_for(held[0]["cluster"])
        if silent_s < policy[1]:
            raise Violation(
                "R-05", f"{uid} is moved after {silent_s:.0f} s, {policy[1]} are allowed"
            )
        self.left.add((uid, epoch))
        self.completed.pop(uid, None)
        self.beside.setdefault(uid, {}).update(self.running.pop(uid, {}))

    def _counts_once(self, uid: str, epoch: int) -> None:
        """R-05: what an epoch that was left behind has come to ends nothing."""
        if (uid, epoch) not in self.ran or self.running.get(uid):
            raise Violation(
                "R-05", f"{uid} succeeds by what an earlier epoch than {epoch} came to"
            )

    def held_in(self, cluster: str) -> dict[str, Object]:
        """Jobs of a cluster, by uid, as they stand now."""
        rows = self.store.workloads.values()
        return {r["uid"]: dict(r) for r in rows if r["cluster"] == cluster and r["state"] in _HELD}

    def fenced(self, before: dict[str, Object]) -> None:
        """R-12: what was in a cluster that is written off is where it was to go."""
        for uid, was in before.items():
            row = self.store.workloads[uid]
            policy = (row["annotations"] or {}).get(LOSS, "")
            wished = was["withdraw_to"] not in {"", "Pending"}
            if not wished and was["state"] != "Placed":
                wanted = "Held" if policy == "Wait" else "Pending"
                if row["state"] != wanted:
                    raise Violation("R-12", f"{uid} ({policy}) is {row['state']} after a fence")

    def destroyed(self, cluster: str, pods: Iterable[Object]) -> None:
        """An end there that was not told is lost with it, and nothing of it runs any more."""
        for pod in pods:
            for known in (*self.running.values(), *self.beside.values()):
                known.pop(pod["metadata"]["uid"], None)
        for uid, where in list(self.completed.items()):
            if where == cluster and self.store.workloads[uid]["state"] != "Succeeded":
                del self.completed[uid]
        for uid, epoch in list(self.failed):
            row = self.store.workloads[uid]
            told = row["state"] == "Failed"
            if (row["cluster"], row["epoch"]) == (cluster, epoch) and not told:
                self.failed.remove((uid, epoch))
