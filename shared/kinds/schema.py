"""From a pydantic model to the structural OpenAPI schema that a CustomResourceDefinition holds.

Structural means: every reference written out, every node with a type, no defaults but those that
list-map keys need, nothing that only JSON Schema knows.
"""

import functools
from collections.abc import Mapping
from typing import Any, Final

from shared.kinds.model import INT32_MAX, Model

_INT64: Final = 2**63 - 1
_DROPPED: Final = frozenset({"title", "default", "$defs", "additionalProperties", "const"})

Schema = dict[str, Any]


def structural(model: type[Model]) -> Schema:
    """The structural schema of a model, in the spelling of its aliases."""
    whole = _json_schema(model)
    return _structural(whole, whole.get("$defs", {}))


@functools.lru_cache(maxsize=2)  # spec and status, which the versions of one kind share
def _json_schema(model: type[Model]) -> dict[str, Any]:
    return model.model_json_schema(by_alias=True)


def _structural(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> Schema:
    node = _written_out(node, definitions)
    made: Schema = {name: value for name, value in node.items() if name not in _DROPPED}
    if "const" in node:
        made |= {"type": "string", "enum": [node["const"]]}
    if "properties" in node:
        made["properties"] = {
            name: _structural(inner, definitions)
            for name, inner in sorted(node["properties"].items())
        }
    if isinstance(node.get("additionalProperties"), dict):
        made["additionalProperties"] = _structural(node["additionalProperties"], definitions)
    if "items" in node:
        made["items"] = _structural(node["items"], definitions)
        _keep_key_defaults(made, _written_out(node["items"], definitions))
    if made.get("type") == "integer":
        _format_integer(made)
    if "required" in made:
        made["required"] = sorted(made["required"])
    return made


def _written_out(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """The node with its reference resolved, and without the `or null` of an optional field."""
    while True:
        if "$ref" in node:
            target = definitions[node["$ref"].rpartition("/")[2]]
            node = {**target, **{k: v for k, v in node.items() if k != "$ref"}}
        elif "anyOf" in node and "x-kubernetes-int-or-string" not in node:
            (inner,) = [part for part in node["anyOf"] if part.get("type") != "null"]
            node = {**inner, **{k: v for k, v in node.items() if k != "anyOf"}}
        else:
            return node


def _keep_key_defaults(made: Schema, item: Mapping[str, Any]) -> None:
    """A key of a list-map must be required or have a default."""
    for name in made.get("x-kubernetes-list-map-keys", ()):
        default = item["properties"][name].get("default")
        if default is not None:
            made["items"]["properties"][name]["default"] = default


def _format_integer(made: Schema) -> None:
    wide = made.get("maximum", _INT64) > INT32_MAX
    made["format"] = "int64" if wide else "int32"
    if made.get("maximum") in {INT32_MAX, _INT64}:
        del made["maximum"]
    if made.get("minimum") == -(2**31):
        del made["minimum"]
