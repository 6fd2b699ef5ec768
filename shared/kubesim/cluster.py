"""A whole simulated cluster: store, API server and behaviours, on a separate port.

The composition root of this package. Many clusters can live in one event loop.
"""

import asyncio
import contextlib
import secrets
import socket
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
import structlog
import uvicorn

from shared.clock import Clock, SystemClock
from shared.kubesim.apimachinery.conversion import AS_IT_IS
from shared.kubesim.behaviours import attach
from shared.kubesim.builtin.kinds import built_in_registry
from shared.kubesim.builtin.strategies import built_in_strategies
from shared.kubesim.custom.definitions import CRDS, CrdController
from shared.kubesim.custom.kueue_v1beta2 import NEW_NAMES
from shared.kubesim.kubeconfig import kubeconfig
from shared.kubesim.kubelet.pod_log import PodLogs
from shared.kubesim.patches.managed_fields import ManagedFields
from shared.kubesim.patches.patcher import Patcher
from shared.kubesim.patches.server_side_apply import Applier
from shared.kubesim.patches.strategic_merge import strategic_merge
from shared.kubesim.pki import Certificates, ensure_certificates, write_private
from shared.kubesim.requests.call import User
from shared.kubesim.requests.decoding import FieldChecker
from shared.kubesim.schema.lookup import Schemas
from shared.kubesim.server import kind_guard, kind_queues, queue_guard
from shared.kubesim.server.app import SimulatedApiServer
from shared.kubesim.server.discovery import version_of
from shared.kubesim.server.faults import Faults
from shared.kubesim.server.hub_admission import AbsentPods, HubAdmission, Submitters
from shared.kubesim.server.job_guard import JobGuard, Release, Selection, without_managed_by
from shared.kubesim.server.kind_submitters import KindSubmitters
from shared.kubesim.server.label_guard import LabelGuard
from shared.kubesim.server.mirror_guard import HUB, MirrorGuard
from shared.kubesim.server.node_endpoint import NodeEndpoint
from shared.kubesim.server.openapi import OpenApi
from shared.kubesim.server.pod_endpoints import PodEndpoints
from shared.kubesim.server.reading import Reader
from shared.kubesim.server.reviews import Reviews
from shared.kubesim.server.scale import ScaleEndpoint
from shared.kubesim.server.template_guard import TemplateGuard
from shared.kubesim.server.writing import Writer
from shared.kubesim.store.garbage_collector import GarbageCollector
from shared.kubesim.store.in_memory import InMemory
from shared.kubesim.store.journal import Journal
from shared.kubesim.store.namespace_lifecycle import NamespaceController
from shared.kubesim.store.objects import ObjectStore
from shared.kubesim.store.serializer import WireCache
from shared.kubesim.store.watch import WatchHub

log = structlog.get_logger(__name__)

ADMIN = User("kubernetes-admin", ("system:masters", "system:authenticated"))
_KEEP_ALIVE_S = 120


