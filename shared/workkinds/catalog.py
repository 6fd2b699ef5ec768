"""All definitions that are known: those that Roadstead brings, and those that administrators add."""

import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from shared.errors import Rejected
from shared.manifest_yaml import read_yaml
from shared.reject_codes import RejectCode
from shared.workkinds import parse_extension, parse_karta
from shared.workkinds.definition import Definition, KindName
from shared.workkinds.jq_language import CompiledSyntax
from shared.workkinds.jq_syntax import JqSyntax
from shared.workkinds.plugins import PLUGINS

FOLDER: Final = Path(__file__).with_name("definitions")

Json = Mapping[str, Any]


class KindCatalog:
    """Definitions by kind; a later one of the same kind goes before an earlier one."""

    def __init__(self, definitions: Iterable[Definition]) -> None:
        self._by_kind = {each.of: each for each in definitions}

    def __iter__(self) -> Iterator[Definition]:
        return iter(sorted(self._by_kind.values(), key=lambda each: each.of))

    def with_added(self, definitions: Iterable[Definition]) -> "KindCatalog":
        return KindCatalog([*self._by_kind.values(), *definitions])

    def find(self, of: KindName) -> Definition | None:
        return self._by_kind.get(of)

    def versions(self, of: KindName) -> list[str]:
        """The versions of a group's kind that are known."""
        return sorted(
            known.version
            for known in self._by_kind
            if known[0] == of.group and known[2] == of.kind
        )

    def named(self, name: str) -> list[Definition]:
        """By kind, in any case, by kind and group (`job.batch`), or by the name of the Karta."""
        wanted = name.lower()
        return [
            each
            for each in self
            if wanted
            in {each.of.kind.lower(), f"{each.of.kind}.{each.of.group}".lower(), each.karta.name}
        ]


@functools.cache
def builtin_catalog() -> KindCatalog:
    """What Roadstead brings: one file for each kind."""
    found: list[Definition] = []
    for path in sorted(FOLDER.glob("*.yaml")):
        found += read_definitions(read_yaml(path.read_bytes()), path.name, trusted=True)
    return KindCatalog(found)


def is_definition(document: Json) -> bool:
    """Whether a document is a Karta or an extension."""
    return document.get("kind") in {parse_karta.KIND, parse_extension.KIND}


def read_definitions(
    documents: Iterable[Json], source: str, *, trusted: bool = False
) -> list[Definition]:
    """The Kartas of a file, each with its extension. Raises `Rejected` with a field `NAME: path`."""
    syntax = JqSyntax() if trusted else CompiledSyntax()
    listed = list(documents)
    extensions = {}
    for document in listed:
        if document.get("kind") == parse_extension.KIND:
            with _Named(document):
                of, extension = parse_extension.parse_extension(
                    document, syntax, frozenset(PLUGINS), trusted=trusted
                )
                extensions[of] = extension
    found: list[Definition] = []
    for document in listed:
        if document.get("kind") == parse_karta.KIND:
            with _Named(document):
                karta = parse_karta.parse_karta(document, syntax)
                if any(each.karta.name == karta.name for each in found):
                    raise Rejected(RejectCode.DUPLICATE, "a second Karta of this name")
                found.append(Definition(karta, extensions.pop(karta.name, None), trusted, source))
    for definition in found:
        _check_names(definition)
    if extensions:
        rule = f"extensions of no Karta here: {', '.join(sorted(extensions))}"
        raise Rejected(RejectCode.INVALID_VALUE, rule)
    return found


def _check_names(definition: Definition) -> None:
    """What the extension says of components is said of some that the Karta has."""
    extended = definition.extended
    known = {each.name for each in definition.karta.components}
    named = [each.component for each in extended.pod_sets]
    for name in (*named, *(each.component for each in extended.extras)):
        if name not in known:
            rule = f"{definition.karta.name}: its extension names {name}, which the Karta does not have"
            raise Rejected(RejectCode.INVALID_VALUE, rule)


class _Named:
    """Names the document in a refusal."""

    def __init__(self, document: Json) -> None:
        metadata = document.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        self._name = f"{document.get('kind')} {name or 'without a name'}"

    def __enter__(self) -> None:
        """Nothing to begin."""

    def __exit__(self, kind: object, refusal: object, _: object) -> None:
        if isinstance(refusal, Rejected):
            told = [f"{each.field}: {each.message}" for each in refusal.errors] or [refusal.detail]
            rule = f"{self._name}: {'; '.join(told)}"
            raise Rejected(refusal.code, rule, refusal.field, refusal.errors) from None
