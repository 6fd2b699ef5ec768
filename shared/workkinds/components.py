"""From an object and its definition to instances of components: how many pods of which spec. Pure.

The rules are those of Karta: what an expression gives are instances, by position; a component whose
expressions give nothing is absent; and what has instances or a count but no pod spec is refused, so that
nothing is admitted for less than it runs.
"""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.workkinds.definition import Assignment, Component, Definition
from shared.workkinds.fragments import fragmented_specs
from shared.workkinds.language import EvaluationFault, Language, Object, Place, Syntax

MOST_INSTANCES: Final = 200
LARGEST_COUNT: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Instance:
    """Equal pods of one component; `identity` is "" where the component has but one instance."""

    component: Component
    identity: str
    count: int
    pod_spec: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.component.name} {self.identity}".rstrip()


@dataclass(frozen=True, slots=True)
class ObjectView:
    """One object as its definition sees it. Raises `Rejected` where an expression is at fault."""

    obj: Object
    language: Language
    syntax: Syntax

    def values(self, expression: str, what: str) -> list[Any]:
        """All values; none where what is walked through is not there."""
        try:
            return self.language.values(expression, self.obj)
        except EvaluationFault as fault:
            if fault.nothing:
                return []
            rule = f"{what} cannot be read: {fault}"
            raise Rejected(RejectCode.INVALID_VALUE, rule, what) from None

    def value(self, expression: str, what: str) -> Any:
        """The first value; None where there is none."""
        return next((each for each in self.values(expression, what) if each is not None), None)

    def holds(self, expression: str, what: str) -> bool:
        """Whether an expression is true; "" is."""
        return not expression or self.value(expression, what) is True


def with_defaults(definition: Definition, obj: Object, language: Language) -> dict[str, Any]:
    """A copy with what its API server and operator fill in."""
    made: dict[str, Any] = dict(obj)
    for each in definition.extended.defaults:
        made = _assigned(made, each, language, missing_only=True)
    return made


def as_it_would_run(
    definition: Definition, obj: dict[str, Any], language: Language
) -> dict[str, Any]:
    """A copy of an object with its defaults that is resumed: counts are those of what would run."""
    made = obj
    for each in definition.karta.resume:
        made = _assigned(made, each, language, missing_only=False)
    return made


def _assigned(
    obj: dict[str, Any], assignment: Assignment, language: Language, *, missing_only: bool
) -> dict[str, Any]:
    """A copy with the value at the path; the object itself where there is nothing to write."""
    try:
        if assignment.when and language.values(assignment.when, obj) != [True]:
            return obj
        places = language.places(assignment.path, obj)
        value = language.values(assignment.value, obj)
    except EvaluationFault:
        return obj  # what it would be written into is not there
    if not value or not places:
        return obj
    made = copy.deepcopy(obj)
    for place in places[:MOST_INSTANCES]:
        write(made, place, value[0], missing_only=missing_only)
    return made


def write(obj: dict[str, Any], place: Place, value: Any, *, missing_only: bool) -> None:
    """Write a value, with the objects that lead to it. What is no object on the way is left as it is."""
    at: Any = obj
    for step in place[:-1]:
        if isinstance(at, dict) and at.get(step) is None:
            at[step] = {}
        at = _below(at, step)
    last = place[-1] if place else ""
    if isinstance(at, dict) and (not missing_only or at.get(last) is None):
        at[last] = copy.deepcopy(value)
    elif isinstance(at, list) and isinstance(last, int) and last < len(at):
        at[last] = at[last] if missing_only and at[last] is not None else copy.deepcopy(value)


def _below(at: Any, step: str | int) -> Any:
    if isinstance(at, dict):
        return at.get(step)
    if isinstance(at, list) and isinstance(step, int) and step < len(at):
        return at[step]
    return None


def instances_of(definition: Definition, view: ObjectView) -> list[Instance]:
    """All instances that the object has, in document order. Raises `Rejected`."""
    owners = {each.owner for each in definition.karta.components}
    found: list[Instance] = []
    for component in definition.karta.components:
        if component.has_pods:
            found += _instances(component, view)
        elif component.name not in owners:
            _check_nothing(component, view)
    return found


def _check_nothing(component: Component, view: ObjectView) -> None:
    """A component that owns no other and says nothing of pods must not have any."""
    if component.instance_id:
        there = bool(_present(view.values(component.instance_id, component.name)))
    else:
        there = bool(component.scaled and _said_count(component, view))
    if there:
        raise _unreadable(component, "")


