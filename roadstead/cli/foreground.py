"""A fleet in the foreground: it shuts down cleanly with this process, on Ctrl-C or SIGTERM.

`up` and `demo` use it. It ignores a second signal while the fleet shuts down: the supervisor kills
remaining processes after at most ten seconds.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable
from typing import TypeVar

import click

from roadstead.cli.fleet import Fleet
from shared import log

T = TypeVar("T")


def run_until_signal(fleet: Fleet, ready: Callable[[], None]) -> None:
    """Start the fleet, call `ready` when all of it answers, and run it until a signal."""

    async def serve(stop: asyncio.Event) -> None:
        await fleet.start()
        ready()
        await stop.wait()

    run_beside(fleet, serve)


def run_beside(fleet: Fleet, act: Callable[[asyncio.Event], Awaitable[T]]) -> T | None:
    """Run `act` until it ends or a signal comes, then stop the fleet; None if a signal interrupted it.

    `act` gets the event that a signal sets. Raises click.UsageError for an invalid log level.
    """
    try:
        log.configure(log.level_of(os.environ, "warning"))
    except ValueError as wrong:
        raise click.UsageError(f"{wrong}.") from None
    return asyncio.run(_run_beside(fleet, act))


async def _run_beside(fleet: Fleet, act: Callable[[asyncio.Event], Awaitable[T]]) -> T | None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    acting = asyncio.ensure_future(act(stop))
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({acting, stopping}, return_when=asyncio.FIRST_COMPLETED)
        # An action that waits for the event ends itself; others are cancelled.
        await asyncio.wait({acting}, timeout=0 if acting.done() else 0.1)
        return acting.result() if acting.done() else None
    finally:
        acting.cancel()
        stopping.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await acting
        await fleet.stop()
