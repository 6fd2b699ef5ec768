"""A hub in one process: real store, the agent routes, and builders for clusters, jobs and requests."""

import asyncio
import contextlib
import copy
import datetime as dt
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import orjson
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from hub.api import agents
from hub.api.errors import refused
from hub.api.guard import Guard
from hub.domain.workloads.apply_options import ApplyOptions
from hub.domain.workloads.origin import Origin
from hub.domain.workloads.states import Transition
from hub.services.access.credentials import issue_join
from hub.services.context import identity, timeline
from hub.services.context.hub import Hub
from hub.services.context.settings import Intake, Settings
from hub.services.jobs.accept import submit_jobs
from hub.services.members.desired import digest_line
from hub.services.members.sync import AgentSync
from hub.services.reading.draft import draft
from hub.store import audit, clusters, events, workloads, works
from hub.store.backends.backend import Backend
from hub.store.backends.choose import backend_of
from hub.store.engine import Database
from hub.store.records.workloads import Workload, move_of
from hub.store.records.works import Work
from hub.store.transaction import Transaction
from shared.clock import ManualClock
from shared.errors import Rejected
from shared.kinds import parse_job
from shared.wire.agent_v1 import Observed, SyncReply
from shared.wire.set_digest import SetDigest
from shared.wire.versions import (
    KINDS_HEADER,
    NAMESPACE_IDS_HEADER,
    NAMESPACES_HEADER,
    OLDEST,
    PROTOCOL_HEADER,
    RULES_HEADER,
)
from tests import waiting
from tests.prepared import url_of
from tests.store.build import a_member

JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "one", "namespace": "team-a"},
    "spec": {
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "containers": [
                    {
                        "name": "main",
                        "image": "busybox:1.36",
                        "resources": {"requests": {"cpu": "1"}},
                    }
                ],
            }
        }
    },
}


class Running:
    """A hub and what a test does to it."""

    def __init__(self, hub: Hub, sync: AgentSync, http: httpx.AsyncClient) -> None:
        self.hub, self.sync, self.http = hub, sync, http
        self.clock: ManualClock = hub.clock  # type: ignore[assignment]

    async def write(self, fn: Any, *args: Any, **options: Any) -> Any:
        return await self.hub.write(fn, *args, **options)

    async def add_cluster(self, name: str) -> str:
        """Declare a member; its join token."""
        return await self.write(_add_cluster, name)

    async def join(self, name: str, uid: str = "") -> "Agent":
        """Declare a member and register its agent."""
        token = await self.add_cluster(name)
        reply = await self.register(token, uid or f"uid-{name}")
        assert reply.status_code == 200, reply.text
        return Agent(self, name, uid or f"uid-{name}", reply.json()["credential"])

    async def register(self, token: str, cluster_uid: str) -> httpx.Response:
        return await self.http.post(
            "/agent/v1/register",
            json={"cluster_uid": cluster_uid},
            headers={"Authorization": f"Bearer {token}"},
        )

    async def submit(self, name: str = "one", origin: Origin = Origin.REST, **changes: Any) -> str:
        """Submit a Job; its uid."""
        manifest = copy.deepcopy(JOB)
        manifest["metadata"] |= {"name": name, **changes.pop("metadata", {})}
        manifest["spec"] |= changes
        return (await self.write(_submit, [manifest], origin))[0]

    async def place(
        self, uid: str, cluster: str, *, scores: dict[str, Any] | None = None, **options: Any
    ) -> None:
        """Place a job as the scheduler does."""
        await self.write(_place, [uid], cluster, ApplyOptions(**options), scores)

    async def placed(self, cluster: str, name: str = "one", **changes: Any) -> str:
        uid = await self.submit(name, **changes)
        await self.place(uid, cluster)
        await self.settled()
        return uid

    async def place_many(self, cluster: str, count: int) -> list[str]:
        """Submit and place jobs in one transaction; their uids."""

        def all_of_them(tx: Transaction) -> list[str]:
            named = [
                {**JOB, "metadata": {**JOB["metadata"], "name": f"job-{n}"}} for n in range(count)
            ]
            uids = _submit(tx, named)
            _place(tx, uids, cluster, ApplyOptions())
            return uids

        uids = await self.write(all_of_them)
        await self.settled()
        return uids

    async def job(self, uid: str) -> Workload:
        return await self.hub.read(workloads.get, uid)

    async def work(self, uid: str) -> Work | None:
        found = await self.hub.read(works.of_uids, [uid])
        return found[0] if found else None

    async def settled(self) -> None:
        """Wait until the index has followed what was committed."""
        for _ in range(500):
            rows = await self.hub.read(works.all_desired)
            index = self.sync._sets
            same = [
                entry is not None and entry.line == digest_line(row)
                for row in rows
                for entry in [index.of(row.cluster).get(row.uid)]
            ]
            if all(same) and len(rows) == sum(len(each) for each in index._sets.values()):
                return
            await waiting.span(0.002, why="between two looks")
        raise AssertionError("the index does not follow the store")


