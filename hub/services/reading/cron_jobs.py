"""CronJobs that name a queue: the hub keeps their schedule and queues each Job of theirs. No input or output.

The queue is named where Kueue's users name it, in the metadata of the Job template, or by the CronJob itself.
"""

import datetime as dt
from dataclasses import replace
from typing import Final, NamedTuple

from hub.domain.workloads import cron_runs, cron_schedule
from hub.domain.workloads.cron_schedule import BadSchedule
from shared import labels as keys
from shared.cron_template import job_of, named, template_metadata
from shared.documents import Json, JsonView
from shared.errors import FieldError, Rejected
from shared.kinds.batch_v1 import parse_job
from shared.kinds.containers import INT32, check_whole
from shared.kinds.metadata import METADATA_FIELDS
from shared.kinds.parsed import Parsed
from shared.kinds.problems import Problems, is_mapping
from shared.quantity import shown
from shared.reject_codes import RejectCode

GROUP: Final = "batch"
KIND: Final = "CronJob"
MOST_KEPT: Final = 1000  # ended children of one CronJob
_TEMPLATE: Final = "spec.jobTemplate"
_FIELDS: Final = frozenset(
    {
        "schedule", "timeZone", "startingDeadlineSeconds", "concurrencyPolicy", "suspend",
        "jobTemplate", "successfulJobsHistoryLimit", "failedJobsHistoryLimit",
    }
)  # fmt: skip
_NUMBERS: Final = (
    ("startingDeadlineSeconds", INT32),
    ("successfulJobsHistoryLimit", MOST_KEPT),
    ("failedJobsHistoryLimit", MOST_KEPT),
)


class ReadCronJob(NamedTuple):
    """`spec`: without the Job template. `child`: the Job of one run, as it was read."""

    spec: Json
    child: Parsed


def is_cron_job(parsed: Parsed) -> bool:
    """True for a CronJob, with or without a queue."""
    return (parsed.group, parsed.version, parsed.kind) == (GROUP, "v1", KIND)


def read_cron_job(
    parsed: Parsed, at: dt.datetime, *, strict: bool = True, from_client: bool = True
) -> ReadCronJob | None:
    """Read a CronJob and its run of a scheduled time; None for one without a queue and every other kind.

    One of a hub cluster is never read so: nothing keeps the controller there from running it, and no field
    names another. Raises Rejected with every fault, those of the Job template by their fields there.
    """
    if not from_client or not is_cron_job(parsed) or not _queues(parsed):
        return None
    problems = Problems(strict=strict)
    spec = parsed.spec.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    if not parsed.name:
        problems.add("metadata.generateName", RejectCode.FORBIDDEN_FIELD, "give a CronJob a name")
    elif len(parsed.name) > cron_runs.LONGEST_NAME:
        rule = f"a CronJob has at most {cron_runs.LONGEST_NAME} characters: its Jobs have more"
        problems.add("metadata.name", RejectCode.TOO_LONG, rule)
    _check_spec(spec, problems)
    _check_queue(parsed, problems)
    problems.raise_if_any()
    child = _child(parsed, spec, at, problems, strict=strict)
    problems.raise_if_any()
    assert child is not None
    return ReadCronJob(
        {name: value for name, value in spec.items() if name != "jobTemplate"}, child
    )


def _check_spec(spec: JsonView, problems: Problems) -> None:
    problems.unknown(spec, _FIELDS, "spec")
    expression, zone = spec.get("schedule"), spec.get("timeZone")
    if not isinstance(expression, str) or not expression:
        problems.add("spec.schedule", RejectCode.REQUIRED, "a CronJob has a schedule, as a text")
    elif not isinstance(zone, str | None):
        problems.add("spec.timeZone", RejectCode.INVALID_TYPE, "must be a string")
    else:
        _check_times(expression, zone, problems)
    policy, known = spec.get("concurrencyPolicy"), [each.value for each in cron_runs.Concurrency]
    if policy is not None and policy not in known:
        rule = f"{shown(policy)}: must be one of {', '.join(known)}"
        problems.add("spec.concurrencyPolicy", RejectCode.UNSUPPORTED_VALUE, rule)
    if not isinstance(spec.get("suspend"), bool | None):
        problems.add("spec.suspend", RejectCode.INVALID_TYPE, "must be true or false")
    for name, most in _NUMBERS:
        if spec.get(name) is not None:
            check_whole(spec[name], f"spec.{name}", problems, least=0, most=most)
    if not isinstance(spec.get("jobTemplate"), dict):
        problems.add(_TEMPLATE, RejectCode.REQUIRED, "a CronJob has the template of its Jobs")


def _check_times(expression: str, zone: str | None, problems: Problems) -> None:
    try:
        cron_schedule.read_zone(zone)
    except BadSchedule as fault:
        problems.add("spec.timeZone", RejectCode.INVALID_VALUE, f"{shown(zone)} {fault}")
    try:
        cron_schedule.read_schedule(expression, None)
    except BadSchedule as fault:
        problems.add("spec.schedule", RejectCode.INVALID_VALUE, f"{shown(expression)}: {fault}")


def _queues(parsed: Parsed) -> set[str]:
    own = named({"labels": parsed.labels, "annotations": parsed.annotations}, keys.QUEUE_NAME)
    return {own, named(template_metadata(parsed.spec.get("spec")), keys.QUEUE_NAME)} - {""}


def _check_queue(parsed: Parsed, problems: Problems) -> None:
    if len(queues := _queues(parsed)) > 1:
        field = f"{_TEMPLATE}.metadata.labels[{keys.QUEUE_NAME}]"
        rule = f"the CronJob and its Job template name two queues ({', '.join(sorted(queues))})"
        problems.add(field, RejectCode.INVALID_VALUE, f"{rule}: name one")


def _child(
    parsed: Parsed, spec: JsonView, at: dt.datetime, problems: Problems, *, strict: bool
) -> Parsed | None:
    """The Job of the run of `at`; None if anything of it is wrong, which `problems` has then."""
    template: Json = spec["jobTemplate"]
    problems.unknown(template, frozenset({"metadata", "spec"}), _TEMPLATE)
    if is_mapping(template.get("metadata"), f"{_TEMPLATE}.metadata", problems):
        problems.unknown(template["metadata"], METADATA_FIELDS, f"{_TEMPLATE}.metadata")
    owner = {
        "labels": parsed.labels,
        "annotations": parsed.annotations,
        "namespace": parsed.namespace,
    }
    job = job_of(owner, spec, cron_runs.child_name(parsed.name, at))
    try:
        child = parse_job(job, strict=strict)
    except Rejected as refusal:
        for each in refusal.errors or (FieldError(refusal.field, refusal.code, refusal.detail),):
            problems.add(f"{_TEMPLATE}.{each.field}".rstrip("."), each.code, each.message)
        return None
    zone = cron_schedule.read_zone(spec.get("timeZone"))
    marks = {
        keys.CRON_JOB: parsed.name,
        keys.CRON_JOB_TIME: at.astimezone(zone)
        .isoformat(timespec="seconds")
        .replace("+00:00", "Z"),
    }
    return replace(child, annotations={**child.annotations, **marks})
