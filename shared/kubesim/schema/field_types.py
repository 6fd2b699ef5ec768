"""The types of fields: what server-side apply, strategic merge, field checks and protobuf go by.

A `Schema` is one node. Built-in kinds come from `builtin_schemas.json` (made by `builtin.generate_schemas`),
custom ones from their CRD. Nodes of built-in definitions are shared and resolved on first use.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import orjson

_FILE = Path(__file__).with_name("builtin_schemas.json")


class Schema:
    """One node: `object` (fields), `map` (element), `list` (element), `any`, or a scalar's name."""

    __slots__ = (
        "_fields",
        "_load",
        "atomic",
        "default",
        "definition",
        "element",
        "keys",
        "list_type",
        "merge_key",
        "preserve",
        "required",
        "retains_keys",
        "strategy",
        "type",
        "zero",
    )

    def __init__(
        self,
        type: str,  # noqa: A002 - the word of every schema language
        *,
        definition: str = "",
        element: "Schema | None" = None,
        load: Callable[[], dict[str, "Schema"]] | None = None,
        fields: dict[str, "Schema"] | None = None,
    ) -> None:
        self.type = type
        self.definition = definition
        self.element = element
        self._load = load
        self._fields = fields
        self.list_type = "atomic"
        self.keys: tuple[str, ...] = ()
        self.atomic = False
        self.preserve = False  # unknown fields are kept
        self.required = False
        self.zero = False
        self.default: Any = None
        self.strategy = ""
        self.merge_key = ""
        self.retains_keys = False

    @property
    def fields(self) -> dict[str, "Schema"]:
        """The named fields of an object."""
        if self._fields is None:
            self._fields = self._load() if self._load else {}
        return self._fields

    def field(self, name: str) -> "Schema | None":
        """The schema of a field or map value; None if the name is unknown."""
        if self.type == "object":
            known = self.fields.get(name)
            if known is not None:
                return known
            return self.element or (ANY if self.preserve else None)
        return self.element if self.type == "map" else ANY


ANY = Schema("any")  # no schema: objects merge, lists are atomic


@cache
def _file() -> dict[str, Any]:
    parsed: dict[str, Any] = orjson.loads(_FILE.read_bytes())
    return parsed


@cache
def definition(name: str) -> Schema:
    """A definition by its short name, such as `api.core.v1.PodSpec`."""
    row = _file()["definitions"][name]
    schema = Schema("object", definition=name, load=lambda: _fields(row))
    schema.atomic = row.get("") == "atomic"
    return schema


def _fields(row: dict[str, Any]) -> dict[str, Schema]:
    return {name: _field(entry) for name, entry in row.items() if name}


def _field(entry: dict[str, Any]) -> Schema:
    schema = _typed(entry["t"])
    extras = entry.keys() - {"t"}
    if not extras:
        return schema
    if schema.definition:
        # The definition's node is shared; what the usage adds belongs to a node of its own.
        shared = schema
        schema = Schema("object", definition=shared.definition, load=lambda: shared.fields)
        schema.atomic = shared.atomic
    else:
        schema = _typed(entry["t"])
    schema.required, schema.zero = "r" in entry, "z" in entry or "r" in entry
    schema.default = entry.get("d")
    schema.list_type = entry.get("l", "atomic")
    schema.keys = tuple(entry.get("k", ()))
    schema.atomic = schema.atomic or entry.get("a") == "atomic"
    strategy = entry.get("p", "").split(",")
    schema.strategy = "merge" if "merge" in strategy else ""
    schema.retains_keys = "retainKeys" in strategy
    schema.merge_key = entry.get("m", "")
    return schema


def _typed(text: str) -> Schema:
    if text.startswith("["):
        return Schema("list", element=_typed(text[1:]))
    if text.startswith("{"):
        return Schema("map", element=_typed(text[1:]))
    if text.startswith("@"):
        return definition(text[1:])
    return Schema(text)


def kind_definition(api_version: str, kind: str) -> str | None:
    """The definition of a built-in kind."""
    found: str | None = _file()["kinds"].get(f"{api_version}/{kind}")
    return found


@cache
def built_in(api_version: str, kind: str) -> Schema | None:
    """The schema of a built-in kind."""
    name = kind_definition(api_version, kind)
    return definition(name) if name else None


def messages() -> dict[str, dict[str, str]]:
    """Protobuf field numbers by definition: a field's name, or `<` and an embedded message."""
    table: dict[str, dict[str, str]] = _file()["messages"]
    return table


def definitions() -> dict[str, dict[str, Any]]:
    """The raw rows of all definitions, for OpenAPI."""
    table: dict[str, dict[str, Any]] = _file()["definitions"]
    return table


def kinds() -> dict[str, str]:
    """The definition of every built-in kind, by `apiVersion/kind`."""
    table: dict[str, str] = _file()["kinds"]
    return table


@cache
def object_meta() -> Schema:
    return definition("apimachinery.pkg.apis.meta.v1.ObjectMeta")
