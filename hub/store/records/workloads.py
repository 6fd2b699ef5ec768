"""Workloads as records: whole rows, the parts of them that lists and rules select, and what may change.

`Workload` has a field for every column of its table, with its type (held by `tests/store/test_records.py`).
A selection of some columns has its own record: no absent field is read by mistake.
Records are tuples: reading a row costs what the driver's tuple costs.
"""

import datetime as dt
from collections.abc import Mapping
from typing import NamedTuple, Required, TypedDict, cast

from hub.domain.workloads.admission_checks import States
from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.states import State, WithdrawTo
from shared.documents import Json


class Workload(NamedTuple):
    """One unit of admission. Times are UTC; `live` is true while it occupies its name, else None."""

    uid: str
    kind: str
    namespace: str
    name: str
    origin: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]  # those the hub reads
    queue: str  # LocalQueue; "" when none resolved
    priority: int
    priority_class: str
    shape: str
    parallelism: int
    completions: int | None  # None: a work queue
    ttl_s: int | None
    generation: int
    state: State
    reason: str
    message: str
    created_at: dt.datetime
    queued_at: dt.datetime
    live: bool | None = True
    cluster_queue: str = ""  # charged; "" before admission
    admission: Json | None = None  # {"podSets": [{name, count, flavors, usage}]}
    placement: str = ""  # uid of the placement that chose; "" = queue
    scores: Json | None = None
    cluster: str = ""
    epoch: int = 0
    nomination: Json | None = None  # {cluster, nodes, at, gone_at, admission, victims, preempted}
    checks: States | None = None  # {name: {state, message, at, updates}}
    withdraw_to: WithdrawTo = WithdrawTo.NOTHING
    set_aside: Mapping[str, str] | None = None  # clusters to avoid: {name: until RFC3339}
    succeeded: int = 0
    failed: int = 0  # over all epochs
    active: int = 0
    ready: int = 0
    requeue_at: dt.datetime | None = None
    requeues: int = 0
    evicted: Mapping[str, str] | None = None  # {reason, message, at}, and {cause}
    evictions: Mapping[str, int] | None = None  # {reason: count}
    max_runtime_s: int | None = None
    ran_s: int = 0
    new_nodes: int | None = None
    reserved_at: dt.datetime | None = None
    pods_ready_at: dt.datetime | None = None
    pods_lost_at: dt.datetime | None = None
    placed_at: dt.datetime | None = None
    applied_at: dt.datetime | None = None
    started_at: dt.datetime | None = None
    finished_at: dt.datetime | None = None
    deleted_at: dt.datetime | None = None
    owner: str = ""  # who submitted it; "": unknown
    unstarted: int = 0  # epochs that never started
    retries: int = 0  # epochs that failed and were tried again
    retry_epoch: int = 0  # the last of them
    held_for: str = ""  # HeldFor: who keeps it Held
    ran_from: dt.datetime | None = None  # by its member's clock, as `ran_until`
    ran_until: dt.datetime | None = None
    api_version: str = "batch/v1"
    kind_version: str = ""  # NAME@VERSION of an administrator's definition


class JobPlace(NamedTuple):
    """Fields that tell whether a workload is worth reading whole."""

    uid: str
    kind: str
    namespace: str
    origin: str
    live: bool | None
    created_at: dt.datetime
    finished_at: dt.datetime | None


class WorkloadProgress(NamedTuple):
    """The state of a workload for executors and watchers."""

    uid: str
    kind: str
    namespace: str
    name: str
    queue: str
    cluster_queue: str
    state: State
    reason: str
    cluster: str
    epoch: int


class BareProgress(NamedTuple):
    """The same of a bare Workload, with its pod counts."""

    uid: str
    kind: str
    namespace: str
    name: str
    queue: str
    cluster_queue: str
    state: State
    reason: str
    cluster: str
    epoch: int
    parallelism: int
    ready: int
    pods_ready_at: dt.datetime | None


class ReservedWorkload(NamedTuple):
    """A workload for which quota is reserved while admission checks are open."""

    uid: str
    kind: str
    namespace: str
    name: str
    queue: str
    cluster_queue: str
    cluster: str
    admission: Json | None
    checks: States | None
    reserved_at: dt.datetime | None


class JobOnCluster(NamedTuple):
    """A job by where it is."""

    uid: str
    epoch: int
    cluster: str
    reason: str
    annotations: Mapping[str, str]


class LostJob(NamedTuple):
    """A job whose cluster does not answer."""

    uid: str
    epoch: int
    cluster: str
    annotations: Mapping[str, str]
    set_aside: Mapping[str, str] | None


