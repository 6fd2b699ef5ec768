"""Label and field selectors of list, watch and deletecollection, compiled to predicates."""

from collections.abc import Callable, Mapping
from typing import Any

from shared.errors import Rejected
from shared.kubesim.apimachinery.errors import bad_request
from shared.kubesim.apimachinery.strategies import Object
from shared.selectors import parse_selector, read_selector

Predicate = Callable[[Object], bool]

_EMPTY: dict[str, str] = {}

# Fields that may select, beside metadata.name and metadata.namespace (each kind's strategy).
_SELECTABLE: dict[str, frozenset[str]] = {
    "pods": frozenset(
        {
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        }
    ),
    "events": frozenset(
        {
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        }
    ),
    "namespaces": frozenset({"status.phase"}),
    "nodes": frozenset({"spec.unschedulable"}),
    "secrets": frozenset({"type"}),
    "jobs.batch": frozenset({"status.successful"}),
    "replicasets.apps": frozenset({"status.replicas"}),
    "replicationcontrollers": frozenset({"status.replicas"}),
}
_RENAMED = {"source": "source.component", "status.successful": "status.succeeded"}
# What an absent field counts as, where that is not the empty string.
_ZERO = {"status.successful": "0", "status.replicas": "0", "spec.unschedulable": "false"}


def label_predicate(text: str) -> Predicate | None:
    """Compile a label selector; None if it selects everything. ApiError 400 on bad syntax."""
    try:
        selector = parse_selector(text.strip(), most=None)  # Kubernetes knows no bound
    except Rejected as refusal:
        raise bad_request(f"unable to parse requirement: {refusal.detail}") from None
    if not selector.expressions:
        return None

    def matches(obj: Object) -> bool:
        return selector.matches(obj["metadata"].get("labels") or _EMPTY)

    return matches


def labels_match(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Whether a `metav1.LabelSelector` object matches; None matches nothing, {} everything."""
    read = read_selector(selector)
    return read is not None and read.matches(labels)


def field_terms(text: str) -> list[tuple[str, bool, str]]:
    """(field, equal?, value) of each term of a field selector. ApiError 400 on bad syntax."""
    terms = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        for operator, equal in (("!=", False), ("==", True), ("=", True)):
            field, found, value = part.partition(operator)
            if found:
                terms.append((field.strip(), equal, value.strip()))
                break
        else:
            raise bad_request(f"invalid field selector: {part}")
    return terms


def field_predicate(key: str, text: str, extra: frozenset[str] = frozenset()) -> Predicate | None:
    """Compile a field selector for a resource; `extra` are a CRD's selectable fields."""
    terms = field_terms(text)
    if not terms:
        return None
    allowed = _SELECTABLE.get(key, frozenset()) | extra
    tests = [_field_test(term, allowed) for term in terms]
    return lambda obj: all(test(obj) for test in tests)


def _field_test(term: tuple[str, bool, str], allowed: frozenset[str]) -> Predicate:
    field, equal, value = term
    if field == "metadata.name":
        return lambda obj: (obj["metadata"]["name"] == value) is equal
    if field == "metadata.namespace":
        return lambda obj: (obj["metadata"].get("namespace", "") == value) is equal
    if field not in allowed:
        if allowed:
            raise bad_request(f"field label not supported: {field}")
        known = '"metadata.name", "metadata.namespace"'
        raise bad_request(f'"{field}" is not a known field selector: only {known}')
    path = _RENAMED.get(field, field).split(".")
    zero = _ZERO.get(field, "")
    return lambda obj: (_text_at(obj, path, zero) == value) is equal


def _text_at(obj: Any, path: list[str], zero: str) -> str:
    for step in path:
        obj = obj.get(step) if isinstance(obj, dict) else None
        if obj is None:
            return zero
    return ("true" if obj else "false") if isinstance(obj, bool) else str(obj)


def name_selected(text: str) -> str | None:
    """The one name that a field selector asks for, if it does."""
    for field, equal, value in field_terms(text):
        if field == "metadata.name" and equal:
            return value
    return None


def both(first: Predicate | None, second: Predicate | None) -> Predicate | None:
    if first is None or second is None:
        return first or second
    one, other = first, second
    return lambda obj: one(obj) and other(obj)
