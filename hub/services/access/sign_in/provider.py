"""A provider as it describes itself: its addresses and its keys, asked seldom and kept.

Keys are asked for anew every few minutes, beside requests, and where a token names one that is not known:
then at most once in ten seconds, whatever tokens come. While the provider is down its keys go on being
good for a day.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

import structlog

from hub.services.access.sign_in.keys import ProviderKey, Signed, meant, read_keys
from hub.services.access.sign_in.terms import Oidc, is_safe
from hub.services.access.sign_in.web import ProviderFailed, Web
from shared.clock import Clock
from shared.documents import Json
from shared.errors import Rejected
from shared.reject_codes import RejectCode

AGAIN_S: Final = 10.0  # between two askings, whatever happens
FRESH_S: Final = 300.0  # age after which keys are requested again
KEPT_S: Final = 86_400.0  # … and are good for this long while the provider does not answer
_DISCOVERY: Final = "/.well-known/openid-configuration"
_log = structlog.get_logger(__name__)


class ProviderUnavailable(Rejected):
    """503: the provider must be asked, and does not answer."""

    def __init__(self, why: str) -> None:
        said = f"the provider by which people sign in can not be asked: {why}"
        super().__init__(RejectCode.SIGN_IN_UNAVAILABLE, said)
        self.retry_after_s = AGAIN_S


class Provider:
    """One provider; made and used within one event loop."""

    def __init__(self, terms: Oidc, clock: Clock) -> None:
        self.terms = terms
        self.web = Web(terms.ca)
        self.asked = 0  # how often it was
        self.generation = 0  # of the keys: another one where they have changed
        self._clock = clock
        self._description: Json = {}
        self._keys: list[ProviderKey] = []
        self._told: object = None
        self._known_at: float | None = None  # time of the last answer with keys; monotonic
        self._asked_at: float | None = None
        self._failure = ""  # of the last asking
        self._asking: asyncio.Task[None] | None = None

    async def keys(self, token: Signed) -> Sequence[ProviderKey]:
        """Keys that may have signed a token. Raises ProviderUnavailable where it can not be known."""
        age_s = self._age_s()
        if age_s is None or age_s > KEPT_S:
            await self._ask()
            if self._known_at is None or self._failure:
                raise ProviderUnavailable(self._failure)
        self.keep_fresh()
        found = meant(self._keys, token)
        if not found:
            await self._ask()
            if self._failure:
                raise ProviderUnavailable(self._failure)
            found = meant(self._keys, token)
        return found

    def keep_fresh(self) -> None:
        """Request the keys again if they are old: identities cached by them may be invalid."""
        age_s = self._age_s()
        if age_s is not None and age_s > FRESH_S:
            self._begin()

    async def address(self, name: str) -> str:
        """One of its addresses by its description's name; "" if absent. Raises ProviderUnavailable."""
        if not self._description:
            await self._ask()
            if not self._description:
                raise ProviderUnavailable(self._failure)
        found = self._description.get(name)
        return found if isinstance(found, str) and is_safe(found) else ""

    async def rest(self) -> None:
        """Wait until no request is in flight."""
        if self._asking is not None:
            await self._asking

    def _age_s(self) -> float | None:
        return None if self._known_at is None else self._clock.monotonic() - self._known_at

    async def _ask(self) -> None:
        """Ask, or wait for the asking that has begun; not again so soon after the last one."""
        self._begin()
        if self._asking is not None:
            await asyncio.shield(self._asking)

    def _begin(self) -> None:
        now = self._clock.monotonic()
        if self._asking is not None and not self._asking.done():
            return
        self._asking = None
        if self._asked_at is None or now - self._asked_at >= AGAIN_S:
            self._asked_at = now
            self._asking = asyncio.ensure_future(self._look())

    async def _look(self) -> None:
        self.asked += 1
        try:
            description = await self.web.get(self.terms.issuer.rstrip("/") + _DISCOVERY)
            if description.get("issuer") != self.terms.issuer:
                raise ProviderFailed(
                    f"its description names another issuer than {self.terms.issuer}"
                )
            address = description.get("jwks_uri")
            if not isinstance(address, str):
                raise ProviderFailed("its description names no keys (jwks_uri)")
            told = await self.web.get(address)
        except ProviderFailed as failure:
            self._failure = str(failure)
            _log.warning("the provider by which people sign in failed", why=self._failure)
            return
        self._description, self._failure = description, ""
        self._known_at = self._clock.monotonic()
        if told != self._told:
            self._told, self._keys = told, read_keys(told)
            self.generation += 1
