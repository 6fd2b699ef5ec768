"""Fields that are accepted and stored without effect: reported at once, wherever a manifest comes in. Pure.

`notices` names each such part of a manifest; the hub repeats them in its answer, in a condition and in
an Event. `refuse_without_adapter` refuses what would wait for ever: a kind that carries pods and a
queue name, of which the hub can make no workload.
"""

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from shared import labels as keys
from shared.conditions import Condition, remove, set_condition
from shared.errors import Rejected
from shared.kinds import constraints
from shared.kinds.dispatched import NAMED, is_dispatched
from shared.kinds.eviction_v1 import BUDGETS, EVICTIONS
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from shared.kinds.names import is_resource_name
from shared.kinds.parsed import Parsed
from shared.kinds.placement_v1 import GROUP as PLACEMENT
from shared.kinds.scopes import is_enveloping, is_never_placed
from shared.kinds.staged_v1 import REQUEST_KINDS, RUN_KINDS, STRATEGY_KINDS
from shared.reject_codes import RejectCode

REASON: Final = "NotActedOn"  # of the Event
CONDITION: Final = "NotActedOn"
_PLACEMENTS: Final = frozenset({"ClusterResourcePlacement", "ResourcePlacement"})
_OVERRIDES: Final = frozenset({"ClusterResourceOverride", "ResourceOverride"})
# Kinds of the groups that are the hub's own, which nothing in the hub reads.
_OURS: Final = frozenset({KUEUE, PLACEMENT, "cluster.kubernetes-fleet.io"})
_READ: Final = frozenset(
    {
        *((KUEUE, kind) for kind in (
            "AdmissionCheck", "ClusterQueue", "Cohort", "LocalQueue", "MultiKueueCluster",
            "MultiKueueConfig", "ResourceFlavor", "Workload", "WorkloadPriorityClass",
        )),
        *((PLACEMENT, kind) for kind in _PLACEMENTS),
        *((PLACEMENT, kind) for kind in (
            "ClusterResourceEnvelope", "ClusterResourceOverride", "ResourceEnvelope",
            "ResourceOverride",
        )),
        *((PLACEMENT, kind) for kind in (*RUN_KINDS, *STRATEGY_KINDS, *REQUEST_KINDS)),
        *((PLACEMENT, kind) for kind in (*EVICTIONS, *BUDGETS)),
        ("cluster.kubernetes-fleet.io", "MemberCluster"),
    }
)  # fmt: skip
# Kinds that run pods which their manifests do not spell out, and kinds that are made of Jobs.
_RUNS: Final = frozenset(
    {
        ("sparkoperator.k8s.io", "SparkApplication"),
        ("sparkoperator.k8s.io", "ScheduledSparkApplication"),
        ("trainer.kubeflow.org", "TrainJob"),
        ("kubeflow.org", "Notebook"),
        ("serving.kserve.io", "InferenceService"),
        ("serving.kserve.io", "LLMInferenceService"),
        ("tekton.dev", "PipelineRun"),
        ("tekton.dev", "TaskRun"),
        ("argoproj.io", "Workflow"),
        ("argoproj.io", "CronWorkflow"),
        ("inference.networking.k8s.io", "InferencePool"),
        ("inference.networking.x-k8s.io", "InferencePool"),
    }
)
# Kinds of others that people expect an effect of, and what is done with them.
_STORED: Final = {
    ("resource.k8s.io", "ResourceClaimTemplate"): (
        "kept, and placed where a placement selects it; claims count for no quota"
    ),
    ("scheduling.k8s.io", "Workload"): "the hub admits Jobs and Kueue's Workloads alone",
    ("multicluster.x-k8s.io", "ClusterProfile"): "members are MemberClusters; it makes none",
}
_OF_TOOLS: Final = (
    "kubernetes.io",
    "k8s.io",
    "roadstead.dev",
    "argoproj.io",
    "kubernetes-fleet.io",
)
_OF_JOBS: Final = frozenset({"CronJob"})
_DEPTH: Final = 12  # pod templates of the kinds that are in use lie at most this deep


def notices(parsed: Parsed, *, partial: bool = True) -> tuple[str, ...]:
    """A sentence for each part of the manifest that changes nothing; usually none.

    `partial`: whether partial admission is on.
    """
    return tuple(_notices(parsed, partial=partial))


