"""`metadata.managedFields`: who owns which fields, kept at every write by a named manager.

`ManagedFields.track` follows updates (an updater owns a field only if it changed it) and `applied`
computes a server-side apply. Rules: k8s.io/apimachinery managedfields and structured-merge-diff's
merge.Updater.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from shared.clock import Clock
from shared.kubesim.apimachinery import metadata
from shared.kubesim.apimachinery.registry import Resource
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.schema import fieldset, typed
from shared.kubesim.schema.field_types import Schema
from shared.kubesim.schema.fieldset import FieldSet

_MOST_UPDATERS = 10
_ANCIENT = "ancient-changes"
_BEFORE_FIRST_APPLY = "before-first-apply"

# Nobody owns what identifies an object, nor what only the server writes.
_NEVER_OWNED: FieldSet = {
    "f:apiVersion": {},
    "f:kind": {},
    "f:metadata": {
        f"f:{name}": {}
        for name in (
            "name",
            "namespace",
            "generateName",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "selfLink",
            "uid",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    },
}
SchemaOf = Callable[[Resource], Schema]


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of managedFields."""

    manager: str
    operation: str
    api_version: str
    subresource: str = ""
    time: str = ""
    fields: FieldSet | None = None
    source: dict[str, Any] | None = field(default=None, compare=False)  # the row it was read from

    @property
    def identity(self) -> tuple[str, str, str, str]:
        return (self.manager, self.operation, self.api_version, self.subresource)

    def row(self) -> dict[str, Any]:
        if self.source is not None:
            return self.source
        row = {
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": self.fields,
        }
        if self.subresource:
            row["subresource"] = self.subresource
        return row


def read_entries(obj: Object) -> list[Entry]:
    """The rows of an object; what cannot be read is dropped."""
    entries = []
    for row in obj["metadata"].get("managedFields") or ():
        fields = row.get("fieldsV1")
        if isinstance(fields, dict) and row.get("operation") in ("Apply", "Update"):
            entries.append(
                Entry(
                    row.get("manager", ""),
                    row["operation"],
                    row.get("apiVersion", ""),
                    row.get("subresource", ""),
                    row.get("time", ""),
                    fields,
                    row,
                )
            )
    return entries


