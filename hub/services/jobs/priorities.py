"""Priority comes from a class: the one rule on numbers, which every intake of jobs applies.

A Job names a WorkloadPriorityClass by its label and carries no number. A Workload carries a number
beside its class, as Kueue's controllers write it, and a pod template may carry one too. A number is accepted
where it is 0, where it equals the value of the class that is named, where it was there before with the same
pods, and from administrators of the queue (`Draft.may_set_priority`). Role bindings may list the classes that
people name. A class and a number stay only with what they were given to: who changes the specification to
other or more pods may name them (`_is_same_work`).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from hub.services.queues.class_values import WORKLOAD_CLASS, integer
from hub.services.reading.draft import Draft
from hub.services.reading.work_kinds import SECOND
from hub.store import objects
from hub.store.transaction import Transaction
from shared.documents import Json
from shared.errors import FieldError, Rejected
from shared.labels import PRIORITY_CLASS, QUEUE_NAME, RAY_PRIORITY_CLASS
from shared.pointers import value_at
from shared.reject_codes import RejectCode
from shared.workkinds.places import plain_path

_POD_CLASS: Final = ("scheduling.k8s.io", "PriorityClass")
_NAMED_CLASSES: Final = 10
_RAY: Final = "ray.io"
DEFAULT_CLASS: Final = "default"
_CODE: Final = RejectCode.PRIORITY_NOT_ALLOWED
# Fields of a specification that change neither pods nor their number; and the priority.
_NO_PODS: Final = frozenset(
    {
        *("suspend", "active", "priority", "priorityClassRef", "maximumExecutionTimeSeconds"),
        *("backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished"),
        *("podReplacementPolicy", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"),
    }
)
_TEMPLATE: Final = "jobTemplate"  # of a CronJob
Classes = Mapping[str, str]
NO_CLASSES: Final[Classes] = {}


class Priorities:
    """Judges the numbers of one transaction's drafts; classes are read only for those."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._values: dict[tuple[str, str, str], int | None] = {}

    def refuse(
        self, given: Draft, before: Json | None = None, held: Classes = NO_CLASSES
    ) -> Rejected | None:
        """Returns the reason to refuse a draft, or None; `before` is the manifest that it replaces.

        `held`: the classes that fields of its kind name, by field, as they were read before.
        Codes: PriorityNotAllowed, PriorityClassNotFound.
        """
        if not (given.is_job or given.is_bare):
            return None
        found = class_fault(given, before, held)
        if found is None and not given.may_set_priority:
            found = next(self._faults(given, before), None)
        if found is None:
            return None
        return Rejected(found.code, f"{found.field}: {found.message}", found.field, (found,))

    def require(
        self, given: Draft, before: Json | None = None, held: Classes = NO_CLASSES
    ) -> None:
        """Raise what `refuse` returns."""
        refusal = self.refuse(given, before, held)
        if refusal is not None:
            raise refusal

    def _faults(self, given: Draft, before: Json | None) -> Iterator[FieldError]:
        if given.is_bare and (fault := self._of_workload(given.parsed.spec, _spec(before))):
            yield fault
        stored = _stored_pods(given, before) if _is_same_work(given, before) else {}
        for field, pod in _given_pods(given):
            if pod != stored.get(field) and (fault := self._of_pod(field, pod)):
                yield fault

    def _of_workload(self, spec: Json, old: Json) -> FieldError | None:
        """The fault of a Workload's own number."""
        number, named = spec.get("priority") or 0, spec.get("priorityClassRef") or {}
        if not (number or named):
            return None
        # Who set the number administers that queue, and judged those pods.
        stays = all(spec.get(field) == old.get(field) for field in ("queueName", "podSets"))
        if stays and (number, named) == (
            old.get("priority") or 0,
            old.get("priorityClassRef") or {},
        ):
            return None
        if not named:
            what = f"{number} is the number of no class: name a class by spec.priorityClassRef"
            return FieldError("spec.priority", _CODE, f"{what} with its value, or leave both out")
        group, kind, name = named["group"], named["kind"], named["name"]
        value = self._value(group, kind, name)
        if value is None:
            what = no_such_class(self._tx, name, (group, kind))
            return FieldError(
                "spec.priorityClassRef.name", RejectCode.PRIORITY_CLASS_NOT_FOUND, what
            )
        if value != number:
            what = f"is {number}, and {kind} {name} is {value}: set it to {value}"
            return FieldError("spec.priority", _CODE, what)
        return None

    def _of_pod(self, field: str, pod: Json) -> FieldError | None:
        """The fault of the number in a pod template."""
        number = pod.get("priority")
        name = pod.get("priorityClassName")
        if number in (None, 0) or (name and self._value(*_POD_CLASS, str(name)) == number):
            return None
        what = "leave the number out and name a PriorityClass by priorityClassName, which sets it"
        return FieldError(f"{field}.priority", _CODE, what)

    def _value(self, group: str, kind: str, name: str) -> int | None:
        """The value of a class; None: the hub has no such class, or it has no integer value."""
        key = (group, kind, name)
        if key not in self._values:
            rows = objects.list_kind(self._tx, group, kind, names=[name])
            self._values[key] = integer(rows[0].manifest.get("value")) if rows else None
        return self._values[key]


