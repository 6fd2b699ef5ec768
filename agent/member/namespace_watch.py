"""Watches the member's namespaces, and reports whether those that the hub named accept it.

One watch serves all jobs: no request is made per job. A namespace that the hub did not name is never
reported.
"""

from collections.abc import Callable, Iterable
from typing import TypedDict

from agent.decide.decision import Do, Trouble
from agent.member.acceptance import Acceptance, Space
from agent.objects.facts import Object
from agent.objects.forms import forms_of, rule_of
from agent.objects.tokens import asked_at, without_tokens
from shared.clock import Clock
from shared.consent import CLOSED, REPLACED
from shared.kube import errors
from shared.kube.client import KubeClient
from shared.kube.informer import EventType, Informer
from shared.wire.agent_v1 import Work
from shared.wire.consent import ConsentReport, NamedNamespaces, NamespaceState

_WRITES = frozenset({"Create", "Start", "Apply", "PatchJob"})


class HeldNames(TypedDict):
    """Fields of `agent_v1.SyncRequest`."""

    namespaces_held: int  # the revision of the names
    namespace_ids_held: bool  # were their ids told, too?


class NamespaceWatch:
    """States of the namespaces of one member. `revision` grows when a report would change."""

    def __init__(
        self, client: KubeClient, acceptance: Acceptance, clock: Clock, news: Callable[[], None]
    ) -> None:
        self.revision = 0
        self._client = client
        self._acceptance = acceptance
        self._news = news
        self._named = NamedNamespaces(revision=0, names=[])
        self._continued: frozenset[str] | None = None  # uids; None: not in mode Report
        self._placed: dict[str, str] = {}  # names of Namespaces among the works, by uid
        self._on_change: Callable[[str], None] = lambda _name: None
        self._standing: set[str] = set()  # of those, the ones that are to be there
        self._informer: Informer[Space] = Informer(
            client, "v1", "Namespace", transform=self._space, on_event=self._changed, clock=clock
        )

    def follow(self, on_change: Callable[[str], None]) -> None:
        """Have each change told by which a namespace may accept the hub, or refuse it."""
        self._on_change = on_change

    async def run(self) -> None:
        """Watch until cancelled."""
        await self._informer.run()

    @property
    def holds(self) -> HeldNames:
        """The hub's last list: the fields of a request with their states."""
        named = self._named
        return {
            "namespaces_held": named.revision,
            "namespace_ids_held": named.ids is not None,
        }

    def name(self, named: NamedNamespaces | None) -> None:
        """Take in which namespaces the hub asks about; None: those as before."""
        if named is None:
            return
        self._named = named
        self.revision += 1
        self._news()

    def named(self) -> list[str] | None:
        """The namespaces that the hub asks about; None: it has named none yet."""
        return self._named.names if self._named.revision else None

    def place(self, work: Work) -> None:
        """Take in a work of a Namespace: what the hub places is its namespace of this name."""
        self._placed[work.uid] = work.name
        self._standing.discard(work.uid)
        if work.action == "Apply":
            self._standing.add(work.uid)
        self.revision += 1
        self._news()

    def unplace(self, uid: str) -> None:
        """A work is no longer desired."""
        self._standing.discard(uid)
        if self._placed.pop(uid, None) is not None:
            self.revision += 1

    def places(self, name: str) -> bool:
        """Is there a work of the Namespace of this name, which makes it or removes it?"""
        return name in self._placed.values()

    def continue_in(self, names: Iterable[str]) -> None:
        """Let these namespaces, which hold Jobs of the hub, continue without consent."""
        held = (self._informer.cache.get(("", name)) for name in names)
        self._continued = frozenset(space.uid for space in held if space is not None)
        self.revision += 1
        self._news()
        for _, name in self._informer.cache:
            self._on_change(name)

    async def synced(self) -> None:
        """Wait until all namespaces are listed."""
        await self._informer.synced.wait()

    def told(self) -> ConsentReport | None:
        """The report of all named namespaces; None until they are listed, and for a hub that named none."""
        if not self._named.revision or not self._informer.synced.is_set():
            return None
        states = {name: self._cached(name) for name in self._named.names}
        return ConsentReport(revision=self._named.revision, states=states)

    def of_state(self, state: NamespaceState) -> dict[str, str]:
        """Named namespaces of a state, each with the id of the hub's namespace."""
        told = self.told()
        states = {} if told is None else told.states
        ids = self._named.ids or {}
        return {name: ids.get(name, "") for name, found in states.items() if found == state}

    async def refuse(self, work: Work, step: Do) -> Trouble | None:
        """Refuse a write, or return None: its namespace accepts the hub, or does not exist yet."""
        if step not in _WRITES or not work.namespace:
            return None
        try:
            space = await self._now(work.namespace)
        except errors.KubeError as failure:
            return Trouble("Unavailable", failure.message)
        if space is None:
            return None
        state = self._state(work.namespace, space, work.namespace_id)
        if state in CLOSED:
            return self._acceptance.refusal(work.namespace, state)
        if self._gives_tokens(space, work.namespace_id):
            return None
        if step == "Start" and rule_of(work) is None:  # a Job: it was judged as it was created
            return None
        path = next(filter(None, map(asked_at, forms_of(work))), "")
        return self._acceptance.no_token(work.namespace, path) if path else None

    def closed(self, work: Work) -> Trouble | None:
        """The refusal of the work's namespace, as it is cached; None: it accepts the hub, or is not known."""
        if not work.namespace or not self._informer.synced.is_set() or self._awaits_report:
            return None
        space = self._informer.cache.get(("", work.namespace))
        if space is None:
            return None
        state = self._state(work.namespace, space, work.namespace_id)
        return self._acceptance.refusal(work.namespace, state) if state in CLOSED else None

    @property
    def _awaits_report(self) -> bool:
        """In mode Report: are the namespaces that continue still to be found?"""
        return self._acceptance.policy.consent == "Report" and self._continued is None

    async def bounded(self, work: Work) -> Work:
        """The work as it may be written: in a namespace of the member's people its pods get no token."""
        if not work.namespace or work.manifest is None:
            return work
        try:
            space = await self._now(work.namespace)
            gives_tokens = space is None or self._gives_tokens(space, work.namespace_id)
        except errors.KubeError:
            gives_tokens = False
        if gives_tokens:
            return work
        return work.model_copy(update={"manifest": without_tokens(work.manifest)})

    async def _now(self, name: str) -> Space | None:
        """The cached namespace; read past the cache while that is not complete."""
        if self._informer.synced.is_set():
            return self._informer.cache.get(("", name))
        try:
            live = await self._client.get("v1", "Namespace", "", name)
        except errors.NotFound:
            return None
        return self._space(live)

    def _cached(self, name: str) -> NamespaceState:
        space = self._informer.cache.get(("", name))
        if space is None:
            return "Absent"
        return self._state(name, space, self._wanted(name))

    def _wanted(self, name: str) -> str | None:
        """The id that a created namespace must have; "" if the hub has none of this name."""
        ids = self._named.ids
        return None if ids is None else ids.get(name, "")

    def _state(self, name: str, space: Space, wanted: str | None) -> NamespaceState:
        state = space.state(wanted)
        if state == REPLACED and space.work in self._standing:
            return "Created"  # an object of an envelope has its own uid
        if state not in CLOSED or not self._continues(space):
            return state
        return "Named" if wanted is None else "Continued"  # such a hub knows no other state

    def _continues(self, space: Space) -> bool:
        """In mode Report: one that has no id, or that held Jobs. Never one of another id."""
        if self._continued is None or not space.may_continue:
            return False
        return space.made_for == "" or (not space.made_for and space.uid in self._continued)

    def _gives_tokens(self, space: Space, wanted: str | None) -> bool:
        if space.made_for is not None and space.work in self._standing:
            return True
        if space.made_for == "" and self._continues(space):
            return True  # an earlier release created it
        return space.gives_tokens(wanted)

    def _space(self, namespace: Object, _previous: Space | None = None) -> Space:
        return self._acceptance.space(namespace, namespace["metadata"]["name"])

    def _changed(self, event: EventType, old: Space | None, new: Space | None) -> None:
        if event == "DELETED" or old != new:
            self.revision += 1
            for space in {each.name for each in (old, new) if each is not None}:
                self._on_change(space)
