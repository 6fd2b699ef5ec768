"""A hub of a few lines that speaks the real wire messages, and says what a test tells it to.

It is an httpx transport, so an agent under test uses its real client. It keeps no history beyond
what tests ask about, and no state machine: desired works are put in by hand.
"""

import asyncio
import itertools
from collections.abc import Callable
from typing import Literal

import httpx

from shared import labels
from shared.wire import versions
from shared.wire.agent_v1 import (
    CA_PATH,
    REGISTER_PATH,
    Capacity,
    Desired,
    Observed,
    Order,
    Pools,
    Registered,
    SyncReply,
    SyncRequest,
    Work,
)
from shared.wire.availability_rules import AvailabilityRule, AvailabilityRules
from shared.wire.consent import NamedNamespaces
from shared.wire.kind_rules import KindDefinitions
from shared.wire.set_digest import SetDigest
from shared.wire.streams_v1 import STREAMS_PATH
from tests import waiting
from tests.agent.scripted_streams import ScriptedStreams

HUB_ID = "hub-1"
WAIT_S = 20.0


def a_job_manifest(name="job", namespace="team", *, uid, epoch=1, generation=1, **spec):
    """A Job as the hub composes it: final, with our labels on it and on its pods and in their variables."""
    run_seconds = spec.pop("run_seconds", "0.2")
    annotations = {
        "sim.roadstead.dev/run-seconds": str(run_seconds),
        **spec.pop("annotations", {}),
    }
    image = spec.pop("image", "busybox:1.36")
    marks = {labels.MANAGED_BY: HUB_ID, labels.JOB_UID: uid, labels.EPOCH: str(epoch)}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": dict(marks),
            "annotations": {
                labels.GENERATION: str(generation),
                labels.SPEC_HASH: f"h{epoch}.{generation}",
            },
        },
        "spec": {
            "suspend": False,
            **spec,
            "template": {
                "metadata": {"labels": dict(marks), "annotations": annotations},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [
                        {
                            "name": "main",
                            "image": image,
                            "env": [
                                {"name": labels.JOB_UID_VARIABLE, "value": uid},
                                {"name": labels.EPOCH_VARIABLE, "value": str(epoch)},
                            ],
                            "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
                        }
                    ],
                },
            },
        },
    }


def a_job(uid="u-1", name="job", *, epoch=1, generation=1, action="Apply", namespace="team", **kw):
    """A Job's work. Keywords that `Work` has go there, others to the manifest's spec."""
    fields = {k: kw.pop(k) for k in list(kw) if k in Work.model_fields}
    manifest = None
    if action == "Apply":
        manifest = a_job_manifest(
            name, namespace, uid=uid, epoch=epoch, generation=generation, **kw
        )
    return Work(
        uid=uid,
        epoch=epoch,
        generation=generation,
        action=action,
        api_version="batch/v1",
        kind="Job",
        namespace=namespace,
        name=name,
        hash="" if action == "Withdraw" else f"h{epoch}.{generation}",
        manifest=manifest,
        when_to_take_over="Never",
        **fields,
    )


def an_object(manifest, uid, *, generation=1, action="Apply", **fields):
    """The work of any other object, with our labels and annotations put on."""
    manifest = {**manifest, "metadata": dict(manifest["metadata"])}
    metadata = manifest["metadata"]
    metadata["labels"] = {
        **metadata.get("labels", {}),
        labels.MANAGED_BY: HUB_ID,
        labels.JOB_UID: uid,
        labels.EPOCH: "0",
    }
    metadata["annotations"] = {
        **metadata.get("annotations", {}),
        labels.GENERATION: str(generation),
        labels.SPEC_HASH: f"o{generation}",
    }
    return Work(
        uid=uid,
        epoch=0,
        generation=generation,
        action=action,
        api_version=manifest["apiVersion"],
        kind=manifest["kind"],
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        hash="" if action == "Withdraw" else f"o{generation}",
        manifest=manifest if action == "Apply" else None,
        **fields,
    )


async def eventually(holds: Callable[[], object], timeout_s: float = WAIT_S):
    """Poll until `holds` is true; returns what it returned. For what no message tells."""
    return await waiting.eventually(holds, within_s=timeout_s)


