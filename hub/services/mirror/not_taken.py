"""Objects of the hub cluster that the hub rejected: placements that select them report it. In the memory of
one process.

The bridge puts and drops, the controller of placements reads. After a restart placements begin with what
their statuses say (`recall`), until the bridge has looked at each object again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from hub.domain.placement.status import Resource
from hub.services.placements.selecting import REFUSED_BY_HUB, NotTakenObject, SelectionRules
from hub.store.records.objects import StoredObject

Identity = tuple[str, str, str, str]  # group, kind, namespace, name
_LONGEST: Final = 500  # characters of a message


@dataclass(slots=True)
class NotTaken:
    """By identity. `bridged`: is there a hub cluster? `told`: called after a change."""

    bridged: bool = False
    told: Callable[[], None] = lambda: None
    _held: dict[Identity, NotTakenObject] = field(default_factory=dict)
    _changed: set[NotTakenObject] = field(default_factory=set)

    def put(
        self, identity: Identity, version: str, labels: Mapping[str, str], code: str, detail: str
    ) -> None:
        """The hub refuses this object."""
        group, kind, namespace, name = identity
        self._replace(
            identity,
            NotTakenObject(
                Resource(group, version, kind, namespace, name),
                tuple(sorted(labels.items())),
                f"{code}: {detail}"[:_LONGEST],
            ),
        )

    def drop(self, identity: Identity) -> None:
        """The hub takes it, or it is gone."""
        self._replace(identity, None)

    def identities(self) -> list[Identity]:
        """All that are held."""
        return list(self._held)

    def recall(self, row: StoredObject) -> None:
        """What the status of a placement says was refused, unless the bridge has said something since."""
        for target in (row.status or {}).get("placementStatuses") or () if self.bridged else ():
            for each in target.get("failedPlacements") or ():
                if each["condition"].get("reason") != REFUSED_BY_HUB:
                    continue
                resource = Resource(
                    each.get("group") or "",
                    each.get("version") or "",
                    each["kind"],
                    each.get("namespace") or "",
                    each["name"],
                )
                identity = (resource.group, resource.kind, resource.namespace, resource.name)
                said = NotTakenObject(resource, (), each["condition"]["message"], row.uid)
                self._held.setdefault(identity, said)

    def take_changed(self) -> set[NotTakenObject]:
        """Those that came, changed or went since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def of(self, rules: SelectionRules | None, uid: str) -> tuple[NotTakenObject, ...]:
        """Those that placement `uid` with these rules may select."""
        if rules is None:
            return ()
        return tuple(
            each for each in self._held.values() if each.of == uid or _may_select(rules, each)
        )

    def _replace(self, identity: Identity, new: NotTakenObject | None) -> None:
        old = self._held.get(identity)
        if old == new:
            return
        if new is None:
            del self._held[identity]
        else:
            self._held[identity] = new
        self._changed.update(each for each in (old, new) if each is not None)
        self.told()


def _may_select(rules: SelectionRules, each: NotTakenObject) -> bool:
    it = each.resource
    return rules.may_select(it.group, it.kind, it.namespace, it.name, dict(each.labels))
