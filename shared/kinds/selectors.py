"""Rules of label selectors, tolerations and taints, wherever a manifest holds them."""

from collections.abc import Mapping
from typing import Any, Final

from shared.kinds.names import is_label_value, is_qualified_name
from shared.kinds.problems import Problems, is_mapping, objects
from shared.quantity import shown
from shared.reject_codes import RejectCode

MOST_TERMS: Final = 100
MOST_VALUES: Final = 1000
# Bytes of keys and values: of one object's labels, one selector, one pod template. Kubernetes bounds only the
# object. The hub matches labels against selectors and keeps them in its caches: 16 KiB hold 250 labels of
# 64 bytes, more than node feature discovery gives a node.
LABEL_BYTES: Final = 16 * 1024
TOO_LARGE: Final = (
    f"keys and values take more than {LABEL_BYTES} bytes in total, which is the most; move labels "
    "that no selector uses to annotations"
)

_SELECTOR: Final = frozenset({"matchLabels", "matchExpressions"})
_EXPRESSION: Final = frozenset({"key", "operator", "values"})
_TOLERATION: Final = frozenset({"key", "operator", "value", "effect", "tolerationSeconds"})
LABEL_OPERATORS: Final = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})
NODE_OPERATORS: Final = LABEL_OPERATORS | {"Gt", "Lt"}
POD_EFFECTS: Final = frozenset({"NoSchedule", "PreferNoSchedule", "NoExecute"})


def check_label_selector(value: object, field: str, problems: Problems) -> None:
    """A metav1.LabelSelector: matchLabels and matchExpressions, each within bounds."""
    if not isinstance(value, dict):
        is_mapping(value, field, problems)
        return
    problems.unknown(value, _SELECTOR, field)
    labels = value.get("matchLabels") or {}
    if is_mapping(labels, f"{field}.matchLabels", problems):
        check_labels(labels, f"{field}.matchLabels", problems)
    check_expressions(value.get("matchExpressions"), f"{field}.matchExpressions", problems)


def check_expressions(
    value: object, field: str, problems: Problems, operators: frozenset[str] = LABEL_OPERATORS
) -> None:
    """A list of `key operator values`: what In, Exists and their like demand of the values."""
    if isinstance(value, list) and len(value) > MOST_TERMS:
        problems.add(
            field, RejectCode.TOO_MANY_TERMS, f"has {len(value)} terms; at most {MOST_TERMS}"
        )
        return
    for path, item in objects(value, field, problems):
        problems.unknown(item, _EXPRESSION, path)
        key = item.get("key")
        if not isinstance(key, str) or not is_qualified_name(key):
            problems.add(f"{path}.key", RejectCode.INVALID_LABEL, f"{shown(key)} is no label key")
        _check_values(item, path, problems, operators)


def _check_values(
    item: Mapping[str, Any], path: str, problems: Problems, operators: frozenset[str]
) -> None:
    operator = item.get("operator")
    values = item.get("values")
    values = [] if values is None else values
    if operator not in operators:
        known = ", ".join(sorted(operators))
        problems.add(
            f"{path}.operator",
            RejectCode.UNSUPPORTED_VALUE,
            f"{shown(operator)} is none of {known}",
        )
        return
    where = f"{path}.values"
    if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
        problems.add(where, RejectCode.INVALID_TYPE, "must be a list of strings")
    elif len(values) > MOST_VALUES:
        problems.add(
            where, RejectCode.TOO_MANY_TERMS, f"has {len(values)} values; at most {MOST_VALUES}"
        )
    elif operator in {"Exists", "DoesNotExist"}:
        if values:
            problems.add(
                where, RejectCode.INVALID_SELECTOR, f"must be empty for operator {operator}"
            )
    elif operator in {"Gt", "Lt"}:
        if len(values) != 1 or not values[0].lstrip("-").isdecimal():
            problems.add(
                where, RejectCode.INVALID_SELECTOR, f"operator {operator} takes one whole number"
            )
    elif not values:
        problems.add(
            where, RejectCode.INVALID_SELECTOR, f"operator {operator} needs at least one value"
        )
    elif not all(map(is_label_value, values)):
        problems.add(where, RejectCode.INVALID_LABEL, "holds what cannot be a label value")


