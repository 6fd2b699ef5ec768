"""HTTP to one hub over a kept connection, on the standard library so that the command starts fast.

Requests that may be repeated without harm (GET, PUT, DELETE, or any with an Idempotency-Key) are
repeated once over a fresh connection when the kept one turns out to be dead.
"""

import http.client
import json
import ssl
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from roadstead.errors import NotAllowed, NotFound, Rejected, Unreachable

_RETRIABLE = frozenset({"GET", "PUT", "DELETE", "HEAD"})


class Transport:
    """One connection to `server` (http:// or https://), with a bearer token."""

    def __init__(self, server: str, token: str, *, timeout_s: float = 30.0) -> None:
        parts = urlsplit(server)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"not a hub address: {server!r} (expected http://HOST:PORT)")
        self.server = server.rstrip("/")
        self._parts = parts
        self._timeout_s = timeout_s
        self._headers = {"Accept": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._connection: http.client.HTTPConnection | None = None

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int | None] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """The decoded JSON answer, or None for an empty one. Raises errors of `roadstead.errors`."""
        sent = {**self._headers, **(headers or {})}
        if body is not None:
            sent["Content-Type"] = content_type
        repeatable = method in _RETRIABLE or "Idempotency-Key" in sent
        target = self._target(path, query)
        try:
            response = self._send(method, target, body, sent)
        except (http.client.HTTPException, ConnectionError) as failure:
            self.close()
            if not repeatable:
                raise Unreachable(f"{self.server}: {_words(failure)}") from failure
            response = self._once_more(method, target, body, sent)
        except OSError as failure:
            self.close()
            raise Unreachable(f"{self.server}: {_words(failure)}") from failure
        data = response.read()
        if response.will_close:
            self.close()
        return _decode(response.status, data, self.server)

    def stream(
        self, path: str, *, query: Mapping[str, str | int | None] | None = None
    ) -> Iterator[dict[str, Any]]:
        """Server-sent events of `path`, decoded; ends when the hub ends the stream."""
        connection = self._connect(timeout_s=60.0)
        try:
            sent = {**self._headers, "Accept": "text/event-stream"}
            connection.request("GET", self._target(path, query), headers=sent)
            response = connection.getresponse()
            if response.status != http.client.OK:
                _decode(response.status, response.read(), self.server)
            for line in response:
                if line.startswith(b"data:"):
                    yield json.loads(line[5:])
        except (OSError, http.client.HTTPException) as failure:
            raise Unreachable(f"{self.server}: {_words(failure)}") from failure
        finally:
            connection.close()

    def close(self) -> None:
        """Drop the kept connection; the next request opens a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _once_more(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]
    ) -> http.client.HTTPResponse:
        try:
            return self._send(method, target, body, headers)
        except (OSError, http.client.HTTPException) as failure:
            self.close()
            raise Unreachable(f"{self.server}: {_words(failure)}") from failure

    def _send(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]
    ) -> http.client.HTTPResponse:
        if self._connection is None:
            self._connection = self._connect(timeout_s=self._timeout_s)
        self._connection.request(method, target, body=body, headers=dict(headers))
        return self._connection.getresponse()

    def _connect(self, *, timeout_s: float) -> http.client.HTTPConnection:
        host = self._parts.hostname or ""
        if self._parts.scheme == "https":
            return http.client.HTTPSConnection(
                host, self._parts.port, timeout=timeout_s, context=ssl.create_default_context()
            )
        return http.client.HTTPConnection(host, self._parts.port, timeout=timeout_s)

    def _target(self, path: str, query: Mapping[str, str | int | None] | None) -> str:
        given = {k: v for k, v in (query or {}).items() if v not in (None, "")}
        return self._parts.path.rstrip("/") + path + (f"?{urlencode(given)}" if given else "")


def _words(failure: BaseException) -> str:
    return str(failure) or type(failure).__name__


def _decode(status: int, data: bytes, server: str) -> Any:
    try:
        answer = json.loads(data) if data else None
    except ValueError:
        answer = {"detail": data[:200].decode(errors="replace")}
    if status < 400:
        return answer
    problem = answer if isinstance(answer, dict) else {}
    if status in {401, 403}:
        raise NotAllowed(str(problem.get("detail") or f"{server} answered {status}"))
    if status == 503:
        raise Unreachable(str(problem.get("detail") or f"{server} is not ready"))
    raise (NotFound if status == 404 else Rejected)(status, problem)
