"""Redaction of manifests: contents of Secrets, and values of environment variables. Pure.

Functions give copies; what has nothing to hide is given back as it is.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from shared.nesting import MAX_DEPTH

HIDDEN: Final = "[hidden]"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_CONTENTS: Final = ("data", "stringData")
_PLAIN: Final = frozenset({"apiVersion", "kind", "metadata", "type", "status", "origin"})
# Variables, by the name of their field in lower case without `_`: a list or a map of them.
_VARIABLES: Final = frozenset(
    {"env", "envs", "envvars", "extraenv", "extraenvvars", "environment", "environmentvariables"}
)
_SOURCES: Final = frozenset({"name", "key", "valueFrom"})  # where a value is taken from
# Its maps are schemas.
_DEFINITION: Final = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
# Fields of operators: SparkApplication's sparkConf and hadoopConf; Ray's others.
_SETTINGS: Final = frozenset({"sparkConf", "hadoopConf", "rayStartParams"})
_SECRET_SETTING: Final = re.compile(r"env\.|secret|passw|pwd|token|credential|key", re.IGNORECASE)
_DOCUMENTS: Final = frozenset({"serveConfigV2", "runtimeEnvYAML"})  # YAML with env_vars
_PASSWORDS: Final = frozenset({"redisPassword", "redisUsername"})
_MARK: Final = re.compile(rf"{re.escape(HIDDEN)}|hidden:[0-9a-f]{{16}}")  # in Secrets
Digest = Callable[[bytes], str]
Step = str | int  # the name of a field, or the place in a list


class Form(StrEnum):
    """The form of a text with a value: it alone, NAME=VALUE, a setting, a document with variables."""

    VALUE = "Value"
    ASSIGNMENT = "Assignment"
    SETTING = "Setting"
    DOCUMENT = "Document"


class Place(NamedTuple):
    """Location of one value of an environment variable. `path[field]`: the field by which it is one."""

    path: tuple[Step, ...]
    value: Any
    field: int
    form: Form


def without_secrets(value: Any, digest: Digest) -> Any:
    """`value` with every Secret inside it redacted: its keys stay, of its values `digest` gives a mark.

    The same content has the same mark, whether it was given as text or as base64.
    """
    if isinstance(value, dict):
        if is_secret(value):
            return _redacted(value, digest)
        return {name: without_secrets(each, digest) for name, each in value.items()}
    if isinstance(value, list):
        return [without_secrets(each, digest) for each in value]
    return value


def without_env(value: Any) -> Any:
    """`value` with the values of all environment variables hidden: HIDDEN at each of its `places`."""
    found = places(value)
    if not found:
        return value
    tree: dict[Step, Any] = {}
    for each in found:
        *above, last = each.path
        at = tree
        for step in above:
            at = at.setdefault(step, {})
        at[last] = None
    return _with_marks(value, tree)


def places(value: Any) -> list[Place]:
    """Every place in `value` at which a value of an environment variable stands: those given as text.

    Also where operators have them: lists and maps of variables, settings by name, documents in a string.
    The only list of such places: whatever hides values, looks for them or refuses marks asks here.
    """
    found: list[Place] = []
    _look(value, [], found)
    return found


def places_at(path: Sequence[str], value: Any, manifest: Mapping[str, Any]) -> list[Place]:
    """The places in `value`, which stands at `path` of `manifest` or of another form of that object.

    Their paths are those in the object. A place whose `field` is above the value: all of it is one.
    """
    at: Any = manifest
    for step in path:
        if _is_definition(at):
            return []
        at = at.get(step) if isinstance(at, dict) else _item(at, step)
    if len(path) > MAX_DEPTH:  # deeper than any manifest
        return [Place((*path,), value, 0, Form.VALUE)]
    for step in reversed(path):  # an item of a list and a value of a map are judged alike
        value = [value] if step.isdecimal() else {step: value}
    return places(value)


def is_hidden_at(path: Sequence[str], value: Any, manifest: Mapping[str, Any]) -> bool:
    """Does `value` stand at, or below, a field of variables of `manifest`, and is something of it hidden?"""
    return any(each.field < len(path) for each in places_at(path, value, manifest))


def marked(value: Any) -> Iterator[tuple[Step, ...]]:
    """Paths in `value` at which a mark stands in place of what was hidden there."""
    for each in places(value):
        if _is_mark(each):
            yield each.path
    yield from _marks_of_secrets(value, (), inside=False)


def is_secret(manifest: Mapping[str, Any]) -> bool:
    """Is this a Kubernetes Secret?"""
    return manifest.get("kind") == "Secret" and manifest.get("apiVersion") == "v1"


def _redacted(secret: dict[str, Any], digest: Digest) -> dict[str, Any]:
    # What is no field of a Secret may be one that was misspelt.
    kept = {
        name: each if name in _PLAIN or isinstance(each, bool) else HIDDEN
        for name, each in secret.items()
    }
    for part in _CONTENTS:
        content = secret.get(part)
        if isinstance(content, dict):
            kept[part] = {
                key: digest(_bytes(text, encoded=part == "data")) for key, text in content.items()
            }
        elif content is not None:
            kept[part] = HIDDEN
    metadata = secret.get("metadata")
    if isinstance(metadata, dict) and LAST_APPLIED in (metadata.get("annotations") or {}):
        notes = {k: v for k, v in metadata["annotations"].items() if k != LAST_APPLIED}
        kept["metadata"] = {**metadata, "annotations": notes}
    return kept


def _bytes(text: Any, *, encoded: bool) -> bytes:
    if encoded:
        try:
            return base64.b64decode("".join(str(text).split()), validate=True)
        except (binascii.Error, ValueError):
            pass
    return str(text).encode(errors="surrogatepass")


def _with_marks(value: Any, tree: dict[Step, Any] | None) -> Any:
    if tree is None:
        return HIDDEN
    kept = value.copy()
    for step, below in tree.items():
        kept[step] = _with_marks(value[step], below)
    return kept


def _item(value: Any, step: str) -> Any:
    inside = isinstance(value, list) and step.isdecimal() and int(step) < len(value)
    return value[int(step)] if inside else None


def _is_definition(value: Any) -> bool:
    return isinstance(value, dict) and (value.get("apiVersion"), value.get("kind")) == _DEFINITION


def _look(value: Any, path: list[Step], found: list[Place]) -> None:
    """Add the places in `value`, which stands at `path`."""
    if isinstance(value, list):
        for index, each in enumerate(value):
            if isinstance(each, dict | list):
                path.append(index)
                _look(each, path, found)
                path.pop()
    elif isinstance(value, dict) and not _is_definition(value):
        for name, each in value.items():
            if isinstance(each, dict | list):
                path.append(name)
                _look_into(name, each, path, found)
                path.pop()
            elif name in _DOCUMENTS and isinstance(each, str):
                found.append(Place((*path, name), each, len(path), Form.DOCUMENT))


def _look_into(name: str, value: Any, path: list[Step], found: list[Place]) -> None:
    """Add those in a map or a list, which is field `name`, the last of `path`."""
    if name.replace("_", "").lower() in _VARIABLES:
        found.extend(_variables(value, (*path,)))
    elif name in _SETTINGS and isinstance(value, dict):
        found.extend(_settings(value, (*path,)))
    elif name in _PASSWORDS and isinstance(value, dict) and "value" in value:
        found.append(Place((*path, "value"), value["value"], len(path) - 1, Form.VALUE))
    else:
        _look(value, path, found)


def _settings(value: dict[str, Any], path: tuple[Step, ...]) -> Iterator[Place]:
    for key, each in value.items():
        if _SECRET_SETTING.search(key):
            yield Place((*path, key), each, len(path) - 1, Form.SETTING)


def _variables(value: Any, path: tuple[Step, ...]) -> Iterator[Place]:
    """Of a map of variables, or of a list: objects with name and value, NAME=VALUE, objects of variables."""
    field = len(path) - 1
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _variable(each, (*path, name), field)
        return
    for index, each in enumerate(value):
        if not isinstance(each, dict):
            yield Place((*path, index), each, field, Form.ASSIGNMENT)
            continue
        for name, inner in each.items():
            if name not in _SOURCES:
                yield from _variable(inner, (*path, index, name), field)


def _variable(value: Any, path: tuple[Step, ...], field: int) -> Iterator[Place]:
    """A value, or an object that has one or says where it is taken from."""
    if not isinstance(value, dict):
        yield Place(path, value, field, Form.VALUE)
        return
    for name, each in value.items():
        if name not in _SOURCES:
            yield Place((*path, name), each, field, Form.VALUE)


def _is_mark(place: Place) -> bool:
    """Is the value a mark, or has a text with variables in it one for some value?"""
    value = place.value
    if not isinstance(value, str) or HIDDEN not in value:
        return False
    if place.form == Form.ASSIGNMENT:
        return value.partition("=")[2] == HIDDEN or value == HIDDEN
    return place.form != Form.VALUE or value == HIDDEN


def _marks_of_secrets(
    value: Any, path: tuple[Step, ...], *, inside: bool
) -> Iterator[tuple[Step, ...]]:
    """`inside`: of a Secret, whose every value may be one."""
    if isinstance(value, str):
        if inside and _MARK.fullmatch(value):
            yield path
        return
    if isinstance(value, dict):
        inside = inside or is_secret(value)
        for name, each in value.items():
            yield from _marks_of_secrets(each, (*path, name), inside=inside)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _marks_of_secrets(each, (*path, index), inside=inside)
