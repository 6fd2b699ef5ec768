"""The composition root: builds store, services, loops and application, and serves them until SIGTERM.

    python -m hub --data DIR --listen HOST:PORT [--hub-kubeconfig FILE] [--die-with-parent]

DIR holds `hub.db` and, from the first start on, `admin.token`. One process per DIR: a lock sees to it.
"""

import argparse
import asyncio
import contextlib
import fcntl
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import structlog
import uvicorn
import uvloop
from fastapi import FastAPI

from hub.api import agents
from hub.api.app import create_app
from hub.api.measures import observe_turn
from hub.config import limits_from
from hub.controllers.expiry import Expiry
from hub.controllers.flavor_reach import FlavorReach
from hub.controllers.heartbeats import Heartbeats
from hub.controllers.lease import Lease
from hub.controllers.lifetimes import Lifetimes
from hub.controllers.loop import Loop, Tick
from hub.controllers.placements import Placements
from hub.controllers.scheduling import SchedulingController
from hub.services import identity
from hub.services.hub import Hub
from hub.services.limits import Limits
from hub.services.sync import AgentSync
from hub.services.tokens import ADMINISTRATOR
from hub.store.engine import Database
from hub.store.errors import StoreError
from hub.web import pages
from shared import log
from shared.clock import SystemClock
from shared.collector import spare_the_collector
from shared.parent import die_with_parent

_GRACE_S = 3
# The loop and the store's threads pass the interpreter to and fro with every request; Python's 5 ms
# would be the better part of a request's time.
_SWITCH_S = 0.0005
_logger = structlog.get_logger(__name__)
Run = Callable[[], Awaitable[None]]


class Misconfigured(Exception):
    """The process can not start as it was asked to."""


def main() -> None:
    """Serve until SIGTERM or SIGINT; exit 2 where the arguments or the environment are wrong."""
    arguments = _arguments()
    log.configure(os.environ.get("ROADSTEAD_LOG_LEVEL", "info"))
    if arguments.die_with_parent:
        die_with_parent()
    try:
        arguments.data.mkdir(parents=True, exist_ok=True)
        sys.setswitchinterval(_SWITCH_S)
        spare_the_collector()
        with _locked(arguments.data / "hub.lock"):
            uvloop.run(_serve(arguments, limits_from(os.environ)))
    except (Misconfigured, StoreError, ValueError) as error:
        sys.exit(f"hub: {error}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m hub", description="The control plane.")
    parser.add_argument("--data", type=Path, required=True, help="folder of the database")
    parser.add_argument("--listen", default="127.0.0.1:8080", metavar="HOST:PORT")
    parser.add_argument("--hub-kubeconfig", type=Path, help="kubeconfig of the hub cluster")
    parser.add_argument("--admin-token-file", type=Path, help="default: DATA/admin.token")
    parser.add_argument("--die-with-parent", action="store_true")
    return parser.parse_args()


async def _serve(arguments: argparse.Namespace, limits: Limits) -> None:
    listener = _listen(arguments.listen)
    async with _composed(arguments.data, limits, arguments) as (app, runs):
        await _until_stopped(app, runs, listener)


@contextlib.asynccontextmanager
async def _composed(
    folder: Path, limits: Limits, arguments: argparse.Namespace
) -> AsyncIterator[tuple[FastAPI, list[Run]]]:
    """The application and the loops, over one open store."""
    clock = SystemClock()
    db = Database.open(f"sqlite:///{folder / 'hub.db'}", clock)
    try:
        known = await db.write(identity.load)
        hub = Hub(db, clock, limits, page_key=known.page_key)
        await _write_admin_token(hub, arguments.admin_token_file or folder / "admin.token")
        lease = Lease(hub, holder=f"{socket.gethostname()}/{os.getpid()}")
        await lease.start()
        sync = AgentSync(
            db,
            clock,
            hub_id=known.hub_id,
            incarnation=known.incarnation,
            term=lease.term,
            closing=hub.closing,
            suspect_after_s=limits.scheduling.suspect_after_s,
        )
        app = create_app(hub, (agents.router, pages.router))
        app.state.agent_sync = sync
        scheduling = SchedulingController(hub, lease.term, observe_turn)
        app.state.schedule_index = lambda: scheduling.scheduler.index
        yield (
            app,
            [
                lease.run,
                sync.run,
                scheduling.run,
                Heartbeats(hub, sync, lease.term).run,
                Lifetimes(hub, lease.term, observe_turn).run,
                Placements(hub, lease.term).run,
                Expiry(hub, lease.term, observe_turn).run,
                FlavorReach(hub, lease.term, lambda: scheduling.scheduler.index, observe_turn).run,
                *_bridge(hub, lease, arguments.hub_kubeconfig),
            ],
        )
    finally:
        await db.close()


