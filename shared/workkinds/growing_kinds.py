"""Refuses objects whose operator would run more pods, or longer, than their job is charged for.

The hub charges the counts of the object, until its end. Pods that an operator adds, or keeps after the
end, would run beside the quota. Definitions do not refuse it: `roadstead kinds` reads objects as Kueue does.
Hub and agent ask, of objects that are jobs.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

from shared.documents import JsonView
from shared.errors import Rejected
from shared.podsecurity.spark import MODES, OTHER_MODE, changes_pods
from shared.pointers import value_at
from shared.reject_codes import RejectCode

_KEPT_STATE: Final = "gcsFaultToleranceOptions"
_FT: Final = "ray.io/ft-enabled"
_CLEANUP: Final = (
    "its operator would run a Job after the end, without quota, to clean up its Redis, and would keep the "
    "object until that has succeeded: leave it out"
)
_ENDS: Final = ("DeleteCluster", "DeleteSelf")  # policies that end every pod


def refuse_growth(api_version: str, kind: str, raw: JsonView) -> None:
    """Raise Rejected (InvalidValue), with field and remedy, for an object that outgrows its charge."""
    check = _CHECKS.get((api_version, kind))
    if check is not None:
        check(raw)


def _ray_job(raw: JsonView) -> None:
    if value_at(raw, "/spec/clusterSelector"):
        raise _refusal(
            "spec.clusterSelector",
            "it would run in a RayCluster that is there already, with its quota and its account: leave it "
            "out, and describe its cluster in rayClusterSpec",
        )
    _ray_cluster_at("spec.rayClusterSpec")(raw)
    if value_at(raw, "/spec/shutdownAfterJobFinishes") is not True:
        raise _refusal(
            "spec.shutdownAfterJobFinishes",
            "its cluster would run on after the end, without quota: set it to true",
        )
    strategy = value_at(raw, "/spec/deletionStrategy")
    if not strategy:
        return
    field = "spec.deletionStrategy"
    remedy = f"its pods would run on after the end, without quota: use policy {' or '.join(_ENDS)}"
    if not isinstance(strategy, Mapping) or not strategy.keys() <= {"onSuccess", "onFailure"}:
        raise _refusal(field, f"{remedy}, for onSuccess and onFailure alone")
    for when, what in strategy.items():
        if not isinstance(what, Mapping) or what.get("policy") not in _ENDS:
            raise _refusal(f"{field}.{when}.policy", remedy)


def _ray_cluster_at(field: str) -> Callable[[JsonView], None]:
    """Check the spec of a RayCluster there: an autoscaler adds workers, a kept state a Job after the end."""
    pointer = f"/{field.replace('.', '/')}"

    def check(raw: JsonView) -> None:
        if value_at(raw, f"{pointer}/{_KEPT_STATE}") is not None:
            raise _refusal(f"{field}.{_KEPT_STATE}", _CLEANUP)
        if str(value_at(raw, f"/metadata/annotations/{_FT.replace('/', '~1')}")).lower() == "true":
            raise _refusal(f"metadata.annotations[{_FT}]", _CLEANUP)
        if value_at(raw, f"{pointer}/enableInTreeAutoscaling"):
            raise _refusal(
                f"{field}.enableInTreeAutoscaling",
                "its autoscaler would start pods that the quota is not charged for: set it to false, and "
                "replicas of each group of workers to the number that the job needs",
            )

    return check


def _elastic(roles: str) -> Callable[[JsonView], None]:
    """Check a kind whose operator scales the role Worker between bounds of `elasticPolicy`."""

    def check(raw: JsonView) -> None:
        workers = value_at(raw, f"/spec/{roles}/Worker/replicas")
        charged = 1 if workers is None else workers
        for name in ("minReplicas", "maxReplicas"):
            most = value_at(raw, f"/spec/elasticPolicy/{name}")
            if most is None:
                continue
            if isinstance(most, int) and isinstance(charged, int) and most <= charged:
                continue
            raise _refusal(
                f"spec.elasticPolicy.{name}",
                f"its operator would start workers that the quota is not charged for: leave it out, or make "
                f"it no more than spec.{roles}.Worker.replicas ({charged})",
            )

    return check


def _spark(raw: JsonView) -> None:
    """Check settings of Spark beside the fields that the charge follows from, and tries after the end."""
    if value_at(raw, "/spec/mode") not in MODES:
        raise _refusal("spec.mode", OTHER_MODE)
    policy = value_at(raw, "/spec/restartPolicy")
    kind = policy.get("type") if isinstance(policy, Mapping) else None
    again = value_at(raw, "/spec/restartPolicy/onSubmissionFailureRetries")
    if kind == "Always" or (kind == "OnFailure" and again):
        field = "spec.restartPolicy"
        remedy = (
            "its operator would run it again after its end, without quota: leave it out, or make it "
            "OnFailure, without onSubmissionFailureRetries"
        )
        raise _refusal(field, remedy)
    settings = value_at(raw, "/spec/sparkConf")
    for name in sorted(settings) if isinstance(settings, Mapping) else ():
        if changes_pods(name) or _CHARGED.search(name):
            raise _refusal(
                f"spec.sparkConf[{name[:80]}]",
                "the quota is charged by the fields of driver and executor: say it there",
            )


# Settings of Spark itself, not of Spark on Kubernetes, that change how many pods run or what they ask.
_CHARGED: Final = re.compile(
    r"^spark\.(dynamicAllocation\.|executor\.instances$|memory\.offHeap\.|executor\.pyspark\.memory$|"
    r"(driver|executor)\.(cores|memory|memoryOverhead|memoryOverheadFactor)$|(driver|executor)\.resource\.)"
)


def _wrapper(raw: JsonView) -> None:
    """Check what an AppWrapper wraps."""
    components = value_at(raw, "/spec/components")
    for index, each in enumerate(components if isinstance(components, list) else ()):
        inner = value_at(each, "/template")
        if not isinstance(inner, Mapping):
            continue
        try:
            refuse_growth(str(inner.get("apiVersion")), str(inner.get("kind")), inner)
        except Rejected as refusal:
            at = f"spec.components[{index}].template."
            raise Rejected(refusal.code, at + refusal.detail, at + refusal.field) from None


_CHECKS: Final[Mapping[tuple[str, str], Callable[[JsonView], None]]] = {
    ("ray.io/v1", "RayCluster"): _ray_cluster_at("spec"),
    ("ray.io/v1", "RayJob"): _ray_job,
    ("ray.io/v1", "RayService"): _ray_cluster_at("spec.rayClusterConfig"),
    ("sparkoperator.k8s.io/v1beta2", "SparkApplication"): _spark,
    ("workload.codeflare.dev/v1beta2", "AppWrapper"): _wrapper,
    ("kubeflow.org/v1", "PyTorchJob"): _elastic("pytorchReplicaSpecs"),
    ("kubeflow.org/v1", "PaddleJob"): _elastic("paddleReplicaSpecs"),
}


def _refusal(field: str, why: str) -> Rejected:
    return Rejected(RejectCode.INVALID_VALUE, f"{field}: {why}", field)
