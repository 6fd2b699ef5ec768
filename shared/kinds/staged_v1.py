"""KubeFleet's staged updates: strategies, runs, and the requests for approval that runs make.

v1 and v1beta1 are one. Field names and bounds are KubeFleet's (apis/placement); two fields of a strategy are
Roadstead's own: when a cluster is stuck, and after how many failed ones a run stops by itself.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from shared.kinds.model import INT32_MAX, LabelSelector, Model, fault
from shared.kinds.names import is_dns_subdomain
from shared.kinds.problems import Problems
from shared.kinds.selectors import check_label_selector
from shared.quantity import shown
from shared.reject_codes import RejectCode

RUN_KINDS: Final = ("ClusterStagedUpdateRun", "StagedUpdateRun")
STRATEGY_KINDS: Final = ("ClusterStagedUpdateStrategy", "StagedUpdateStrategy")
REQUEST_KINDS: Final = ("ClusterApprovalRequest", "ApprovalRequest")
MOST_STAGES: Final = 31
INITIALIZE, RUN, STOP = "Initialize", "Run", "Stop"
APPROVAL, TIMED_WAIT = "Approval", "TimedWait"
_WAIT: Final = re.compile(r"^(?:[0-9]+(\.[0-9]+)?(?:s|m|h))+$")
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([smh])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600}
_LONGEST_S: Final = 10 * 366 * 86400  # of a wait
_PERCENT: Final = re.compile(r"^(100|[1-9][0-9]?)%$")
RUN_NAME: Final = (
    lambda text: is_dns_subdomain(text) and isinstance(text, str) and len(text) < 64,
    "must consist of lower-case letters, digits, '-' and '.'; at most 63 characters",
)

Content = dict[str, Any]


def wait_s(text: str) -> float:
    """A wait such as `1h30m` in seconds."""
    return sum(float(amount) * _SECONDS[unit] for amount, unit in _PART.findall(text))


def _wait(value: Any) -> Any:
    if not isinstance(value, str):
        raise fault(RejectCode.INVALID_TYPE, "must be a string such as 90s or 1h30m")
    if len(value) > 64 or not _WAIT.match(value) or wait_s(value) > _LONGEST_S:
        raise fault(
            RejectCode.INVALID_VALUE, f"{shown(value)}: must be hours, minutes and seconds: 1h30m"
        )
    return value


def _concurrency(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise fault(RejectCode.INVALID_TYPE, "must be a whole number or a percentage such as 25%")
    number = isinstance(value, int) and 1 <= value <= INT32_MAX
    if not number and not (isinstance(value, str) and _PERCENT.match(value)):
        raise fault(RejectCode.OUT_OF_RANGE, f"{shown(value)}: must be at least 1, or 1% to 100%")
    return value


Wait = Annotated[str, BeforeValidator(_wait), WithJsonSchema({"type": "string"})]
Concurrency = Annotated[
    int | str,
    BeforeValidator(_concurrency),
    WithJsonSchema(
        {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "x-kubernetes-int-or-string": True,
        }
    ),
]


class StageTask(Model):
    """A task before a stage, or after it."""

    type: Literal["TimedWait", "Approval"]
    wait_time: Wait | None = None


class StageConfig(Model):
    """One stage: which clusters, in which order, and how many at once."""

    name: str = Field(max_length=63, pattern="^[a-z0-9]+$")
    label_selector: LabelSelector | None = None
    sorting_label_key: Annotated[str, Field(max_length=317)] | None = None
    max_concurrency: Concurrency = 1
    after_stage_tasks: Annotated[list[StageTask], Field(max_length=2)] | None = None
    before_stage_tasks: Annotated[list[StageTask], Field(max_length=1)] | None = None


class StrategySpec(Model):
    """`progressDeadlineSeconds` and `stopAfterFailedClusters` are own fields; else settings say it."""

    stages: Annotated[list[StageConfig], Field(max_length=MOST_STAGES)]
    progress_deadline_seconds: Annotated[int, Field(ge=1, le=INT32_MAX)] | None = None
    stop_after_failed_clusters: Annotated[int, Field(ge=1, le=INT32_MAX)] | None = None


class Strategy(Model):
    spec: StrategySpec


class RunSpec(Model):
    placement_name: str = Field(min_length=1, max_length=255)
    resource_snapshot_index: Annotated[str, Field(max_length=10, pattern="^[0-9]*$")] | None = None
    staged_rollout_strategy_name: str = Field(min_length=1, max_length=253)
    state: Literal["Initialize", "Run", "Stop"] = "Initialize"


class Run(Model):
    spec: RunSpec


class RequestSpec(Model):
    parent_stage_rollout: str = Field(min_length=1, max_length=63)
    target_stage: str = Field(min_length=1, max_length=63)


class Request(Model):
    spec: RequestSpec


def check_strategy(content: Content, problems: Problems) -> None:
    """Stages have names of their own, and tasks are of the types that may stand there."""
    names: set[str] = set()
    for index, stage in enumerate(content["spec"]["stages"]):
        field = f"spec.stages[{index}]"
        if stage["name"] in names:
            problems.add(f"{field}.name", RejectCode.DUPLICATE, f"{stage['name']} is used already")
        names.add(stage["name"])
        if "labelSelector" in stage:
            check_label_selector(stage["labelSelector"], f"{field}.labelSelector", problems)
        for place in ("beforeStageTasks", "afterStageTasks"):
            _check_tasks(stage.get(place) or (), f"{field}.{place}", problems)


def _check_tasks(tasks: Any, field: str, problems: Problems) -> None:
    seen: set[str] = set()
    for index, task in enumerate(tasks):
        where, kind = f"{field}[{index}]", task["type"]
        if kind in seen:
            problems.add(f"{where}.type", RejectCode.DUPLICATE, f"{kind} is listed already")
        seen.add(kind)
        if kind == TIMED_WAIT and field.endswith("beforeStageTasks"):
            rule = "Approval alone may come before a stage"
            problems.add(f"{where}.type", RejectCode.INVALID_COMBINATION, rule)
        elif (kind == TIMED_WAIT) != ("waitTime" in task):
            rule = "is required for TimedWait, and for no other"
            problems.add(f"{where}.waitTime", RejectCode.INVALID_COMBINATION, rule)


def fault_of_change(kind: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, str]:
    """(field, rule) of the first thing in a spec that may not change so; ("", "") where all may.

    What a run was made for stays: another version, placement or strategy is another run.
    """
    if kind in REQUEST_KINDS:
        same = dict(old) == dict(new)
        return ("", "") if same else ("spec", "a request for approval stays as it was made")
    if kind not in RUN_KINDS:
        return "", ""
    for name in ("placementName", "resourceSnapshotIndex", "stagedRolloutStrategyName"):
        if (old.get(name) or "") != (new.get(name) or ""):
            rule = f"{name} of a run stays: make another run, which takes over"
            return f"spec.{name}", rule
    was, wanted = old.get("state", INITIALIZE), new.get("state", INITIALIZE)
    if was == INITIALIZE and wanted == STOP:
        return (
            "spec.state",
            "what has not begun can not stop: Initialize goes to Run, or delete it",
        )
    if was != INITIALIZE and wanted == INITIALIZE:
        return (
            "spec.state",
            f"what has begun can not be initialised again: {was} goes to Run or Stop",
        )
    return "", ""