def _bridge(hub: Hub, lease: Lease, kubeconfig: Path | None) -> list[Run]:
    """The loop of the bridge, where there is a hub cluster."""
    if kubeconfig is None:
        return []
    from hub.bridge.bridge import Bridge  # noqa: PLC0415 - its Kubernetes client takes a second

    def make_loop(name: str, tick: Tick, every_s: float, least_s: float) -> Loop:
        return Loop(name, tick, hub.clock, every_s=every_s, least_s=least_s)

    return [Bridge(hub, lease.term, kubeconfig, make_loop).run]


class _Server(uvicorn.Server):
    """A server that leaves signals to us: SIGTERM is an ordinary end, with exit code 0.

    What hangs is told to end itself: polls of agents and streams would hold the server otherwise.
    """

    def __init__(self, config: uvicorn.Config, closing: asyncio.Event) -> None:
        super().__init__(config)
        self._closing = closing

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def stop(self) -> None:
        self.should_exit = True
        self._closing.set()


async def _until_stopped(app: FastAPI, runs: list[Run], listener: socket.socket) -> None:
    """Run the loops beside the server; both end on SIGTERM. A loop that ends ends the process."""
    server = _Server(
        uvicorn.Config(
            app,
            http="httptools",
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
            timeout_graceful_shutdown=_GRACE_S,
            timeout_keep_alive=75,
        ),
        app.state.hub.closing,
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, server.stop)
    tasks = [asyncio.ensure_future(run()) for run in runs]
    serving = asyncio.ensure_future(server.serve(sockets=[listener]))
    announcing = asyncio.ensure_future(_announce(server, listener))
    done, _ = await asyncio.wait([serving, *tasks], return_when=asyncio.FIRST_COMPLETED)
    for task in done - {serving}:
        _logger.error("a loop has ended", exc_info=task.exception())
    server.stop()
    await serving
    for task in (announcing, *tasks):
        task.cancel()
    await asyncio.gather(announcing, *tasks, return_exceptions=True)
    if done - {serving}:
        raise Misconfigured("a loop has ended; see the log")


async def _announce(server: uvicorn.Server, listener: socket.socket) -> None:
    """Print the one line that scripts wait for, once requests are answered."""
    clock = SystemClock()
    while not server.started:
        await clock.sleep(0.01)
    host, port = listener.getsockname()[:2]
    sys.stdout.write(f"ready http://{f'[{host}]' if ':' in host else host}:{port}\n")
    sys.stdout.flush()


async def _write_admin_token(hub: Hub, path: Path) -> None:
    """See that `path` holds a token that works."""
    found = await hub.authenticator.authenticate(_read_private(path))
    if found is None or found.role != ADMINISTRATOR:
        _write_private(path, await hub.write(identity.issue_admin_token))


def _read_private(path: Path) -> str:
    return path.read_text().strip() if path.exists() else ""


def _write_private(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text + "\n")
    fresh.replace(path)


def _listen(address: str) -> socket.socket:
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        raise Misconfigured(f"--listen {address}: expected HOST:PORT")
    host = host.strip("[]")
    try:
        return socket.create_server(
            (host, int(port)),
            family=socket.AF_INET6 if ":" in host else socket.AF_INET,
            backlog=2048,
        )
    except OSError as error:
        raise Misconfigured(f"--listen {address}: {error.strerror}") from error


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold DIR for this process alone. Raises Misconfigured."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Misconfigured(f"another hub is running on {path.parent}") from None
        yield
