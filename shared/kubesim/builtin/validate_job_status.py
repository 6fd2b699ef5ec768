"""The API server's rules for a Job's status, which every writer of it must obey.

With `managedBy` a Job's status is written by somebody else than the Job controller; the server then
sees to it that clients of the Job API can rely on it. Rules and messages: Kubernetes 1.36,
pkg/registry/batch/job/strategy.go (getStatusValidationOptions) and pkg/apis/batch/validation
(validateJobStatus, ValidateJobStatusUpdate). A rule is checked only when a field it looks at has
changed, so that old faults do not block unrelated writes.
"""

from collections.abc import Iterable
from typing import Any

from shared.kubesim.apimachinery import errors
from shared.kubesim.apimachinery.errors import Cause
from shared.kubesim.apimachinery.metadata import parse_stamp
from shared.kubesim.apimachinery.strategies import Object

_CONDITIONS = "status.conditions"
_COUNTS = ("active", "succeeded", "failed", "ready", "terminating")


def job_status_faults(new: Object, old: Object) -> list[Cause]:
    """Why the status of `new` must not follow that of `old`."""
    return list(_Change(new, old).faults())


def unmanaged_status_faults(new: Object) -> list[Cause]:
    """The same where spec.managedBy is not known: Kubernetes 1.30, validateJobStatus without options."""
    status, spec = new.get("status") or {}, new.get("spec") or {}
    causes = [
        errors.bad_value(f"status.{field}", status[field], "must be greater than or equal to 0")
        for field in _COUNTS
        if (status.get(field) or 0) < 0
    ]
    if _true(status, "SuccessCriteriaMet"):
        if spec.get("completionMode") != "Indexed":
            causes.append(_conflict("cannot set SuccessCriteriaMet to NonIndexed Job"))
        if not spec.get("successPolicy"):
            why = "cannot set SuccessCriteriaMet=True for Job without SuccessPolicy"
            causes.append(_conflict(why))
    return causes


def _true(status: dict[str, Any], kind: str) -> bool:
    return any(
        condition.get("type") == kind and condition.get("status") == "True"
        for condition in status.get("conditions") or ()
    )


def _conflict(why: str) -> Cause:
    return Cause(_CONDITIONS, "FieldValueInvalid", f"Invalid value: {why}")


