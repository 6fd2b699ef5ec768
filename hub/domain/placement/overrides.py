"""Stored overrides that name an object of a placement, as in KubeFleet. Pure.

Their cluster selectors are not read here: `hub.domain.rollout.overriding` does.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hub.domain.placement.status import Resource
from shared.documents import JsonView

CLUSTER_OVERRIDE: Final = "ClusterResourceOverride"
# By kind of placement, the scope by which an override means one.
SCOPES: Final = {"ClusterResourcePlacement": "Cluster", "ResourcePlacement": "Namespaced"}


@dataclass(frozen=True, slots=True)
class Override:
    """An override as it is kept. `namespace`: of a ResourceOverride, else ""; `spec`: of any shape."""

    kind: str
    namespace: str
    name: str
    spec: JsonView
    uid: str = ""
    generation: int = 0

    @property
    def is_tied(self) -> bool:
        """Is it for one placement alone? Then a change of it is a new version of that one's."""
        return isinstance(self.spec.get("placement"), dict)

    @property
    def named(self) -> str:
        """As people name it."""
        return f"{self.kind} {'/'.join(part for part in (self.namespace, self.name) if part)}"


def naming(
    overrides: Iterable[Override], placement: tuple[str, str], selected: Sequence[Resource]
) -> list[Override]:
    """Overrides that name something `selected`. `placement`: its kind and name."""
    return [
        each
        for each in overrides
        if _is_for(each.spec.get("placement"), placement)
        and any(names(each, one) for one in selected)
    ]


def _is_for(wanted: Any, placement: tuple[str, str]) -> bool:
    """Without a placement it is for all; its scope is Cluster unless it says otherwise."""
    if not isinstance(wanted, dict):
        return True
    kind, name = placement
    return (scope_of(wanted), wanted.get("name")) == (SCOPES[kind], name)


def scope_of(wanted: JsonView) -> str:
    """Of an override's `placement`."""
    return str(wanted.get("scope") or "Cluster")


def names(override: Override, resource: Resource) -> bool:
    """Does it name this resource, itself or by its Namespace?"""
    whole = override.kind == CLUSTER_OVERRIDE
    if not whole and resource.namespace != override.namespace:
        return False
    field = "clusterResourceSelectors" if whole else "resourceSelectors"
    selectors = override.spec.get(field)
    return any(
        _selects(each, resource, whole=whole)
        for each in (selectors if isinstance(selectors, list) else ())
        if isinstance(each, dict)
    )


def _selects(selector: JsonView, resource: Resource, *, whole: bool) -> bool:
    """By exact name; with `whole`, a Namespace stands for everything in it."""
    named = (selector.get("group") or "", selector.get("kind"), selector.get("name"))
    if named == (resource.group, resource.kind, resource.name):
        return not whole or not resource.namespace
    return whole and named == ("", "Namespace", resource.namespace)