def class_fault(
    given: Draft, before: Json | None, held_classes: Classes = NO_CLASSES
) -> FieldError | None:
    """The fault of a class that the sender's role bindings do not list for the queue that the draft names.

    Classes are named by the label, by fields of the kind, and by pod templates. A class that was there before
    stays with the same work in its queue: role bindings of another queue may not list it. So does the
    PriorityClass of a pod template: in the member its value decides which pods are preempted.
    """
    allowed = given.priority_classes
    if allowed is None:
        return None
    named, field = _named(given.parsed.raw, is_job=given.is_job)
    held, queue = _class_and_queue(before, given) if before is not None else ("", "")
    stays = queue == given.queue and _is_same_work(given, before)
    if named and named not in allowed and not (stays and named == held):
        return FieldError(field, _CODE, not_bound(named, allowed))
    for at, own in _own_classes(given, before if stays else None, held_classes).items():
        if own not in allowed:
            return FieldError(at, _CODE, not_bound(own, allowed))
    stored = _stored_pods(given, before) if stays else {}
    for field, pod in _given_pods(given):
        of_pod = pod.get("priorityClassName")
        if of_pod and of_pod not in {*allowed, stored.get(field, {}).get("priorityClassName")}:
            return FieldError(f"{field}.priorityClassName", _CODE, not_bound(of_pod, allowed))
    return None


def is_same_schedule(spec: Json, before: Json) -> bool:
    """True if CronJobs start their Jobs alike; those themselves are not compared."""
    return _without(spec, _TEMPLATE) == _without(before, _TEMPLATE)


def _is_same_work(given: Draft, before: Json | None) -> bool:
    """True if a draft makes the same pods as the manifest that it replaces, or fewer."""
    if before is None:
        return False
    new, old = given.parsed.raw.get("spec") or {}, _spec(before)
    scale = _scale(given)
    return _without(new, scale) == _without(old, scale) and _is_at_most(
        new.get(scale), old.get(scale)
    )


def _scale(given: Draft) -> str:
    """The field of the specification that is the number of pods, or multiplies all; "" if no field is."""
    if given.form is not None:
        return given.form.scale.removeprefix("/spec/")
    return "parallelism" if given.is_job else ""


def _is_at_most(new: object, old: object) -> bool:
    """Compare two numbers of pods, which are 1 where they are absent."""
    asked, had = (1 if each is None else each for each in (new, old))
    if isinstance(asked, int) and isinstance(had, int):
        return asked <= had
    return asked == had


def _without(spec: Json, *names: str) -> Json:
    return {name: value for name, value in spec.items() if name not in _NO_PODS.union(names)}


def _own_classes(given: Draft, before: Json | None, held_classes: Classes) -> dict[str, str]:
    """The classes that fields of the kind name, by field, without those that stay in the queue.

    The spec of `before`, and so each field of it, stays. Labels and annotations may change, and an expression
    of an administrator may read them: such a class stays where it was held before.
    """
    classes = {} if given.form is None else given.form.classes
    declared = given.form is not None and given.form.kind_version
    found = {
        field: named
        for field, named in classes.items()
        if before is None
        or (declared and not _is_of_spec(field) and held_classes.get(field) != named)
    }
    if given.parsed.group == _RAY:
        named = given.parsed.labels.get(RAY_PRIORITY_CLASS)
        held = ((before or {}).get("metadata") or {}).get("labels") or {}
        if named and named != held.get(RAY_PRIORITY_CLASS):
            found[f"metadata.labels[{RAY_PRIORITY_CLASS}]"] = str(named)
    return found


