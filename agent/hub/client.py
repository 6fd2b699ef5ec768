"""The agent's side of the wire: register once, then sync.

httpx carries the few, large messages. Registration is retried until the hub answers;
a sync is tried once, because the loop that calls it recomputes its content each time.
"""

import ssl
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx
import orjson
import structlog
from pydantic import ValidationError

from agent.hub.credential import Credential, Joining
from agent.hub.link import Link
from shared.clock import Clock, SystemClock
from shared.retry import retrying
from shared.wire import versions
from shared.wire.agent_v1 import (
    CA_PATH,
    REGISTER_PATH,
    SYNC_PATH,
    Capacity,
    Message,
    ObservedSet,
    Register,
    Registered,
    SyncReply,
    SyncRequest,
)
from shared.wire.left_objects import LeftObject
from shared.wire.streams_v1 import (
    ANSWERS_HEADER,
    FAILED_PATH,
    NAMESPACE,
    POLL_S,
    STREAMS_PATH,
    FailedPods,
    StreamPart,
    StreamRequest,
    StreamRequests,
    StreamTaken,
)

log = structlog.get_logger(__name__)

M = TypeVar("M", bound=Message)
_UPGRADE = 426
_IN_HEADERS: Mapping[str, Any] = {
    "availability": None,
    "namespaces_held": None,
    "namespace_ids_held": None,
    "kinds_held": None,
}
_NO_HEADERS: Mapping[str, str] = {}
_OWN_SECRET = 2  # the first protocol in which the agent generates its first secret
_ANSWER_S = 15.0  # beyond what the hub was allowed to hold the request
_PART_S = 20.0  # the hub may hold a part for some seconds, until there is room for it
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
        """True if a retry may help without any change."""
        return self.status in {0, 429} or self.status >= 500


