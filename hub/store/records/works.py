"""Works as records: whole rows, the parts of them that are selected, and what may be written.

`Work` has a field for every column of the table `works`, in its order (held by
`tests/store/test_records.py`).
"""

import datetime as dt
from collections.abc import Sequence
from typing import Any, NamedTuple, NotRequired, TypedDict

import orjson

from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.reclaimable_pods import without_done_pods
from shared.documents import Json


class Work(NamedTuple):
    """The desired state of a job or an object in one cluster, and its agent's report."""

    cluster: str
    uid: str  # of the job or the object
    epoch: int  # jobs ≥ 1, objects 0
    generation: int
    api_version: str
    kind: str
    namespace: str
    name: str
    action: str  # Apply | Keep | Withdraw | Compare
    hash: str
    options: ApplyOptions
    placed_by: str  # uid of the placement; "" = the job's queue
    offered: bool
    seen: bool
    phase: str  # as observed for this epoch; "" before
    observed_generation: int
    observed: Json | None  # the last Observed entry, without drift
    drift: Sequence[Json] | None
    reason: str
    message: str
    available: bool | None  # None: not trackable
    observed_at: dt.datetime | None
    created_at: dt.datetime
    content: str  # hash of what it is composed from; "": of a job, or from before rollouts


class Desired(NamedTuple):
    """The fields of one row in the index of desired sets."""

    cluster: str
    uid: str
    epoch: int
    generation: int
    action: str
    hash: str
    offered: bool


class StandingWork(NamedTuple):
    """A row as an observation finds it, with the workload behind it (None for other objects).

    JSON columns stay as stored until they are read: most observations never are.
    """

    uid: str
    epoch: int
    generation: int
    kind: str
    namespace: str
    name: str
    action: str
    seen: bool
    phase: str
    options: ApplyOptions
    observed_json: bytes | None
    drift_json: bytes | None
    state: str | None
    workload_epoch: int | None
    withdraw_to: str | None
    workload_reason: str | None
    workload_message: str | None
    succeeded: int | None
    failed: int | None
    active: int | None
    ready: int | None
    parallelism: int | None
    completions: int | None
    pods_ready: int  # all of them were, and no longer are not
    annotations_json: bytes | None
    set_aside_json: bytes | None
    started_at: dt.datetime | None = None
    workload_cluster: str | None = None
    unstarted: int | None = 0  # epochs of the workload that never started
    admission_json: bytes | None = None
    retries: int | None = 0  # … that failed and were tried again
    retry_epoch: int | None = 0  # the last of them

    def is_retried(self) -> bool:
        """True if it is decided that this epoch, which has failed, is tried again."""
        return self.retry_epoch == self.epoch

    def attempt(self) -> int:
        """The number of this epoch among the job's attempts: only retried failures came before."""
        return (self.retries or 0) + (0 if self.is_retried() else 1)

    def overlapped(self) -> bool:
        """True if it was already reported that this epoch ran beside a later one."""
        return bool((_decoded(self.observed_json) or {}).get("overlap"))

    def previous(self) -> Json:
        """The Job's status as last observed for this epoch."""
        return (_decoded(self.observed_json) or {}).get("job") or {}

    def only_waits(self) -> bool:
        """True if the Job, as last observed for this epoch, is suspended and without pods."""
        job = self.previous()
        counts = ("start_time", "active", "ready", "succeeded", "failed")
        return bool(job.get("suspended")) and not any(job.get(count) for count in counts)

    def object_uid(self) -> str:
        """Of the object in the member, as last observed for this epoch; "" for none."""
        return str((_decoded(self.observed_json) or {}).get("object_uid") or "")

    def drift(self) -> list[Json]:
        """The drift last observed."""
        return _decoded(self.drift_json) or []

    def annotations(self) -> dict[str, str]:
        """The workload's annotations that the hub reads."""
        return _decoded(self.annotations_json) or {}

    def set_aside(self) -> dict[str, str]:
        """Clusters that the workload avoids, and until when."""
        return _decoded(self.set_aside_json) or {}

    def pods_at_once(self) -> int:
        """The number of pods of the job that run at a time."""
        parallelism = self.parallelism or 0
        if self.options.parallelism is not None:  # admitted in part
            parallelism = self.options.parallelism
        return parallelism if self.completions is None else min(parallelism, self.completions)

    def charged_after(self, succeeded: int) -> Json | None:
        """The Job's admission once so many pods have succeeded; None where it stays.

        Of other kinds it stays: which pod set a pod was of is not told.
        """
        if self.kind != "Job":
            return None
        admission: Json = (_decoded(self.admission_json) or {}) if succeeded else {}
        if len(admission.get("podSets") or ()) != 1:
            return None
        left = without_done_pods(admission, self.completions, succeeded)
        return None if left == admission else left


class Composable(NamedTuple):
    """A row with the manifest it is composed from: a job's bytes, or an object's value."""

    cluster: str
    uid: str
    epoch: int
    generation: int
    api_version: str
    kind: str
    namespace: str
    name: str
    action: str
    hash: str
    options: ApplyOptions
    placed_by: str
    offered: bool
    seen: bool
    job_manifest: bytes | None
    job_hash: str | None
    queue: str | None
    state: str | None
    workload_epoch: int | None
    ttl_s: int | None
    object_manifest: Json | None
    object_hash: str | None
    annotations: dict[str, str] | None
    content: str = ""  # hash of what its placement gave the cluster …
    content_manifest: Json | None = None  # … and that itself
    form: Json | None = None  # of work that is no Job: `WorkForm`


class LastObserved(NamedTuple):
    """An agent's last report about a work."""

    cluster: str
    uid: str
    epoch: int
    observed_generation: int
    phase: str
    reason: str
    message: str
    available: bool | None
    observed: Json
    drift: Sequence[Json] | None


class DriftedWork(NamedTuple):
    """A work of which a member reports that it differs from what the hub wants there."""

    cluster: str
    uid: str
    kind: str
    namespace: str
    name: str
    drift: Sequence[Json]
    observed_at: dt.datetime | None = None  # when the member last said so
    observed: Json | None = None
    options: ApplyOptions = ApplyOptions()

    def member_generation(self) -> int:
        """Of the object in the member, as it was then; 0 where it is not known."""
        return int((self.observed or {}).get("member_generation") or 0)


class WantedWork(TypedDict):
    """A cluster's orders. All of one statement name the same columns."""

    cluster: str
    uid: str
    epoch: int
    generation: int
    api_version: str
    kind: str
    namespace: str
    name: str
    options: ApplyOptions
    placed_by: str
    hash: NotRequired[str]
    action: NotRequired[str]
    content: NotRequired[str]


class OptionedWork(TypedDict):
    """The options of a work, and the hash of what is composed with them ("" of what was never offered)."""

    cluster: str
    uid: str
    options: ApplyOptions
    hash: str


class ObservedWork(TypedDict):
    """An agent's report about a work."""

    cluster: str
    uid: str
    observed_generation: int
    phase: str
    observed: Json
    drift: Sequence[Json] | None
    reason: str
    message: str
    available: bool | None
    seen: bool


def _decoded(raw: bytes | None) -> Any:
    return None if raw is None else orjson.loads(raw)


class CountedWorks(NamedTuple):
    """The number of works of one kind in one state on a cluster; `phase` "": nothing was observed yet."""

    kind: str
    action: str
    phase: str
    number: int
