"""Selecting by labels, taints and properties: the small predicates every rule of placement uses.

Kubernetes' own semantics for labels and tolerations; KubeFleet's for properties (placement 1.3): a
property that is missing or does not parse matches nothing, not even `Ne`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from shared import quantity
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.resources import Expression, NodeTerm, Toleration

BLOCKING_EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})

MOST_TERMS: Final = 100  # of one selector
_MARKS: Final = re.compile(r"[(),]")
_SET_BASED: Final = re.compile(r"^(\S+)\s+(in|notin)\s*\(([^()]*)\)$")
_EQUALITY: Final = re.compile(r"^([^\s=!]+)\s*(==|=|!=)\s*([^\s=!]*)$")
_KEY: Final = re.compile(r"^(!?)\s*([A-Za-z0-9][-A-Za-z0-9_./]*)$")


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a node or of a member cluster."""

    key: str
    value: str = ""
    effect: str = ""

    def __str__(self) -> str:
        return (
            f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"
        )


def read_taints(listed: Iterable[Mapping[str, Any]] | None) -> tuple[Taint, ...]:
    """Taints as manifests and reports spell them."""
    return tuple(
        Taint(t.get("key") or "", t.get("value") or "", t.get("effect") or "")
        for t in listed or ()
    )


def read_tolerations(listed: Iterable[Mapping[str, Any]] | None) -> tuple[Toleration, ...]:
    """Tolerations as manifests spell them; the operator defaults to Equal."""
    return tuple(
        Toleration(
            key=t.get("key") or "",
            operator=t.get("operator") or "Equal",
            value=t.get("value") or "",
            effect=t.get("effect") or "",
            seconds=t.get("tolerationSeconds"),
        )
        for t in listed or ()
    )


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Equal: key and value equal; Exists: key equal, or empty for any. An empty effect is any."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.operator == "Exists":
        return not toleration.key or toleration.key == taint.key
    return toleration.key == taint.key and toleration.value == taint.value


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> Taint | None:
    """The first blocking taint that nothing tolerates; PreferNoSchedule never blocks."""
    given = tuple(tolerations)
    for taint in taints:
        blocks = taint.effect in BLOCKING_EFFECTS
        if blocks and not any(tolerates(t, taint) for t in given):
            return taint
    return None


def holds(expression: Expression, labels: Mapping[str, str]) -> bool:
    """Does one requirement hold? NotIn and DoesNotExist hold where the key is absent."""
    value = labels.get(expression.key)
    match expression.operator:
        case "In":
            return value is not None and value in expression.values
        case "NotIn":
            return value is None or value not in expression.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(expression, value)
        case _:
            return False


def _compares(expression: Expression, value: str | None) -> bool:
    """Gt and Lt compare whole numbers; what is none never holds."""
    try:
        here, bound = int(value or ""), int(expression.values[0])
    except (ValueError, IndexError):
        return False
    return here > bound if expression.operator == "Gt" else here < bound


def node_matches(terms: tuple[NodeTerm, ...] | None, labels: Mapping[str, str]) -> bool:
    """Required node affinity over pool labels: terms are ORed, an empty term matches nothing.

    Requirements on node fields are left to the member's own scheduler.
    """
    if terms is None:
        return True
    return any(
        (term.expressions or term.fields) and all(holds(e, labels) for e in term.expressions)
        for term in terms
    )


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """matchLabels and matchExpressions, all of which must hold; the empty one matches everything."""

    labels: tuple[tuple[str, str], ...] = ()
    expressions: tuple[Expression, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(labels.get(k) == v for k, v in self.labels) and all(
            holds(e, labels) for e in self.expressions
        )


def read_selector(spec: Mapping[str, Any] | None) -> LabelSelector | None:
    """A metav1.LabelSelector; None stays None, whose meaning is the caller's."""
    if spec is None:
        return None
    return LabelSelector(
        labels=tuple(sorted((spec.get("matchLabels") or {}).items())),
        expressions=tuple(
            Expression(e.get("key", ""), e.get("operator", ""), tuple(e.get("values") or ()))
            for e in spec.get("matchExpressions") or ()
        ),
    )


def parse_selector(text: str, field: str = "") -> LabelSelector:
    """Kubectl's notation: `a=b,c!=d,e in (f,g),h notin (i),j,!k`.

    Raises `Rejected`: InvalidSelector, or TooManyTerms beyond MOST_TERMS requirements.
    """
    parts: list[str] = []
    start = depth = 0
    for mark in _MARKS.finditer(text):
        match mark[0]:
            case "(":
                depth += 1
            case ")":
                depth -= 1
            case _ if depth <= 0:
                parts.append(text[start : mark.start()].strip())
                start = mark.end()
        if len(parts) >= MOST_TERMS:
            rule = f"has more than {MOST_TERMS} requirements, which is the most"
            raise Rejected(RejectCode.TOO_MANY_TERMS, rule, field)
    parts.append(text[start:].strip())
    return LabelSelector(expressions=tuple(_requirement(p, field) for p in parts if p))


def _requirement(part: str, field: str) -> Expression:
    if found := _SET_BASED.match(part):
        values = tuple(v.strip() for v in found[3].split(",") if v.strip())
        return Expression(found[1], "In" if found[2] == "in" else "NotIn", values)
    if found := _EQUALITY.match(part):
        return Expression(found[1], "NotIn" if found[2] == "!=" else "In", (found[3],))
    if found := _KEY.match(part):
        return Expression(found[2], "DoesNotExist" if found[1] else "Exists")
    raise Rejected(
        RejectCode.INVALID_SELECTOR, f"{quantity.shown(part)} is no label requirement", field
    )


@dataclass(frozen=True, slots=True)
class PropertyExpression:
    """One requirement of a property selector: `name operator value`."""

    name: str
    operator: str  # Gt | Ge | Eq | Ne | Lt | Le
    value: Decimal
    text: str

    def holds(self, measured: Decimal | None) -> bool:
        """Does `measured` satisfy it? What is missing satisfies nothing."""
        if measured is None:
            return False
        match self.operator:
            case "Gt":
                return measured > self.value
            case "Ge":
                return measured >= self.value
            case "Eq":
                return measured == self.value
            case "Ne":
                return measured != self.value
            case "Lt":
                return measured < self.value
            case "Le":
                return measured <= self.value
            case _:
                return False

    def __str__(self) -> str:
        return f"{self.name} {self.operator} {self.text}"


def read_properties(spec: Mapping[str, Any] | None) -> tuple[PropertyExpression, ...]:
    """A propertySelector's matchExpressions; raises `Rejected` for a value that is no quantity."""
    read = []
    for listed in (spec or {}).get("matchExpressions") or ():
        text = str((listed.get("values") or [""])[0])
        read.append(
            PropertyExpression(
                listed.get("name", ""), listed.get("operator", ""), quantity.number(text), text
            )
        )
    return tuple(read)