class Agent:
    """A member's agent as the wire sees it: keeps the sets level, obeys the reply."""

    def __init__(self, running: Running, name: str, uid: str, credential: str) -> None:
        self.running, self.name, self.uid, self.credential = running, name, uid, credential
        self.session = f"session-{name}-1"
        self.seq = 0
        self.works: dict[str, dict[str, Any]] = {}
        self.revision, self.desired = 0, SetDigest()
        self.entries: dict[str, Observed] = {}
        self.observed = SetDigest()
        self.changes = 0
        self.full = True
        self.marks: list[dict[str, Any]] = []
        self.protocol = OLDEST  # the newest that it speaks

    def restart(self, session: str, protocol: int = OLDEST) -> None:
        self.__init__(self.running, self.name, self.uid, self.credential)  # type: ignore[misc]
        self.session, self.protocol = session, protocol

    async def post(self, body: dict[str, Any]) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.credential}"}
        if (held := body.pop("availability", None)) is not None:
            headers[RULES_HEADER] = str(held)
        if (held := body.pop("namespaces_held", None)) is not None:
            headers[NAMESPACES_HEADER] = str(held)
        if (held := body.pop("namespace_ids_held", None)) is not None:
            headers[NAMESPACE_IDS_HEADER] = str(int(held))
        if (held := body.pop("kinds_held", None)) is not None:
            headers[KINDS_HEADER] = str(held)
        return await self.running.http.post(
            "/agent/v1/sync", content=orjson.dumps(body), headers={**headers, **self._offer()}
        )

    def _offer(self) -> dict[str, str]:
        later = self.protocol > OLDEST
        return {PROTOCOL_HEADER: f"{OLDEST}-{self.protocol}"} if later else {}

    def request(self, *said: Observed, **more: Any) -> dict[str, Any]:
        """The next request, saying `said`."""
        for entry in said:
            old = self.entries.get(entry.uid)
            if old is not None:
                self.observed.remove(old.digest_line())
            self.changes += 1
            entry.seq = self.changes
            self.entries[entry.uid] = entry
            self.observed.add(entry.digest_line())
        self.seq += 1
        entries = list(self.entries.values()) if self.full else said
        return {
            "session": self.session,
            "seq": self.seq,
            "cluster_uid": self.uid,
            "marks": self.marks,
            "jobs_read": True,
            "incarnation_seen": self.running.sync.incarnation,
            "desired": {"revision": self.revision, "digest": self.desired.hex()},
            "observed": {
                "full": self.full,
                "digest": self.observed.hex(),
                "entries": [entry.model_dump(exclude_defaults=True) for entry in entries],
            },
            **more,
        }

    async def sync(self, *said: Observed, **more: Any) -> dict[str, Any]:
        """One exchange; asserts that both sides agree on the digest afterwards."""
        reply = await self.post(self.request(*said, **more))
        assert reply.status_code == 200, reply.text
        if live := reply.json().get("confirm"):  # protocol 5: a new session names the live one
            reply = await self.post(self.request(follows=live, **more))
            assert reply.status_code == 200, reply.text
        return self.take(reply.json())

    def take(self, answer: dict[str, Any]) -> dict[str, Any]:
        """Apply a reply."""
        read = SyncReply.model_validate(answer)
        if read.rotate is not None:
            self.credential = read.rotate.credential
        self.full = read.need_full
        if read.mark is not None:
            self.marks = [read.mark.model_dump()]
        if read.desired.full:
            self.works, self.desired = {}, SetDigest()
        for work in read.desired.works:
            old = self.works.get(work.uid)
            if old is not None:
                self.desired.remove(old["line"])
            self.desired.add(work.digest_line())
            self.works[work.uid] = {**work.model_dump(), "line": work.digest_line()}
        for uid in read.desired.removed:
            gone = self.works.pop(uid, None)
            if gone is not None:
                self.desired.remove(gone["line"])
            entry = self.entries.pop(uid, None)
            if entry is not None:
                self.observed.remove(entry.digest_line())
        self.revision = read.desired.revision
        if not read.desired.more and read.desired.revision:
            assert read.desired.digest == self.desired.hex()
        return answer


