"""Tells agents the definitions of dispatched kinds: built-in ones, and administrators' versions."""

import functools
import hashlib
from collections.abc import Sequence
from typing import Final

import orjson

from hub.services.reading import work_kinds
from hub.store.kind_versions import KindVersion
from shared.documents import Json
from shared.kinds.dispatched import DISPATCHED
from shared.manifest_yaml import read_yaml
from shared.workkinds.catalog import FOLDER, builtin_catalog
from shared.workkinds.parse_extension import KIND as EXTENSION
from shared.workkinds.parse_karta import KIND as KARTA

_DIGITS: Final = 12  # of the hash, in a revision that a signed 64-bit number holds


@functools.cache
def told() -> Json:
    """A `kind_rules.KindDefinitions` as JSON. The revision follows from the content: never 0."""
    wanted = {
        each.karta.name
        for each in builtin_catalog()
        if (each.of.api_version, each.of.kind) in DISPATCHED
    }
    kartas: dict[str, Json] = {}
    extensions: dict[str, Json] = {}
    for path in sorted(FOLDER.glob("*.yaml")):
        for document in read_yaml(path.read_bytes()):
            if document.get("kind") == KARTA:
                kartas[document["metadata"]["name"]] = document
            elif document.get("kind") == EXTENSION:
                extensions[document["spec"]["karta"]] = document
    definitions = [
        _definition(name, kartas[name], extensions.get(name)) for name in sorted(wanted)
    ]
    digest = _digest([each["hash"] for each in definitions])
    return {"revision": int(digest[:_DIGITS], 16) + 1, "definitions": definitions}


def told_with(versions: Sequence[KindVersion]) -> Json:
    """The same with what administrators defined: each version is a definition by the name NAME@VERSION."""
    if not versions:
        return told()
    added = [_definition(each.key, each.karta, each.extension) for each in versions]
    definitions = [*told()["definitions"], *added]
    digest = _digest([[each["name"], each["hash"]] for each in definitions])
    return {"revision": int(digest[:_DIGITS], 16) + 1, "definitions": definitions}


@functools.cache
def warm() -> None:
    """Read all definitions and compile what they say, for which the event loop has no time later."""
    work_kinds.warm()
    told()


def _definition(name: str, karta: Json, extension: Json | None) -> Json:
    return {
        "name": name,
        "hash": _digest([karta, extension]),
        "karta": karta,
        "extension": extension,
    }


def _digest(value: object) -> str:
    body = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(body, digest_size=16).hexdigest()
