"""The invariants, looked at in every step: what the members' truth and the hub's books must agree on."""

from collections.abc import Iterable, Sequence
from typing import Any

from agent.objects.status import job_status
from hub.domain.workloads.states import ON_CLUSTER, TERMINAL
from shared import labels
from shared.wire.agent_v1 import Order
from tests.simulation.chains import Chain
from tests.simulation.charges import check_charges, granted
from tests.simulation.cron_jobs import CronTime
from tests.simulation.exits import RETRIED_CODE
from tests.simulation.lost import Losses
from tests.simulation.spaces import Consents
from tests.simulation.world import Violation

Object = dict[str, Any]
OLDER = "inc-0"  # an incarnation of the hub that is over
_HELD = frozenset(map(str, ON_CLUSTER))
_FINAL = frozenset({"Succeeded", "Failed", "Cancelled"})


class Checks(Losses):
    """What has really happened, beside what the hub believes."""

    def __init__(self) -> None:
        super().__init__()
        self.running: dict[str, dict[str, str]] = {}  # job uid: pod uid → cluster
        self.begun: dict[tuple[str, int], str] = {}  # job uid, epoch: the object that was started
        self.unstarted: set[tuple[str, int]] = set()  # job uid, epoch: said to never start
        self.could_run: set[tuple[str, int]] = set()  # of Jobs that were started and not deleted
        self.placed: set[tuple[str, int]] = set()
        self.released: dict[tuple[str, int], str] = {}  # by which transition
        self.completed: dict[str, str] = {}  # job uid: where
        self.by_hand: set[tuple[str, int]] = set()  # job uid, epoch: deleted by somebody
        self.torn: set[tuple[str, int]] = set()  # job uid, epoch: taken away before it was told of
        self.unproven: set[str] = set()  # job uid: people took the proof of how it ended away
        self.sessions: dict[str, list[str]] = {}  # of a cluster, as they were first answered
        self.given_up: dict[str, str] = {}  # job uid: what its user wants instead of running
        self.store: Any = None
        self.restored = (
            False  # the store is an older copy of itself: what was so may be unknown to it
        )
        self.lost: list[dict[tuple[str, str], Object]] = []  # works of stores that went back
        self.members: dict[str, Any] = {}
        self.agents: Sequence[Any] = ()  # as they were started
        self.offers: set[tuple[str, int]] = set()
        self.limit = 99
        self.queue: Any = None  # of all jobs, where the level has one (`queue_acts`)
        self.hub_id = "hub-1"
        self.chain = Chain()
        self.cron_time = CronTime()
        self.consents = Consents()
        self.codes: dict[
            tuple[str, int], set[int]
        ] = {}  # job uid, epoch: with which its pods failed
        self.failed: set[tuple[str, int]] = set()  # job uid, epoch: its Job has failed by itself

    # --- told by members -------------------------------------------------------------------------

    def touched(self, cluster: str, obj: Object) -> None:
        """R-11: what does not carry our labels is never written."""
        if (obj["metadata"].get("labels") or {}).get(labels.MANAGED_BY) != self.hub_id:
            raise Violation("R-11", f"a foreign object of {cluster} was written")
        incarnation = (obj["metadata"].get("annotations") or {}).get(labels.INCARNATION)
        if incarnation == OLDER:
            raise Violation("R-15", f"an object of another incarnation was written in {cluster}")

    def deleted(self, cluster: str, job: Object) -> None:
        """R-08: no agent ends what the hub wants to run.

        What a store that went back wants once more was told otherwise in the time that it lost: agents go
        on with that until it is accepted, as it stops and tells them nothing.
        """
        uid, epoch = uid_and_epoch(job)
        for works in (self.store.works, *self.lost):
            row = works.get((cluster, uid))
            if row is None or row["epoch"] != epoch or row["action"] != "Apply":
                return
        told = labels.CONSENT_WITHDRAWN in (job["metadata"].get("annotations") or {})
        if told and (uid, epoch) in self.could_run:
            raise Violation("R-22", f"{uid} has run, and is taken from its queue in {cluster}")
        if job["metadata"].get("deletionTimestamp") or job["spec"].get("suspend"):
            return
        raise Violation("R-08", f"{uid} is deleted in {cluster} while it is desired there")

    def deleted_by_hand(self, job: Object) -> None:
        self.by_hand.add(uid_and_epoch(job))

    def torn_out(self, cluster: str, job: Object) -> None:
        """Of what was told of before, nothing may begin again; how it ended is lost.

        Unless an earlier session still has a lease: that the name is taken was all that kept it.
        """
        uid, epoch = uid_and_epoch(job)
        self.by_hand.add((uid, epoch))
        self.unproven.add(uid)
        self.completed.pop(uid, None)
        row = self.store.works.get((cluster, uid))
        told = row is not None and row["epoch"] == epoch and row["seen"]
        if not told or self._has_an_earlier_lease(cluster):
            self.torn.add((uid, epoch))

    def _has_an_earlier_lease(self, cluster: str) -> bool:
        """Whether a session of this cluster that was superseded may still start Jobs."""
        live = self.sessions.get(cluster, [""])[-1]
        others = [a for a in self.agents if a.network.name == cluster and a.session != live]
        return any(not a.dead and a.lease.left(a.clock.monotonic()) > 0 for a in others)

    def started(self, cluster: str, job: Object) -> None:
        """R-04: one Job object of an epoch is started, and never another."""
        uid, epoch = uid_and_epoch(job)
        if not uid:
            return
        me = job["metadata"]["uid"]
        other = self.begun.setdefault((uid, epoch), me)
        if not job["metadata"].get("deletionTimestamp"):  # a deleted Job gets no pods
            self.could_run.add((uid, epoch))
        if (uid, epoch) in self.unstarted & self.could_run:
            raise Violation(
                "R-04", f"epoch {epoch} of {uid} was reported as never started, and starts"
            )
        if other != me and (uid, epoch) not in self.torn:
            raise Violation("R-04", f"epoch {epoch} of {uid} begins again: {other}, then {me}")

    def status(self, cluster: str, job: Object) -> None:
        uid, epoch = uid_and_epoch(job)
        if (uid, epoch) in self.left:
            return  # what it comes to does not count
        conditions = {c["type"] for c in job["status"].get("conditions") or ()}
        if "Failed" in conditions and not job["metadata"].get("deletionTimestamp"):
            self.failed.add((uid, epoch))
        if uid not in self.unproven and any(
            c["type"] == "Complete" for c in job["status"].get("conditions") or ()
        ):
            self.completed.setdefault(uid, cluster)

    def dropped(self, cluster: str, job: Object) -> None:
        """R-07: a Job that has ended is let go when the hub has its end."""
        if self.restored:
            return
        uid, epoch = uid_and_epoch(job)
        state = self.store.workloads.get(uid) if uid not in self.unproven else None
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
        self.ran.add((uid, epoch))
        if (uid, epoch) in self.left:  # as its job allows, until its cluster is told
            self.beside.setdefault(uid, {})[pod["metadata"]["uid"]] = cluster
            return
        if cluster in self.beside.get(uid, {}).values():
            raise Violation("R-04", f"two epochs of {uid} run in {cluster}")
        here = self.running.setdefault(uid, {})
        elsewhere = set(here.values()) - {cluster}
        if elsewhere:
            raise Violation("R-04", f"{uid} runs in {cluster} and in {', '.join(elsewhere)}")
        how = self.released.get((uid, epoch))
        if how:
            raise Violation("R-04", f"epoch {epoch} of {uid} starts a pod after {how}")
        here[pod["metadata"]["uid"]] = cluster

    def pod_ended(self, pod: Object) -> None:
        """With which code, where it failed by itself."""
        uid = pod["metadata"]["labels"].get(labels.JOB_UID, "")
        for each in pod["status"].get("containerStatuses") or ():
            if not pod["metadata"].get("deletionTimestamp"):
                code = each["state"]["terminated"]["exitCode"]
                self.codes.setdefault((uid, _epoch(pod)), set()).add(code)

    def pod_over(self, cluster: str, pod: Object) -> None:
        uid = pod["metadata"]["labels"].get(labels.JOB_UID, "")
        self.running.get(uid, {}).pop(pod["metadata"]["uid"], None)
        self.beside.get(uid, {}).pop(pod["metadata"]["uid"], None)

    def wished(self, uid: str, wish: str) -> None:
        """A user has given a job up; until it is released nothing else may follow."""
        if wish in {"cancel", "delete", "deactivate"}:
            self.given_up[uid] = wish
        elif wish == "release":
            self.given_up.pop(uid, None)

    def offered(self, uid: str, epoch: int) -> None:
        """R-15: what a member still holds is not given out again, whatever the store has forgotten."""
        jobs = [job for member in self.members.values() for job in member.jobs.values()]
        if (uid, epoch) in self.offers and (uid, epoch) in map(uid_and_epoch, jobs):
            raise Violation("R-15", f"epoch {epoch} of {uid} is there, and offered again")
        self.offers.add((uid, epoch))

    def store_went_back(self) -> None:
        """The hub's store is to be an older copy: what nobody can tell it any more is not held against it."""
        self.restored = self.cron_time.went_back = True
        self.lost.append({key: dict(row) for key, row in self.store.works.items()})
        for known in (
            self.sessions,
            self.released,
            self.begun,
            self.completed,
            self.unstarted,
            self.could_run,
        ):
            known.clear()

    # --- told by the network ---------------------------------------------------------------------

    def said(self, entries: Iterable[Any]) -> None:
        """R-04: what an agent says to have never started did not, and does not start afterwards."""
        for entry in entries:
            if not entry.unstarted:
                continue
            if (entry.uid, entry.epoch) in self.could_run:
                raise Violation("R-04", f"epoch {entry.epoch} of {entry.uid} has started")
            self.unstarted.add((entry.uid, entry.epoch))

    def answered(self, cluster: str, session: str) -> None:
        """R-06: who was superseded is answered no more."""
        known = self.sessions.setdefault(cluster, [])
        if session not in known:
            known.append(session)
        elif known[-1] != session:
            raise Violation("R-06", f"{session} is answered after {known[-1]}")

    def ordered(self, orders: Sequence[Order], jobs: Iterable[Object]) -> None:
        """R-15: what the store may have forgotten is not ordered away."""
        asked = {order.object_uid for order in orders if order.action == "Remove"}
        for job in jobs if self.restored else ():
            uid, epoch = uid_and_epoch(job)
            if job["metadata"]["uid"] not in asked or (uid, epoch) not in self.offers:
                continue
            known = self.store.workloads.get(uid)
            if known is None or known["epoch"] < epoch:
                raise Violation("R-15", f"epoch {epoch} of {uid}, which was forgotten, is to go")

    # --- told by the hub's store -----------------------------------------------------------------

    def moved(self, row: Object, name: str, before: str) -> None:
        """R-04, R-07, R-09: what a transition means for what is really so."""
        if self.restored:
            return
        uid, epoch = row["uid"], row["epoch"]
        if before in _FINAL:
            raise Violation("R-07", f"{uid} was {before} and is moved by {name}")
        if name == "place":
            self._placed(row)
        if (
            self.leaves_behind(row, name)
            or before not in _HELD
            or before == "Placed"
            or row["state"] in _HELD
        ):
            return
        self.released[uid, epoch] = name
        self._not_made_up(row)
        if name in {"requeue", "hold", "cancel", "deactivate"}:
            self._given_back(uid, name)
        elif name == "fail":
            self._failed(row)

    def _not_made_up(self, row: Object) -> None:
        uid, epoch = row["uid"], row["epoch"]
        if row["reason"] == "DeletedInMember" and (uid, epoch) not in self.by_hand:
            text = f"epoch {epoch} of {uid} failed as deleted, and nobody did that"
            raise Violation("R-06", text)

    def _failed(self, row: Object) -> None:
        uid = row["uid"]
        if uid in self.completed:
            raise Violation("R-07", f"{uid} completed, and has failed ({row['reason']})")
        if row["retry_epoch"] == row["epoch"] and uid not in self.given_up:
            raise Violation("R-07", f"{uid} was to be tried again, and has failed")

    def _given_back(self, uid: str, name: str) -> None:
        if self.running.get(uid):
            where = ", ".join(sorted(set(self.running[uid].values())))
            raise Violation("R-10", f"{uid} is given back ({name}) while it runs in {where}")
        if uid in self.completed:
            raise Violation("R-07", f"{uid} completed, and is given back ({name})")

    def goes_on(self, row: Object) -> None:
        """R-15: only a store that went back learns of an epoch from a member."""
        raise Violation(
            "R-15", f"{row['uid']} goes on in epoch {row['epoch']}, which was not given"
        )

    def looked_over(self) -> None:
        """R-02, R-03: names are given once, and what is offered was placed."""
        live = [
            (row["namespace"], row["name"]) for row in self.store.workloads.values() if row["live"]
        ]
        self.cron_time.looked_over(self.store.workloads)
        if len(set(live)) < len(live):
            raise Violation("R-02", f"a name is given twice: {sorted(live)}")
        for row in self.store.works.values():
            if row["offered"] and (row["uid"], row["epoch"]) not in self.placed:
                raise Violation(
                    "R-03", f"epoch {row['epoch']} of {row['uid']} is offered, not placed"
                )

    def _placed(self, row: Object) -> None:
        uid = row["uid"]
        self.placed.add((uid, row["epoch"]))
        self.consents.placed(row)
        self._not_beyond_a_failure(row)
        self.chain.placed(uid, self.store.workloads, self.completed.keys() | self.unproven)
        for work in self.store.works.values():
            others = work["uid"] == uid and work["epoch"] != row["epoch"]
            if others and work["action"] != "Withdraw":
                raise Violation("R-05", f"{uid} is placed while {work['cluster']} is to keep it")
        asked, given = row["parallelism"], granted(row)
        if "admission" in row and asked > given:
            raise Violation("R-09", f"{uid} is placed with {asked} pods and charged for {given}")
        if uid in self.completed:
            raise Violation("R-07", f"{uid} completed, and is placed again")
        if uid in self.given_up:
            raise Violation(
                "R-12", f"{uid} is placed again, though it was to be {self.given_up[uid]}"
            )
        charged = check_charges(self.store.workloads.values(), self.members, self.limit)
        if self.queue is not None:
            self.queue.placed(uid, charged)

    def _not_beyond_a_failure(self, row: Object) -> None:
        """R-07: a failure with a code that its job does not name is the end of it."""
        uid = row["uid"]
        if labels.RETRY_ON not in (row["annotations"] or {}) or uid in self.unproven:
            return
        # Of those that failed, for a restored store leaps over a million epochs.
        for epoch in sorted(each for of, each in self.failed if of == uid and each < row["epoch"]):
            seen = (uid, epoch) not in self.left | self.by_hand
            if seen and RETRIED_CODE not in self.codes.get((uid, epoch), ()):
                raise Violation("R-07", f"epoch {epoch} of {uid} failed for good, and it goes on")

    # --- at the end ------------------------------------------------------------------------------

    def unsettled(self, members: dict[str, Any]) -> tuple[str, str] | None:
        """What is not at rest although everything works again; None where all is well."""
        for uid, row in self.store.workloads.items():
            if row["state"] not in _REST:
                return "R-01", f"{uid} is {row['state']} {row['withdraw_to']} {row['reason']}"
            if uid in self.completed and row["state"] != "Succeeded":
                return "R-07", f"{uid} completed and is {row['state']}"
        rows = self.store.workloads
        return (
            self.chain.unsettled(rows)
            or self.cron_time.unsettled(rows)
            or self._left_over(members)
        )

    def _left_over(self, members: dict[str, Any]) -> tuple[str, str] | None:
        for (cluster, uid), row in self.store.works.items():
            if row["action"] != "Keep":
                return "R-12", f"{cluster} is still to {row['action']} {uid}"
        ours = [
            (name, job)
            for name, m in members.items()
            for job in m.jobs.values()
            if uid_and_epoch(job)[0]
        ]
        for name, job in ours:
            if job["metadata"]["annotations"].get(labels.INCARNATION) == OLDER:
                continue
            what = f"{job['metadata']['uid']} of {uid_and_epoch(job)[0]}"
            if job["metadata"].get("finalizers"):
                return "R-12", f"{what} is kept in {name} by finalizers"
            if (name, uid_and_epoch(job)[0]) not in self.store.works:
                return "R-12", f"{what} is a stray in {name}"
        return None


_REST = frozenset({*map(str, TERMINAL), "Held"})


def uid_and_epoch(obj: Object) -> tuple[str, int]:
    """Of which job an object is, and of which of its epochs."""
    return (obj["metadata"].get("labels") or {}).get(labels.JOB_UID, ""), _epoch(obj)


def _epoch(obj: Object) -> int:
    return int((obj["metadata"].get("labels") or {}).get(labels.EPOCH, "0"))