class HubClient:
    """One connection pool to one hub. Raises OSError, ValueError for files that can not be used."""

    def __init__(self, link: Link, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._link = link
        self._signature = link.signature()
        self._http = self._connect()
        self.protocol = versions.OLDEST  # as the hub chose it, in its newest answer
        self._earlier: httpx.AsyncClient | None = (
            None  # of files that have changed; a poll may hang
        )

    def _connect(self) -> httpx.AsyncClient:
        """Raises OSError, ValueError: a file of the link can not be used."""
        return httpx.AsyncClient(
            base_url=self._link.url,
            verify=self._link.context(),
            transport=self._link.transport,
            timeout=httpx.Timeout(_ANSWER_S, connect=5.0),
            headers={
                "Content-Type": "application/json",
                "Accept": "application/json",
                "User-Agent": versions.user_agent(versions.release()),
                versions.PROTOCOL_HEADER: versions.offer(),
                **self._link.told(),
            },
        )

    async def _renew(self) -> None:
        """Reconnect if the link's files have changed; if they are invalid, keep the connection."""
        signature = self._link.signature()
        if signature == self._signature:
            return
        self._signature = signature
        try:
            fresh = self._connect()
        except (OSError, ValueError) as fault:
            log.warning("link.refused", error=str(fault), meaning="the earlier files stay in use")
            return
        if self._earlier is not None:
            await self._earlier.aclose()
        self._earlier, self._http = self._http, fresh
        log.info("link.renewed")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._http.aclose()
        if self._earlier is not None:
            await self._earlier.aclose()

    async def find_authority(self, pins: Sequence[str]) -> None:
        """See that the hub is known by its pins, if there are any; waits for it as long as it takes.

        Raises `Untrusted` where what answers is another.
        """

        async def ask() -> None:
            try:
                await self._link.find_authority(pins)
            except httpx.HTTPError as failure:
                raise _unanswered(failure) from failure

        await retrying(self._clock, _may_pass, before_wait=_told)(ask)
        await self._renew()

    def keep_authority(self, pem: str) -> None:
        """Believe this CA from the next request on: the hub itself has told it. Raises OSError."""
        self._link.keep(pem)

    async def register(self, join_token: str, request: Register, own: Joining) -> Credential:
        """Trade the join token for a credential; waits for the hub as long as it takes.

        The secret is `own`, if the hub supports it: then the agent can ask again after a lost answer.
        Raises `HubError` when the hub refuses the token.
        """

        async def knock() -> bytes:
            await self._meet()
            given = request
            if self.protocol >= _OWN_SECRET:
                given = request.model_copy(update={"secret_hash": own.secret_hash})
            body = given.model_dump_json(exclude_defaults=True).encode()
            return await self._post(REGISTER_PATH, body, join_token, _ANSWER_S)

        raw: bytes = await retrying(self._clock, _may_pass, asked=asked_wait, before_wait=_told)(
            knock
        )
        answer = Registered.model_validate_json(raw)
        is_own = bool(answer.credential_id)
        return Credential(
            cluster=answer.cluster,
            secret=f"{answer.credential_id}.{own.secret}" if is_own else answer.credential,
            hub_id=answer.hub_id,
            incarnation=answer.incarnation,
        )

    async def _meet(self) -> None:
        """Negotiate the hub's protocol before the agent sends anything of a newer one."""
        await self._renew()
        try:
            answer = await self._http.get(CA_PATH)
        except httpx.HTTPError as failure:
            raise _unanswered(failure) from failure
        if answer.status_code >= 500 or answer.status_code in {426, 429}:
            raise _refusal(answer)
        self.protocol = versions.chosen(answer.headers.get(versions.PROTOCOL_HEADER))

    async def sync(self, secret: str, request: SyncRequest) -> SyncReply:
        """One exchange. Raises `HubError`; an invalid reply counts as no answer."""
        spoken, raw = self.protocol, b""
        try:
            raw = await self._sync(secret, request)
        except HubError as refusal:
            if refusal.status != _UPGRADE or self.protocol == spoken:
                raise
            raw = await self._sync(
                secret, request
            )  # an older hub has taken the place of a newer one
        return _read(SyncReply, raw)

    async def _sync(self, secret: str, request: SyncRequest) -> bytes:
        said = request.model_copy(update={**_IN_HEADERS, "proto": self.protocol})
        if said.capacity is not None and self.protocol < versions.POD_NODES:
            said.capacity = _without_nodes(said.capacity)
        if self.protocol < versions.OBJECT_UIDS:
            said.observed = _of_before(said.observed, self.protocol)
            said.kinds_unread = None
        held = {
            versions.RULES_HEADER: str(request.availability or 0),
            versions.NAMESPACES_HEADER: str(request.namespaces_held or 0),
            versions.NAMESPACE_IDS_HEADER: str(int(bool(request.namespace_ids_held))),
            versions.KINDS_HEADER: str(request.kinds_held or 0),
        }
        body = said.model_dump_json(exclude_defaults=True).encode()
        return await self._post(SYNC_PATH, body, secret, request.wait_s + _ANSWER_S, held)

    async def asked(self, secret: str) -> list[StreamRequest]:
        """The questions to this member; the poll hangs while there is none. Raises `HubError`."""
        await self._renew()
        try:
            response = await self._http.get(
                STREAMS_PATH,
                headers={"Authorization": f"Bearer {secret}", ANSWERS_HEADER: NAMESPACE},
                timeout=httpx.Timeout(POLL_S + _ANSWER_S, connect=5.0),
            )
        except httpx.HTTPError as failure:
            raise _unanswered(failure) from failure
        if response.status_code >= 300:
            raise _refusal(response)
        return _read(StreamRequests, response.content).requests

    async def bring(self, secret: str, stream: str, part: StreamPart) -> int:
        """Bring a part of an answer; the number of the last one that was taken. Raises `HubError`."""
        body = part.model_dump_json(exclude_defaults=True).encode()
        raw = await self._post(f"{STREAMS_PATH}/{quote(stream, safe='')}", body, secret, _PART_S)
        return _read(StreamTaken, raw).seq

    async def bring_failures(self, secret: str, failed: FailedPods) -> None:
        """Bring pods that have failed. Raises `HubError`."""
        body = failed.model_dump_json(exclude_defaults=True).encode()
        await self._post(FAILED_PATH, body, secret, _PART_S)

    async def close(self) -> None:
        """Let the connections go."""
        await self.__aexit__(None, None, None)

    async def _post(
        self,
        path: str,
        body: bytes,
        bearer: str,
        timeout_s: float,
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> bytes:
        await self._renew()
        try:
            response = await self._http.post(
                path,
                content=body,
                headers={"Authorization": f"Bearer {bearer}", **headers},
                timeout=httpx.Timeout(timeout_s, connect=5.0),
            )
        except httpx.HTTPError as failure:
            raise _unanswered(failure) from failure
        told = response.headers.get(versions.PROTOCOL_HEADER)
        if response.status_code < 300 or response.status_code == _UPGRADE:
            self.protocol = versions.chosen(told)
        if response.status_code >= 300:
            raise _refusal(response)
        return response.content


def _without_nodes(capacity: Capacity) -> Capacity:
    """Strip the nodes of pods, for hubs older than protocol 6."""
    if all(each.nodes is None for each in capacity.bound):
        return capacity
    bound = [each.model_copy(update={"nodes": None}) for each in capacity.bound]
    return capacity.model_copy(update={"bound": bound})


def _of_before(observed: ObservedSet, protocol: int) -> ObservedSet:
    """Strip what hubs of this protocol do not know of undesired objects: their placement, or all of it."""
    if all(each.left is None for each in observed.entries):
        return observed
    known = protocol >= versions.LEFT_OBJECTS
    entries = [
        each.model_copy(update={"left": _without_placement(each.left) if known else None})
        for each in observed.entries
    ]
    return observed.model_copy(update={"entries": entries})


def _without_placement(left: LeftObject | None) -> LeftObject | None:
    return None if left is None else left.model_copy(update={"placed_by": ""})


def _read(kind: type[M], raw: bytes) -> M:
    """A message of the hub; an invalid one counts as no answer. Raises `HubError`."""
    try:
        return kind.model_validate_json(raw)
    except ValidationError as fault:
        raise HubError(0, "BadReply", str(fault)[:300], None) from fault


def _unanswered(failure: httpx.HTTPError) -> HubError:
    """No answer; `Untrusted` where it is the certificate that is not believed."""
    text = str(failure) or type(failure).__name__
    found: BaseException | None = failure
    while found is not None and not isinstance(found, ssl.SSLCertVerificationError):
        found = found.__cause__ or found.__context__
    return HubError(0, "Unreachable" if found is None else "Untrusted", text, None)


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
