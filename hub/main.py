"""The composition root: builds store, services, loops and application, and serves them until SIGTERM.

    python -m hub --data DIR --listen HOST:PORT [--database URL] [--tls-cert FILE --tls-key FILE]
                  [--no-migrate] [--hub-kubeconfig FILE | --hub-in-cluster] [--admin-token-file FILE]
                  [--secrets-key FILE] [--die-with-parent]

DIR holds `hub.db` and, from the first start on, `admin.token`. One process per DIR: a lock sees to it. With
a database of PostgreSQL several processes, each with a DIR of its own, are one hub.
"""

import argparse
import asyncio
import contextlib
import os
import resource
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import NoReturn

import structlog
import uvicorn
import uvloop
from fastapi import FastAPI

from hub import admin_token, folder, listening, tls
from hub.api import agents
from hub.api.app import create_app
from hub.api.connections import BoundedProtocol, Door
from hub.api.handshakes import SecureListener
from hub.api.measures import observe_turn
from hub.api.peers import Peers
from hub.config import limits_from, unknown_variables
from hub.controllers.chains import Chains
from hub.controllers.class_values import ClassValues
from hub.controllers.cron_jobs import CronJobs
from hub.controllers.expiry import Expiry
from hub.controllers.flavor_reach import FlavorReach
from hub.controllers.heartbeats import SilenceLoop
from hub.controllers.history_log import HistoryLog
from hub.controllers.last_down import LastDown
from hub.controllers.last_lines import LastLines
from hub.controllers.lease import Lease
from hub.controllers.lifetimes import Lifetimes
from hub.controllers.peers import Reached
from hub.controllers.placements import Placements
from hub.controllers.resealing import Resealing
from hub.controllers.scheduling import SchedulingController
from hub.services.context import identity, timeline
from hub.services.context.hub import Hub
from hub.services.context.settings import Settings
from hub.services.members.sync import AgentSync
from hub.services.mirror.not_taken import NotTaken
from hub.services.queues import unqueued
from hub.store.backends.sqlite import address_of
from hub.store.engine import Database
from hub.store.errors import StoreError
from hub.store.keyring import NO_KEYS, Keyring
from hub.web import access, pages
from shared import log
from shared.clock import AgreedClock, Clock, SteadyClock, SystemClock
from shared.collector import spare_the_collector
from shared.parent import die_with_parent

_GRACE_S = 3
_WATCHED_S = 1.0
_OWN_FILES = 256  # the store's, the log's, the hub cluster's connections
# The loop and the store's threads pass the interpreter to and fro with every request; Python's 5 ms
# would be the better part of a request's time.
_SWITCH_S = 0.0005
_logger = structlog.get_logger(__name__)
Run = Callable[[], Awaitable[None]]
EXIT_FAILED, EXIT_MISCONFIGURED, EXIT_STORE = 1, 2, 3


class LoopEnded(Exception):
    """One of the loops has ended unexpectedly: the process exits too, to be restarted."""


def main() -> None:
    """Serve until SIGTERM or SIGINT.

    Exit codes: 2 where arguments, environment or folder are wrong, 3 where the database is; one line
    on stderr says how. 1: a loop has ended.
    """
    arguments = _arguments()
    if arguments.die_with_parent:
        die_with_parent()
    try:
        log.configure(log.level_of(os.environ), log.format_of(os.environ))
        if unknown := unknown_variables(os.environ):
            _logger.warning("environment variables that nothing reads", variables=unknown)
        folder.prepare(arguments.data)
        sys.setswitchinterval(_SWITCH_S)
        spare_the_collector()
        with folder.locked(arguments.data):
            if arguments.database is None:
                folder.refuse_lost(arguments.data, _token_file(arguments))
            settings = tls.with_arguments(limits_from(os.environ), arguments)
            uvloop.run(_serve(arguments, settings))
    except StoreError as error:
        _end(EXIT_STORE, error)
    except LoopEnded as error:
        _end(EXIT_FAILED, error)
    except (folder.Misconfigured, ValueError) as error:
        _end(EXIT_MISCONFIGURED, error)


def _end(code: int, error: Exception) -> NoReturn:
    sys.stderr.write(f"hub: {' '.join(str(error).split())}\n")
    sys.exit(code)