def seen(uid: str, phase: str, epoch: int = 1, **more: Any) -> Observed:
    """One observation."""
    return Observed.model_validate(
        {"uid": uid, "epoch": epoch, "generation": 1, "seq": 1, "phase": phase, **more}
    )


def ran(uid: str, epoch: int = 1, **job: Any) -> Observed:
    """A Job that was created, with its own status."""
    return seen(uid, "Applied", epoch, job=job)


@contextlib.asynccontextmanager
async def running_hub(
    directory: Path,
    clock: Any = None,
    limits: Settings | None = None,
    way: Callable[[str], Backend] = backend_of,
    meanwhile: Callable[[Hub], Awaitable[None]] | None = None,
) -> AsyncIterator[Running]:
    """A hub on a database file in `directory`; the same directory goes on where it stopped.

    `meanwhile`: what happens after it has begun its run and before it follows what others write.
    """
    now = clock or ManualClock(dt.datetime(2026, 5, 1, tzinfo=dt.UTC))
    backend = way(url_of(directory))
    backend.prepare()
    db = Database(backend, now)
    hub = Hub(db, now, limits)
    known = await hub.write(identity.load)
    hub.timeline = await hub.write(timeline.begin, known.incarnation, known.page_key)
    if meanwhile is not None:
        await meanwhile(hub)
    sync = AgentSync(
        db,
        now,
        hub_id="hub-1",
        incarnation=known.incarnation,
        term=lambda: 1,
        timeline=hub.timeline,
    )
    app = FastAPI()
    app.include_router(agents.router)
    app.add_exception_handler(Rejected, _refusal)
    app.state.hub, app.state.agent_sync = hub, sync
    following = asyncio.create_task(sync.run())
    app.add_middleware(Guard, hub=hub)  # inside of what answers 500, as in the product
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://hub") as http:
        yield Running(hub, sync, http)
    following.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await following
    await db.close()


async def _refusal(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Rejected)
    return refused(error, "request-1")


def _add_cluster(tx: Transaction, name: str) -> str:
    clusters.add(tx, a_member(name, created_at=tx.now))
    return issue_join(tx, name, dt.timedelta(minutes=15))[0]


def _submit(
    tx: Transaction, manifests: Sequence[dict[str, Any]], origin: Origin = Origin.REST
) -> list[str]:
    given = [draft(parse_job(each), tx.now, origin=origin) for each in manifests]
    answers = submit_jobs(tx, given, Intake(unqueued_jobs="Default"), strict=False)
    uids = [each.uid for each in answers if not isinstance(each, Exception)]
    assert len(uids) == len(manifests), answers
    return uids


def _place(
    tx: Transaction,
    uids: Sequence[str],
    cluster: str,
    options: ApplyOptions,
    scores: dict[str, Any] | None = None,
) -> None:
    rows = workloads.get_many(tx, uids).values()
    columns: Any = {"cluster": cluster, "cluster_queue": "default", "scores": scores}
    moves = [move_of(row.uid, row.epoch, columns) for row in rows]
    assert sorted(workloads.transition(tx, Transition.PLACE, moves)) == sorted(uids)
    works.upsert(
        tx,
        [
            {
                "cluster": cluster,
                "uid": row.uid,
                "epoch": row.epoch + 1,
                "generation": row.generation,
                "api_version": "batch/v1",
                "kind": "Job",
                "namespace": row.namespace,
                "name": row.name,
                "options": options,
                "placed_by": row.placement,
            }
            for row in rows
        ],
    )


async def noted(hub: Running) -> list[tuple[str, str]]:
    """Who did what according to the audit, newest first."""
    rows = await hub.hub.read(audit.list_entries)
    return [(row.principal, row.outcome) for row in rows]


async def warnings_of(hub: Running, name: str) -> list[str]:
    """Reasons of the Warnings about a member."""
    rows = await hub.hub.read(lambda tx: events.list_events(tx, kind="MemberCluster", name=name))
    return [row.reason for row in rows if row.type == "Warning"]


def away(table):
    return lambda tx: tx.conn.exec_driver_sql(f"ALTER TABLE {table} RENAME TO away")


def back(table):
    return lambda tx: tx.conn.exec_driver_sql(f"ALTER TABLE away RENAME TO {table}")


def a_stray(hub, uid: str, incarnation: str = "", **more):
    """What an agent says of a Job with our labels that it does not find among its works."""
    of = incarnation or hub.sync.incarnation
    told = {"object_uid": "m-1", "incarnation": of, "job": {}, **more}
    return seen(uid, "Applied", **told)
