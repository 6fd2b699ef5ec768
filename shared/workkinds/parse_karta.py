"""From a Karta document to `Karta`, or a refusal that names what is wrong and where. Pure.

What Roadstead does not read (pod selectors, gangs) is held to the same syntax: it is part of the contract
with whoever reads it next.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from shared.kinds.problems import Problems
from shared.reject_codes import RejectCode
from shared.workkinds.definition import (
    STATES,
    Assignment,
    Component,
    Condition,
    Karta,
    KindName,
    Matcher,
    StatusDefinition,
)
from shared.workkinds.language import Syntax

API_VERSION: Final = "run.ai/v1alpha1"
KIND: Final = "Karta"
MOST_COMPONENTS: Final = 64
_FRAGMENTS: Final = ("containersPath", "containerPath", "resourcesPath", "priorityClassNamePath")
_READABLE: Final = frozenset(_FRAGMENTS[:3])
_CONDITION_FIELDS: Final = ("type", "status", "reason", "message")
_LISTS: Final = frozenset({"groupByKeyPaths", "filters"})

Json = Mapping[str, Any]


def parse_karta(document: Json, syntax: Syntax) -> Karta:
    """Raise `Rejected` with all that is wrong."""
    problems = Problems(strict=False)
    if document.get("apiVersion") != API_VERSION:
        rule = f"only {API_VERSION} is read, whose paths are jq"
        problems.add("apiVersion", RejectCode.INVALID_VALUE, rule)
        problems.raise_if_any()
    spec = _mapping(document, "spec", "", problems)
    if spec.get("expressionLanguage") not in (None, "jq"):
        rule = "only jq is read"
        problems.add("spec.expressionLanguage", RejectCode.INVALID_VALUE, rule)
    for field, text in expressions_of(spec, "spec"):
        check_expression(text, field, syntax, problems)
    structure = _mapping(spec, "structureDefinition", "spec", problems)
    at = "spec.structureDefinition"
    root = _mapping(structure, "rootComponent", at, problems)
    children = _mappings(structure, "childComponents", at, problems)
    of = _kind_of(root, f"{at}.rootComponent", problems)
    components = [_component(root, f"{at}.rootComponent", problems)]
    for index, child in enumerate(children[:MOST_COMPONENTS]):
        components.append(_component(child, f"{at}.childComponents[{index}]", problems))
    if len(children) > MOST_COMPONENTS:
        rule = f"at most {MOST_COMPONENTS} components are read"
        problems.add(f"{at}.childComponents", RejectCode.TOO_MANY_ITEMS, rule)
    _check_owners(components, at, problems)
    status = _status(root, f"{at}.rootComponent.statusDefinition", problems)
    suspension = _mapping(root, "suspendDefinition", f"{at}.rootComponent", problems)
    where = f"{at}.rootComponent.suspendDefinition"
    suspend = _assignments(suspension, "suspendActions", where, problems)
    resume = _assignments(suspension, "resumeActions", where, problems)
    problems.raise_if_any()
    name = _text(_mapping(document, "metadata", "", problems), "name") or components[0].name
    return Karta(name, of, tuple(components), status, suspend, resume)


def expressions_of(value: Any, field: str) -> Iterator[tuple[str, str]]:
    """Every expression below a Karta's spec, with its place."""
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from expressions_of(each, f"{field}[{index}]")
    if not isinstance(value, dict):
        return
    for name, inner in value.items():
        at = f"{field}.{name}"
        if isinstance(inner, str) and _is_expression(str(name), field):
            yield at, inner
        elif name in _LISTS and isinstance(inner, list):
            yield from (
                (f"{at}[{i}]", each) for i, each in enumerate(inner) if isinstance(each, str)
            )
        else:
            yield from expressions_of(inner, at)


def _is_expression(name: str, field: str) -> bool:
    if name == "value":
        return "Actions[" in field
    return name.endswith("Path") or name in {"path", "expression"}


def check_expression(text: str, field: str, syntax: Syntax, problems: Problems) -> None:
    """Note what a definition must not say."""
    try:
        syntax.check(text)
    except ValueError as fault:
        problems.add(field, RejectCode.INVALID_VALUE, str(fault))


def _component(value: Json, field: str, problems: Problems) -> Component:
    name = _text(value, "name")
    if not name:
        problems.add(f"{field}.name", RejectCode.REQUIRED, "a component has a name")
    spec = _mapping(value, "specDefinition", field, problems)
    fragments = _mapping(spec, "fragmentedPodSpecDefinition", f"{field}.specDefinition", problems)
    if (
        sum(1 for way in ("podTemplateSpecPath", "podSpecPath") if spec.get(way)) + bool(fragments)
        > 1
    ):
        rule = "the pod spec is said in one way: podTemplateSpecPath, podSpecPath or fragments"
        problems.add(f"{field}.specDefinition", RejectCode.INVALID_COMBINATION, rule)
    scale = _mapping(value, "scaleDefinition", field, problems)
    read = {each: _text(fragments, each) for each in _FRAGMENTS if _text(fragments, each)}
    if fragments and not read.keys() & _READABLE:
        read["unreadable"] = "null"  # it has pods, and nothing says what they ask for
    return Component(
        name=name,
        owner=_text(value, "ownerRef"),
        template=_text(spec, "podTemplateSpecPath"),
        pod_spec=_text(spec, "podSpecPath"),
        fragments=read,
        scaled=bool(scale),
        replicas=_text(scale, "replicasPath"),
        min_replicas=_text(scale, "minReplicasPath"),
        instance_id=_text(value, "instanceIdPath"),
    )


