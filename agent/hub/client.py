"""The agent's side of the wire: register once, then sync.

httpx carries the few, large messages. Registration is retried until the hub answers;
a sync is tried once, because the loop that calls it recomputes its content each time.
"""

import ssl
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
import orjson
import structlog
from pydantic import ValidationError

from agent.hub.credential import Credential
from shared.clock import Clock, SystemClock
from shared.retry import retrying
from shared.wire.agent_v1 import (
    REGISTER_PATH,
    SYNC_PATH,
    Register,
    Registered,
    SyncReply,
    SyncRequest,
)

log = structlog.get_logger(__name__)

_ANSWER_S = 15.0  # beyond what the hub was allowed to hold the request
_LONGEST_ASKED_S = 60.0  # what stands before the hub may ask for a day


class HubError(Exception):
    """The hub refused (HTTP `status`, stable `code`) or did not answer (status 0)."""

    def __init__(self, status: int, code: str, detail: str, retry_after_s: float | None) -> None:
        super().__init__(f"{status} {code}: {detail}")
        self.status = status
        self.code = code
        self.detail = detail
        self.retry_after_s = retry_after_s

    @property
    def unreachable(self) -> bool:
        """Whether trying again may help without anybody changing anything."""
        return self.status in {0, 429} or self.status >= 500


class HubClient:
    """One connection pool to one hub. `transport` replaces the network in tests."""

    def __init__(
        self,
        url: str,
        ca: Path | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        # Without TLS no trust store is read: that costs a start-up half a second of CPU.
        verify: ssl.SSLContext | bool = not url.startswith("http://")
        if ca is not None:
            verify = ssl.create_default_context(cafile=str(ca))
        self._http = httpx.AsyncClient(
            base_url=url,
            verify=verify,
            transport=transport,
            timeout=httpx.Timeout(_ANSWER_S, connect=5.0),
            headers={"Content-Type": "application/json", "Accept": "application/json"},
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._http.aclose()

    async def register(self, join_token: str, request: Register) -> Credential:
        """Trade the join token for a credential; waits for the hub as long as it takes.

        Raises `HubError` when the hub refuses the token.
        """
        body = request.model_dump_json().encode()

        async def knock() -> bytes:
            return await self._post(REGISTER_PATH, body, join_token, _ANSWER_S)

        raw: bytes = await retrying(self._clock, _may_pass, asked=asked_wait, before_wait=_told)(
            knock
        )
        answer = Registered.model_validate_json(raw)
        return Credential(
            cluster=answer.cluster,
            secret=answer.credential,
            hub_id=answer.hub_id,
            incarnation=answer.incarnation,
        )

    async def sync(self, secret: str, request: SyncRequest) -> SyncReply:
        """One exchange. Raises `HubError`; a reply that is none counts as no answer."""
        body = request.model_dump_json(exclude_defaults=True).encode()
        raw = await self._post(SYNC_PATH, body, secret, request.wait_s + _ANSWER_S)
        try:
            return SyncReply.model_validate_json(raw)
        except ValidationError as fault:
            raise HubError(0, "BadReply", str(fault)[:300], None) from fault

    async def _post(self, path: str, body: bytes, bearer: str, timeout_s: float) -> bytes:
        try:
            response = await self._http.post(
                path,
                content=body,
                headers={"Authorization": f"Bearer {bearer}"},
                timeout=httpx.Timeout(timeout_s, connect=5.0),
            )
        except httpx.HTTPError as failure:
            text = str(failure) or type(failure).__name__
            raise HubError(0, "Unreachable", text, None) from failure
        if response.status_code >= 300:
            raise _refusal(response)
        return response.content


def asked_wait(error: BaseException) -> float | None:
    """The seconds after which the hub asked to be tried again, within reason; None: the dice say."""
    asked_s = error.retry_after_s if isinstance(error, HubError) else None
    if asked_s is None or not asked_s > 0:  # no number at all, too
        return None
    return min(asked_s, _LONGEST_ASKED_S)


def _may_pass(error: BaseException) -> bool:
    return isinstance(error, HubError) and error.unreachable


def _told(attempt: int, error: BaseException, wait_s: float) -> None:
    log.info("register.retry", attempt=attempt, error=str(error), wait_s=round(wait_s, 1))


def _refusal(response: httpx.Response) -> HubError:
    problem: Any = {}
    try:
        problem = orjson.loads(response.content)
    except orjson.JSONDecodeError:
        problem = {}
    if not isinstance(problem, dict):
        problem = {}
    detail = str(problem.get("detail") or problem.get("title") or response.reason_phrase)
    try:
        retry_after = float(response.headers.get("Retry-After", ""))
    except ValueError:
        retry_after = None
    return HubError(response.status_code, str(problem.get("code") or ""), detail, retry_after)