def _token_file(arguments: argparse.Namespace) -> Path:
    return Path(arguments.admin_token_file or arguments.data / "admin.token")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m hub", description="The control plane.")
    parser.add_argument("--data", type=Path, required=True, help="folder of the database")
    parser.add_argument(
        "--database",
        default=os.environ.get("ROADSTEAD_DATABASE") or None,
        metavar="URL",
        help="postgresql://…, shared by all replicas; default: DATA/hub.db [ROADSTEAD_DATABASE]",
    )
    parser.add_argument(
        "--no-migrate",
        action="store_true",
        help="refuse a database whose schema is older, instead of bringing it up to date",
    )
    parser.add_argument(
        "--listen", default="127.0.0.1:8080", metavar="HOST:PORT", help="default: 127.0.0.1:8080"
    )
    parser.add_argument(
        "--share-port",
        action="store_true",
        help="let other replicas on this machine listen there too; the kernel distributes connections",
    )
    parser.add_argument(
        "--own-listen",
        metavar="HOST:PORT",
        help="a second address, of this process alone: where other replicas reach it; port 0: any",
    )
    parser.add_argument(
        "--advertise",
        default="",
        metavar="URL",
        help="where other replicas reach this process, if not at --own-listen",
    )
    cluster = parser.add_mutually_exclusive_group()
    cluster.add_argument(
        "--hub-kubeconfig", type=Path, metavar="FILE", help="kubeconfig of the hub cluster"
    )
    cluster.add_argument(
        "--hub-in-cluster", action="store_true", help="the hub cluster is the one of this pod"
    )
    parser.add_argument("--admin-token-file", type=Path, help="default: DATA/admin.token")
    tls.add_arguments(parser)
    parser.add_argument(
        "--secrets-key",
        type=Path,
        default=os.environ.get("ROADSTEAD_SECRETS_KEY") or None,
        metavar="FILE",
        help="keys that secrets in the store are encrypted with, base64 by line; the first one "
        "writes [ROADSTEAD_SECRETS_KEY]",
    )
    parser.add_argument("--die-with-parent", action="store_true")
    return parser.parse_args()


async def _serve(arguments: argparse.Namespace, settings: Settings) -> None:
    certificates = tls.Certificates(settings.tls, SystemClock())
    listeners = [listening.bound(arguments.listen, shared=arguments.share_port)]
    if arguments.own_listen:
        listeners.append(listening.bound(arguments.own_listen, shared=False))
    own = listeners[1] if arguments.own_listen and arguments.database else None
    scheme = "https" if certificates.serves_tls else "http"
    url = listening.reached_at(arguments.advertise, own, scheme)
    async with _composed(settings, arguments) as (app, runs):
        app.state.certificates = certificates
        app.state.hub.authority = lambda: certificates.authority
        runs += [certificates.run, *_reached(app, url, certificates)]
        await _until_stopped(app, runs, listeners)


def _reached(app: FastAPI, url: str, certificates: tls.Certificates) -> list[Run]:
    """The loop that says where this process is reached, if it is."""
    if not url:
        return []
    found: Peers = app.state.peers
    found.trust = certificates.of_peers
    return [Reached(app.state.hub, found.name, url).run]


@contextlib.asynccontextmanager
async def _composed(
    settings: Settings, arguments: argparse.Namespace
) -> AsyncIterator[tuple[FastAPI, list[Run]]]:
    """The application and the loops, over one open store."""
    db, clock = _open(arguments)
    lease: Lease | None = None
    try:
        known = await db.write(identity.load)
        hub = await Hub(db, clock, settings, page_key=known.page_key).with_kinds()
        hub.timeline = await hub.write(timeline.begin, known.incarnation, known.page_key)
        await admin_token.settle(hub, _token_file(arguments))
        if waiting := await hub.read(unqueued.condition, settings.intake.unqueued_jobs):
            _logger.warning("jobs without a queue", message=waiting["message"])
        lease = Lease(hub, holder=f"{socket.gethostname()}/{os.getpid()}")
        await lease.start()
        sync = AgentSync(
            db,
            clock,
            hub_id=known.hub_id,
            incarnation=known.incarnation,
            term=lease.term,
            closing=hub.closing,
            suspect_after_s=settings.scheduling.suspect_after_s,
            timeline=hub.timeline,
        )
        app = create_app(hub, (agents.router, pages.router), pages.nothing_here, access.signed_in)
        app.state.agent_sync = sync
        scheduling = SchedulingController(hub, lease.term, observe_turn)
        app.state.schedule_index = lambda: scheduling.scheduler.index
        last_down = LastDown()
        not_taken = NotTaken()
        yield (
            app,
            [
                lease.run,
                _Watch(db, clock).run,
                *hub.loops,
                sync.run,
                scheduling.run,
                SilenceLoop(hub, sync, lease.term, last_down).run,
                Lifetimes(hub, lease.term, last_down, observe_turn).run,
                Chains(hub, lease.term, observe_turn).run,
                CronJobs(hub, lease.term, observe_turn).run,
                ClassValues(hub, lease.term, observe_turn).run,
                Placements(hub, lease.term, lambda: _promised(scheduling), not_taken).run,
                LastLines(hub, app.state.open_streams, observe_turn).run,
                Expiry(hub, lease.term, observe_turn).run,
                Resealing(hub, lease.term, observe_turn).run,
                HistoryLog(hub, lease.term, observe_turn).run,
                FlavorReach(hub, lease.term, lambda: scheduling.scheduler.index, observe_turn).run,
                *_bridge(hub, lease, arguments, not_taken),
            ],
        )
    finally:
        if lease is not None:
            with contextlib.suppress(StoreError):
                await lease.release()
        await db.close()


