"""Requests to a provider: within limits of time and size, without redirects and proxies.

The one place in the hub that asks an address over the network by itself: the provider that its
administrator set, at the addresses which that one's own description names.
"""

import asyncio
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import orjson

from hub.services.access.sign_in.terms import is_safe
from shared.documents import Json

if TYPE_CHECKING:
    import httpx

TIMEOUT_S: Final = 5.0  # of all of it, connecting included
LARGEST: Final = 1 << 20


class ProviderFailed(Exception):
    """A provider that does not answer, or not as one: in words."""


class Web:
    """Asks a provider. `ca`: a file with authorities; "": the machine's."""

    def __init__(self, ca: str) -> None:
        self._ca = ca
        self._trust: ssl.SSLContext | None = None

    async def get(self, address: str) -> Json:
        """The JSON object there. Raises ProviderFailed."""
        status, found = await self._ask("GET", address, None, None)
        if status != 200:
            raise ProviderFailed(f"{address} answered {status}")
        return found

    async def post(
        self,
        address: str,
        form: Mapping[str, str],
        client: tuple[str, str] | None = None,
    ) -> tuple[int, Json]:
        """Status and JSON of the answer to a form; `client`: id and secret. Raises ProviderFailed."""
        return await self._ask("POST", address, form, client)

    async def _ask(
        self,
        method: str,
        address: str,
        form: Mapping[str, str] | None,
        client: tuple[str, str] | None,
    ) -> tuple[int, Json]:
        if not is_safe(address):
            raise ProviderFailed(f"{address} is no address with https")
        # Loading httpx and the authorities takes long enough to be done beside the loop.
        made = await asyncio.to_thread(self._client)
        try:
            async with asyncio.timeout(TIMEOUT_S), made:
                request = made.build_request(
                    method, address, data=form, headers={"Accept": "application/json"}
                )
                answer = await made.send(request, stream=True, auth=client, follow_redirects=False)
                body = b""
                async for chunk in answer.aiter_raw():
                    body += chunk
                    if len(body) > LARGEST:
                        raise ProviderFailed(f"{address} answers more than {LARGEST} bytes")
                return answer.status_code, _object(body, address)
        except TimeoutError:
            raise ProviderFailed(f"{address} did not answer within {TIMEOUT_S:g} s") from None
        except Exception as failure:
            if isinstance(failure, ProviderFailed):
                raise
            told = str(failure) or type(failure).__name__
            raise ProviderFailed(f"{address} does not answer: {told}") from failure

    def _client(self) -> "httpx.AsyncClient":
        import httpx  # noqa: PLC0415 - where nobody signs in by a provider, it is not needed

        if self._trust is None:
            try:
                self._trust = ssl.create_default_context(cafile=self._ca or None)
            except OSError as failure:
                raise ProviderFailed(f"authorities in {self._ca}: {failure}") from failure
        headers = {"User-Agent": "roadstead", "Accept-Encoding": "identity"}
        return httpx.AsyncClient(
            verify=self._trust, trust_env=False, timeout=TIMEOUT_S, headers=headers
        )


def _object(body: bytes, address: str) -> Json:
    try:
        found = orjson.loads(body)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ProviderFailed(f"{address} does not answer with a JSON object")
    return found
