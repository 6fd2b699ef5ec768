"""Reads by the definitions of kinds whether objects of jobs have ended, outside the event loop's turns.

Definitions that Roadstead brings are evaluated in a thread of this process, what administrators wrote in a
process of its own that is ended after 200 ms (`shared.workkinds.isolated`). The hub tells the definitions
that are declared on it.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace

import structlog

from agent.objects.facts import Object
from agent.objects.holds import BUILT_IN, JOB
from agent.objects.readings import Reading, read, version_of
from agent.works.tracked import TrackedWork
from shared.clock import Clock
from shared.errors import Rejected
from shared.wire.kind_rules import KindDefinition, KindDefinitions
from shared.workkinds.catalog import KindCatalog, builtin_catalog, read_definitions
from shared.workkinds.definition import Definition, KindName
from shared.workkinds.isolated import IsolatedJq
from shared.workkinds.jq_language import JqLanguage

log = structlog.get_logger(__name__)
KindKey = tuple[str, str]


class KindReadings:
    """Definitions and a queue of uids to read.

    `mark`: has a uid decided about once it was read. `watch`: told the kinds of which objects may be jobs.
    """

    def __init__(
        self,
        mark: Callable[[str], None],
        watch: Callable[[Iterable[KindKey]], None],
        clock: Clock,
    ) -> None:
        self._mark, self._watch, self._clock = mark, watch, clock
        self._told: KindDefinitions | None = None
        self._named: dict[str, Definition] = {}
        self._catalog = KindCatalog([])
        self._queue: asyncio.Queue[TrackedWork | None] = asyncio.Queue()
        self._waiting: set[str] = set()
        self._read_before: set[str] = set()
        self._builtin, self._isolated = JqLanguage(), IsolatedJq()
        self.revision = self._taken = 0
        self._knows_all = True  # the kinds of all definitions that the hub told

    def declare(self, told: KindDefinitions | None) -> None:
        """Take what is declared on the hub from now on. None: what was told before holds."""
        if told is not None:
            self.revision, self._told = told.revision, told
            self._queue.put_nowait(None)

    @property
    def is_current(self) -> bool:
        """True if the agent watches the kinds of all definitions that the hub told last."""
        return self.revision == self._taken and self._knows_all

    def look(self, tracked: TrackedWork) -> None:
        """Have this version of the object read, if it is not a Job and was not read yet."""
        reading = tracked.seen.reading
        old = reading is not None and reading.revision != self._taken
        if not (tracked.seen.is_unread() or old) or tracked.uid in self._waiting:
            return
        self._waiting.add(tracked.uid)
        self._queue.put_nowait(tracked)

    async def run(self) -> None:
        """Read until cancelled."""
        try:
            await self._take_definitions()
            while True:
                tracked = await self._queue.get()
                if tracked is None:
                    await self._take_definitions()
                    continue
                self._waiting.discard(tracked.uid)
                if tracked.seen.live is not None:
                    tracked.seen.reading = await self._read(tracked, tracked.seen.live)
                    self._read_before.add(tracked.uid)
                    self._mark(tracked.uid)
        finally:
            self._isolated.close()

    async def _read(self, tracked: TrackedWork, live: Object) -> Reading:
        definition = self._find(tracked, live)
        language = self._builtin if definition is None or definition.trusted else self._isolated
        given = definition, live, language, tracked.seen.reading, self._clock.now()
        revision = self._taken
        try:
            return replace(await asyncio.to_thread(read, *given), revision=revision)
        except (
            Exception
        ) as fault:  # a definition of whatever kind ends no loop: the state is unknown
            log.exception("kind.not_read", uid=tracked.uid)
            return Reading(*version_of(live), fault=str(fault), revision=revision)

    def _find(self, tracked: TrackedWork, live: Object) -> Definition | None:
        """By the name in the work's rule, else by kind: a work may be told after its object is seen."""
        rule = tracked.work.kind_rule if tracked.work is not None else None
        if rule is not None and rule.definition in self._named:
            return self._named[rule.definition]
        return self._catalog.find(kind_name_of(live["apiVersion"], live["kind"]))

    async def _take_definitions(self) -> None:
        told = [] if self._told is None else self._told.definitions
        self._catalog, self._named = await asyncio.to_thread(known_kinds, told)
        self._taken = 0 if self._told is None else self._told.revision
        refused = [kind_of(each) for each in told if each.name not in self._named]
        self._knows_all = None not in refused
        self._watch(_watched(self._named.values()).union(each for each in refused if each))
        read, self._read_before = self._read_before, set()
        for uid in read:
            self._mark(uid)


def known_kinds(told: Iterable[KindDefinition]) -> tuple[KindCatalog, dict[str, Definition]]:
    """All definitions by kind, and those that the hub told by name. What can not be read is left out."""
    builtin = builtin_catalog()
    named: dict[str, Definition] = {}
    for each in told:
        documents = [each.karta] if each.extension is None else [each.karta, each.extension]
        try:
            own = _built_in(documents, each.name, builtin)
            named[each.name] = own or read_definitions(documents, each.name)[0]
        except (Rejected, IndexError) as refusal:
            log.warning("kind.refused", name=each.name, error=str(refusal))
    return builtin.with_added(named.values()), named


def kind_of(told: KindDefinition) -> KindKey | None:
    """The kind that a definition is about, also of one that can not be read; None if it does not say.

    Its objects are watched and listed all the same, or they would be missing in the report.
    """
    found: object = told.karta
    for part in ("spec", "structureDefinition", "rootComponent", "kind"):
        found = found.get(part) if isinstance(found, dict) else None
    if not isinstance(found, dict) or not found.get("version") or not found.get("kind"):
        return None
    group = f"{found['group']}/" if found.get("group") else ""
    return f"{group}{found['version']}", str(found["kind"])


def _built_in(documents: list[Object], name: str, builtin: KindCatalog) -> Definition | None:
    """The definition of this agent that says the same, plug-ins included; None for what others wrote."""
    with suppress(Rejected):
        for found in read_definitions(documents, name, trusted=True):
            own = builtin.find(found.of)
            if own and (own.karta, own.extension) == (found.karta, found.extension):
                return own
    return None


def kind_name_of(api_version: str, kind: str) -> KindName:
    group, _, version = api_version.rpartition("/")
    return KindName(group, version, kind)


def _watched(named: Iterable[Definition]) -> frozenset[KindKey]:
    """Kinds but Job whose objects may be jobs: those that agents have rights for, and those told."""
    told = frozenset((each.of.api_version, each.of.kind) for each in named if each.karta.suspend)
    return (BUILT_IN | told) - {JOB}