class ManagedFields:
    """Keeps the rows. `schema_of` gives the types of a resource."""

    def __init__(self, clock: Clock, schema_of: SchemaOf) -> None:
        self._clock = clock
        self._schema_of = schema_of

    def track(
        self, resource: Resource, new: Object, old: Object | None, manager: str, subresource: str
    ) -> Object:
        """`new` with the rows as they are after `manager` wrote it over `old`."""
        given = new["metadata"].get("managedFields")
        if given == [{}]:
            return metadata.with_metadata(new, managedFields=None)
        change = self._change(resource, new, old)
        base = read_entries(new if given is not None or old is None else old)
        subresource = "" if subresource == "*" else subresource
        mine = Entry(manager, "Update", resource.api_version, subresource)
        others = [entry for entry in base if entry.identity != mine.identity]
        before = next((entry for entry in base if entry.identity == mine.identity), mine)
        gained = fieldset.union(change.added, change.modified)
        taken = fieldset.union(gained, change.removed)
        entries = _without(others, taken)
        fields = fieldset.union(fieldset.difference(before.fields, change.removed), gained)
        entries.append(self._stamped(before, fields))
        return _with_entries(new, _capped(entries, resource.api_version))

    def _change(self, resource: Resource, new: Object, old: Object | None) -> typed.Comparison:
        schema = self._schema_of(resource)
        if old is None:
            created = typed.created_set(schema, new)
            return typed.Comparison(fieldset.without_trees(created, _NEVER_OWNED), None, None)
        change = typed.compare(schema, old, new)
        return typed.Comparison(
            fieldset.without_trees(change.added, _NEVER_OWNED),
            fieldset.without_trees(change.removed, _NEVER_OWNED),
            fieldset.without_trees(change.modified, _NEVER_OWNED),
        )

    def _stamped(self, before: Entry, fields: FieldSet | None) -> Entry:
        if fields == before.fields:
            return before
        return replace(before, fields=fields, source=None, time=metadata.stamp(self._clock.now()))

    def applied(
        self,
        resource: Resource,
        live: Object | None,
        config: Object,
        manager: str,
        subresource: str,
    ) -> tuple[Object, list[tuple[Entry, FieldSet]], list[Entry]]:
        """Lay `config` over `live`, as `manager` applies it.

        Returns the new object without its rows; the conflicts, each with another manager's entry and
        the fields of it that would change; and the rows as they are if the apply is carried out.
        """
        schema = self._schema_of(resource)
        base = read_entries(live) if live is not None else []
        if live is not None and not base:
            base = self._first_entries(resource, live)
        mine = Entry(manager, "Apply", resource.api_version, subresource)
        before = next((entry for entry in base if entry.identity == mine.identity), mine)
        others = [entry for entry in base if entry.identity != mine.identity]
        wanted = fieldset.without_trees(typed.field_set(schema, config), _NEVER_OWNED)
        merged = config if live is None else typed.merge(schema, live, config)
        merged = self._pruned(schema, merged, before.fields, wanted, others)
        change = self._change(resource, merged, live) if live is not None else None
        touched = fieldset.union(change.added, change.modified) if change else None
        conflicts = []
        for entry in others:
            common = fieldset.intersection(entry.fields, touched)
            if common is not None and entry.manager != manager:
                conflicts.append((entry, common))
        gone = fieldset.union(touched, change.removed) if change else None
        entries = [*_without(others, gone), self._stamped(before, wanted)]
        return merged, conflicts, entries

    def _pruned(
        self,
        schema: Schema,
        merged: Object,
        last: FieldSet | None,
        wanted: FieldSet | None,
        others: Iterable[Entry],
    ) -> Object:
        """Without the fields that the manager applied last time, no longer does, and nobody else owns."""
        kept = wanted
        for entry in others:
            kept = fieldset.union(kept, entry.fields)
        gone = fieldset.difference(last, kept)
        if not gone:
            return merged
        pruned: Object = typed.remove(schema, merged, gone, kept) or {}
        return pruned

    def _first_entries(self, resource: Resource, live: Object) -> list[Entry]:
        """What was there before the first apply belongs to its unknown writers."""
        everything = typed.field_set(self._schema_of(resource), live)
        fields = fieldset.without_trees(everything, _NEVER_OWNED)
        if fields is None:
            return []
        created = live["metadata"].get("creationTimestamp", "")
        return [Entry(_BEFORE_FIRST_APPLY, "Update", resource.api_version, "", created, fields)]

    def with_entries(self, obj: Object, entries: Iterable[Entry]) -> Object:
        return _with_entries(obj, entries)


def _without(entries: Iterable[Entry], taken: FieldSet | None) -> list[Entry]:
    if taken is None:
        return list(entries)
    left = []
    for entry in entries:
        fields = fieldset.difference(entry.fields, taken)
        left.append(
            entry if fields == entry.fields else replace(entry, fields=fields, source=None)
        )
    return left


def _with_entries(obj: Object, entries: Iterable[Entry]) -> Object:
    owning = [entry for entry in entries if entry.fields]
    owning.sort(key=lambda entry: (entry.operation, entry.time, *entry.identity))
    rows = [entry.row() for entry in owning]
    return metadata.with_metadata(obj, managedFields=rows or None)


def _capped(entries: list[Entry], api_version: str) -> list[Entry]:
    """At most ten updaters keep rows of their own; older ones are joined."""
    updaters = [entry for entry in entries if entry.operation == "Update" and entry.fields]
    surplus = len(updaters) - _MOST_UPDATERS
    if surplus <= 0:
        return entries
    oldest = sorted(updaters, key=lambda entry: entry.time)[: surplus + 1]
    joined: FieldSet | None = None
    for entry in oldest:
        joined = fieldset.union(joined, entry.fields)
    ancient = Entry(_ANCIENT, "Update", api_version, "", oldest[-1].time, joined)
    return [ancient, *(entry for entry in entries if entry not in oldest)]