def are_labels_too_large(labels: Mapping[str, Any]) -> bool:
    """Keys and values together exceed `LABEL_BYTES`; stops counting as soon as they do."""
    if len(labels) > LABEL_BYTES:
        return True
    size = 0
    for key, value in labels.items():
        size += len(key) + (len(value) if isinstance(value, str) else 0)
        if size > LABEL_BYTES:
            return True
    return False


def check_labels(labels: Mapping[str, Any], field: str, problems: Problems) -> None:
    """Keys are qualified names, values label values, in total within `LABEL_BYTES` (checked first)."""
    if are_labels_too_large(labels):
        problems.add(field, RejectCode.LABELS_TOO_LARGE, TOO_LARGE)
        return
    for key, value in labels.items():
        if not is_qualified_name(key):
            rule = "an optional DNS prefix and '/', then at most 63 of letters, digits, '-_.'"
            problems.add(field, RejectCode.INVALID_LABEL, f"key {shown(key)}: {rule}")
        elif not is_label_value(value):
            rule = "a label value is text of at most 63 letters, digits, '-', '_' and '.'"
            problems.add(f"{field}[{key}]", RejectCode.INVALID_LABEL, f"{shown(value)}: {rule}")


def check_tolerations(
    value: object,
    field: str,
    problems: Problems,
    effects: frozenset[str] = POD_EFFECTS,
    most: int = 1000,
) -> None:
    """Tolerations: Exists takes no value, an empty key tolerates all and needs Exists."""
    for path, item in objects(value, field, problems, most):
        problems.unknown(item, _TOLERATION, path)
        _check_toleration(item, path, problems, effects)


def _check_toleration(
    item: Mapping[str, Any], path: str, problems: Problems, effects: frozenset[str]
) -> None:
    operator = item.get("operator") or "Equal"
    effect = item.get("effect") or ""
    key = item.get("key") or ""
    if operator not in ("Equal", "Exists"):
        problems.add(f"{path}.operator", RejectCode.UNSUPPORTED_VALUE, "must be Equal or Exists")
    elif operator == "Exists" and item.get("value"):
        problems.add(
            f"{path}.value", RejectCode.INVALID_TOLERATION, "must be empty for operator Exists"
        )
    elif not key and operator != "Exists":
        problems.add(
            f"{path}.operator", RejectCode.INVALID_TOLERATION, "must be Exists where key is empty"
        )
    if key and not (isinstance(key, str) and is_qualified_name(key)):
        problems.add(f"{path}.key", RejectCode.INVALID_LABEL, f"{shown(key)} is no taint key")
    if effect and effect not in effects:
        known = ", ".join(sorted(effects))
        problems.add(
            f"{path}.effect", RejectCode.UNSUPPORTED_VALUE, f"{shown(effect)} is none of {known}"
        )
    if item.get("tolerationSeconds") is not None and effect != "NoExecute":
        rule = "is allowed with effect NoExecute only"
        problems.add(f"{path}.tolerationSeconds", RejectCode.INVALID_TOLERATION, rule)


def check_taints(
    value: object, field: str, problems: Problems, effects: frozenset[str], most: int
) -> None:
    """Taints: key and effect are required, the value is a label value, none occurs twice."""
    seen = set()
    for path, item in objects(value, field, problems, most):
        problems.unknown(item, frozenset({"key", "value", "effect", "timeAdded"}), path)
        key, effect = item.get("key"), item.get("effect")
        if not isinstance(key, str) or not is_qualified_name(key):
            problems.add(f"{path}.key", RejectCode.INVALID_LABEL, f"{shown(key)} is no taint key")
        if effect not in effects:
            known = ", ".join(sorted(effects))
            problems.add(
                f"{path}.effect", RejectCode.UNSUPPORTED_VALUE, f"{shown(effect)}: one of {known}"
            )
        if not is_label_value(item.get("value") or ""):
            problems.add(f"{path}.value", RejectCode.INVALID_LABEL, "must be a label value")
        if (key, effect) in seen:
            problems.add(
                path, RejectCode.DUPLICATE, f"key {shown(key)} with effect {effect} occurs twice"
            )
        seen.add((key, effect))
