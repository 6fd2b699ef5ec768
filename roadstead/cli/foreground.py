"""A fleet in the foreground: it ends with this process, on Ctrl-C or SIGTERM, cleanly.

`up` and `demo` stand on it. A second signal while the fleet ends is ignored: it takes at most the ten
seconds after which the supervisor kills what is left.
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
    """Run `act` until it ends or a signal comes, then end the fleet; None where a signal cut it short.

    `act` gets the event that a signal sets. Raises click.UsageError for a log level that is none.
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
        # What waits for the event itself ends by itself; what does not is cut short.
        await asyncio.wait({acting}, timeout=0 if acting.done() else 0.1)
        return acting.result() if acting.done() else None
    finally:
        acting.cancel()
        stopping.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await acting
        await fleet.stop()
