"""The kinds that administrators define, in memory, and the process that evaluates what they wrote.

An index of the table `kind_versions`. Expressions run in a worker process (`shared.workkinds.isolated`), one
object at a time, and never on the event loop: whoever reads there is told to go beside it.
"""

import asyncio
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeVar

import structlog

from hub.store import kind_versions
from hub.store.engine import Database
from hub.store.kind_versions import KindVersion
from shared.errors import Rejected
from shared.workkinds.catalog import KindCatalog, read_definitions
from shared.workkinds.definition import Definition
from shared.workkinds.dispatchable import lacking
from shared.workkinds.isolated import IsolatedJq
from shared.workkinds.jq_language import JqLanguage
from shared.workkinds.jq_syntax import JqSyntax
from shared.workkinds.reading import KindReader

T = TypeVar("T")
ApiKind = tuple[str, str]  # apiVersion, kind
log = structlog.get_logger(__name__)


class OnEventLoop(Exception):
    """An object of such a kind was to be read on the event loop: it must be read beside it."""


@dataclass(frozen=True, slots=True)
class DeclaredKind:
    """The version of a kind by which new objects are read. `lacking`: why none is dispatched."""

    version: KindVersion
    definition: Definition
    lacking: tuple[str, ...]

    @property
    def key(self) -> str:
        return self.version.key


class DeclaredKinds:
    """All current versions, by apiVersion and kind."""

    def __init__(self) -> None:
        self._found: dict[ApiKind, DeclaredKind] = {}
        self._bounded = IsolatedJq()
        self._reader = _reader([], self._bounded)
        self._one_at_a_time = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._found)

    def __contains__(self, of: object) -> bool:
        return of in self._found

    def find(self, api_version: str, kind: str) -> DeclaredKind | None:
        """The current version of a kind."""
        return self._found.get((api_version, kind))

    def take(self, versions: Iterable[KindVersion]) -> None:
        """Read objects by these from now on. What cannot be read any more is left out, and logged."""
        found: dict[ApiKind, DeclaredKind] = {}
        for each in kind_versions.read_by(versions).values():
            try:
                definition = definition_of(each)
            except Rejected as refusal:
                log.warning("kind.refused", name=each.name, error=refusal.detail)
                continue
            found[each.api_version, each.kind] = DeclaredKind(
                each, definition, tuple(lacking(definition))
            )
        reader = _reader([each.definition for each in found.values()], self._bounded)
        self._found, self._reader = found, reader

    def evaluate(self, fn: Callable[[KindReader], T]) -> T:
        """Call `fn` with a reader whose evaluations are bounded. Raises OnEventLoop there."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            with self._one_at_a_time:
                return fn(self._reader)
        raise OnEventLoop

    def close(self) -> None:
        """End the process, if there is one."""
        with self._one_at_a_time:
            self._bounded.close()


async def load(db: Database, kinds: DeclaredKinds) -> None:
    """Have `kinds` know what the store has."""
    versions = await db.read(kind_versions.all_known)
    await asyncio.to_thread(kinds.take, versions)


async def follow(db: Database, kinds: DeclaredKinds) -> None:
    """Keep `kinds` as the store is, until cancelled."""
    changes = db.subscribe("settings")
    try:
        await load(db, kinds)
        async for change in changes:
            if kind_versions.SETTING in change.keys["settings"]:
                await load(db, kinds)
    finally:
        changes.close()
        kinds.close()


def definition_of(version: KindVersion) -> Definition:
    """Read the documents of a version, which were checked when it was accepted. Raises Rejected."""
    documents = (
        [version.karta] if version.extension is None else [version.karta, version.extension]
    )
    (found,) = read_definitions(documents, version.key)
    return found


def _reader(definitions: list[Definition], bounded: IsolatedJq) -> KindReader:
    return KindReader(KindCatalog(definitions), JqLanguage(), bounded, JqSyntax())


NONE: Final = DeclaredKinds()
