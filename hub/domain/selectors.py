"""Selecting by labels, taints and properties: the small predicates every rule of placement uses.

Kubernetes' own semantics for labels and tolerations; KubeFleet's for properties: a
property that is missing or does not parse matches nothing, not even `Ne`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from shared import properties
from shared.documents import JsonView
from shared.resources import NodeTerm, Toleration
from shared.selectors import holds

BLOCKING_EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})


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


def read_taints(listed: Iterable[JsonView] | None) -> tuple[Taint, ...]:
    """Taints as manifests and reports spell them."""
    return tuple(
        Taint(t.get("key") or "", t.get("value") or "", t.get("effect") or "")
        for t in listed or ()
    )


def read_tolerations(listed: Iterable[JsonView] | None) -> tuple[Toleration, ...]:
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
class PropertyExpression:
    """One requirement of a property selector: `name operator value`."""

    name: str
    operator: str  # Gt | Ge | Eq | Ne | Lt | Le
    value: Decimal | str  # a text of what is no number: where a cluster is
    text: str

    def holds(self, measured: Decimal | str | None) -> bool:
        """Does `measured` satisfy it? A missing value satisfies nothing, and a text is equal or not."""
        if measured is None:
            return False
        if isinstance(measured, str) or isinstance(self.value, str):
            alike = measured == self.value
            return alike if self.operator == "Eq" else not alike and self.operator == "Ne"
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


def read_properties(spec: JsonView | None) -> tuple[PropertyExpression, ...]:
    """A propertySelector's matchExpressions; raises `Rejected` for a value that is no quantity."""
    read = []
    for listed in (spec or {}).get("matchExpressions") or ():
        text = str((listed.get("values") or [""])[0])
        name = listed.get("name", "")
        value = text if properties.is_location(name) else properties.number(name, text)
        read.append(PropertyExpression(name, listed.get("operator", ""), value, text))
    return tuple(read)
