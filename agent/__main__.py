"""`python -m agent`: one agent as a process.

Exit codes: 0 stopped, 1 refused, 2 wrong arguments or packages that are not installed, 3 superseded.
"""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from shared.extras import leave_without

gc.disable()  # modules leave no garbage
try:
    import structlog

    from agent.config import from_arguments, unread
    from agent.main import EXIT_STOPPED, Agent
    from shared import log
    from shared.collector import spare_the_collector
    from shared.parent import die_with_parent
except ModuleNotFoundError as missing:
    leave_without(missing, "python -m agent", "agent")
gc.enable()

_EXIT_USAGE = 2


def main() -> int:
    """Run until SIGTERM or SIGINT, or until the agent can not go on."""
    settings, with_parent = from_arguments(None, os.environ)
    try:
        log.configure(log.level_of(os.environ), log.format_of(os.environ))
    except ValueError as error:
        sys.stderr.write(f"agent: error: {error}\n")
        return _EXIT_USAGE
    if unknown := unread(os.environ):
        structlog.get_logger().warning(
            "environment variables that nothing reads", variables=unknown
        )
    if with_parent:
        die_with_parent()
    spare_the_collector()
    return _runner()(_run(Agent(settings)))


def _runner() -> Callable[[Coroutine[Any, Any, int]], int]:
    """Uvloop's where it is installed: a fifth less CPU a job."""
    try:
        import uvloop  # noqa: PLC0415 - not in the agent's own requirements
    except ImportError:
        return asyncio.run
    run: Callable[[Coroutine[Any, Any, int]], int] = uvloop.run
    return run


async def _run(agent: Agent) -> int:
    running = asyncio.ensure_future(agent.run())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, running.cancel)
    with suppress(asyncio.CancelledError):
        return await running
    return EXIT_STOPPED


if __name__ == "__main__":
    sys.exit(main())
