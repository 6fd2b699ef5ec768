"""Every kind that is modelled, by (apiVersion, kind), and the one way in: `parse`."""

from collections.abc import Container
from dataclasses import replace
from typing import Final, Literal

from shared.documents import Json
from shared.errors import Rejected
from shared.kinds import (
    batch_v1,
    cluster_v1,
    cluster_v1beta1,
    core_v1,
    dispatched,
    envelope_v1,
    eviction_v1,
    kueue_v1beta1 as old,
    kueue_v1beta2 as kueue,
    multikueue,
    override_v1,
    placement_rules as rules,
    placement_status,
    placement_v1,
    placement_v1beta1,
    priority_class,
    staged_v1 as staged,
    unheeded,
)
from shared.kinds.kind import Kind, no_rule
from shared.kinds.metadata import SUBDOMAIN_NAME
from shared.kinds.parsed import Parsed
from shared.kinds.problems import type_name
from shared.kinds.scopes import is_enveloping
from shared.labels import HUB_ANNOTATIONS
from shared.quantity import shown
from shared.reject_codes import RejectCode

Origin = Literal["rest", "hub-cluster"]

_KINDS: Final = (
    Kind(
        kueue.GROUP, old.VERSION, "ClusterQueue", False, old.ClusterQueue, old.EitherClusterQueue,
        kueue.check_cluster_queue, old.cluster_queue_to_internal,
    ),
    Kind(
        kueue.GROUP, kueue.VERSION, "ClusterQueue", False, kueue.ClusterQueue,
        old.EitherClusterQueue, kueue.check_cluster_queue, old.cluster_queue_to_internal,
    ),
    Kind(
        kueue.GROUP, old.VERSION, "Workload", True, old.Workload, old.EitherWorkload,
        kueue.check_workload, old.workload_to_internal, pod_sets=kueue.workload_pod_sets,
    ),
    Kind(
        kueue.GROUP, kueue.VERSION, "Workload", True, kueue.Workload, old.EitherWorkload,
        kueue.check_workload, old.workload_to_internal, pod_sets=kueue.workload_pod_sets,
    ),
    Kind(
        kueue.GROUP, old.VERSION, "AdmissionCheck", False, old.AdmissionCheck, old.AdmissionCheck,
        convert=old.admission_check_to_internal,
    ),
    Kind(
        kueue.GROUP, kueue.VERSION, "AdmissionCheck", False, kueue.AdmissionCheck,
        old.AdmissionCheck, convert=old.admission_check_to_internal,
    ),
    *(
        Kind(
            kueue.GROUP, version, "MultiKueueCluster", False, model, multikueue.EitherCluster,
            convert=multikueue.cluster_to_internal,
        )
        for version, model in (
            (old.VERSION, multikueue.OldCluster),
            (kueue.VERSION, multikueue.Cluster),
        )
    ),
    *(
        Kind(
            kueue.GROUP, version, "MultiKueueConfig", False, model, multikueue.Config,
            multikueue.check_config,
        )
        for version, model in (
            (old.VERSION, multikueue.OldConfig),
            (kueue.VERSION, multikueue.Config),
        )
    ),
    *(
        Kind(kueue.GROUP, version, kind, namespaced, model, model, check)
        for version in (old.VERSION, kueue.VERSION)
        for kind, namespaced, model, check in (
            ("LocalQueue", True, kueue.LocalQueue, kueue.check_local_queue),
            ("ResourceFlavor", False, kueue.ResourceFlavor, kueue.check_flavor),
            ("Cohort", False, kueue.Cohort, kueue.check_cohort),
        )
    ),
    *(
        Kind(
            kueue.GROUP, version, "WorkloadPriorityClass", False, kueue.WorkloadPriorityClass,
            kueue.WorkloadPriorityClass,
        )
        for version in (old.VERSION, kueue.VERSION)
    ),
    *(
        Kind(placement_v1.GROUP, version, kind, namespaced, model, model, check)
        for version, model in (
            (placement_v1beta1.VERSION, placement_v1beta1.Placement),
            (placement_v1.VERSION, placement_v1.Placement),
        )
        for kind, namespaced, check in (
            ("ClusterResourcePlacement", False, rules.check_cluster_placement),
            ("ResourcePlacement", True, rules.check_namespaced_placement),
        )
    ),
    *(
        Kind(placement_v1.GROUP, version, kind, namespaced, model, model, override_v1.check_override)
        for version in (override_v1.ALPHA, placement_v1beta1.VERSION, placement_v1.VERSION)
        for kind, namespaced, model in (
            ("ClusterResourceOverride", False, override_v1.ClusterOverride),
            ("ResourceOverride", True, override_v1.NamespacedOverride),
        )
    ),
    *(
        Kind(placement_v1.GROUP, version, kind, namespaced, eviction_v1.Eviction, eviction_v1.Eviction)
        for version in (eviction_v1.ALPHA, placement_v1beta1.VERSION, placement_v1.VERSION)
        for kind, namespaced in zip(eviction_v1.EVICTIONS, (False, True), strict=True)
    ),
    *(
        Kind(
            placement_v1.GROUP, version, kind, namespaced, eviction_v1.DisruptionBudget,
            eviction_v1.DisruptionBudget, eviction_v1.check_budget,
        )
        for version in (eviction_v1.ALPHA, placement_v1beta1.VERSION, placement_v1.VERSION)
        for kind, namespaced in zip(eviction_v1.BUDGETS, (False, True), strict=True)
    ),
    *(
        Kind(
            placement_v1.GROUP, version, kind, namespaced, model, model, check, name_rule=name_rule
        )
        for version in (override_v1.ALPHA, placement_v1beta1.VERSION, placement_v1.VERSION)
        for kinds, model, check, name_rule in (
            (staged.STRATEGY_KINDS, staged.Strategy, staged.check_strategy, SUBDOMAIN_NAME),
            (staged.RUN_KINDS, staged.Run, no_rule, staged.RUN_NAME),
            (staged.REQUEST_KINDS, staged.Request, no_rule, SUBDOMAIN_NAME),
        )
        for namespaced, kind in zip((False, True), kinds, strict=True)
    ),
    *(
        Kind(
            placement_v1.GROUP, version, kind, namespaced, envelope_v1.Envelope,
            envelope_v1.Envelope, envelope_v1.check_envelope, kept=envelope_v1.kept,
        )
        for version in (placement_v1beta1.VERSION, placement_v1.VERSION)
        for kind, namespaced in (("ClusterResourceEnvelope", False), ("ResourceEnvelope", True))
    ),
    *(
        Kind(
            placement_v1.GROUP, version, placement_status.STATUS_COPY, True,
            placement_status.StatusCopy, placement_status.StatusCopy,
        )
        for version in (placement_v1beta1.VERSION, placement_v1.VERSION)
    ),
    *(
        Kind(
            cluster_v1.GROUP, version, "MemberCluster", False, model, model,
            cluster_v1.check_member_cluster, name_rule=cluster_v1.CLUSTER_NAME,
        )
        for version, model in (
            (cluster_v1beta1.VERSION, cluster_v1beta1.MemberCluster),
            (cluster_v1.VERSION, cluster_v1.MemberCluster),
        )
    ),
)  # fmt: skip