class ScriptedHub(httpx.AsyncBaseTransport):
    """What the hub says, and what it was told."""

    def __init__(self) -> None:
        self.works: dict[str, tuple[int, Work]] = {}
        self.removed: list[tuple[int, str]] = []
        self.observed: dict[str, Observed] = {}
        self.told: list[Observed] = []  # every entry of every request, in order
        self.requests: list[SyncRequest] = []
        self.capacity: Capacity | None = None
        self.registrations = 0
        self.pools = Pools(revision=1, keys=[])
        self.named = NamedNamespaces(revision=0, names=[])
        self.rules = AvailabilityRules(revision=0, rules=[])
        self.kinds = KindDefinitions(revision=0, definitions=[])
        self.down = False
        self.refusal: tuple[int, str] | None = None
        self.loses: Callable[[SyncRequest], bool] = lambda request: False  # the reply, that is
        self.page = 1000
        self.takes_at_most: int | None = None  # entries a request; more are too large a body
        self.wants_all = False  # of the next reply: say everything anew
        self.held = 0  # requests that hang
        self.session: str | None = None
        self.removes_strays = True
        self.gone_sessions: set[str] = set()
        self.questions: list[SyncRequest] = []
        self.live = ""  # what tells of a session that is live: a new one has to name it
        self.incarnation = "i-1"
        self.streams = ScriptedStreams()
        self.stray_action: Literal["Remove", "Quarantine"] = "Remove"
        self._revision = itertools.count(1)
        self.revision = 0
        self._changed = asyncio.Event()
        self._told = asyncio.Event()

    # --- the script ------------------------------------------------------------------------------

    def put(self, *works: Work) -> None:
        """Desire these works from now on."""
        for work in works:
            self.revision = next(self._revision)
            self.works[work.uid] = (self.revision, work)
        self._news()

    def declare(self, *rules: AvailabilityRule) -> None:
        """Go by these rules of availability from now on."""
        self.rules = AvailabilityRules(revision=self.rules.revision + 1, rules=list(rules))
        self._news()

    def drop(self, uid: str) -> None:
        """Say that nothing of this uid is desired and that it is gone."""
        self.revision = next(self._revision)
        self.works.pop(uid)
        self.observed.pop(uid, None)
        self.removed.append((self.revision, uid))
        self._news()

    def _news(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def until(self, holds: Callable[["ScriptedHub"], object], timeout_s: float = WAIT_S):
        """Wait until something told makes `holds` true; returns what it returned."""
        async with asyncio.timeout(timeout_s):
            while not (result := holds(self)):
                self._told.clear()
                try:
                    await asyncio.wait_for(self._told.wait(), 0.25)
                except TimeoutError:
                    continue
        return result

    async def taken_in(self) -> None:
        """Wait until the agent has acted upon everything that was put or dropped so far."""
        revision = self.revision
        await self.until(lambda hub: hub.requests[-1].desired.revision >= revision)

    async def seen(self, uid: str, phase: str, reason: str | None = None, **wanted) -> Observed:
        """Wait until the newest entry of a uid has this phase (and reason); returns it."""

        def holds(hub: "ScriptedHub"):
            entry = hub.observed.get(uid)
            if entry is None or entry.phase != phase:
                return None
            return entry if reason is None or entry.reason == reason else None

        try:
            return await self.until(holds, **wanted)
        except TimeoutError:
            raise AssertionError(f"{uid} is {self.observed.get(uid)}, not {phase}") from None

    async def job_says(self, uid: str, field: str) -> Observed:
        """Wait until a job's status has something to say in `field`."""

        def holds(hub: "ScriptedHub"):
            entry = hub.observed.get(uid)
            return entry if entry and entry.job and getattr(entry.job, field) else None

        try:
            return await self.until(holds)
        except TimeoutError:
            raise AssertionError(f"{uid} is {self.observed.get(uid)}, without {field}") from None

    async def finished(self, uid: str, result: str = "Succeeded") -> Observed:
        """Wait until a job's terminal result was told."""

        def holds(hub: "ScriptedHub"):
            entry = hub.observed.get(uid)
            return entry if entry and entry.job and entry.job.result == result else None

        try:
            return await self.until(holds)
        except TimeoutError:
            raise AssertionError(f"{uid} is {self.observed.get(uid)}") from None

    # --- the wire --------------------------------------------------------------------------------

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.down:
            raise httpx.ConnectError("the hub is down", request=request)
        body = await request.aread()
        if self.refusal is not None:
            status, code = self.refusal
            return httpx.Response(status, json={"code": code, "detail": code}, request=request)
        if request.url.path.startswith(STREAMS_PATH):
            return await self.streams.answer(request, body)
        if request.url.path == CA_PATH:  # of protocol 1, which knows no such route
            return httpx.Response(404, json={"code": "NotFound"}, request=request)
        if request.url.path == REGISTER_PATH:
            self.registrations += 1
            answer = Registered(
                cluster="member", credential="id.secret", hub_id=HUB_ID, incarnation="i-1"
            )
            return httpx.Response(200, content=answer.model_dump_json(), request=request)
        assert request.headers["Authorization"] == "Bearer id.secret"
        message = SyncRequest.model_validate_json(body)
        message.availability = versions.rules_held(request.headers.get(versions.RULES_HEADER))
        named = request.headers.get(versions.NAMESPACES_HEADER)
        message.namespaces_held = versions.rules_held(named)
        message.kinds_held = versions.rules_held(request.headers.get(versions.KINDS_HEADER))
        return await self._sync(request, message)

    async def _sync(self, http: httpx.Request, request: SyncRequest) -> httpx.Response:
        if self.takes_at_most is not None and len(request.observed.entries) > self.takes_at_most:
            body = {"code": "BodyTooLarge", "detail": "too large"}
            return httpx.Response(413, json=body, request=http)
        if request.session in self.gone_sessions:
            body = {"code": "SessionSuperseded", "detail": "another agent"}
            return httpx.Response(409, json=body, request=http)
        if self.live != request.follows and self.session != request.session:
            return self._question(http, request)
        if self.session not in {None, request.session}:
            self.gone_sessions.add(self.session)
        self.session = request.session
        self._take_in(request)
        if self.loses(request):
            raise httpx.ReadError("the reply is lost", request=http)
        desired = self._desired(request)
        if request.wait_s and not desired.works and not desired.removed:
            changed, newest = self._changed, len(self.requests)
            self.held += 1
            try:
                async with asyncio.timeout(request.wait_s):
                    while len(self.requests) == newest and not changed.is_set() and not self.down:
                        await asyncio.wait({asyncio.ensure_future(changed.wait())}, timeout=0.02)
            except TimeoutError:
                pass
            finally:
                self.held -= 1
            if self.down:
                raise httpx.ReadError("the hub went down", request=http)
            desired = self._desired(request)
        reply = SyncReply(
            hub_id=HUB_ID,
            incarnation=self.incarnation,
            term=1,
            session=request.session,
            seq=request.seq,
            desired=desired,
            pool_keys=self.pools,
            availability=self._rules_for(request),
            namespaces=self._names_for(request),
            kinds=None if request.kinds_held in (None, self.kinds.revision) else self.kinds,
            orders=self._orders(request),
            need_full=self.wants_all,
        )
        self.wants_all = False
        return httpx.Response(200, content=reply.model_dump_json(), request=http)

    def _question(self, http: httpx.Request, request: SyncRequest) -> httpx.Response:
        """What a hub of protocol 5 answers to a session that does not name the live one."""
        self.questions.append(request)
        reply = SyncReply(
            hub_id=HUB_ID,
            incarnation=self.incarnation,
            term=1,
            session=request.session,
            seq=request.seq,
            desired=Desired(),
            pool_keys=self.pools,
            confirm=self.live,
            need_full=True,
        )
        return httpx.Response(200, content=reply.model_dump_json(), request=http)

    def _rules_for(self, request: SyncRequest) -> AvailabilityRules | None:
        """As a hub tells them: to who knows of rules and goes by others."""
        if request.availability in (None, self.rules.revision):
            return None
        return self.rules

    def _names_for(self, request: SyncRequest) -> NamedNamespaces | None:
        held = request.namespaces_held
        return None if held in (None, self.named.revision) else self.named

    def _orders(self, request: SyncRequest) -> list[Order]:
        """What nobody desires is to go, or to be left alone, as the test says."""
        return [
            Order(uid=entry.uid, object_uid=entry.object_uid, action=self.stray_action)
            for entry in request.observed.entries
            if self.removes_strays and entry.uid not in self.works and entry.object_uid
        ]

    def _take_in(self, request: SyncRequest) -> None:
        self.requests.append(request)
        if request.observed.full:
            self.observed.clear()
        for entry in request.observed.entries:
            self.observed[entry.uid] = entry
            self.told.append(entry)
        if request.capacity is not None:
            kinds = self.capacity.kinds if self.capacity is not None else None
            self.capacity = request.capacity
            if self.capacity.kinds is None:
                self.capacity.kinds = kinds
        self._told.set()

    def _desired(self, request: SyncRequest) -> Desired:
        base = request.desired.revision
        full = base == 0
        changed = sorted(
            (entry for entry in self.works.values() if entry[0] > base), key=lambda entry: entry[0]
        )
        page = changed[: self.page]
        more = len(changed) > len(page)
        digest = SetDigest()
        for _, work in self.works.values():
            digest.add(work.digest_line())
        return Desired(
            full=full,
            revision=page[-1][0] if more else self.revision,
            digest="" if more else digest.hex(),
            works=[work for _, work in page],
            removed=[] if full else [uid for at, uid in self.removed if at > base],
            more=more,
        )