def warnings(parsed: Parsed, *, partial: bool = True) -> tuple[str, ...]:
    """`notices` as answers have them, beside warnings that mean something else."""
    return tuple(f"stored without effect: {each}" for each in notices(parsed, partial=partial))


def _notices(parsed: Parsed, *, partial: bool) -> Iterator[str]:
    if parsed.group == "batch" and parsed.kind == "Job":
        yield from _of_job(parsed, partial=partial)
    elif (why := _STORED.get((parsed.group, parsed.kind))) is not None:
        yield f"{parsed.kind}: {why}"
    elif (parsed.group, parsed.kind) not in _READ:
        if parsed.group in _OURS:
            yield f"{parsed.kind}: objects of this kind are stored; the hub does nothing by them"
        elif (
            parsed.labels.get(keys.QUEUE_NAME)
            and not parsed.pod_sets  # work of a kind that administrators defined
            and not is_dispatched(parsed.api_version, parsed.kind)
            and parsed.kind not in _OF_JOBS
        ):
            what = f"{parsed.kind} of {parsed.group}" if parsed.group else parsed.kind
            yield f"metadata.labels[{keys.QUEUE_NAME}]: a {what} waits in no queue"
    elif parsed.group == PLACEMENT:
        yield from _of_placing(parsed)
    elif parsed.group == KUEUE:
        yield from _of_kueue(parsed)


def _of_kueue(parsed: Parsed) -> Iterator[str]:
    if parsed.kind == "LocalQueue":
        yield from _of_local_queue(parsed.labels)
    elif parsed.kind in {"ClusterQueue", "Cohort"}:
        yield from _of_quota(parsed.spec.get("resourceGroups") or ())
    elif parsed.kind == "MultiKueueConfig" and parsed.spec.get("quotaManagement") == "Automated":
        yield "spec.quotaManagement: quotas are those that ClusterQueues name"
    elif parsed.kind == "Workload":
        if keys.AFTER in parsed.annotations:
            yield f"metadata.annotations[{keys.AFTER}]: only Jobs wait for others"
        if any(each.get("topologyRequest") for each in parsed.spec.get("podSets") or ()):
            yield "spec.podSets[].topologyRequest: pods are not placed by topology"


def _of_placing(parsed: Parsed) -> Iterator[str]:
    if parsed.kind in _PLACEMENTS:
        yield from of_placement(parsed.spec)
    elif parsed.kind in _OVERRIDES:
        yield from _of_override(parsed.spec)
    elif parsed.hindrance is not None:
        yield f"{parsed.hindrance.field}: {parsed.hindrance.message}"


def _of_local_queue(labels: Mapping[str, str]) -> Iterator[str]:
    own = sorted(key for key in labels if not key.partition("/")[0].endswith(_OF_TOOLS))
    if own:
        named = ", ".join(own[:3]) + (f" and {len(own) - 3} more" if len(own) > 3 else "")
        yield f"metadata.labels ({named}): reach neither the Workloads of this queue nor their pods"


