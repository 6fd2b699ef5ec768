"""HTTP to one hub over a kept connection, on the standard library so that the command starts fast.

Requests that may be repeated without harm (GET, PUT, DELETE, any with an Idempotency-Key, or said to
be `repeatable`) are repeated once over a fresh connection when the kept one turns out to be dead. A
hub that answers 429 is asked again when it says, twice, if that is soon.
"""

import http.client
import json
import select
import ssl
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import SplitResult, urlencode, urlsplit

from roadstead.errors import NotAllowed, NotFound, Rejected, Unreachable, WrongAddress

_RETRIABLE = frozenset({"GET", "PUT", "DELETE", "HEAD"})
_ASKS_ON_429 = 3
_LONGEST_PAUSE_S = 5.0
Query = Mapping[str, str | int | None]


class Transport:
    """One connection to `server` (http:// or https://), with a bearer token."""

    def __init__(self, server: str, token: str, *, timeout_s: float = 30.0) -> None:
        self._parts = _address(server)
        self.server = server.rstrip("/")
        self._timeout_s = timeout_s
        self._headers = {"Accept": "application/json"}
        if token:
            if not (token.isascii() and token.isprintable()):
                raise NotAllowed("the token holds characters that no token has")
            self._headers["Authorization"] = f"Bearer {token}"
        self._connection: http.client.HTTPConnection | None = None

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
        repeatable: bool = False,
    ) -> dict[str, Any]:
        """The JSON object that the hub answers. Raises errors of `roadstead.errors`."""
        sent = {**self._headers, **(headers or {})}
        if body is not None:
            sent["Content-Type"] = content_type
        repeatable = repeatable or method in _RETRIABLE or "Idempotency-Key" in sent
        target = self._target(path, query)
        for ask in range(1, _ASKS_ON_429 + 1):
            response = self._answered(method, target, body, sent, repeatable)
            data = self._read(response)
            pause_s = _pause_s(response)
            if pause_s is None or ask == _ASKS_ON_429:
                break
            time.sleep(pause_s)
        return _decode(response, data, self.server)

    def stream(self, path: str, *, query: Query | None = None) -> Iterator[dict[str, Any]]:
        """Server-sent events of `path`, decoded; ends when the hub ends the stream."""
        connection = self._connect(timeout_s=60.0)
        try:
            sent = {**self._headers, "Accept": "text/event-stream"}
            connection.request("GET", self._target(path, query), headers=sent)
            response = connection.getresponse()
            if response.status != http.client.OK:
                _decode(response, response.read(), self.server)
            for line in response:
                if line.startswith(b"data:"):
                    yield json.loads(line[5:])
        except (OSError, http.client.HTTPException, ValueError) as failure:
            raise self._unreachable(failure) from failure
        finally:
            connection.close()

    def close(self) -> None:
        """Drop the kept connection; the next request opens a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _answered(
        self,
        method: str,
        target: str,
        body: bytes | None,
        headers: Mapping[str, str],
        repeatable: bool,
    ) -> http.client.HTTPResponse:
        kept = self._connection is not None
        try:
            return self._send(method, target, body, headers)
        except (OSError, http.client.HTTPException) as failure:
            self.close()
            dead = isinstance(failure, http.client.HTTPException | ConnectionError)
            if not (kept and repeatable and dead):
                raise self._unreachable(failure) from failure
        try:
            return self._send(method, target, body, headers)
        except (OSError, http.client.HTTPException) as failure:
            self.close()
            raise self._unreachable(failure) from failure

    def _send(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]
    ) -> http.client.HTTPResponse:
        if self._connection is not None and _is_closed_by_peer(self._connection):
            self.close()
        if self._connection is None:
            self._connection = self._connect(timeout_s=self._timeout_s)
        self._connection.request(method, target, body=body, headers=dict(headers))
        return self._connection.getresponse()

    def _read(self, response: http.client.HTTPResponse) -> bytes:
        try:
            return response.read()
        except (OSError, http.client.HTTPException) as failure:
            self.close()
            raise self._unreachable(failure) from failure
        finally:
            if response.will_close:
                self.close()

    def _connect(self, *, timeout_s: float) -> http.client.HTTPConnection:
        host = self._parts.hostname or ""
        if self._parts.scheme == "https":
            return http.client.HTTPSConnection(
                host, self._parts.port, timeout=timeout_s, context=ssl.create_default_context()
            )
        return http.client.HTTPConnection(host, self._parts.port, timeout=timeout_s)

    def _target(self, path: str, query: Query | None) -> str:
        given = {k: v for k, v in (query or {}).items() if v not in (None, "")}
        return (
            self._parts.path.rstrip("/")
            + path
            + (f"?{urlencode(given, errors='replace')}" if given else "")
        )

    def _unreachable(self, failure: BaseException) -> Unreachable:
        words = getattr(failure, "strerror", None) or str(failure) or type(failure).__name__
        return Unreachable(f"no hub answers at {self.server}: {words}")


def _address(server: str) -> SplitResult:
    wrong = f"{server!r} is not the address of a hub; expected http://HOST:PORT"
    try:
        parts = urlsplit(server)
        _ = parts.port
    except ValueError as failure:
        raise WrongAddress(f"{wrong} ({failure})") from failure
    if parts.scheme not in {"http", "https"} or not parts.hostname or not server.isascii():
        raise WrongAddress(wrong)
    return parts


def _is_closed_by_peer(connection: http.client.HTTPConnection) -> bool:
    """Whether an idle connection has something to read: between requests that is only its end."""
    if connection.sock is None:
        return True
    try:
        return bool(select.select([connection.sock], [], [], 0)[0])
    except (OSError, ValueError):
        return True


def _pause_s(response: http.client.HTTPResponse) -> float | None:
    """How long a busy hub asks to wait; None if it is not busy, or for too long to wait here."""
    if response.status != http.client.TOO_MANY_REQUESTS:
        return None
    try:
        asked_s = float(response.headers.get("Retry-After", "1"))
    except ValueError:
        return None
    return asked_s if 0 <= asked_s <= _LONGEST_PAUSE_S else None


def _decode(response: http.client.HTTPResponse, data: bytes, server: str) -> dict[str, Any]:
    status = response.status
    try:
        answer = json.loads(data) if data else None
    except ValueError:
        answer = None
    if status < 300:
        if not isinstance(answer, dict):
            raise Unreachable(f"what answers at {server} is no hub: its answer is no JSON object")
        return answer
    problem = answer if isinstance(answer, dict) else {}
    detail = str(problem.get("detail") or "")
    if status in {401, 403}:
        raise NotAllowed(detail or f"{server} answered {status}", status)
    if status >= 500:
        request = f" (request {problem['requestId']})" if problem.get("requestId") else ""
        raise Unreachable((detail or f"the hub at {server} answered {status}") + request)
    if status < 400 or "code" not in problem:
        location = response.headers.get("Location")
        where = f" and points to {location}" if location else ""
        raise Unreachable(f"what answers at {server} is no hub: it answered {status}{where}")
    raise (NotFound if status == 404 else Rejected)(status, problem)