KNOWN: Final[dict[tuple[str, str], Kind]] = {(k.api_version, k.kind): k for k in _KINDS}
_JOB: Final = ("batch/v1", "Job")
CRON_JOB: Final = ("batch/v1", "CronJob")
_STATUS_COPY: Final = (placement_v1.GROUP, placement_status.STATUS_COPY)
_VERSIONS: Final = {
    (k.group, k.kind): sorted(o.version for o in _KINDS if (o.group, o.kind) == (k.group, k.kind))
    for k in _KINDS
} | {("batch", "Job"): ["v1"]}


def is_typed(api_version: str, kind: str) -> bool:
    """True if manifests of this kind are read field by field, not just carried."""
    return (api_version, kind) in KNOWN or (api_version, kind) == _JOB


def parse(
    manifest: object,
    *,
    strict: bool = True,
    origin: Origin = "rest",
    lenient_versions: bool = False,
    default_namespace: str = "default",
    declared: Container[tuple[str, str]] = (),
) -> Parsed:
    """Read any manifest; raises `Rejected` with every fault found.

    `strict` refuses unknown fields. Origin `rest` refuses what only servers set; `hub-cluster`
    takes objects as an API server gives them. `lenient_versions` accepts the names of either
    version of a Kueue kind, as stored objects may have them (`AmbiguousField` where they differ).
    A kind that is not modelled is accepted as something to propagate, unless it carries pods and names
    a queue (`NoAdapter`); a known kind in a version
    that is not served is `UnsupportedKind`. An envelope from REST is refused where anything in it can not
    be placed; one from a hub cluster has that as its hindrance. `declared`: apiVersion and kind of what
    administrators defined.
    """
    group, version, kind = identify(manifest)
    assert isinstance(manifest, dict)
    api_version = manifest["apiVersion"]
    from_client = origin == "rest"
    if (api_version, kind) == _JOB:
        return batch_v1.parse_job(
            manifest, strict=strict, from_client=from_client, default_namespace=default_namespace
        )
    known = KNOWN.get((api_version, kind))
    if (group, kind) == _STATUS_COPY:
        text = (
            f"{kind} is kept by the hub: it comes with statusReportingScope NamespaceAccessible of a "
            "ClusterResourcePlacement"
        )
        raise Rejected(RejectCode.UNSUPPORTED_KIND, text, "kind")
    if known is not None:
        found = known.parse(
            manifest,
            strict=strict,
            from_client=from_client,
            lenient_versions=lenient_versions,
            default_namespace=default_namespace,
        )
        if is_enveloping(group, kind):
            return envelope_v1.opened(found, parse, strict=strict, refuse=from_client)
        return found
    served = _VERSIONS.get((group, kind))
    if served is not None:
        detail = f"{kind} is served as {' and '.join(served)}, not {shown(version)}"
        raise Rejected(RejectCode.UNSUPPORTED_KIND, detail, "apiVersion")
    other = core_v1.parse_other(
        manifest,
        group,
        version,
        kind,
        strict=strict,
        from_client=from_client,
        default_namespace=default_namespace,
    )
    # What comes by REST is read, and refused where it must be, by `hub.services.reading.cron_jobs`.
    is_scheduled = from_client and (api_version, kind) == CRON_JOB
    if (api_version, kind) in declared:
        if dispatched.names_queue(manifest.get("metadata")) and not other.namespace:
            return replace(other, namespace=default_namespace)
    elif not (is_scheduled or dispatched.is_dispatched(api_version, kind)):
        unheeded.refuse_without_adapter(other)
    priority_class.refuse_value(other)
    return other