def _of_quota(groups: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Quota that no pod can use: containers ask for no such resource."""
    for number, group in enumerate(groups):
        named = [
            each for each in group.get("coveredResources") or () if not is_resource_name(each)
        ]
        for name in named[:3]:
            yield (
                f"spec.resourceGroups[{number}].coveredResources: no container can ask for {name[:63]}; "
                "resources without a domain are cpu, memory, ephemeral-storage, pods and hugepages-SIZE, "
                f"others have one, such as example.com/{name[:63]}"
            )


def _of_job(parsed: Parsed, *, partial: bool) -> Iterator[str]:
    if keys.RETRY_ON in parsed.annotations and not _is_tried_again(parsed):
        yield (
            f"metadata.annotations[{keys.RETRY_ON}]: without {keys.RETRY} of 2 or more the job is not "
            "tried again"
        )
    template = parsed.spec.get("template") or {}
    yield from constraints.preferences(parsed, partial=partial)
    if (template.get("spec") or {}).get("resourceClaims"):
        yield (
            "spec.template.spec.resourceClaims: claims count for no quota, and their templates are "
            "not brought to the cluster"
        )


def _is_tried_again(parsed: Parsed) -> bool:
    return parsed.annotations.get(keys.RETRY, "1") != "1"


def of_placement(spec: Mapping[str, Any]) -> Iterator[str]:
    """The notices about a placement's spec, as it is kept."""
    for index, selector in enumerate(spec.get("resourceSelectors") or ()):
        if is_never_placed(selector.get("group") or "", selector.get("kind") or ""):
            yield f"spec.resourceSelectors[{index}]: no placement carries a {selector['kind']}"
    reporting = (spec.get("strategy") or {}).get("reportBackStrategy") or {}
    if reporting.get("destination") == "OriginalResource" and not reports_to_original(spec):
        yield (
            "spec.strategy.reportBackStrategy.destination: more than one cluster can hold the objects; "
            "their statuses are told per cluster, in the placement's status"
        )


def _of_override(spec: Mapping[str, Any]) -> Iterator[str]:
    for field in ("clusterResourceSelectors", "resourceSelectors"):
        for index, selector in enumerate(spec.get(field) or ()):
            if is_enveloping(selector["group"], selector["kind"]):
                yield f"spec.{field}[{index}]: name the objects in the envelope, which members get"


def reports_to_original(spec: Mapping[str, Any]) -> bool:
    """True if statuses go to the objects themselves: it is requested, and only one cluster can hold them."""
    reporting = (spec.get("strategy") or {}).get("reportBackStrategy") or {}
    policy = spec.get("policy") or {}
    if reporting.get("destination") != "OriginalResource":
        return False
    if policy.get("placementType") == "PickFixed":
        return len(set(policy.get("clusterNames") or ())) == 1
    return policy.get("placementType") == "PickN" and policy.get("numberOfClusters") == 1


def refuse_without_adapter(parsed: Parsed) -> None:
    """Raise Rejected (NoAdapter) for what carries pods and a queue name and is no workload here."""
    by_label = parsed.labels.get(keys.QUEUE_NAME)
    queue = by_label or parsed.annotations.get(keys.QUEUE_NAME)
    if not queue or parsed.group in _OURS:
        return
    if (parsed.group, parsed.kind) not in _RUNS and not carries_pods(parsed.spec):
        return
    what = "label" if by_label else "annotation"
    instead = (
        "apply it by REST (roadstead apply), where the hub keeps its schedule: on a hub cluster the "
        "controller of CronJobs there would run it too"
        if parsed.kind in _OF_JOBS
        else "ask for its quota with a bare Workload"
    )
    raise Rejected(
        RejectCode.NO_ADAPTER,
        f"{_named(parsed)} names queue {queue[:64]}, and the hub dispatches no {parsed.api_version} "
        f"{parsed.kind} yet (but Job, {NAMED} and bare Workloads): it would wait for ever. "
        f"Take the {what} off to place it as it is, or {instead}",
        f"metadata.{what}s[{keys.QUEUE_NAME}]",
    )


def _named(parsed: Parsed) -> str:
    """A kind, with its group where it has the name of one that is admitted."""
    return f"{parsed.kind}.{parsed.group}" if parsed.kind in {"Job", "Workload"} else parsed.kind


def carries_pods(value: Any, depth: int = _DEPTH) -> bool:
    """Is there a list `containers`, or the spec of a group of pods, in it?"""
    if depth == 0:
        return False
    if isinstance(value, dict):
        if isinstance(value.get("containers"), list):
            return True
        return any(carries_pods(each, depth - 1) for each in value.values())
    return isinstance(value, list) and any(carries_pods(each, depth - 1) for each in value)


def condition(
    conditions: Sequence[Condition] | None, said: Sequence[str], now: dt.datetime, generation: int
) -> list[Condition]:
    """Conditions with `NotActedOn` while there is a message, without it otherwise."""
    if not said:
        return remove(conditions, CONDITION)
    return set_condition(
        conditions, CONDITION, "True", "StoredOnly", joined(said), now, generation
    )


def says_more(status: Mapping[str, Any] | None) -> bool:
    """True if a status holds anything besides the condition of this module."""
    held = (status or {}).get("conditions") or ()
    others = [each for each in held if not _is_ours(each)]
    return bool(others) or bool((status or {}).keys() - {"conditions"})


def _is_ours(condition: object) -> bool:
    return isinstance(condition, dict) and condition.get("type") == CONDITION


def joined(said: Iterable[str]) -> str:
    """Notices as one message."""
    return "stored and not acted on: " + "; ".join(said)
