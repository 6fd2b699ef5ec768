"""The queue manager of a member: it unsuspends Jobs after a while, and now and then suspends one again."""

from typing import TYPE_CHECKING, Any, Final

from shared import labels
from shared.kube import errors
from tests.simulation.world import World

if TYPE_CHECKING:
    from tests.simulation.member import Member

QUEUE: Final = "q"
_PREEMPTED: Final = 0.3  # share of Jobs that it suspends again


class QueueManager:
    """Writes as Kueue does: each change carries the version that it read some time before."""

    def __init__(self, world: World, member: "Member", longest_s: float) -> None:
        self.world, self.member, self.longest_s = world, member, longest_s
        self._waiting: set[str] = set()  # uids of Jobs
        member.watchers.append(self._hear)

    def _hear(self, kind: str) -> None:
        if kind != "Job":
            return
        for name, job in self.member.jobs.items():
            uid = job["metadata"]["uid"]
            if uid not in self._waiting and _waits(job):
                self._waiting.add(uid)
                seconds = self.world.random.random() * self.longest_s
                self.world.after(seconds, self._read, name, uid, False)

    def _read(self, name: str, uid: str, suspend: bool) -> None:
        job = self.member.jobs.get(name)
        if job is None or job["metadata"]["uid"] != uid:
            self._waiting.discard(uid)
            return
        lag = self.world.random.random() * 0.1
        self.world.after(lag, self._write, name, dict(job["metadata"]), suspend)

    def _write(self, name: str, read: dict[str, Any], suspend: bool) -> None:
        self._waiting.discard(read["uid"])
        job = self.member.jobs.get(name)
        if job is None or _is_over(job) or (not suspend and not _waits(job)):
            return
        held = {"uid": read["uid"], "resourceVersion": read["resourceVersion"]}
        try:
            self.member.merge_patch(name, {"metadata": held, "spec": {"suspend": suspend}})
        except errors.Conflict:
            self._hear("Job")
            return
        self.world.note(f"{self.member.name}: the queue manager {_ACTS[suspend]} {name}")
        self.world.happens("queued", self.member.name)
        if not suspend and self.world.random.random() < _PREEMPTED:
            seconds = self.world.random.random() * 5.0
            self.world.after(seconds, self._read, name, read["uid"], True)


_ACTS: Final = {False: "starts", True: "stops"}


def _is_over(job: dict[str, Any]) -> bool:
    return bool(job["metadata"].get("deletionTimestamp") or job["status"].get("conditions"))


def _waits(job: dict[str, Any]) -> bool:
    queue = (job["metadata"].get("labels") or {}).get(labels.QUEUE_NAME)
    return queue == QUEUE and bool(job["spec"].get("suspend")) and not _is_over(job)
