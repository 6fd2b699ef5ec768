"""From instances of components to pod sets: names, order, least counts, and what operators add. Pure."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, Final

from shared import quantity
from shared.errors import Rejected
from shared.kinds import shapes
from shared.kinds.problems import Problems
from shared.reject_codes import RejectCode
from shared.resources import PodSet, pod_set_of
from shared.workkinds.components import Instance, ObjectView, instances_of
from shared.workkinds.definition import Definition, Extra, PodSetRule
from shared.workkinds.parse_extension import INSTANCE

MOST_POD_SETS: Final = 18  # as in Kueue
_SAFE: Final = PodSetRule("")


class DescribedPods:
    """Pod sets, each with the spec that it was read from."""

    def __init__(self) -> None:
        self.pod_sets: list[PodSet] = []
        self.priority_class = ""  # the first that a template names

    def add(
        self, name: str, count: int, spec: Mapping[str, Any], least: int | None = None
    ) -> None:
        """Raises `Rejected` for a second pod set of the name, for too many, and for what is no pod spec."""
        self.add_read(name, pod_set(name.lower(), count, spec, least))
        priority = spec.get("priorityClassName")
        if isinstance(priority, str) and not self.priority_class:
            self.priority_class = priority

    def add_read(self, name: str, read: PodSet) -> None:
        """One that was read already, under this name. Raises as `add` does."""
        name = name.lower()
        if any(each.name == name for each in self.pod_sets):
            raise Rejected(RejectCode.DUPLICATE, f"two pod sets are called {name}")
        if len(self.pod_sets) == MOST_POD_SETS:
            raise Rejected(RejectCode.TOO_MANY_ITEMS, f"more than {MOST_POD_SETS} pod sets")
        self.pod_sets.append(dataclasses.replace(read, name=name))


def pod_set(name: str, count: int, spec: Mapping[str, Any], least: int | None = None) -> PodSet:
    """Raises `Rejected` for a spec whose fields are not of a pod's types."""
    problems = Problems()
    shapes.check_fields(spec, "PodSpec", f"{name}.spec", problems)
    problems.raise_if_any()
    if place := _null_item(spec, f"{name}.spec"):
        raise Rejected(RejectCode.INVALID_TYPE, f"{place} is null", place)
    return pod_set_of(name, count, {"spec": spec}, name, least)


def _null_item(value: object, field: str) -> str:
    """Where a list below holds null, which no reader of pods expects; "" for nowhere."""
    if isinstance(value, dict):
        below = ((inner, f"{field}.{key}") for key, inner in value.items())
    elif isinstance(value, list):
        below = ((inner, f"{field}[{index}]") for index, inner in enumerate(value))
    else:
        return ""
    for inner, place in below:
        if inner is None and isinstance(value, list):
            return place
        if found := _null_item(inner, place):
            return found
    return ""


def describe(definition: Definition, view: ObjectView) -> DescribedPods:
    """All pods of an object. Raises `Rejected`."""
    rules = {rule.component: rule for rule in definition.extended.pod_sets}
    made = DescribedPods()
    for instance in _in_order(instances_of(definition, view), list(rules)):
        rule = rules.get(instance.component.name, _SAFE)
        spec = instance.pod_spec
        for extra in definition.extended.extras:
            if extra.component == instance.component.name:
                spec = _with_extra(spec, extra, view)
        made.add(_name(instance, rule), instance.count, spec, _least(instance, rule, view))
    if not made.pod_sets:
        rule_text = "no pods are found in it: give it at least one pod template"
        raise Rejected(RejectCode.INVALID_VALUE, rule_text)
    return made


def pod_set_name(definition: Definition, instance: Instance) -> str:
    """The name of the pod set of an instance."""
    rules = {rule.component: rule for rule in definition.extended.pod_sets}
    return _name(instance, rules.get(instance.component.name, _SAFE)).lower()


def _in_order(instances: list[Instance], first: list[str]) -> Iterable[Instance]:
    """Those of listed components in the list's order, then the others in document order."""

    def place(instance: Instance) -> int:
        name = instance.component.name
        return first.index(name) if name in first else len(first)

    return sorted(instances, key=place)


def _name(instance: Instance, rule: PodSetRule) -> str:
    if rule.name and rule.name != INSTANCE:
        return rule.name
    if rule.name == INSTANCE and instance.identity:
        return instance.identity
    return "-".join(filter(None, (instance.component.name, instance.identity)))


def _least(instance: Instance, rule: PodSetRule, view: ObjectView) -> int | None:
    if not rule.min_count:
        return None
    least = view.value(rule.min_count, f"the least count of {instance}")
    if least is None:
        return None
    is_whole = (
        not isinstance(least, bool) and isinstance(least, int | float) and least == int(least)
    )
    if not is_whole or not 0 <= least <= instance.count:
        needed = f"a whole number up to {instance.count} is needed"
        told = f"the least count of {instance} is {str(least)[:40]}: {needed}"
        raise Rejected(RejectCode.INVALID_NUMBER, told)
    return int(least) if least < instance.count else None


def _with_extra(spec: Mapping[str, Any], extra: Extra, view: ObjectView) -> Mapping[str, Any]:
    what = f"what is added to {extra.component}"
    if not view.holds(extra.when, what):
        return spec
    made = dict(spec)
    for path, part in ((extra.container, "containers"), (extra.init_container, "initContainers")):
        if path:
            added = [each for each in view.values(path, what) if isinstance(each, dict)]
            made[part] = [*(made.get(part) or ()), *added]
    if extra.at_least:
        first, *others = made["containers"]
        made["containers"] = [_raised(first, extra.at_least), *others]
    return made


def _raised(container: Any, least: Mapping[str, str]) -> Any:
    """A container whose requests are at least these."""
    if not isinstance(container, dict):
        return container
    said = container.get("resources")
    resources = said if isinstance(said, dict) else {}
    asked = {**_amounts(resources, "limits"), **_amounts(resources, "requests")}
    for name, amount in least.items():
        if name not in asked or quantity.parse(name, asked[name]) < quantity.parse(name, amount):
            asked[name] = amount
    return {**container, "resources": {**resources, "requests": asked}}


def _amounts(resources: Mapping[str, Any], part: str) -> Mapping[str, Any]:
    listed = resources.get(part)
    return listed if isinstance(listed, dict) else {}