def parse_own_job(manifest: Json, *, declared: Container[tuple[str, str]] = ()) -> Parsed:
    """Read the manifest of a job that was taken in before: what the hub itself wrote into it is kept.

    Raises Rejected as `parse_job` does.
    """
    metadata = manifest.get("metadata")
    notes = metadata.get("annotations") if isinstance(metadata, dict) else None
    own = {key: notes[key] for key in HUB_ANNOTATIONS & notes.keys()} if notes else {}
    if not own or not isinstance(metadata, dict) or not notes:
        return parse_job(manifest, declared=declared)
    rest = {key: value for key, value in notes.items() if key not in own}
    given = {**manifest, "metadata": {**metadata, "annotations": rest}}
    parsed = parse_job(given, declared=declared)
    return replace(parsed, annotations={**parsed.annotations, **own})


def parse_job(
    manifest: object,
    *,
    strict: bool = True,
    origin: Origin = "rest",
    default_namespace: str = "default",
    declared: Container[tuple[str, str]] = (),
) -> Parsed:
    """Read a manifest that must be a batch/v1 Job, or of another kind that the hub dispatches.

    `declared`: as of `parse`. Raises Rejected: UnsupportedKind and ExpectedObject for what is neither;
    QueueRequired for one of those kinds that names no queue.
    """
    if (
        isinstance(manifest, dict)
        and manifest.get("kind") == "Job"
        and manifest.get("apiVersion") == "batch/v1"
    ):
        return batch_v1.parse_job(
            manifest,
            strict=strict,
            from_client=origin == "rest",
            default_namespace=default_namespace,
        )
    group, version, kind = identify(manifest)
    if isinstance(manifest, dict) and (
        dispatched.is_dispatched(manifest["apiVersion"], kind)
        or (manifest["apiVersion"], kind) in declared
    ):
        dispatched.require_queue(manifest)
        return parse(
            manifest,
            strict=strict,
            origin=origin,
            default_namespace=default_namespace,
            declared=declared,
        )
    if isinstance(manifest, dict) and dispatched.names_queue(manifest.get("metadata")):
        parse(manifest, strict=strict, origin=origin, default_namespace=default_namespace)
    where = "kind" if kind != "Job" else "apiVersion"
    if (group, version, kind) == ("batch", "v1", "CronJob"):
        detail = "a CronJob is no job, it makes Jobs: apply it (POST /v1/apply, roadstead apply)"
        raise Rejected(RejectCode.UNSUPPORTED_KIND, detail, where)
    detail = (
        f"{shown(f'{group}/{version} {kind}'.lstrip('/'))} is no job; batch/v1 Job is, and so are "
        f"{dispatched.NAMED}"
    )
    raise Rejected(RejectCode.UNSUPPORTED_KIND, detail, where)


def identify(manifest: object) -> tuple[str, str, str]:
    """Group, version and kind of a manifest; raises `ExpectedObject`, `Required`, `InvalidType`."""
    if not isinstance(manifest, dict):
        hint = "; a list belongs to the batch route" if isinstance(manifest, list) else ""
        raise Rejected(
            RejectCode.EXPECTED_OBJECT, f"a manifest is an object, not {type_name(manifest)}{hint}"
        )
    for name in ("apiVersion", "kind"):
        value = manifest.get(name)
        if value is None or value == "":
            raise Rejected(RejectCode.REQUIRED, f"{name} is required", name)
        if not isinstance(value, str):
            raise Rejected(RejectCode.INVALID_TYPE, f"{name} must be a string", name)
    group, _, version = manifest["apiVersion"].rpartition("/")
    kind = manifest["kind"]
    if "/" in group or not version or not version.isascii() or not kind.isalnum():
        raise Rejected(
            RejectCode.UNSUPPORTED_KIND, f"{shown(manifest['apiVersion'])} {shown(kind)}", "kind"
        )
    return group, version, kind
