"""The vocabulary of a Job controller's step: what it decides, and what it remembers. Pure.

`job_status` makes these, `jobs` carries them out.
"""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.jobs.pods import JobPod

_LONGEST_BACKOFF_S = 600.0

Condition = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Backoff:
    """Failures since the last success, and when the last one was: new pods wait accordingly."""

    failures: int = 0
    last_failure: dt.datetime | None = None

    def remaining_s(self, now: dt.datetime, first_s: float) -> float:
        """How long no pod may be created: `first_s`, doubled for each further failure."""
        if not self.failures or self.last_failure is None:
            return 0.0
        delay = min(first_s * 2.0 ** min(self.failures - 1, 30), _LONGEST_BACKOFF_S)
        return max(0.0, delay - (now - self.last_failure).total_seconds())


@dataclass(frozen=True, slots=True)
class NewPod:
    """A pod to create; the counts matter where the Job has backoffLimitPerIndex."""

    index: int | None = None
    failures: int = 0
    ignored_failures: int = 0


@dataclass(slots=True)
class Plan:
    """What to do: first delete, then create, release and write the status."""

    status: dict[str, Any]
    backoff: Backoff
    create: list[NewPod] = field(default_factory=list)
    delete: list[JobPod] = field(default_factory=list)
    release_deleted: bool = False  # deleted pods lose their finalizer first, and so do not count
    counted: list[JobPod] = field(default_factory=list)  # and their finalizer goes
    again_at: dt.datetime | None = None
    finished: Condition | None = None  # the condition that this plan adds
    suspension: str = ""  # Suspended or Resumed, when that just changed


def is_finished(job: Object) -> Condition | None:
    """The Complete or Failed condition of a Job that has one."""
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition.get("type") in {"Complete", "Failed"} and condition.get("status") == "True":
            found: Condition = condition
            return found
    return None


def next_backoff(
    backoff: Backoff, succeeded: Sequence[JobPod], failed: Sequence[JobPod]
) -> Backoff:
    """The record after these ends: a success forgives the failures before it."""
    if not succeeded:
        if not failed:
            return backoff
        last = max(pod.finished_at() for pod in failed)
        return Backoff(backoff.failures + len(failed), last)
    if not failed:
        return Backoff()
    success = max(pod.finished_at() for pod in succeeded)
    since = [at for at in (pod.finished_at() for pod in failed) if at > success]
    return Backoff(len(since), max(since)) if since else Backoff()