def _check_owners(components: list[Component], at: str, problems: Problems) -> None:
    """One name each, and every chain of owners ends at the root."""
    by_name = {each.name: each for each in components}
    if len(by_name) < len(components):
        problems.add(at, RejectCode.DUPLICATE, "two components have one name")
    if components[0].owner:
        problems.add(
            f"{at}.rootComponent.ownerRef", RejectCode.INVALID_VALUE, "the root has no owner"
        )
    for index, each in enumerate(components[1:]):
        field = f"{at}.childComponents[{index}].ownerRef"
        seen: set[str] = set()
        owner = each.owner
        while owner in by_name and owner not in seen and owner != components[0].name:
            seen.add(owner)
            owner = by_name[owner].owner
        if owner != components[0].name:
            rule = f"{each.name} is not below the root: owner {owner or 'is missing'}"
            problems.add(field, RejectCode.INVALID_VALUE, rule)


def _kind_of(root: Json, field: str, problems: Problems) -> KindName:
    said = _mapping(root, "kind", field, problems)
    of = KindName(_text(said, "group"), _text(said, "version"), _text(said, "kind"))
    if not of.version or not of.kind or (not of.group and of.kind not in {"Pod", "Service"}):
        rule = "the root's group, version and kind are required"
        problems.add(f"{field}.kind", RejectCode.REQUIRED, rule)
    return of


def _status(root: Json, field: str, problems: Problems) -> StatusDefinition:
    said = _mapping(root, "statusDefinition", field.rpartition(".")[0], problems)
    conditions = _mapping(said, "conditionsDefinition", field, problems)
    phase = _mapping(said, "phaseDefinition", field, problems)
    mappings = _mapping(said, "statusMappings", field, problems)
    read = {}
    for state in mappings:
        at = f"{field}.statusMappings.{state}"
        if state not in STATES:
            problems.add(at, RejectCode.INVALID_STATE, f"no state; those are {', '.join(STATES)}")
            continue
        listed = _mappings(mappings, state, f"{field}.statusMappings", problems)
        read[state] = tuple(
            _matcher(each, f"{at}[{index}]", problems) for index, each in enumerate(listed)
        )
    return StatusDefinition(
        conditions_path=_text(conditions, "path"),
        fields={n: _text(conditions, f"{n}FieldName") or n for n in _CONDITION_FIELDS},
        phase_path=_text(phase, "path"),
        mappings=read,
    )


def _matcher(value: Json, field: str, problems: Problems) -> Matcher:
    by = _mapping(value, "byExpression", field, problems)
    conditions = tuple(
        Condition(*(_scalar(each, name) for name in _CONDITION_FIELDS))
        for each in _mappings(value, "byConditions", field, problems)
    )
    made = Matcher(
        phase=_scalar(value, "byPhase"),
        conditions=conditions,
        expression=_text(by, "expression"),
        expected=_expected(by.get("expectedResult")),
    )
    if not (made.phase or made.conditions or made.expression):
        rule = "a matcher says byPhase, byConditions or byExpression"
        problems.add(field, RejectCode.REQUIRED, rule)
    return made


def _assignments(said: Json, name: str, field: str, problems: Problems) -> tuple[Assignment, ...]:
    found = []
    for index, each in enumerate(_mappings(said, name, field, problems)):
        path, value = _text(each, "path"), _text(each, "value")
        if not path or not value:
            rule = "path and value are required, both as texts"
            problems.add(f"{field}.{name}[{index}]", RejectCode.REQUIRED, rule)
        found.append(Assignment(path, value))
    return tuple(found)


def _mapping(value: Json, name: str, field: str, problems: Problems) -> dict[str, Any]:
    inner = value.get(name)
    if isinstance(inner, dict):
        return inner
    if inner is not None:
        at = f"{field}.{name}" if field else name
        problems.add(at, RejectCode.INVALID_TYPE, "must be an object")
    return {}


def _mappings(value: Json, name: str, field: str, problems: Problems) -> list[dict[str, Any]]:
    inner = value.get(name)
    if inner is None:
        return []
    if isinstance(inner, list) and all(isinstance(each, dict) for each in inner):
        return inner
    problems.add(f"{field}.{name}", RejectCode.INVALID_TYPE, "must be a list of objects")
    return []


def _scalar(value: Json, name: str) -> str:
    """A text, also where YAML has read a status such as True as something else."""
    inner = value.get(name)
    return str(inner) if isinstance(inner, bool | int) else _text(value, name)


def _expected(value: object) -> str:
    """The result that is expected, as the language prints it; true where nothing is said."""
    if value is None:
        return "true"
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _text(value: Json, name: str) -> str:
    inner = value.get(name)
    return inner if isinstance(inner, str) else ""
