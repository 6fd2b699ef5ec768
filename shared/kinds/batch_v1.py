"""batch/v1 Job: the rules of the intake, and the pod sets that are admitted.

Most rules are Kubernetes' own; Roadstead's are the cap on parallelism, that an
activeDeadlineSeconds of 0 is refused (a job that may never run), constraints of Kueue that are not kept, and
the prefix of our labels.
Hand-written over plain dicts: at 20,000 jobs/s every microsecond here is a fifth of a core's second.
"""

import functools
from collections.abc import Mapping
from typing import Any, Final

import orjson

from shared.errors import Rejected
from shared.kinds import job_rules, names, pod, shapes
from shared.kinds.constraints import check_job_metadata
from shared.kinds.containers import INT32, check_whole
from shared.kinds.metadata import LABEL_NAME, read_metadata
from shared.kinds.parsed import Parsed
from shared.kinds.problems import Problems, is_mapping, listed
from shared.labels import MAX_EXEC_TIME, QUEUE_NAME
from shared.podsecurity import check_job_fields
from shared.quantity import shown
from shared.reject_codes import RejectCode
from shared.resources import (
    MIN_PARALLELISM,
    PodSet,
    job_pod_count,
    job_pod_sets,
    least_pod_count,
    pod_set_of,
)

MOST_PARALLEL: Final = 10_000
MOST_INDEXED: Final = 100_000
_LONGEST_REMEMBERED: Final = 16 * 1024

JOB_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})
SPEC_FIELDS: Final = frozenset(
    {
        "activeDeadlineSeconds", "backoffLimit", "backoffLimitPerIndex", "completionMode",
        "completions", "managedBy", "manualSelector", "maxFailedIndexes", "parallelism",
        "podFailurePolicy", "podReplacementPolicy", "selector", "successPolicy", "suspend",
        "template", "ttlSecondsAfterFinished",
    }
)  # fmt: skip
_USUAL: Final = frozenset(
    {
        "parallelism", "completions", "backoffLimit", "template", "suspend",
        "activeDeadlineSeconds", "ttlSecondsAfterFinished",
    }
)  # fmt: skip
_NUMBERS: Final = (
    ("parallelism", 0, MOST_PARALLEL),
    ("completions", 0, INT32),
    ("backoffLimit", 0, INT32),
    ("activeDeadlineSeconds", 1, 2**63 - 1),
    ("ttlSecondsAfterFinished", 0, INT32),
)


def parse_job(
    manifest: Mapping[str, Any],
    *,
    strict: bool = True,
    from_client: bool = True,
    default_namespace: str = "default",
) -> Parsed:
    """Read a Job; raises `Rejected` with every fault found.

    `strict` refuses unknown fields; `from_client` refuses what only servers set.
    """
    problems = Problems(strict=strict)
    if not manifest.keys() <= JOB_FIELDS:
        problems.unknown(manifest, JOB_FIELDS, "")
    metadata = read_metadata(
        manifest, problems, name_rule=LABEL_NAME, from_client=from_client,
        may_generate=True, may_have_status=False,
    )  # fmt: skip
    queue = metadata.annotations.get(QUEUE_NAME)
    if queue and not names.is_dns_subdomain(queue):
        problems.add(
            f"metadata.annotations[{QUEUE_NAME}]", RejectCode.INVALID_NAME, names.SUBDOMAIN_RULE
        )
    longest = metadata.labels.get(MAX_EXEC_TIME)
    if longest is not None and max_runtime_s(metadata.labels) is None:
        rule = "must be a whole number of seconds, at least 1"
        problems.add(f"metadata.labels[{MAX_EXEC_TIME}]", RejectCode.INVALID_VALUE, rule)
    check_job_metadata(metadata.labels, problems)
    spec = manifest.get("spec")
    if not isinstance(spec, dict):
        is_mapping(spec, "spec", problems)
        problems.add("spec", RejectCode.REQUIRED, "a Job has a spec")
        spec = {}
    else:
        check_job_spec(spec, problems, from_client=from_client)
        if (least := metadata.annotations.get(MIN_PARALLELISM)) is not None:
            _check_least(least, spec, problems)
    pod_sets = _pod_sets(manifest, spec, problems)
    problems.raise_if_any()
    return Parsed(
        "Job", "batch", "v1", metadata.namespace or default_namespace, metadata.name,
        metadata.labels, metadata.annotations, spec,
        manifest if isinstance(manifest, dict) else dict(manifest),
        metadata.generate_name, pod_sets,
    )  # fmt: skip


def max_runtime_s(labels: Mapping[str, str]) -> int | None:
    """The seconds a Job may run over all its admissions, by its label; None without a limit."""
    text = labels.get(MAX_EXEC_TIME, "")
    digits = isinstance(text, str) and text.isascii() and text.isdecimal() and len(text) < 11
    return int(text) if digits and 0 < int(text) <= INT32 else None