class _Change:
    """One step of a Job's status."""

    def __init__(self, new: Object, old: Object) -> None:
        self.spec = new.get("spec") or {}
        self.now: dict[str, Any] = new.get("status") or {}
        self.was: dict[str, Any] = old.get("status") or {}
        self.complete, self.failed = _true(self.now, "Complete"), _true(self.now, "Failed")
        self.finished = self.complete or self.failed
        was_finished = _true(self.was, "Complete") or _true(self.was, "Failed")
        self.finished_changed = self.finished != was_finished
        self.complete_changed = self.complete != _true(self.was, "Complete")
        self.failed_changed = self.failed != _true(self.was, "Failed")
        self.indexed = self.spec.get("completionMode") == "Indexed"

    def changed(self, *fields: str) -> bool:
        return any(
            (self.now.get(field) or None) != (self.was.get(field) or None) for field in fields
        )

    def condition_changed(self, kind: str) -> bool:
        return _true(self.now, kind) != _true(self.was, kind)

    def faults(self) -> Iterable[Cause]:
        for field in _COUNTS:
            value = self.now.get(field)
            if value is not None and value < 0:
                why = "must be greater than or equal to 0"
                yield errors.bad_value(f"status.{field}", value, why)
        yield from self._condition_faults()
        yield from self._time_faults()
        yield from self._missing_condition_faults()
        yield from self._success_faults()
        yield from self._finished_faults()
        yield from self._index_faults()
        yield from self._backward_faults()

    def _condition_faults(self) -> Iterable[Cause]:
        target = _true(self.now, "FailureTarget")
        if (self.complete_changed or self.failed_changed) and self.complete and self.failed:
            yield _conflict("cannot set Complete=True and Failed=true conditions")
        target_changed = self.condition_changed("FailureTarget")
        if (self.complete_changed or target_changed) and self.complete and target:
            yield _conflict("cannot set Complete=True and FailureTarget=true conditions")

    def _missing_condition_faults(self) -> Iterable[Cause]:
        target = _true(self.now, "FailureTarget")
        if (self.failed_changed or self.changed("failedIndexes")) and self.failed and not target:
            yield _conflict(
                "cannot set Failed=True condition without the FailureTarget=true condition"
            )
        success = _true(self.now, "SuccessCriteriaMet")
        success_changed = self.condition_changed("SuccessCriteriaMet")
        if (self.complete_changed or success_changed) and self.complete and not success:
            yield _conflict(
                "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
            )

    def _success_faults(self) -> Iterable[Cause]:
        success = _true(self.now, "SuccessCriteriaMet")
        if success and self.failed:
            yield _conflict("cannot set SuccessCriteriaMet=True and Failed=true conditions")
        if success and _true(self.now, "FailureTarget"):
            yield _conflict("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
        if self.spec.get("successPolicy") and not success and self.complete:
            yield _conflict(
                "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
            )

    def _time_faults(self) -> Iterable[Cause]:
        start, end = self.now.get("startTime"), self.now.get("completionTime")
        field = "status.completionTime"
        if self.complete_changed or self.changed("completionTime"):
            if end and not self.complete:
                why = "cannot set completionTime when there is no Complete=True condition"
                yield errors.bad_value(field, end, why)
            if not end and self.complete:
                yield errors.required(field, "completionTime is required for Complete jobs")
        comparable = self.changed("startTime", "completionTime") and start and end
        if comparable and parse_stamp(str(end)) < parse_stamp(str(start)):
            yield errors.bad_value(field, end, "must be equal to or after `startTime`")

    def _finished_faults(self) -> Iterable[Cause]:
        active, terminating = self.now.get("active") or 0, self.now.get("terminating") or 0
        ready = self.now.get("ready") or 0
        if self.changed("ready", "active") and ready > active:
            yield errors.bad_value("status.ready", ready, "cannot set more ready pods than active")
        if not self.finished:
            return
        if (self.finished_changed or self.changed("active")) and active > 0:
            yield errors.bad_value("status.active", active, "active>0 is invalid for finished job")
        if (self.finished_changed or self.changed("terminating")) and terminating > 0:
            why = "terminating>0 is invalid for finished job"
            yield errors.bad_value("status.terminating", terminating, why)
        never_ran = bool(self.spec.get("suspend")) and self.spec.get("completions") == 0
        start_matters = (self.finished_changed or self.changed("startTime")) and not never_ran
        if start_matters and not self.now.get("startTime"):
            yield errors.required("status.startTime", "startTime is required for finished job")
        uncounted = self.now.get("uncountedTerminatedPods") or {}
        pending = uncounted.get("succeeded") or uncounted.get("failed")
        if pending and (self.finished_changed or self.changed("uncountedTerminatedPods")):
            why = "must be empty for finished job"
            yield errors.bad_value("status.uncountedTerminatedPods", uncounted, why)

    def _index_faults(self) -> Iterable[Cause]:
        completions = self.spec.get("completions")
        done, failed = self.now.get("completedIndexes") or "", self.now.get("failedIndexes")
        per_index = self.spec.get("backoffLimitPerIndex")
        if self.changed("completedIndexes") and done:
            if completions is not None:
                yield from _format_faults("completedIndexes", done, completions)
            if not self.indexed:
                why = "cannot set non-empty completedIndexes when non-indexed completion mode"
                yield errors.bad_value("status.completedIndexes", done, why)
        if self.changed("failedIndexes") and failed is not None:
            if per_index is None:
                why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
                yield errors.bad_value("status.failedIndexes", failed, why)
            elif completions is not None:
                yield from _format_faults("failedIndexes", failed, completions)
        if self.changed("completedIndexes", "failedIndexes") and failed and completions:
            overlap = _indexes(done, completions) & _indexes(failed, completions)
            if overlap:
                why = f"failedIndexes and completedIndexes overlap at index: {min(overlap)}"
                yield errors.bad_value("status.failedIndexes", failed, why)

    def _backward_faults(self) -> Iterable[Cause]:
        for kind in ("Failed", "Complete", "FailureTarget"):
            if _true(self.was, kind) and not _true(self.now, kind):
                yield _conflict(f"cannot disable the terminal {kind}=True condition")
        if _true(self.was, "SuccessCriteriaMet") and not _true(self.now, "SuccessCriteriaMet"):
            yield _conflict("cannot disable the SuccessCriteriaMet=True condition")
        elif (
            _true(self.was, "Complete")
            and not _true(self.was, "SuccessCriteriaMet")
            and _true(self.now, "SuccessCriteriaMet")
        ):
            yield _conflict(
                "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
            )
        elastic = self.indexed and self.spec.get("completions") == self.spec.get("parallelism")
        for field in ("failed",) if elastic else ("failed", "succeeded"):
            count = self.now.get(field) or 0
            if count < (self.was.get(field) or 0):
                why = f"cannot decrease the {field} counter"
                yield errors.bad_value(f"status.{field}", count, why)
        yield from self._stamp_faults()

    def _stamp_faults(self) -> Iterable[Cause]:
        start, end = self.now.get("startTime"), self.now.get("completionTime")
        if end and self.was.get("completionTime") and end != self.was["completionTime"]:
            yield errors.bad_value("status.completionTime", end, "field is immutable")
        resuming = _true(self.was, "Suspended") and not _true(self.now, "Suspended")
        moved = self.was.get("startTime") and start != self.was["startTime"]
        if moved and not resuming and not self.spec.get("suspend"):
            why = "field is immutable for unsuspended job once set"
            yield errors.bad_value("status.startTime", start, why)


def _format_faults(field: str, text: str, completions: int) -> Iterable[Cause]:
    why = _format_fault(text, completions)
    if why:
        yield errors.bad_value(f"status.{field}", text, f"error parsing {field}: {why}")


def _format_fault(text: str, completions: int) -> str:
    last = -1
    for interval in text.split(",") if text else ():
        ends = interval.split("-")
        if len(ends) > 2:
            return (
                f'the fragment "{interval}" violates the requirement that an index interval can have'
                " at most two parts separated by '-'"
            )
        for end in ends:
            if not end.isdecimal():
                return f'cannot convert string to integer for index: "{end}"'
            if int(end) >= completions:
                return f'too large index: "{end}"'
        first, final = int(ends[0]), int(ends[-1])
        if len(ends) == 2 and first >= final:
            return f"non-increasing order, previous: {first}, current: {final}"
        if last >= first:
            return f"non-increasing order, previous: {last}, current: {first}"
        last = final
    return ""


def _indexes(text: str, completions: int) -> set[int]:
    found: set[int] = set()
    if _format_fault(text, completions):
        return found
    for interval in text.split(",") if text else ():
        first, _, last = interval.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found
