"""The invariants, looked at in every step: what the members' truth and the hub's books must agree on."""

from typing import Any

from agent.status import job_status
from hub.domain.workload import CHARGED, ON_CLUSTER, TERMINAL
from shared import labels
from tests.simulation.world import Violation

Object = dict[str, Any]
_HELD = frozenset(map(str, ON_CLUSTER))
_FINAL = frozenset({"Succeeded", "Failed", "Cancelled"})


class Checks:
    """What has really happened, beside what the hub believes."""

    def __init__(self) -> None:
        self.running: dict[str, dict[str, str]] = {}  # job uid: pod uid → cluster
        self.begun: dict[tuple[str, int], str] = {}  # job uid, epoch: the object that was started
        self.released: dict[tuple[str, int], str] = {}  # by which transition
        self.completed: dict[str, str] = {}  # job uid: where
        self.given_up: dict[str, str] = {}  # job uid: what its user wants instead of running
        self.store: Any = None
        self.limit = 99
        self.hub_id = "hub-1"

    # --- told by members -------------------------------------------------------------------------

    def touched(self, cluster: str, obj: Object) -> None:
        """R-11: what does not carry our labels is never written."""
        if (obj["metadata"].get("labels") or {}).get(labels.MANAGED_BY) != self.hub_id:
            raise Violation("R-11", f"a foreign object of {cluster} was written")

    def deleted(self, cluster: str, job: Object) -> None:
        """R-08: no agent ends what the hub wants to run."""
        uid, epoch = _of(job)
        row = self.store.works.get((cluster, uid))
        if row is None or row["epoch"] != epoch or row["action"] != "Apply":
            return
        if job["metadata"].get("deletionTimestamp") or job["spec"].get("suspend"):
            return
        raise Violation("R-08", f"{uid} is deleted in {cluster} while it is desired there")

    def started(self, cluster: str, job: Object) -> None:
        """R-04: one Job object of an epoch is started, and never another."""
        uid, epoch = _of(job)
        if not uid:
            return
        me = job["metadata"]["uid"]
        other = self.begun.setdefault((uid, epoch), me)
        if other != me:
            raise Violation("R-04", f"epoch {epoch} of {uid} begins again: {other}, then {me}")

    def status(self, cluster: str, job: Object) -> None:
        uid, _ = _of(job)
        if uid and any(c["type"] == "Complete" for c in job["status"].get("conditions") or ()):
            self.completed.setdefault(uid, cluster)

    def dropped(self, cluster: str, job: Object) -> None:
        """R-07: a Job that has ended is let go when the hub has its end."""
        uid, epoch = _of(job)
        state = self.store.workloads.get(uid) if uid else None
        if state is None or job_status(job, None, should_run=False).result is None:
            return
        if state["epoch"] == epoch and state["state"] in _HELD and state["cluster"] == cluster:
            row = self.store.works.get((cluster, uid))
            told = row is not None and ((row["observed"] or {}).get("job") or {}).get("result")
            if not told:
                raise Violation("R-07", f"the end of {uid} went with its object in {cluster}")

    def pod_runs(self, cluster: str, pod: Object) -> None:
        """R-04: pods of one job run in one cluster at a time, and none of a released epoch starts."""
        uid, epoch = pod["metadata"]["labels"].get(labels.JOB_UID, ""), _epoch(pod)
        if not uid:
            return
        here = self.running.setdefault(uid, {})
        elsewhere = set(here.values()) - {cluster}
        if elsewhere:
            raise Violation("R-04", f"{uid} runs in {cluster} and in {', '.join(elsewhere)}")
        how = self.released.get((uid, epoch))
        if how:
            raise Violation("R-04", f"epoch {epoch} of {uid} starts a pod after {how}")
        here[pod["metadata"]["uid"]] = cluster

    def pod_over(self, cluster: str, pod: Object) -> None:
        uid = pod["metadata"]["labels"].get(labels.JOB_UID, "")
        self.running.get(uid, {}).pop(pod["metadata"]["uid"], None)

    def wished(self, uid: str, wish: str) -> None:
        """A user has given a job up; until it is released nothing else may follow."""
        if wish in {"cancel", "delete", "deactivate"}:
            self.given_up[uid] = wish
        elif wish == "release":
            self.given_up.pop(uid, None)

    # --- told by the hub's store -----------------------------------------------------------------

    def moved(self, row: Object, name: str, before: str) -> None:
        """R-04, R-07, R-09: what a transition means for what is really so."""
        uid, epoch = row["uid"], row["epoch"]
        if before in _FINAL:
            raise Violation("R-07", f"{uid} was {before} and is moved by {name}")
        if name == "place":
            self._placed(uid)
        if before not in _HELD or before == "Placed" or row["state"] in _HELD:
            return
        self.released[uid, epoch] = name
        if name in {"requeue", "hold", "cancel", "deactivate"}:
            if self.running.get(uid):
                where = ", ".join(sorted(set(self.running[uid].values())))
                raise Violation("R-10", f"{uid} is given back ({name}) while it runs in {where}")
            if uid in self.completed:
                raise Violation("R-07", f"{uid} completed, and is given back ({name})")
        elif name == "fail" and uid in self.completed:
            raise Violation("R-07", f"{uid} completed, and has failed ({row['reason']})")

    def _placed(self, uid: str) -> None:
        if uid in self.completed:
            raise Violation("R-07", f"{uid} completed, and is placed again")
        if uid in self.given_up:
            raise Violation(
                "R-12", f"{uid} is placed again, though it was to be {self.given_up[uid]}"
            )
        charged = sum(1 for w in self.store.workloads.values() if w["state"] in _CHARGED)
        if charged > self.limit:
            raise Violation("R-09", f"{charged} are charged, {self.limit} are allowed")

    # --- at the end ------------------------------------------------------------------------------

    def unsettled(self, members: dict[str, Any]) -> tuple[str, str] | None:
        """What is not at rest although everything works again; None where all is well."""
        for uid, row in self.store.workloads.items():
            if row["state"] not in _REST:
                return "R-01", f"{uid} is {row['state']} {row['withdraw_to']} {row['reason']}"
            if uid in self.completed and row["state"] != "Succeeded":
                return "R-07", f"{uid} completed and is {row['state']}"
        return self._left_over(members)

    def _left_over(self, members: dict[str, Any]) -> tuple[str, str] | None:
        for (cluster, uid), row in self.store.works.items():
            if row["action"] != "Keep":
                return "R-12", f"{cluster} is still to {row['action']} {uid}"
        ours = [
            (name, job) for name, m in members.items() for job in m.jobs.values() if _of(job)[0]
        ]
        for name, job in ours:
            what = f"{job['metadata']['uid']} of {_of(job)[0]}"
            if job["metadata"].get("finalizers"):
                return "R-12", f"{what} is kept in {name} by finalizers"
            if (name, _of(job)[0]) not in self.store.works:
                return "R-12", f"{what} is a stray in {name}"
        return None


_CHARGED = frozenset(map(str, CHARGED))
_REST = frozenset({*map(str, TERMINAL), "Held"})


def _of(obj: Object) -> tuple[str, int]:
    return (obj["metadata"].get("labels") or {}).get(labels.JOB_UID, ""), _epoch(obj)


def _epoch(obj: Object) -> int:
    return int((obj["metadata"].get("labels") or {}).get(labels.EPOCH, "0"))
