"""From a `KindExtension` document to `Extension`, or a refusal that names what is wrong and where. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from shared import quantity
from shared.errors import Rejected
from shared.kinds.problems import Problems
from shared.reject_codes import RejectCode
from shared.workkinds.definition import (
    Assignment,
    Child,
    Extension,
    Extra,
    KindName,
    Known,
    PodSetRule,
    Rule,
)
from shared.workkinds.language import Syntax
from shared.workkinds.parse_karta import check_expression

API_VERSION: Final = "roadstead.dev/v1alpha1"
KIND: Final = "KindExtension"
CLASSES: Final = ("job", "service", "children", "per-pod", "companion")
INSTANCE: Final = "$instance"  # the name of a pod set: that of its instance, alone

Json = Mapping[str, Any]
_FIELDS: Final = frozenset(
    {
        "karta", "class", "plugin", "defaults", "podSets", "extras", "known", "refuse", "unmanaged",
        "workloads", "holding", "priorityPaths", "queuePaths", "child", "managedBy", "scale", "ready",
        "active",
    }
)  # fmt: skip
_ITEMS: Final[Mapping[str, frozenset[str]]] = {
    "defaults": frozenset({"path", "value", "when"}),
    "podSets": frozenset({"component", "name", "minCount"}),
    "extras": frozenset({"component", "when", "container", "initContainer", "atLeast"}),
    "known": frozenset({"path", "keys"}),
    "refuse": frozenset({"when", "message"}),
    "unmanaged": frozenset({"when", "message"}),
}
_EXPRESSIONS: Final = frozenset(
    {"path", "when", "minCount", "container", "initContainer", "workloads", "ready", "active"}
)
_LISTS: Final = frozenset({"priorityPaths", "queuePaths"})


def parse_extension(
    document: Json, syntax: Syntax, plugins: frozenset[str], *, trusted: bool
) -> tuple[str, Extension]:
    """The name of the Karta that it extends, and the extension. Raises `Rejected` with all that is wrong."""
    problems = Problems()
    if document.get("apiVersion") != API_VERSION:
        problems.add("apiVersion", RejectCode.INVALID_VALUE, f"must be {API_VERSION}")
    problems.unknown(document, frozenset({"apiVersion", "kind", "metadata", "spec"}), "")
    said = document.get("spec")
    spec: dict[str, Any] = said if isinstance(said, dict) else {}
    problems.unknown(spec, _FIELDS, "spec")
    for name, known in _ITEMS.items():
        for field, item in _items(spec, name, problems):
            problems.unknown(item, known, field)
    _check_plain(spec, plugins, problems, trusted=trusted)
    for field, text in _expressions(spec, "spec"):
        check_expression(text, field, syntax, problems)
    made = _extension(spec, problems)
    problems.raise_if_any()
    return str(spec["karta"]), made


def _check_plain(
    spec: Json, plugins: frozenset[str], problems: Problems, *, trusted: bool
) -> None:
    if not isinstance(spec.get("karta"), str):
        problems.add("spec.karta", RejectCode.REQUIRED, "the name of the Karta that is extended")
    if spec.get("class", "job") not in CLASSES:
        rule = f"must be one of {', '.join(CLASSES)}"
        problems.add("spec.class", RejectCode.INVALID_VALUE, rule)
    plugin = _text(spec, "plugin")
    if plugin and plugin not in plugins:
        rule = f"there is no plug-in of this name; those are {', '.join(sorted(plugins))}"
        problems.add("spec.plugin", RejectCode.INVALID_VALUE, rule)
    if plugin and not trusted:
        rule = "plug-ins are for the kinds that Roadstead brings"
        problems.add("spec.plugin", RejectCode.INVALID_COMBINATION, rule)
    for name in (*_EXPRESSIONS & spec.keys(), "holding", "plugin"):
        if not isinstance(spec.get(name, ""), str):
            problems.add(f"spec.{name}", RejectCode.INVALID_TYPE, "must be a text")


def _expressions(value: Any, field: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _expressions(each, f"{field}[{index}]")
    for name, inner in value.items() if isinstance(value, dict) else ():
        at = f"{field}.{name}"
        is_value = name == "value" and any(
            part in at for part in (".defaults[", ".managedBy", ".scale")
        )
        if isinstance(inner, str) and (name in _EXPRESSIONS or is_value):
            yield at, inner
        elif name in _LISTS and isinstance(inner, list):
            yield from ((f"{at}[{i}]", str(each)) for i, each in enumerate(inner))
        else:
            yield from _expressions(inner, at)


def _items(spec: Json, name: str, problems: Problems) -> list[tuple[str, dict[str, Any]]]:
    listed = spec.get(name)
    if listed is None:
        return []
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        problems.add(f"spec.{name}", RejectCode.INVALID_TYPE, "must be a list of objects")
        return []
    return [(f"spec.{name}[{index}]", each) for index, each in enumerate(listed)]


def _extension(spec: Json, problems: Problems) -> Extension:
    def rules(name: str) -> tuple[Rule, ...]:
        return tuple(
            Rule(_said(each, "when", at, problems), _said(each, "message", at, problems))
            for at, each in _items(spec, name, problems)
        )

    managed_by, scale = spec.get("managedBy"), spec.get("scale")
    return Extension(
        work_class=_text(spec, "class") or "job",
        plugin=_text(spec, "plugin"),
        defaults=tuple(
            Assignment(
                _said(each, "path", at, problems),
                _said(each, "value", at, problems),
                _text(each, "when"),
            )
            for at, each in _items(spec, "defaults", problems)
        ),
        pod_sets=tuple(
            PodSetRule(
                _said(each, "component", at, problems),
                _text(each, "name"),
                _text(each, "minCount"),
            )
            for at, each in _items(spec, "podSets", problems)
        ),
        extras=tuple(_extra(each, at, problems) for at, each in _items(spec, "extras", problems)),
        known=tuple(_known(each, at, problems) for at, each in _items(spec, "known", problems)),
        refuse=rules("refuse"),
        unmanaged=rules("unmanaged"),
        workloads=_text(spec, "workloads"),
        holding=_text(spec, "holding"),
        priority_paths=_texts(spec, "priorityPaths", "spec", problems),
        queue_paths=_texts(spec, "queuePaths", "spec", problems),
        child=_child(spec.get("child"), problems),
        managed_by=Assignment(_text(managed_by, "path"), _text(managed_by, "value"))
        if isinstance(managed_by, dict)
        else None,
        scale=Assignment(
            _said(scale, "path", "spec.scale", problems),
            _said(scale, "value", "spec.scale", problems),
        )
        if isinstance(scale, dict)
        else None,
        ready=_text(spec, "ready"),
        active=_text(spec, "active"),
    )


def _extra(value: Json, at: str, problems: Problems) -> Extra:
    least = value.get("atLeast")
    if not isinstance(least, dict):
        least = {}
    for resource, amount in least.items():
        try:
            quantity.parse(resource, amount, f"{at}.atLeast.{resource}")
        except Rejected as refusal:
            problems.take(refusal)
    return Extra(
        component=_said(value, "component", at, problems),
        when=_text(value, "when"),
        container=_text(value, "container"),
        init_container=_text(value, "initContainer"),
        at_least=least,
    )


def _known(value: Json, at: str, problems: Problems) -> Known:
    return Known(_said(value, "path", at, problems), _texts(value, "keys", at, problems))


def _child(value: object, problems: Problems) -> Child | None:
    if value is None:
        return None
    said = value if isinstance(value, dict) else {}
    names = [_said(said, name, "spec.child", problems) for name in ("apiVersion", "kind", "path")]
    group, _, version = names[0].rpartition("/")
    return Child(KindName(group, version, names[1]), names[2])


def _said(value: Json, name: str, at: str, problems: Problems) -> str:
    text = _text(value, name)
    if not text:
        problems.add(f"{at}.{name}", RejectCode.REQUIRED, "must be said, as a text")
    return text


def _texts(value: Json, name: str, at: str, problems: Problems) -> tuple[str, ...]:
    listed = value.get(name, [])
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        problems.add(f"{at}.{name}", RejectCode.INVALID_TYPE, "must be a list of texts")
        return ()
    return tuple(listed)


def _text(value: Json, name: str) -> str:
    inner = value.get(name)
    return inner if isinstance(inner, str) else ""
