"""Tables: the rows that `kubectl get` prints, and the choice between table, metadata and object."""

from typing import Any

from shared.kubesim.apimachinery.columns import AGE, NAME
from shared.kubesim.apimachinery.registry import Resource
from shared.kubesim.apimachinery.strategies import Object
from shared.kubesim.builtin.printers import COLUMNS
from shared.kubesim.store.objects import ObjectStore
from shared.kubesim.store.serializer import dumps, watch_line

META_V1 = "meta.k8s.io/v1"


def wanted_form(accept: str) -> str:
    """`Table`, `PartialObjectMetadata`, `PartialObjectMetadataList`, or "" for the object itself."""
    if "as=" not in accept:
        return ""
    for option in accept.split(","):
        parameters = [part.strip() for part in option.split(";")]
        if parameters[0] in ("application/json", "*/*") and len(parameters) == 1:
            return ""
        if parameters[0] != "application/json" or "v=v1" not in parameters:
            continue
        for parameter in parameters[1:]:
            if parameter.startswith("as="):
                return parameter[3:]
    return ""


def partial(obj: Object) -> Object:
    """An object's metadata alone."""
    return {"kind": "PartialObjectMetadata", "apiVersion": META_V1, "metadata": obj["metadata"]}


def table(
    store: ObjectStore,
    resource: Resource,
    items: list[Object],
    meta: dict[str, Any],
    include: str = "Metadata",
    *,
    headers: bool = True,
) -> dict[str, Any]:
    """A `meta.k8s.io/v1` Table of `items`."""
    now = store.clock.now()
    columns = resource.columns or COLUMNS.get(resource.key, (NAME, AGE))
    kept = {
        name: meta[name]
        for name in ("resourceVersion", "continue", "remainingItemCount")
        if name in meta
    }
    rows = []
    for obj in items:
        row: dict[str, Any] = {"cells": [column.cell(obj, now) for column in columns]}
        if include == "Object":
            row["object"] = obj
        elif include != "None":
            row["object"] = partial(obj)
        rows.append(row)
    return {
        "kind": "Table",
        "apiVersion": META_V1,
        "metadata": kept,
        "columnDefinitions": [column.definition() for column in columns] if headers else None,
        "rows": rows,
    }


class WatchRows:
    """Renders a watch as tables of one row; only the first carries the column definitions."""

    def __init__(self, store: ObjectStore, resource: Resource, include: str) -> None:
        self._store = store
        self._resource = resource
        self._include = include or "Metadata"
        self._headers = True

    def __call__(self, event_type: str, obj: Object) -> bytes:
        meta = {"resourceVersion": obj["metadata"]["resourceVersion"]}
        rows = table(
            self._store, self._resource, [obj], meta, self._include, headers=self._headers
        )
        self._headers = False
        return watch_line(event_type, dumps(rows))
