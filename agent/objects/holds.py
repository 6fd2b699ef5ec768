"""Holds and starts the object of a job: a Job, or an object of another kind by its work's rule. Pure.

Each is created with the values of `held`, in which nothing runs; the start patch writes those of `run`. An
object that was not started names the fields that hold it, in annotation `roadstead.dev/not-started`: an agent
that finds it before its work arrives knows that nothing of it has begun.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from shared.kinds.dispatched import DISPATCHED
from shared.pointers import path_of, value_at
from shared.wire.agent_v1 import Work
from shared.wire.kind_rules import FieldValue

Object = dict[str, Any]
JOB: Final = ("batch/v1", "Job")
# What operators make between an object and its pods: while one is left, pods may still come. Those that make
# others stand first, so that who has seen none of them knows that no others come either.
BETWEEN: Final = (("jobset.x-k8s.io/v1alpha2", "JobSet"), ("ray.io/v1", "RayCluster"), JOB)
LEADER_WORKER_SET: Final = ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet")
APP_WRAPPER: Final = ("workload.codeflare.dev/v1beta2", "AppWrapper")
# What else one kind puts there. Of a LeaderWorkerSet: its agents alone need the right to list it.
ALSO_BETWEEN: Final[Mapping[tuple[str, str], tuple[tuple[str, str], ...]]] = {
    LEADER_WORKER_SET: (("apps/v1", "StatefulSet"),),
    APP_WRAPPER: (
        ("ray.io/v1", "RayJob"),
        ("kubeflow.org/v2beta1", "MPIJob"),
        *(
            ("kubeflow.org/v1", kind)
            for kind in ("JAXJob", "PaddleJob", "PyTorchJob", "TFJob", "XGBoostJob")
        ),
    ),
}
# Kinds of which a pod makes an object that makes pods: to see none of either once is no proof.
PODS_MAKE_MAKERS: Final = frozenset({LEADER_WORKER_SET})
# Kinds that an AppWrapper may have between itself and its pods (`shared.workkinds.wrapped`).
WRAPPED: Final = (*ALSO_BETWEEN[APP_WRAPPER], *BETWEEN)
# Kinds of jobs that an agent has the rights for (deploy/charts/roadstead-agent), besides what is declared.
BUILT_IN: Final = DISPATCHED | {JOB}
_SUSPEND: Final = "/spec/suspend"
_OF_SPEC: Final = "/spec/"
_MOST_FIELDS: Final = 32


@dataclass(frozen=True, slots=True)
class Hold:
    """Values of fields, by JSON pointer. `mark`: what annotation `not-started` says."""

    held: tuple[FieldValue, ...]
    run: tuple[FieldValue, ...]
    mark: str

    def holds(self, obj: Object) -> bool:
        """Tell if the object has every value by which it is held."""
        return all(value_at(obj, each.path) == each.value for each in self.held)

    @property
    def starts_itself(self) -> bool:
        """False where a queue manager of the member starts the object, not the agent's patch."""
        return self.run != self.held


JOB_HOLD: Final = Hold(
    (FieldValue(path=_SUSPEND, value=True),), (FieldValue(path=_SUSPEND, value=False),), "true"
)


def is_job_work(work: Work) -> bool:
    """Tell if a work is of a job: it has an epoch, begins once and ends once. Others are plain objects."""
    return work.epoch >= 1 or (work.api_version, work.kind) == JOB


def job_name(work: Work) -> str:
    """The name that the Job of the work's pods has; "" where it is not that of the work's object.

    An operator names Jobs that it makes of an object as it likes.
    """
    return work.name if (work.api_version, work.kind) == JOB else ""


def hold_of(work: Work) -> Hold | None:
    """Return the hold of a job's work; None: its kind is not Job, and the hub sent no rule that is allowed.

    A rule may write the object's spec, and nothing else.
    """
    if (work.api_version, work.kind) == JOB:
        return JOB_HOLD
    rule = work.kind_rule
    if rule is None or not rule.held:
        return None
    if not all(each.path.startswith(_OF_SPEC) for each in (*rule.held, *rule.run)):
        return None
    told = [each.model_dump() for each in rule.held]
    return Hold(tuple(rule.held), tuple(rule.run), orjson.dumps(told).decode())


def scale_of(work: Work) -> FieldValue | None:
    """The number that multiplies all pods of a work's object, as it runs; None where none may change."""
    rule = work.kind_rule
    if rule is None or (work.api_version, work.kind) == JOB:
        return None
    if not rule.scale.startswith(_OF_SPEC):
        return None
    return next((each for each in rule.run if each.path == rule.scale), None)


def fenced_paths(work: Work) -> dict[str, str]:
    """The pod templates on which the hub has written the job's labels, as paths, each with its pointer.

    A path is as `shared.podsecurity.templates` has it: `spec.replicatedJobs[0].template.spec.template`.
    """
    if work.kind_rule is None:
        return {}
    return {path_of(each): each for each in work.kind_rule.templates}


def held_by_mark(obj: Object, mark: str) -> bool:
    """Tell if an object that is no Job is held as its own mark says; False for a mark that says nothing."""
    try:
        told = orjson.loads(mark)
    except ValueError:
        return False
    if not isinstance(told, list) or not 0 < len(told) <= _MOST_FIELDS:
        return False
    return all(
        isinstance(each, dict)
        and isinstance(each.get("path"), str)
        and value_at(obj, each["path"]) == each.get("value")
        for each in told
    )
