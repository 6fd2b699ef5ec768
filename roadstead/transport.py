"""HTTP to one hub over kept connections, with httpx: loaded by the first `Client`, not with the SDK.

`roadstead.retries` decides about retries. Ignores proxies, redirects and `.netrc`: a token goes only to the
hub that it was given for.
"""

import contextlib
import ssl
from collections.abc import Generator, Iterator
from typing import Any, Final, TypeVar

import httpx

from roadstead.errors import RoadsteadError, WrongAddress
from roadstead.method import Stream
from roadstead.models.record import Json
from roadstead.responses import Address, ConnectionLost, EventDecoder, Response
from roadstead.retries import send
from roadstead.steps import EventStream, Request

T = TypeVar("T")
QUIET_S: Final = 60.0  # of a stream, which says something every few seconds
_KEPT_S: Final = 60.0
# What OpenSSL says of a certificate (X509_V_ERR_…), in words that tell what to do.
_NO_AUTHORITY: Final = (
    "no trusted CA has signed it; name the hub's CA with --ca FILE or ROADSTEAD_CA"
)
_FAULTS: Final = {
    9: "it is not valid yet: compare the clocks",
    10: "it has expired: the hub's administrator has to renew it",
    **dict.fromkeys((2, 18, 19, 20, 21), _NO_AUTHORITY),
    **dict.fromkeys((62, 64), "it is for another host; use a name in the certificate"),
}
_DIED: Final = (httpx.ReadError, httpx.WriteError, httpx.CloseError, httpx.RemoteProtocolError)


class Transport:
    """A pool of connections; threads may share it."""

    def __init__(self, address: Address, timeout_s: float) -> None:
        self._address, self._timeout_s = address, timeout_s
        self._http = httpx.Client(**options(address, timeout_s))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def answer(self, ask: Request) -> Json:
        """Return the JSON object of the hub's answer. Raises errors of `roadstead.errors`."""
        refuse_closed(self._http)
        return self._address.decode(send(ask, self._send))

    def follow(self, follow: EventStream[T]) -> Stream[T]:
        """Return the open stream. Raises errors of `roadstead.errors`."""
        refuse_closed(self._http)
        with translated_errors(self._address):
            answer = self._http.send(
                events_request(self._http, self._address, follow), stream=True
            )
            if answer.status_code != httpx.codes.OK:
                answer.read()
                self._address.decode(response_of(answer))
        return _OpenStream(answer, follow, self._address)

    def _send(self, ask: Request) -> Response:
        with translated_errors(self._address):
            return response_of(
                self._http.request(**request_arguments(self._address, ask, self._timeout_s))
            )


class _OpenStream(Stream[T]):
    """A stream with its own connection."""

    def __init__(self, answer: httpx.Response, follow: EventStream[T], address: Address) -> None:
        self._answer, self._address = answer, address
        self._items = self._read(follow)

    def __next__(self) -> T:
        return next(self._items)

    def close(self) -> None:
        """Close the connection."""
        self._items.close()
        self._answer.close()

    def _read(self, follow: EventStream[T]) -> Generator[T, None, None]:
        events = EventDecoder()
        with contextlib.closing(self._answer), translated_errors(self._address):
            for chunk in self._answer.iter_bytes():
                for event in events.feed(chunk):
                    yield from follow.read(event)


def options(address: Address, timeout_s: float) -> dict[str, Any]:
    """The arguments of an httpx client, blocking or not. Raises ValueError for an invalid timeout."""
    if not timeout_s > 0:
        raise ValueError(f"timeout_s is {timeout_s:g}: use seconds, more than 0")
    return {
        "verify": _trust(address),
        "trust_env": False,
        "timeout": timeout_s,
        "limits": httpx.Limits(
            max_connections=100, max_keepalive_connections=20, keepalive_expiry=_KEPT_S
        ),
    }


def refuse_closed(http: httpx.Client | httpx.AsyncClient) -> None:
    """Raise RoadsteadError if the client has been closed."""
    if http.is_closed:
        raise RoadsteadError("this client is closed: create another one")


def request_arguments(address: Address, ask: Request, timeout_s: float) -> dict[str, Any]:
    """The arguments of `httpx.Client.request` for this request."""
    return {
        "method": ask.method,
        "url": address.url(ask.path, ask.query),
        "content": ask.body,
        "headers": address.headers(ask),
        "timeout": min(timeout_s, ask.timeout_s or timeout_s),
    }


def events_request(
    http: httpx.Client | httpx.AsyncClient, address: Address, follow: EventStream[T]
) -> httpx.Request:
    """The request that opens a stream."""
    url = address.url(follow.path, follow.query)
    return http.build_request("GET", url, headers=address.headers(), timeout=QUIET_S)


def response_of(answer: httpx.Response) -> Response:
    """A fully read answer, without httpx."""
    return Response(answer.status_code, answer.headers, answer.content)


@contextlib.contextmanager
def translated_errors(address: Address) -> Iterator[None]:
    """Convert failures of httpx, and of reading its answers, to errors of `roadstead.errors`."""
    try:
        yield
    except _DIED as failure:
        raise ConnectionLost(address.why_unreachable(failure)) from failure
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ValueError) as failure:
        if why := _certificate_fault(failure):
            raise address.untrusted(why) from failure
        raise address.unreachable(failure) from failure


def _certificate_fault(failure: BaseException) -> str:
    """The certificate error, if a connection failed for that; else ""."""
    found: BaseException | None = failure
    while found is not None and not isinstance(found, ssl.SSLCertVerificationError):
        found = found.__cause__ or found.__context__
    return "" if found is None else _FAULTS.get(found.verify_code, found.verify_message)


def _trust(address: Address) -> ssl.SSLContext:
    """The trust store for certificates: the named CA, else the machine's CAs.

    Raises WrongAddress if the CA file is unusable.
    """
    if address.is_secure:
        try:
            return ssl.create_default_context(cafile=address.ca or None)
        except OSError as failure:  # ssl.SSLError too
            why = failure.strerror or "it contains no PEM certificate"
            raise WrongAddress(f"the CA of the hub, {address.ca}: {why}") from failure
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # never used; loading authorities takes time
