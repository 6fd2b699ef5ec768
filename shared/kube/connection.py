"""One authenticated HTTP connection pool to one API server, speaking JSON bytes.

kubernetes-asyncio reads the configuration, keeps the credentials fresh (exec plug-ins, token files)
and builds the TLS connector; requests are made on that connector directly, because its typed models
cost five times the CPU (450 against 85 µs a create). Every request has a deadline.
"""

import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

import aiohttp
import orjson
from kubernetes_asyncio import config
from kubernetes_asyncio.client import ApiClient, Configuration
from yarl import URL

from shared.clock import Clock, SystemClock
from shared.kube import errors
from shared.retry import retrying

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"  # JSON is YAML
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

_USER_AGENT = "roadstead"
POOL_SIZE = 100
_READ_BUFFER = 1 << 21  # one watch line may hold an object of etcd's maximal size, 1.5 MiB
_MAX_THROTTLED = 5
_LONGEST_THROTTLE_S = 10.0
TIMEOUT_S = 30.0

Params = Mapping[str, str]
Heard = Callable[[str, int, float], None]


class Connection:
    """Sends requests and turns refusals into `shared.kube.errors`. Make it with `open`."""

    def __init__(self, api: ApiClient, qps: float | None, clock: Clock) -> None:
        self._api = api
        self._config: Configuration = api.configuration
        self._host = str(self._config.host).rstrip("/")
        # Our own session on kubernetes-asyncio's connector: its session looks the proxy up in the
        # environment on every request; here that is done once. API servers set no cookies.
        self._session = aiohttp.ClientSession(
            connector=api.rest_client.pool_manager.connector,
            connector_owner=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=_READ_BUFFER,
            auto_decompress=True,
        )
        self._proxy = self._config.proxy or _environment_proxy(self._host)
        self._server_hostname: str | None = self._config.tls_server_name or None
        self._interval = 1.0 / qps if qps else 0.0
        self._next_slot = 0.0
        self._clock = clock
        # Called with path, HTTP status and seconds of each answer to `request`, and of each refused stream.
        self.heard: Heard = _unheard

    @classmethod
    async def open(
        cls,
        kubeconfig: Path | str | None,
        *,
        context: str | None = None,
        qps: float | None = None,
        clock: Clock | None = None,
        connections: int = POOL_SIZE,
    ) -> Self:
        """Connect as a kubeconfig says, or as the pod's service account with None.

        Raises NotConfigured when there is no usable configuration. Nothing is sent yet.
        """
        configuration = Configuration()
        try:
            await _configure(configuration, kubeconfig, context)
        except Exception as fault:  # whatever a file holds that is none
            where = (
                "in-cluster configuration" if kubeconfig is None else f"kubeconfig {kubeconfig}"
            )
            told = " ".join(str(fault).split()) or type(fault).__name__
            raise errors.NotConfigured(f"{where} can not be used: {told}") from fault
        configuration.connection_pool_maxsize = connections
        return cls(ApiClient(configuration=configuration), qps, clock or SystemClock())

    async def close(self) -> None:
        await self._session.close()
        await self._api.close()

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        body: Any = None,
        content_type: str = JSON,
        timeout_s: float = TIMEOUT_S,
        accept: str = JSON,
        sized: Callable[[int], None] = lambda _: None,
    ) -> Any:
        """Send one request and return the decoded answer. A 429 is waited out five times.

        `sized` is called with the number of its bytes.
        `timeout_s` bounds all of it, waits between tries and pacing included: nothing is sent after.
        Raises the members of `shared.kube.errors`; `Unavailable` when the time is over, `NotSent` if
        it was over before anything was sent.
        """
        payload = None if body is None else orjson.dumps(body)
        deadline = self._clock.monotonic() + timeout_s
        again = retrying(
            self._clock,
            _is_throttled,
            attempts=1 + _MAX_THROTTLED,
            asked=_throttle,
            until=deadline,
        )
        forms = {"Content-Type": content_type, "Accept": accept}
        raw = await again(self._once, method, path, params, payload, forms, deadline)
        sized(len(raw))
        return _decoded(method, path, raw)

    async def _once(
        self,
        method: str,
        path: str,
        params: Params | None,
        payload: bytes | None,
        forms: dict[str, str],
        deadline: float,
    ) -> bytes:
        if self._interval:
            await self._pace()
        timeout_s = deadline - self._clock.monotonic()
        if timeout_s <= 0:
            raise errors.NotSent(0, "Timeout", f"{method} {path}: not sent in time")
        timeout = aiohttp.ClientTimeout(total=timeout_s)
        began = self._clock.monotonic()
        try:
            async with self._send(
                method, path, params, payload, {**await self._headers(), **forms}, timeout
            ) as response:
                self.heard(path, response.status, self._clock.monotonic() - began)
                raw: bytes = await response.read()
                if response.status >= 400:
                    retry_after = response.headers.get("Retry-After")
                    raise errors.from_status(response.status, _readable(raw), retry_after)
        except TimeoutError:
            raise errors.Unavailable(
                0, "Timeout", f"{method} {path}: no answer in {timeout_s:g} s"
            ) from None
        except aiohttp.ClientConnectorError as failure:
            raise errors.NotSent(0, "NoConnection", _told(method, path, failure)) from failure
        except (aiohttp.ClientError, OSError) as failure:
            raise errors.Unavailable(0, "NoConnection", _told(method, path, failure)) from failure
        return raw

    async def probe(self, path: str, timeout_s: float) -> None:
        """One GET beside the pace of the others.

        Raises `Unauthorized` (401), `Forbidden` (403), and `Unavailable` on 5xx or without an answer.
        """
        timeout = aiohttp.ClientTimeout(total=timeout_s)
        try:
            headers = await self._headers()
            async with self._send("GET", path, None, None, headers, timeout) as response:
                raw = await response.read()
                if response.status in {401, 403}:
                    raise errors.from_status(response.status, _readable(raw))
                if response.status >= 500:
                    raise errors.Unavailable(response.status, "ServerError", f"GET {path}")
        except TimeoutError:
            words = f"GET {path}: no answer in {timeout_s:g} s"
            raise errors.Unavailable(0, "Timeout", words) from None
        except (aiohttp.ClientError, OSError) as failure:
            raise errors.Unavailable(0, "NoConnection", _told("GET", path, failure)) from failure

    async def stream(
        self, path: str, params: Params, stall_s: float | None, buffer: int = _READ_BUFFER
    ) -> aiohttp.ClientResponse:
        """Open a watch or a log; reading it fails with TimeoutError after `stall_s` of silence.

        No more than twice `buffer` is read ahead of who takes it. The caller releases the response. Raises
        as `request` does.
        """
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10.0, sock_read=stall_s)
        try:
            response: aiohttp.ClientResponse = await self._send(
                "GET", path, params, None, await self._headers(), timeout, buffer
            )
            if response.status < 400:
                return response
            self.heard(path, response.status, 0.0)
            async with response:
                raw: bytes = await response.read()
                retry_after = response.headers.get("Retry-After")
                raise errors.from_status(response.status, _readable(raw), retry_after)
        except TimeoutError:
            raise errors.Unavailable(0, "Timeout", f"GET {path}: no answer") from None
        except (aiohttp.ClientError, OSError) as failure:
            raise errors.Unavailable(0, "NoConnection", _told("GET", path, failure)) from failure

    def _send(
        self,
        method: str,
        path: str,
        params: Params | None,
        payload: bytes | None,
        headers: dict[str, str],
        timeout: aiohttp.ClientTimeout,
        buffer: int = _READ_BUFFER,
    ) -> Any:
        text = f"{self._host}{path}?{urlencode(params)}" if params else f"{self._host}{path}"
        return self._session.request(
            method,
            URL(text, encoded=True),
            data=payload,
            headers=headers,
            timeout=timeout,
            proxy=self._proxy,
            server_hostname=self._server_hostname,
            allow_redirects=False,
            read_bufsize=buffer,
        )

    async def _headers(self) -> dict[str, str]:
        headers = {"Accept": JSON, "Content-Type": JSON, "User-Agent": _USER_AGENT}
        # Asked each time: the token's refresh hook runs in there.
        for setting in (await self._config.auth_settings()).values():
            if setting["in"] == "header":
                headers[setting["key"]] = setting["value"]
        return headers

    async def _pace(self) -> None:
        """Hold the request back so that no more than `qps` start per second, in order of arrival."""
        now = self._clock.monotonic()
        slot = max(now, self._next_slot)
        self._next_slot = slot + self._interval
        if slot > now:
            await self._clock.sleep(slot - now)


