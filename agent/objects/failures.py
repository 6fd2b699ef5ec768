"""Failures of a Job's pods: exit codes and reasons, kept for as long as the agent knows the job. Pure.

A Job's controller says that a Job has failed and not how; pods say how, in another watch, and may go soon.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from agent.objects.facts import Object, epoch_of
from shared import labels

MOST_PODS: Final = 1000  # that are remembered one by one; those of more have no new ways to fail
MOST_TOLD: Final = 32
LONGEST: Final = 80
ACCOUNT_S: Final = 10.0  # a watch of pods that lags longer than this is not waited for
_STATUSES: Final = ("initContainerStatuses", "containerStatuses")


def failures_of(pod: Object) -> tuple[str, ...]:
    """How a pod has failed so far: `CODE/REASON` of each container's end, `/REASON` of its own.

    What its containers came to once it was being deleted is the deletion's doing, not the job's.
    """
    status = pod.get("status") or {}
    found = set(_of_pod(status))
    for name in _STATUSES:
        for container in status.get(name) or ():
            for when in ("state", "lastState"):
                ended = (container.get(when) or {}).get("terminated") or {}
                if ended.get("exitCode") and not _is_of_deletion(pod, when):
                    found.add(f"{ended['exitCode']}/{ended.get('reason') or ''}"[:LONGEST])
    return tuple(sorted(found))


def _is_of_deletion(pod: Object, when: str) -> bool:
    return when == "state" and bool(pod["metadata"].get("deletionTimestamp"))


def _of_pod(status: Object) -> Iterable[str]:
    if status.get("phase") == "Failed" and status.get("reason"):  # evicted, or its node is gone
        yield f"/{status['reason']}"[:LONGEST]
    for condition in status.get("conditions") or ():
        if condition.get("type") == "DisruptionTarget" and condition.get("status") == "True":
            yield "/DisruptionTarget"


@dataclass(slots=True)
class Failures:
    """Of one epoch of a job."""

    epoch: int = 0
    pods: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by pod uid
    since: float | None = None  # since when the Job has failed and some of its pods are not known

    def note(self, epoch: int, pod: str, found: tuple[str, ...]) -> None:
        """A pod of this epoch has failed so."""
        self._begin(epoch)
        if found and epoch == self.epoch and (pod in self.pods or len(self.pods) < MOST_PODS):
            known = set(self.pods.get(pod, ())) | set(found)
            self.pods[pod] = tuple(sorted(known))[:MOST_TOLD]

    def after(self, earlier: "Failures") -> "Failures":
        """These, with what was known earlier of the same epoch."""
        self._begin(earlier.epoch)
        for pod, found in earlier.pods.items():
            self.note(earlier.epoch, pod, found)
        if earlier.epoch == self.epoch:
            self.since = self.since or earlier.since
        return self

    def told(self, epoch: int) -> list[str]:
        """The ways in which pods of that epoch failed, each once."""
        if epoch != self.epoch:
            return []
        return sorted({each for found in self.pods.values() for each in found})[:MOST_TOLD]

    def kept_until(
        self, job: Object | None, manifest: Object | None, now: float, failed: int
    ) -> float | None:
        """Until when the failure of a job that may be tried again is not told; None: it is.

        Its manifest says after which failures, and not all of its `failed` pods are known.
        """
        notes = ((manifest or {}).get("metadata") or {}).get("annotations") or {}
        if job is None or labels.RETRY_ON not in notes:
            return None
        self._begin(epoch_of(job))
        known = len(self.pods) if epoch_of(job) == self.epoch else 0
        if known >= min(failed, MOST_PODS):
            self.since = None
            return None
        if self.since is None:
            self.since = now
        until = self.since + ACCOUNT_S
        return until if now < until else None

    def _begin(self, epoch: int) -> None:
        """A later epoch begins anew: its failure waits for its own pods, as long as the first one did."""
        if epoch > self.epoch:
            self.epoch, self.pods, self.since = epoch, {}, None
