"""Failed requests to the hub: the time until the next try, and the log line."""

import asyncio
from typing import Final

import structlog

from agent.hub.client import HubError, asked_wait
from shared.retry import jittered
from shared.wire.agent_v1 import SyncReply

TOO_LARGE: Final = 413
_REFUSED_RETRY_S: Final = 30.0  # only an administrator can help, as with an old version
log = structlog.get_logger(__name__)


def may_pass(failure: BaseException) -> bool:
    """True for a failure of the request, after which another try may succeed."""
    return isinstance(failure, HubError)


def wanted_wait(failure: BaseException) -> float | None:
    """The wait that the hub asks for; long if only an administrator can help."""
    assert isinstance(failure, HubError)
    if failure.unreachable or failure.status == TOO_LARGE:
        return asked_wait(failure)
    return jittered(_REFUSED_RETRY_S, 0.2)


def note(_attempt: int, failure: BaseException, wait_s: float) -> None:
    """Log a failed request."""
    log.warning("sync.failed", error=str(failure), retry_s=round(wait_s, 1))


def ignore(task: asyncio.Task[SyncReply]) -> None:
    """Take the failure of a request that counts for nothing."""
    if not task.cancelled():
        task.exception()
