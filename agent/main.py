"""Puts an agent together: identity first, then caches and exchange, until stopped or superseded.

`Agent.run` is all of it, so that one process can hold many agents (`roadstead up --pack`).
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import httpx
import structlog

from agent.config import Settings
from agent.hub import credential as identity
from agent.hub.client import HubClient, HubError
from agent.hub.credential import Credential
from agent.hub.link import Link, Untrusted
from agent.hub.streams import CONNECTIONS, Streams
from agent.hub.sync import AcceptedError, Exchange, RevokedError, SupersededError
from agent.member.declared import DeclaredProperties
from agent.member.health import Health
from agent.member.held_jobs import HeldJobs, Told
from agent.member.last_words import LastWords
from agent.metrics import Meters, MetricsServer
from agent.reconcile.reconciler import Reconciler
from agent.works.lease import Lease
from shared.clock import Clock, SystemClock
from shared.failpoints import failpoint
from shared.kube import errors
from shared.kube.client import KubeClient
from shared.retry import retrying
from shared.session_ids import new_session
from shared.wire import versions
from shared.wire.agent_v1 import Register, Rotate
from shared.wire.join_token import split_pins

log = structlog.get_logger(__name__)

JOIN_TOKEN_LOOK_S = 0.1

EXIT_STOPPED = 0
EXIT_REFUSED = 1  # no usable identity: a person has to do something
EXIT_SUPERSEDED = 3  # another agent runs with this credential

_UNKNOWN = "Unauthenticated"
_NO_MEMBER = "this cluster is no longer a member; the agent leaves running Jobs unchanged"
_JOIN_ANEW = "running Jobs continue; to reconnect to the hub, give this agent a new join token"
# What a refused credential means, by the hub's code.
_REFUSALS = {
    "TokenExpired": f"the hub was unreachable until the credential expired; {_JOIN_ANEW}",
    "CredentialSuperseded": f"a newer credential of this agent is in use elsewhere; {_JOIN_ANEW}",
    "ClientCertificateRequired": "the hub wants a certificate: --client-cert and --client-key",
}


class Agent:
    """One member cluster's agent. `transport` replaces the network to the hub in tests."""

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.settings = settings
        self.meters = Meters()
        self.reconciler: Reconciler | None = None
        self.exchange: Exchange | None = None
        self._clock = clock or SystemClock()
        self._transport = transport
        self._log = log
        self._held = Credential("", "", "")  # of the session
        self._line: Callable[[], HubClient] | None = None  # one more connection to the hub

    async def run(self) -> int:
        """Run until cancelled; returns an exit code when it can not go on: 1 refused, 3 superseded."""
        await self._stand_by()
        settings = self.settings
        try:
            client = await KubeClient.connect(
                settings.kubeconfig, qps=settings.kube_qps, clock=self._clock
            )
        except errors.NotConfigured as refusal:
            self._log.error("agent.refused", error=str(refusal))
            return EXIT_REFUSED
        async with client:
            try:
                link = self._link()
                hub = HubClient(link, self._clock)
            except (OSError, ValueError) as refusal:
                self._log.error("agent.refused", error=str(refusal))
                return EXIT_REFUSED
            self._line = lambda: HubClient(link, self._clock)
            async with hub:
                return await self._serve(hub, client)

    def _link(self) -> Link:
        settings = self.settings
        return Link(
            settings.hub_url,
            settings.credential.with_name(f"{settings.credential.name}.hub-ca"),
            ca=settings.hub_ca,
            pins=settings.hub_ca_pins,
            client_cert=settings.client_cert,
            client_key=settings.client_key,
            plain_http=settings.hub_plain_http,
            transport=self._transport,
        )

    async def _serve(self, hub: HubClient, client: KubeClient) -> int:
        """Sessions, one after the other, until it can not go on."""
        try:
            cluster_uid = await self._cluster_uid(client)
            credential = await self._credential(hub, client, cluster_uid)
        except (HubError, Untrusted, OSError, ValueError) as refusal:
            self._log.error("agent.refused", error=str(refusal))
            return EXIT_REFUSED
        while True:
            try:
                return await self._session(hub, client, credential, cluster_uid)
            except AcceptedError as accepted:
                self._log.warning(
                    "agent.begins_anew",
                    incarnation=str(accepted),
                    meaning="the hub's store was restored: its earlier orders are forgotten",
                )
                credential = replace(self._held, incarnation=str(accepted))
            except RevokedError as refusal:
                other = await self._another(hub, client, cluster_uid, refusal)
                if other is None:
                    self._log.error(
                        "agent.refused",
                        error=str(refusal),
                        meaning=_REFUSALS.get(refusal.code, _NO_MEMBER),
                    )
                    return EXIT_REFUSED
                credential = other

    async def _session(
        self, hub: HubClient, client: KubeClient, credential: Credential, cluster_uid: str
    ) -> int:
        """One session, to its end.

        Raises AcceptedError: the next one begins knowing nothing. RevokedError: not with this credential.
        """
        self._held = credential
        started = self._clock.monotonic()
        session = new_session(self._clock.now())
        self._log = log.bind(cluster=credential.cluster, session=session)
        lease = Lease(self.settings.lease_s)
        reconciler = Reconciler(
            client,
            credential.hub_id,
            lease,
            self._news,
            self._clock,
            self.meters,
            self.settings.policy,
        )
        self.reconciler = reconciler
        health = Health(client, self._clock, self._news)
        where = self.settings.properties_namespace
        declared = DeclaredProperties(client, where, self._clock, self._news)
        self.exchange = Exchange(
            hub,
            credential.secret,
            session,
            cluster_uid,
            reconciler,
            lease,
            lease_s=self.settings.lease_s,
            clock=self._clock,
            meters=self.meters,
            health=health,
            declared=declared,
            incarnation=credential.incarnation,
            adopt=lambda given: self._adopt(hub, given),
        )
        words = LastWords(self._clock, logs=self.settings.policy.logs == "on")
        reconciler.observer.made_jobs.tell = words.failed
        self.meters.lease_left.set_function(lambda: lease.left(self._clock.monotonic()))
        loops = [
            asyncio.create_task(reconciler.run()),
            asyncio.create_task(self.exchange.run()),
            asyncio.create_task(health.run()),
            asyncio.create_task(declared.run()),
            asyncio.create_task(self._streams(words).run()),
        ]
        metrics = await self._serve_metrics(loops)
        self._log.info("agent.started")
        try:
            done, _ = await asyncio.wait(loops, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except SupersededError as taken:
            lived = self._clock.monotonic() - started
            self._superseded(lived, str(taken))
            return EXIT_SUPERSEDED
        finally:
            for task in loops:
                task.cancel()
            await asyncio.gather(*loops, return_exceptions=True)
            if metrics is not None:
                await metrics.close()
        return EXIT_STOPPED

    def _streams(self, words: LastWords) -> Streams:
        """The part that answers people's questions, with its own clients: it takes nothing from jobs."""
        assert self._line is not None
        settings = self.settings

        async def member() -> KubeClient:
            return await KubeClient.connect(
                settings.kubeconfig, clock=self._clock, connections=CONNECTIONS
            )

        return Streams(
            self._line,
            lambda: self._held.secret,
            member,
            settings.policy,
            self._clock,
            self.meters,
            words,
            self._held.hub_id,
            HeldJobs(self._held.hub_id, self._told_of),
        )

    def _told_of(self, uid: str) -> Told:
        """The kind of a job's object, and whether it has ended."""
        if self.reconciler is None:
            return Told()
        return Told(self.reconciler.observer.parent_kind(uid), self.reconciler.has_ended(uid))

    def _news(self) -> None:
        if self.exchange is not None:
            self.exchange.news()

    def _superseded(self, lived_s: float, detail: str) -> None:
        mark = identity.mark_superseded(self.settings.credential, self._clock.now(), lived_s)
        self._log.error(
            "agent.superseded",
            detail=detail,
            meaning="another agent runs with this credential; this one has stopped acting",
            stand_by_s=mark.stand_by_s,
        )

    async def _stand_by(self) -> None:
        mark = identity.superseded(self.settings.credential) if self.settings.stand_by else None
        left = mark.left(self._clock.now()) if mark is not None else 0.0
        if left > 0:
            self._log.warning("agent.stand_by", seconds=round(left), reason="was superseded")
            await self._clock.sleep(left)

    # --- identity --------------------------------------------------------------------------------

    async def _cluster_uid(self, client: KubeClient) -> str:
        """The member's identity, its kube-system namespace's uid; waits for the member."""

        def note(_attempt: int, failure: BaseException, wait_s: float) -> None:
            self._log.info("member.retry", error=str(failure), wait_s=round(wait_s, 1))

        again = retrying(self._clock, _of_the_member, before_wait=note)
        namespace = await again(client.get, "v1", "Namespace", "", "kube-system")
        return str(namespace["metadata"]["uid"])

    async def _credential(
        self, hub: HubClient, client: KubeClient, cluster_uid: str
    ) -> Credential:
        """The stored credential, or a new one for the join token.

        Raises HubError, Untrusted, OSError, ValueError.
        """
        stored = identity.load(self.settings.credential)
        if stored is not None:
            await hub.find_authority(())
            return stored
        if self.settings.join_token is None:
            raise ValueError(
                f"{self.settings.credential} does not exist and no join token is given"
            )
        return await self._join(hub, client, cluster_uid)

    async def _join(self, hub: HubClient, client: KubeClient, cluster_uid: str) -> Credential:
        """A credential for the join token. Raises HubError, Untrusted, OSError, ValueError."""
        assert self.settings.join_token is not None
        token, pins = split_pins(await self._join_token(self.settings.join_token))
        await hub.find_authority(pins)
        request = Register(
            cluster_uid=cluster_uid,
            agent_version=versions.release(),
            kubernetes_version=(await client.version()).git_version,
        )
        path = self.settings.credential
        credential = await hub.register(token, request, identity.begin_joining(path, token))
        failpoint("A10")
        identity.save(path, credential)
        identity.end_joining(path)
        failpoint("A11")
        self._log.info("agent.registered", cluster=credential.cluster)
        return credential

    async def _another(
        self, hub: HubClient, client: KubeClient, cluster_uid: str, refusal: RevokedError
    ) -> Credential | None:
        """Other credentials to try: the previous one, or a new join token; None if nothing is.

        A hub that knows nothing of a credential it gave has gone back to a copy of its store from
        before: it may know the one that came before. It would know of it, had that been superseded.
        """
        path, token = self.settings.credential, self.settings.join_token
        previous = identity.load_previous(path)
        if refusal.code == _UNKNOWN and previous not in {None, self._held}:
            return previous
        if token is None or not _token_in(token):
            return None
        try:
            return await self._join(hub, client, cluster_uid)
        except (HubError, Untrusted, OSError, ValueError) as failure:
            self._log.info("join_token.refused", error=str(failure))
            return None

    def _adopt(self, hub: HubClient, given: Rotate) -> str:
        """Keep a new credential, and the hub's CA as it now is; the secret to use. Raises OSError."""
        self._held = identity.replace_secret(
            self.settings.credential, self._held, given.credential
        )
        if given.ca:
            hub.keep_authority(given.ca)
        return self._held.secret

    async def _join_token(self, path: Path) -> str:
        """The token in the file; waits for the file, which may be written while the agent starts."""
        token = _token_in(path)
        if not token:
            self._log.info("agent.waits", for_file=str(path))
        while not token:
            await self._clock.sleep(JOIN_TOKEN_LOOK_S)
            token = _token_in(path)
        return token

    async def _serve_metrics(self, loops: list[asyncio.Task[None]]) -> MetricsServer | None:
        port = self.settings.metrics_port
        if port is None:
            return None

        def alive() -> bool:
            return not any(task.done() for task in loops)

        server = MetricsServer(self.meters, alive)
        await server.start(self.settings.metrics_host, port)
        return server


def _of_the_member(failure: BaseException) -> bool:
    return isinstance(failure, errors.KubeError)


def _token_in(path: Path) -> str:
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return ""