def check_job_spec(
    spec: Mapping[str, Any], problems: Problems, *, from_client: bool = True
) -> None:
    """The rules of `spec`, save those of its pod template."""
    if not spec.keys() <= SPEC_FIELDS:
        problems.unknown(spec, SPEC_FIELDS, "spec")
    for name, least, most in _NUMBERS:
        value = spec.get(name)
        if value is not None and not (type(value) is int and least <= value <= most):
            check_whole(value, f"spec.{name}", problems, least=least, most=most)
    if not isinstance(spec.get("suspend"), bool | None):
        problems.add("spec.suspend", RejectCode.INVALID_TYPE, "must be true or false")
    if not spec.keys() <= _USUAL:
        _check_seldom(spec, problems)
        for error in check_job_fields(spec, from_client=from_client):
            problems.add(error.field, error.code, error.message)


def _check_least(text: str, spec: Mapping[str, Any], problems: Problems) -> None:
    """The minimum number of pods: a number below the pods that run at once, as Kueue's webhook has it."""
    sizes = [spec.get(name) for name in ("parallelism", "completions")]
    if any(size is not None and (type(size) is not int or size < 0) for size in sizes):
        return  # refused already
    count = job_pod_count(spec)
    least = int(text) if text.isascii() and text.isdecimal() and len(text) < 11 else 0
    if 0 < least < count:
        return
    rule = f"must be a whole number from 1 to {count - 1}: fewer pods than the {count} of the Job"
    if count < 2:
        rule = f"the Job runs {count} pod at once: it can not do with fewer"
    field = f"metadata.annotations[{MIN_PARALLELISM}]"
    problems.add(field, RejectCode.INVALID_ANNOTATION, f"{shown(text)}: {rule}")


def _pod_sets(
    manifest: Mapping[str, Any], spec: Mapping[str, Any], problems: Problems
) -> tuple[PodSet, ...]:
    """Check the pod template and read the pod sets; a template seen before is not read again."""
    template = spec.get("template")
    if not problems and isinstance(template, dict):
        known = _known_pod_sets(manifest, spec, template, strict=problems.strict)
        if known is not None:
            return known
    if template is not None or spec:
        pod.check_template(template, "spec.template", problems, of_job=True)
    if not problems:
        try:
            return job_pod_sets(manifest)
        except Rejected as refusal:
            problems.take(refusal, "spec.template.spec.containers")
    return ()


def _known_pod_sets(
    manifest: Mapping[str, Any], spec: Mapping[str, Any], template: dict[str, Any], *, strict: bool
) -> tuple[PodSet, ...] | None:
    """The pod sets of a Job whose template is in order, else None.

    Equal jobs come by the thousand: a template that was seen lately is recognised by its text, and
    its jobs share one record.
    """
    try:
        text = orjson.dumps(template)
    except orjson.JSONEncodeError:
        return None
    if len(text) > _LONGEST_REMEMBERED:
        return None
    count = job_pod_count(spec)
    annotations = manifest["metadata"].get("annotations") or {}
    return _read_template(text, count, least_pod_count(annotations, count), strict=strict)


@functools.lru_cache(maxsize=1024)
def _read_template(
    text: bytes, count: int, least: int | None, *, strict: bool
) -> tuple[PodSet, ...] | None:
    template = orjson.loads(text)
    problems = Problems(strict=strict)
    pod.check_template(template, "spec.template", problems, of_job=True)
    if problems:
        return None
    try:
        return (pod_set_of("main", count, template, "spec.template", least),)
    except Rejected:
        return None


def _check_seldom(spec: Mapping[str, Any], problems: Problems) -> None:
    for fault in job_rules.job_faults(spec):
        problems.add(f"spec.{fault.field}", fault.code, fault.rule)
    restart = job_rules.restart_fault(spec) if spec.get("podFailurePolicy") else None
    if restart is not None and restart.kind == "Invalid":  # others are found with the template
        problems.add(f"spec.{restart.field}", restart.code, restart.rule)
    _check_indexed(spec, problems)
    for name in ("podFailurePolicy", "successPolicy"):
        policy = spec.get(name)
        if policy is not None and is_mapping(policy, f"spec.{name}", problems):
            problems.unknown(policy, frozenset({"rules"}), f"spec.{name}")
            listed(policy.get("rules"), f"spec.{name}.rules", problems, 20)
            shape = "PodFailurePolicy" if name == "podFailurePolicy" else "SuccessPolicy"
            shapes.check_fields(policy, shape, f"spec.{name}", problems)


def _check_indexed(spec: Mapping[str, Any], problems: Problems) -> None:
    """The numbers of an Indexed Job."""
    completions = spec.get("completions")
    if spec.get("completionMode") == "Indexed" and check_whole(
        completions, "spec.completions", Problems()
    ):
        check_whole(completions, "spec.completions", problems, most=MOST_INDEXED)
    for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
        check_whole(spec.get(name), f"spec.{name}", problems)