class UnseenJob(NamedTuple):
    """A job that its cluster was offered and has never shown."""

    uid: str
    epoch: int
    cluster: str
    set_aside: Mapping[str, str] | None


class LingeringJob(NamedTuple):
    """A job that was placed a while ago and has come no further."""

    uid: str
    epoch: int
    cluster: str
    reason: str
    message: str
    set_aside: Mapping[str, str] | None


class LimitedRun(NamedTuple):
    """An admitted workload with a maximum execution time."""

    uid: str
    max_runtime_s: int
    ran_s: int
    placed_at: dt.datetime
    state: State


class DoubtedJob(NamedTuple):
    """A job of which a store that went back does not know where it is."""

    uid: str
    epoch: int
    state: State


class GivenWork(NamedTuple):
    """The cluster and work of such a job."""

    cluster: str
    uid: str
    options: ApplyOptions


class WorkloadColumns(TypedDict, total=False):
    """Columns of a workload that may be set; which state it is in is no one's to set."""

    live: bool | None
    origin: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    queue: str
    priority: int
    priority_class: str
    shape: str
    parallelism: int
    completions: int | None
    ttl_s: int | None
    generation: int
    reason: str
    message: str
    cluster_queue: str
    admission: Json | None
    placement: str
    scores: Json | None
    cluster: str
    nomination: Json | None
    checks: States | None
    withdraw_to: WithdrawTo
    set_aside: Mapping[str, str] | None
    succeeded: int
    failed: int
    active: int
    ready: int
    queued_at: dt.datetime
    requeue_at: dt.datetime | None
    requeues: int
    evicted: Mapping[str, str] | None
    evictions: Mapping[str, int] | None
    max_runtime_s: int | None
    ran_s: int
    new_nodes: int | None
    reserved_at: dt.datetime | None
    pods_ready_at: dt.datetime | None
    pods_lost_at: dt.datetime | None
    placed_at: dt.datetime | None
    applied_at: dt.datetime | None
    started_at: dt.datetime | None
    finished_at: dt.datetime | None
    deleted_at: dt.datetime | None
    unstarted: int
    retries: int
    retry_epoch: int
    held_for: str
    ran_from: dt.datetime | None
    ran_until: dt.datetime | None
    kind_version: str


class ShapeColumns(TypedDict):
    """The columns that follow from a Job's spec, or a Workload's."""

    shape: str
    parallelism: int
    completions: int | None
    ttl_s: int | None
    max_runtime_s: int | None
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    kind_version: str


class BareColumns(TypedDict):
    """Those that follow from a Workload's spec alone."""

    parallelism: int
    completions: int | None
    ttl_s: int | None
    priority: int
    priority_class: str
    max_runtime_s: int | None


class WorkloadChange(WorkloadColumns, total=False):
    """Columns to set of one workload, by uid."""

    uid: Required[str]
    epoch: int


class MoveColumns(WorkloadColumns, total=False):
    """Columns to set with a transition, and what it depends on: `if_state`, the newest `if_generation`."""

    new_epoch: int  # replaces its epoch
    if_state: str
    if_generation: int
    cause: str  # of the event alone


class WorkloadMove(MoveColumns, total=False):
    """A workload to be moved by a transition, and the epoch this is about."""

    uid: Required[str]
    epoch: Required[int]


class ReasonToWait(TypedDict):
    """The new message of a waiting workload."""

    uid: str
    reason: str
    message: str


class CountedPods(TypedDict):
    """The numbers of pods of a workload by state; `failed` over all its epochs."""

    succeeded: int
    failed: int
    active: int
    ready: int


class JobProgress(CountedPods):
    """A cluster's report about a workload that it holds."""

    reason: str
    message: str


class CountsRow(JobProgress, total=False):
    """The same, of a workload whose state stays. `all_ready`, where that changed: are all pods ready now?"""

    uid: Required[str]
    epoch: Required[int]
    all_ready: bool


def change_of(uid: str, columns: WorkloadColumns | BareColumns) -> WorkloadChange:
    """`columns`, to be set of one workload."""
    return cast("WorkloadChange", {"uid": uid, **columns})


def move_of(uid: str, epoch: int, columns: MoveColumns | WorkloadColumns) -> WorkloadMove:
    """`columns`, to be set as a workload is moved."""
    return cast("WorkloadMove", {"uid": uid, "epoch": epoch, **columns})


def counts_of(uid: str, epoch: int, counts: JobProgress, *, all_ready: bool | None) -> CountsRow:
    """`counts`, of a workload whose state stays; `all_ready` None: nothing has changed there."""
    row = cast("CountsRow", {"uid": uid, "epoch": epoch, **counts})
    if all_ready is not None:
        row["all_ready"] = all_ready
    return row