def _promised(scheduling: SchedulingController) -> dict[str, dict[str, int]]:
    """What members were promised beyond their reports, by member and resource."""
    index = scheduling.scheduler.index
    return {} if index is None else index.members.all_promised()


def _open(arguments: argparse.Namespace) -> tuple[Database, Clock]:
    """The store, and the clock of all that is stamped: the database's own where several hubs share it."""
    keys = Keyring.read(arguments.secrets_key) if arguments.secrets_key else NO_KEYS
    url = arguments.database or address_of(arguments.data / folder.DATABASE)
    agreed = AgreedClock(SystemClock())
    clock = agreed if arguments.database else SteadyClock(SystemClock())
    learn = agreed.learn if arguments.database else None
    db = Database.open(url, clock, learn, keys=keys, may_migrate=not arguments.no_migrate)
    return db, clock


class _Watch:
    """Ends the process that was paused while others wrote more than the feed keeps: it is restarted."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def run(self) -> None:
        while self._db.left_behind is None:
            await self._clock.sleep(_WATCHED_S)
        raise self._db.left_behind


def _bridge(
    hub: Hub, lease: Lease, arguments: argparse.Namespace, not_taken: NotTaken
) -> list[Run]:
    """The loop of the bridge, where there is a hub cluster, and of who asks that one whose tokens are."""
    if arguments.hub_kubeconfig is None and not arguments.hub_in_cluster:
        hub.settings.token_reviews.do_without_cluster()
        return []
    from hub.bridge.bridge import Bridge  # noqa: PLC0415 - its Kubernetes client takes a second

    return Bridge(hub, lease.term, arguments.hub_kubeconfig, not_taken).loops()


class _Server(uvicorn.Server):
    """A server that leaves signals to us: SIGTERM is an ordinary end, with exit code 0.

    Hanging requests are ended: polls of agents and streams would hold the server otherwise.
    """

    def __init__(self, config: uvicorn.Config, closing: asyncio.Event, door: Door) -> None:
        super().__init__(config)
        self._closing = closing
        self._door = door
        self._accepting: list[asyncio.Task[None]] = []

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen; by TLS it is the door that does."""
        trust = self._door.trust
        await super().startup(sockets if trust is None else [])
        if trust is not None:
            self._accepting = [
                asyncio.create_task(SecureListener(self._door, trust, each, self._make).run())
                for each in sockets or ()
            ]
            for task in self._accepting:
                task.add_done_callback(lambda _: self.stop())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for task in self._accepting:
            task.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        await super().shutdown(sockets)

    def stop(self) -> None:
        self.should_exit = True
        self._closing.set()

    def _make(self) -> BoundedProtocol:
        return self._door.protocol()(
            config=self.config, server_state=self.server_state, app_state={}
        )


async def _until_stopped(app: FastAPI, runs: list[Run], listeners: list[socket.socket]) -> None:
    """Run the loops beside the server; both end on SIGTERM. A loop that ends ends the process."""
    hub: Hub = app.state.hub
    certificates: tls.Certificates = app.state.certificates
    trust = certificates if certificates.serves_tls else None
    door = Door(hub.settings.api, hub.clock, _most_connections(), trust)
    server = _Server(
        uvicorn.Config(
            app,
            http=door.protocol(),
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=_GRACE_S,
            timeout_keep_alive=75,
        ),
        hub.closing,
        door,
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, server.stop)
    tasks = [asyncio.ensure_future(run()) for run in (*runs, door.run)]
    for each in listeners:
        each.listen(listening.BACKLOG)
    serving = asyncio.ensure_future(server.serve(sockets=listeners))
    scheme = "http" if trust is None else "https"
    announcing = asyncio.ensure_future(_announce(server, listeners[0], scheme))
    done, _ = await asyncio.wait([serving, *tasks], return_when=asyncio.FIRST_COMPLETED)
    for task in done - {serving}:
        _logger.error("a loop has ended", exc_info=task.exception())
    server.stop()
    await serving
    for task in (announcing, *tasks):
        task.cancel()
    await asyncio.gather(announcing, *tasks, return_exceptions=True)
    if done - {serving}:
        raise LoopEnded("a loop has ended; see the log")


def _most_connections() -> int:
    """As many as the process may have files, but for those that the hub itself needs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard not in (soft, resource.RLIM_INFINITY):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        soft = hard
    return max(64, soft - _OWN_FILES) if soft != resource.RLIM_INFINITY else sys.maxsize


async def _announce(server: uvicorn.Server, listener: socket.socket, scheme: str) -> None:
    """Print the one line that scripts wait for, once requests are answered."""
    clock = SystemClock()
    while not server.started:
        await clock.sleep(0.01)
    sys.stdout.write(f"ready {scheme}://{listening.address_of(listener)}\n")
    sys.stdout.flush()