def _is_of_spec(field: str) -> bool:
    """True if the expression of a class is a plain path below the spec."""
    path = "." + field.partition(SECOND)[0]
    return path.startswith(".spec.") and plain_path(path) == path


def _class_and_queue(before: Json, given: Draft) -> tuple[str, str]:
    metadata = before.get("metadata") or {}
    if given.is_job:
        marks = {**(metadata.get("annotations") or {}), **(metadata.get("labels") or {})}
        queue = marks.get(QUEUE_NAME)
    else:
        queue = _spec(before).get("queueName")
    return _named(before, is_job=given.is_job)[0], str(queue or "")


def not_bound(named: str, allowed: frozenset[str]) -> str:
    """The message for a class that no role binding of the sender lists."""
    there = ", ".join(sorted(allowed)) or "none"
    return (
        f"{named} is not among the priority classes of your role bindings ({there}): name one of those, or "
        "ask a cluster administrator for a binding"
    )


def default_class(tx: Transaction) -> int | None:
    """The value of WorkloadPriorityClass `default`, which Jobs without a class get; None: no such class."""

    def read() -> int | None:
        rows = objects.list_kind(tx, *WORKLOAD_CLASS, names=[DEFAULT_CLASS])
        return integer((rows[0].spec or {}).get("value")) if rows else None

    return tx.remembered("objects", "default priority class", read)


def no_such_class(tx: Transaction, named: str, of: tuple[str, str] = WORKLOAD_CLASS) -> str:
    """The message for a priority class that does not exist: it names some of those that do."""
    names = [row.name for row in objects.list_kind(tx, *of)]
    if named in names:
        return f"{of[1]} {named} has no integer value: an administrator applies it again with one"
    shown = sorted(names)[:_NAMED_CLASSES]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    there = f"there are {', '.join(shown)}{more}" if shown else "there is none"
    return f"{of[1]} {named} does not exist; {there}"


def _named(manifest: Json, *, is_job: bool) -> tuple[str, str]:
    """The WorkloadPriorityClass, or the PriorityClass of a Workload, that a manifest names, and its field."""
    if is_job:
        field = f"metadata.labels[{PRIORITY_CLASS}]"
        named = ((manifest.get("metadata") or {}).get("labels") or {}).get(PRIORITY_CLASS)
    else:
        field = "spec.priorityClassRef.name"
        named = (_spec(manifest).get("priorityClassRef") or {}).get("name")
    return str(named or ""), field


def _spec(manifest: Json | None) -> Json:
    found: Json = (manifest or {}).get("spec") or {}
    return found


def _given_pods(given: Draft) -> Iterator[tuple[str, Json]]:
    """The pod specs of a draft, each with its field."""
    if given.form is not None:
        return _pods_at(given.parsed.raw, given.form.templates)
    return _templates(given.parsed.spec, is_job=given.is_job)


def _stored_pods(given: Draft, before: Json | None) -> dict[str, Json]:
    """Those of the manifest that the draft replaces, by field."""
    if given.form is not None:
        return dict(_pods_at(before or {}, given.form.templates))
    return dict(_templates(_spec(before), is_job=given.is_job))


def _pods_at(manifest: Json, pointers: Sequence[str]) -> Iterator[tuple[str, Json]]:
    for pointer in pointers:
        pod = (value_at(manifest, pointer) or {}).get("spec")
        if pod:
            yield f"{pointer[1:].replace('/', '.')}.spec", pod


def _templates(spec: Json, *, is_job: bool) -> Iterator[tuple[str, Json]]:
    """The pod templates of a Job or a Workload, each with its field."""
    if is_job:
        found: list[tuple[str, Json | None]] = [("spec.template", spec.get("template"))]
    else:
        sets = enumerate(spec.get("podSets") or ())
        found = [(f"spec.podSets[{place}].template", each.get("template")) for place, each in sets]
    for field, template in found:
        pod = (template or {}).get("spec")
        if pod:
            yield f"{field}.spec", pod