def _instances(component: Component, view: ObjectView) -> Iterator[Instance]:
    specs = _specs(component, view)
    identities = _identities(component, view)
    number = len(specs) if identities is None else len(identities)
    if not _present(specs):
        if not identities and (identities is not None or _is_absent(component, view)):
            return
        raise _unreadable(component, identities[0] if identities else "")
    if number > MOST_INSTANCES:
        rule = f"{component.name} has more than {MOST_INSTANCES} instances"
        raise Rejected(RejectCode.TOO_MANY_ITEMS, rule)
    if len(specs) != number:
        rule = f"{component.name} has {number} names and {len(specs)} pod specs"
        raise Rejected(RejectCode.INVALID_VALUE, rule)
    counts = _counts(component, view, number)
    for index, (spec, count) in enumerate(zip(specs, counts, strict=True)):
        identity = identities[index] if identities is not None else ""
        if identities is None and number > 1:
            identity = str(index)
        if spec is None:
            raise _unreadable(component, identity)
        yield Instance(component, identity, _count(count, component, identity, view.syntax), spec)


def _identities(component: Component, view: ObjectView) -> list[str] | None:
    """The names of its instances; None where the component has no names for them."""
    if not component.instance_id:
        return None
    found = view.values(component.instance_id, f"{component.name}'s instances")
    if found == [None] and not view.syntax.iterates(component.instance_id):
        return []
    if any(
        isinstance(each, bool) or not isinstance(each, str | int) or each == "" for each in found
    ):
        rule = f"an instance of {component.name} has no name"
        raise Rejected(RejectCode.INVALID_NAME, rule)
    return [str(each) for each in found]


def _specs(component: Component, view: ObjectView) -> list[Mapping[str, Any] | None]:
    """A pod spec for each instance; None where it cannot be read."""
    what = f"{component.name}'s pods"
    if component.template:
        templates = view.values(component.template, what)
        return [_pod_spec(_field(each, "spec")) for each in templates]
    if component.pod_spec:
        return [_pod_spec(each) for each in view.values(component.pod_spec, what)]
    return fragmented_specs(
        {name: view.values(path, what) for name, path in component.fragments.items()}
    )


def _field(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else None


def _pod_spec(value: object) -> Mapping[str, Any] | None:
    if (
        isinstance(value, dict)
        and isinstance(value.get("containers"), list)
        and value["containers"]
    ):
        return value
    return None


def _is_absent(component: Component, view: ObjectView) -> bool:
    """Whether a component without a pod spec is not there: nothing in the object speaks of it.

    A count that a default alone gives is no sign of it where the object that would hold the pods is
    missing as well, as the replicas of a role that a job does not have.
    """
    if not component.scaled or not (component.replicas or component.min_replicas):
        return True
    if not any(_read_counts(component, view)):
        return True  # none, or 0: there is nothing to run
    if _said_count(component, view):
        return False
    paths = [component.template, component.pod_spec, *component.fragments.values()]
    owners = [view.syntax.owner(path) for path in paths if path]
    return all(
        owner is not None and not _present(view.values(owner, component.name)) for owner in owners
    )


def _said_count(component: Component, view: ObjectView) -> bool:
    """Whether the object itself says how many, by more than a default of the definition."""
    path = view.syntax.without_defaults(component.replicas or component.min_replicas)
    try:
        return bool(_present(view.language.values(path, view.obj)))
    except EvaluationFault:
        return False


def _read_counts(component: Component, view: ObjectView) -> list[Any]:
    path = component.replicas or component.min_replicas
    return view.values(path, f"{component.name}'s count") if path else []


def _counts(component: Component, view: ObjectView, number: int) -> list[Any]:
    """One for each instance: of `replicasPath`, else the least number; 1 where nothing scales it."""
    if not component.scaled:
        return [1] * number
    found = _read_counts(component, view)
    if len(found) == 1 < number:
        path = component.replicas or component.min_replicas
        if not view.syntax.iterates(path):
            return found * number
    if found and len(found) != number:
        rule = f"{component.name} has {number} instances and {len(found)} counts"
        raise Rejected(RejectCode.INVALID_VALUE, rule)
    return found or [None] * number


def _count(value: Any, component: Component, identity: str, syntax: Syntax) -> int:
    shown = f"{component.name} {identity}".rstrip()
    if value is None:
        rule = (
            f"{shown} has pods and no count: the object does not say one, and there is no default"
        )
        raise Rejected(RejectCode.REQUIRED, rule)
    path = component.replicas or component.min_replicas
    if (
        isinstance(value, str)
        and value.isdecimal()
        and len(value) <= 10
        and syntax.reads_text(path)
    ):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST_COUNT:
        needed = f"a whole number from 0 to {LARGEST_COUNT} is needed"
        rule = f"the count of {shown} is {str(value)[:40]}: {needed}"
        raise Rejected(RejectCode.INVALID_NUMBER, rule)
    return value


def _present(values: list[Any]) -> list[Any]:
    return [each for each in values if each is not None]


def _unreadable(component: Component, identity: str) -> Rejected:
    shown = f"{component.name} {identity}".rstrip()
    rule = f"{shown} has instances or a count, and no pod spec that can be read"
    return Rejected(RejectCode.INVALID_VALUE, rule)