class _Server(uvicorn.Server):
    """Uvicorn without signal handlers: the process belongs to the caller."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class SimCluster:
    """One simulated cluster.

    `data_dir` keeps certificates, tokens, port and objects over restarts; None keeps nothing.
    `hub` turns on the admission of a hub cluster, for Jobs with a queue and for all Jobs of the
    namespaces that the label selector `hub_namespaces` selects; `kubernetes` says how: below 1.36 Jobs
    are refused rather than marked. `job_policy` False: nothing keeps them from running there;
    `mirror_policy` False: anybody may write what shows REST's objects. `pools` and further `options` go
    to the behaviours. `tokens` maps bearer tokens to users; without, an admin token is made, and on a hub
    cluster one of its hub. `crds` are installed where they are missing.
    """

    def __init__(
        self,
        name: str,
        *,
        clock: Clock | None = None,
        data_dir: Path | None = None,
        hub: bool = False,
        hub_namespaces: dict[str, Any] | None = None,
        kubernetes: str = "1.36",
        job_policy: bool = True,
        mirror_policy: bool = True,
        pools: Sequence[dict[str, Any]] = (),
        listen: tuple[str, int] = ("127.0.0.1", 0),
        tokens: dict[str, User] | None = None,
        crds: Sequence[dict[str, Any]] = (),
        **options: Any,
    ) -> None:
        self.name = name
        self.clock = clock or SystemClock()
        self.data_dir = data_dir
        self.hub = hub
        self._release = Release.parse(kubernetes)
        self._pools = list(pools)
        self._options = options
        self._preset_crds = list(crds)
        self._listen = listen
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._certificates = self._ensure_certificates()
        self._tokens = dict(tokens) if tokens else self._kept_tokens()
        self._keep_tokens()
        self.registry = built_in_registry()
        self.schemas = Schemas()
        managed = ManagedFields(self.clock, self.schemas.of)
        self.store = ObjectStore(
            self.registry,
            self.clock,
            strategies=built_in_strategies(managed_jobs=self._release.knows_managed_by),
            tracker=managed.track,
        )
        self.wire = WireCache(conversion=NEW_NAMES if hub else AS_IT_IS)
        self.watch_hub = WatchHub(self.store)
        self.journal = self._journal()
        self.durability = self.journal or InMemory(self.watch_hub, self.store)
        self.namespaces = NamespaceController(self.store, self._certificates.ca_pem)
        self._admit_as_hub(hub_namespaces, policy=job_policy, mirrors=mirror_policy)
        self.crds = CrdController(self.store, self.schemas)
        self.garbage = GarbageCollector(self.store)
        self.reader = Reader(self.store, self.watch_hub, self.wire)
        self.reader.selectable_fields = lambda key: self.crds.selectable.get(key, frozenset())
        self.writer = self._make_writer(managed)
        self.server = SimulatedApiServer(
            self.store,
            self.reader,
            self.writer,
            self.durability,
            self._tokens,
            version=version_of(self._release.major, self._release.minor),
        )
        self.server.check_delete = self.namespaces.check_delete
        self.faults = Faults(self.clock, self.watch_hub)
        self.behaviours = attach(self.store, self.clock, self._pools, options, hub=hub)
        self._add_endpoints()
        self._uvicorn: _Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self._address = ("", 0)

    # --- life ------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Serve. Returns when requests are answered."""
        if self.journal is not None:
            self.journal.start()
        self.crds.bootstrap()
        self.namespaces.bootstrap()
        for crd in self._preset_crds:
            if self.store.get(CRDS, "", crd["metadata"]["name"]) is None:
                self.store.create(CRDS, crd)
        await self.garbage.start()
        listener = self._bind()
        config = uvicorn.Config(
            self.server,
            ssl_certfile=str(self._certificates.certificate),
            ssl_keyfile=str(self._certificates.key),
            http="httptools",
            ws="none",
            proxy_headers=False,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=2,
        )
        self._uvicorn = _Server(config)
        self._serving = asyncio.create_task(
            self._uvicorn.serve(sockets=[listener]), name=f"kubesim-{self.name}"
        )
        while not self._uvicorn.started:
            if self._serving.done():
                self._serving.result()
                raise RuntimeError(f"the API server of {self.name} ended at once")
            await asyncio.wait([self._serving], timeout=0.005)
        await self.behaviours.start()

    async def stop(self) -> None:
        """End all watches, stop the behaviours and the server."""
        await self.behaviours.stop()
        await self.garbage.stop()
        self.watch_hub.end_all()
        if self._uvicorn is not None and self._serving is not None:
            self._uvicorn.should_exit = True
            await asyncio.gather(self._serving, return_exceptions=True)
        if self.journal is not None:
            await self.journal.stop()
        if self._temporary is not None:
            self._temporary.cleanup()

    # --- how to reach it -------------------------------------------------------------------------

    @property
    def url(self) -> str:
        host, port = self._address
        return f"https://{host}:{port}"

    def kubeconfig_text(self, user: str = "admin") -> str:
        """A kubeconfig for one of the users; KeyError if no token is theirs."""
        wanted = ADMIN.name if user == "admin" else user
        token = next((text for text, who in self._tokens.items() if who.name == wanted), None)
        if token is None:
            raise KeyError(f"no token for user {user}")
        return kubeconfig(self.name, self.url, self._certificates.ca_pem, user, token)

    # --- inside ----------------------------------------------------------------------------------

    def _admit_as_hub(
        self, namespaces: dict[str, Any] | None, *, policy: bool, mirrors: bool
    ) -> None:
        steps = self.store.admissions
        if not self._release.knows_managed_by:
            steps.append(without_managed_by)
        if not self.hub:
            return
        selection = Selection(self.store, namespaces)
        if mirrors:
            mirrored = MirrorGuard(selection)
            steps.append(mirrored.admit)
            self.store.check_delete = mirrored.admit_delete
        marks = policy and self._release.mutates_by_policy
        jobs = HubAdmission(self.store, namespaces, marks=marks)
        steps.append(jobs.admit)
        if policy:
            steps.append(LabelGuard(selection).admit)
            steps.append(TemplateGuard(selection).admit)
            steps.append(Submitters(jobs, writes=marks).admit)
            steps.append(JobGuard(self.store, namespaces).admit)
            steps.append(queue_guard.admit)
            steps.append(KindSubmitters(writes=marks).admit)
            steps.append(kind_queues.admit)
            steps.append(kind_guard.admit)

    def _make_writer(self, managed: ManagedFields) -> Writer:
        check_fields = FieldChecker(self.schemas.of)
        conversion = self.wire.conversion
        applier = Applier(self.store, managed, check_fields, conversion)
        patcher = Patcher(
            self.store,
            check_fields,
            lambda resource, obj, patch: strategic_merge(self.schemas.of(resource), obj, patch),
            applier.apply,
            conversion,
        )
        return Writer(self.store, self.reader, patcher, check_fields, conversion)

    def _journal(self) -> Journal | None:
        if self.data_dir is None:
            return None
        journal = Journal(self.data_dir / "objects.db", self.store, self.watch_hub, self.wire)
        journal.load()
        return journal

    def _ensure_certificates(self) -> Certificates:
        folder = self.data_dir
        if folder is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="kubesim-")
            folder = Path(self._temporary.name)
        return ensure_certificates(folder / "pki", self.name, self.clock.now())

    def _kept_tokens(self) -> dict[str, User]:
        path = self._tokens_path
        if path is not None and path.exists():
            rows = orjson.loads(path.read_bytes())
            kept = {row["token"]: User(row["user"], tuple(row["groups"])) for row in rows}
            lacking = [user for user in self._users() if user not in kept.values()]
            return kept | {secrets.token_urlsafe(32): user for user in lacking}
        return {secrets.token_urlsafe(32): user for user in self._users()}

    def _users(self) -> list[User]:
        """Who has a token where none were given: a hub cluster tells its hub from people."""
        return [ADMIN, HUB] if self.hub else [ADMIN]

    @property
    def _tokens_path(self) -> Path | None:
        return self.data_dir / "tokens.json" if self.data_dir else None

    def _keep_tokens(self) -> None:
        """Tokens outlast a restart where objects do."""
        path = self._tokens_path
        if path is not None:
            rows = [
                {"token": token, "user": user.name, "groups": list(user.groups)}
                for token, user in self._tokens.items()
            ]
            write_private(path, orjson.dumps(rows))

    def _bind(self) -> socket.socket:
        """A listening socket; a kept cluster comes back on the port that its clients know."""
        host, port = self._listen
        kept = self.data_dir / "port" if self.data_dir else None
        if port == 0 and kept is not None and kept.exists():
            port = int(kept.read_text())
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # Named TCP, or asyncio leaves Nagle's algorithm on: 40 ms a request.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        self._address = (f"[{host}]" if ":" in host else host, listener.getsockname()[1])
        if kept is not None:
            kept.write_text(str(self._address[1]))
        return listener

    def _add_endpoints(self) -> None:
        server, pods = self.server, PodEndpoints(self.store, PodLogs(self.store, self.clock))
        scale, forbids = ScaleEndpoint(self.store), self.faults.forbids
        reviews = Reviews(
            self.store,
            self._tokens,
            lambda user, verb, plural, namespace: (
                server.authorize(user, verb, None, namespace)
                or ("no rule allows it" if forbids(user.name, verb, plural, namespace) else "")
            ),
            self._keep_tokens,
        )
        if self.hub:
            server.check_watch = AbsentPods(self.store).check
        server.streams["pods/log"] = pods.log
        server.subresources["pods/binding"] = pods.bind
        server.subresources["pods/eviction"] = pods.evict
        server.subresources["serviceaccounts/token"] = reviews.issue_token
        server.subresources["*/scale"] = scale.answer
        nodes = NodeEndpoint(self.behaviours.nodes)
        openapi = OpenApi(self.registry, self.crds.raw_schema)
        server.routes += [reviews.answer, openapi.answer, self.faults.answer, nodes.answer]
        server.intercept = self.faults