def _unheard(_path: str, _status: int, _took_s: float) -> None:
    return


def _decoded(method: str, path: str, raw: bytes) -> Any:
    try:
        return orjson.loads(raw) if raw else None
    except orjson.JSONDecodeError as fault:
        # Of a proxy before it: the write may have been done.
        raise errors.Unavailable(
            200, "BadAnswer", f"{method} {path}: the answer is no JSON"
        ) from fault


def _is_throttled(failure: BaseException) -> bool:
    return isinstance(failure, errors.TooManyRequests)


def _throttle(failure: BaseException) -> float | None:
    """The seconds that a 429 asks for, within reason."""
    assert isinstance(failure, errors.TooManyRequests)
    return min(failure.retry_after_s, _LONGEST_THROTTLE_S)


def _readable(raw: bytes) -> dict[str, Any]:
    with suppress(orjson.JSONDecodeError):
        body = orjson.loads(raw)
        if isinstance(body, dict):
            return body
    return {"message": raw[:200].decode(errors="replace").strip()} if raw else {}


def _told(method: str, path: str, failure: Exception) -> str:
    return f"{method} {path}: {str(failure) or type(failure).__name__}"


def _require_file(kubeconfig: Path | str) -> None:
    if not Path(kubeconfig).is_file():
        raise FileNotFoundError("there is no such file")


async def _configure(
    configuration: Configuration, kubeconfig: Path | str | None, context: str | None
) -> None:
    if kubeconfig is None:
        load_incluster: Any = config.load_incluster_config  # has no annotations
        load_incluster(client_configuration=configuration)
        return
    _require_file(kubeconfig)
    await config.load_kube_config(
        config_file=str(kubeconfig),
        context=context,
        client_configuration=configuration,
        persist_config=False,
    )


def _environment_proxy(host: str) -> str | None:
    """The proxy settings (HTTPS_PROXY, NO_PROXY) for this host, read once."""
    parts = urlsplit(host)
    if not parts.hostname or urllib.request.proxy_bypass(parts.hostname):
        return None
    return urllib.request.getproxies().get(parts.scheme)
