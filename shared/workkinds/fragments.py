"""Pod specs of kinds that keep the parts of one at separate places (Karta's fragmented pod spec). Pure."""

from collections.abc import Mapping
from typing import Any

from shared import quantity
from shared.errors import Rejected
from shared.reject_codes import RejectCode


def fragmented_specs(read: Mapping[str, list[Any]]) -> list[Mapping[str, Any] | None]:
    """A pod spec for each position of the values of `containersPath`, `containerPath` and `resourcesPath`.

    Several containers for one position are refused by the positions that do not match. What is asked for
    in two places is the larger of both, as an undercount is never admitted.
    """
    read = {name: values for name, values in read.items() if name != "unreadable"}
    parts = {name: values for name, values in read.items() if name != "priorityClassNamePath"}
    number = max((len(values) for values in parts.values()), default=0)
    return [
        _spec({name: _at(v, index, number) for name, v in read.items()}) for index in range(number)
    ]


def _at(values: list[Any], index: int, number: int) -> Any:
    if len(values) not in (0, number):
        rule = f"parts of pod specs do not match: {len(values)} of one, {number} of another"
        raise Rejected(RejectCode.INVALID_VALUE, rule)
    return values[index] if values else None


def _spec(parts: Mapping[str, Any]) -> Mapping[str, Any] | None:
    containers = parts.get("containersPath") or []
    listed = list(containers) if isinstance(containers, list) else []
    if isinstance(one := parts.get("containerPath"), dict):
        listed.append(one)
    resources = parts.get("resourcesPath")
    if isinstance(resources, dict):
        listed = _with_resources(listed, resources)
    if not listed:
        return None
    spec: dict[str, Any] = {"containers": listed}
    if priority := parts.get("priorityClassNamePath"):
        spec["priorityClassName"] = priority
    return spec


def _with_resources(containers: list[Any], resources: dict[str, Any]) -> list[Any]:
    """The resources of the first container, raised to those that are said beside it."""
    if not containers or not isinstance(containers[0], dict):
        return [{"resources": resources}]
    own = containers[0].get("resources")
    both = {
        part: _larger(_mapping(own, part), _mapping(resources, part))
        for part in ("requests", "limits")
    }
    return [{**containers[0], "resources": both}, *containers[1:]]


def _mapping(value: object, name: str) -> dict[str, Any]:
    inner = value.get(name) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}


def _larger(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    made = dict(one)
    for resource, amount in other.items():
        if resource not in made or quantity.parse(resource, amount) > quantity.parse(
            resource, made[resource]
        ):
            made[resource] = amount
    return made
