"""Requests and answers as bytes: the address of a hub, and the meaning of its answers. No transport here."""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlencode, urlsplit

from roadstead.errors import NotAllowed, NotFound, Rejected, Unreachable, WrongAddress
from roadstead.steps import Query, Request

REPEATABLE = frozenset({"GET", "PUT", "DELETE", "HEAD"})
_TOO_MANY = 429
_LONGEST_PAUSE_S = 5.0


class ConnectionLost(Unreachable):
    """The connection ended before the answer: an idempotent request is resent."""


class Response(NamedTuple):
    """An answer. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Address:
    """A hub's address and the common headers of requests. Raises WrongAddress, NotAllowed."""

    def __init__(
        self,
        server: str,
        token: str,
        ca: str = "",
        renewed: Callable[[], str] | None = None,
    ) -> None:
        self._parts = _parts(server)
        self.ca = ca  # a file; "": the machine's authorities
        self.server = server.rstrip("/")
        self._renewed = renewed  # returns the current token, if tokens expire
        self._headers = {"Accept": "application/json", "User-Agent": "roadstead"}
        if token:
            self._show(token)

    @property
    def is_secure(self) -> bool:
        """Whether it uses TLS."""
        return self._parts.scheme == "https"

    def url(self, path: str, query: Query) -> str:
        """The URL of `path` and `query` at this hub; leaves out None and empty query values."""
        given = {name: value for name, value in query.items() if value not in (None, "")}
        asked = f"?{urlencode(given, errors='replace')}" if given else ""
        host = f"{self._parts.scheme}://{self._parts.netloc.rpartition('@')[2]}"
        return f"{host}{self._parts.path.rstrip('/')}{path}{asked}"

    def headers(self, ask: Request | None = None) -> dict[str, str]:
        """The headers of a request, or without one of an event stream. Raises NotAllowed, Unreachable."""
        if self._renewed is not None:
            self._show(self._renewed())
        if ask is None:
            return {**self._headers, "Accept": "text/event-stream"}
        typed = {} if ask.body is None else {"Content-Type": ask.content_type}
        return {**self._headers, **typed, **ask.headers}

    def _show(self, token: str) -> None:
        if not (token.isascii() and token.isprintable()):
            raise NotAllowed("the token contains invalid characters")
        self._headers["Authorization"] = f"Bearer {token}"

    def decode(self, reply: Response) -> dict[str, Any]:
        """The JSON object of an answer. Raises errors of `roadstead.errors`."""
        answer = _json(reply.body)
        if reply.status < 300:
            if not isinstance(answer, dict):
                raise self.no_hub("its answer is not a JSON object")
            return answer
        problem = answer if isinstance(answer, dict) else {}
        detail = str(problem.get("detail") or "")
        if reply.status in {401, 403}:
            raise NotAllowed(detail or f"{self.server} answered {reply.status}", reply.status)
        if reply.status >= 500:
            request = f" (request {problem['requestId']})" if problem.get("requestId") else ""
            told = detail or f"the hub at {self.server} answered {reply.status}"
            code = str(problem.get("code") or "")
            raise Unreachable(told + request, answered=True, code=code)
        if reply.status < 400 or "code" not in problem:
            location = reply.headers.get("location")
            where = f" and points to {location}" if location else ""
            raise self.no_hub(f"it answered {reply.status}{where}")
        raise (NotFound if reply.status == 404 else Rejected)(reply.status, problem)

    def no_hub(self, why: object) -> Unreachable:
        """The error for an answer that is not a hub's."""
        return Unreachable(f"the server at {self.server} is not a hub: {why}")

    def untrusted(self, why: str) -> Unreachable:
        """The error for an untrusted certificate."""
        told = f"the certificate of {self.server} is not trusted: {why}"
        return Unreachable(told, answered=True)

    def unreachable(self, failure: BaseException) -> Unreachable:
        """The error for no answer at all."""
        return Unreachable(self.why_unreachable(failure))

    def why_unreachable(self, failure: BaseException) -> str:
        """A failure in the words of its deepest cause, if it has any."""
        found: BaseException | None = failure
        words = ""
        while found is not None and not words:
            words = getattr(found, "strerror", None) or ""
            found = found.__cause__ or found.__context__
        told = words or str(failure) or type(failure).__name__
        if "WRONG_VERSION_NUMBER" in told:
            told = "the server does not speak TLS; the address of such a hub begins with http://"
        elif not self.is_secure and told.startswith("Server disconnected without"):
            told = f"{told.rstrip('.')} (with TLS, the address begins with https://)"
        return f"no hub answers at {self.server}: {told}"


def may_repeat(ask: Request) -> bool:
    """Whether a dropped request may be resent."""
    return ask.repeatable or ask.method in REPEATABLE or "Idempotency-Key" in ask.headers


def pause_s(reply: Response) -> float | None:
    """Seconds to wait before a retry; None if the hub is not busy, or the wait is too long."""
    if reply.status != _TOO_MANY:
        return None
    try:
        asked_s = float(reply.headers.get("retry-after", "1"))
    except ValueError:
        return None
    return asked_s if 0 <= asked_s <= _LONGEST_PAUSE_S else None


class EventDecoder:
    """Parse server-sent events from incoming bytes; skips comments and ids."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[dict[str, Any]]:
        """The data of the events that `chunk` completes. Raises ValueError unless it is a JSON object."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        found = [_json(line[5:]) for line in lines if line.startswith(b"data:")]
        if not all(isinstance(each, dict) for each in found):
            raise ValueError("an event is not a JSON object")
        return found


def _json(body: bytes) -> Any:
    try:
        return json.loads(body) if body else None
    except (ValueError, RecursionError):  # of one that is nested without end
        return None


def _parts(server: str) -> SplitResult:
    wrong = f"{server!r} is not the address of a hub; expected http://HOST:PORT"
    try:
        parts = urlsplit(server)
        _ = parts.port
    except ValueError as failure:
        raise WrongAddress(f"{wrong} ({failure})") from failure
    if parts.scheme not in {"http", "https"} or not parts.hostname or not server.isascii():
        raise WrongAddress(wrong)
    return parts
