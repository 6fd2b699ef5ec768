"""Tokens that a provider issued, shown as bearers: verified, and remembered until they end."""

import hashlib
from collections import OrderedDict
from typing import Final

from hub.services.access.credentials import Principal
from hub.services.access.sign_in.claims import Verified, identity_of, not_accepted
from hub.services.access.sign_in.keys import is_signed, read_token
from hub.services.access.sign_in.principals import principal_of
from hub.services.access.sign_in.provider import Provider
from shared.clock import Clock

MOST_KNOWN: Final = 10_000
LONGEST: Final = 256 << 10


class Verifier:
    """The identity of the bearer of a provider's token."""

    def __init__(self, provider: Provider, clock: Clock) -> None:
        self._provider, self._clock = provider, clock
        self._known: OrderedDict[bytes, tuple[int, Verified]] = OrderedDict()

    async def principal(self, text: str) -> Principal:
        """The identity of the bearer. Raises Rejected: TokenNotAccepted, TokenExpired, SignInUnavailable."""
        known = self._known.get(_digest(text))
        if known is None or known[0] != self._provider.generation or not self._is_live(known[1]):
            return principal_of((await self.verified(text)).who)
        self._known.move_to_end(_digest(text))
        self._provider.keep_fresh()
        return principal_of(known[1].who)

    def remembers(self, text: str) -> bool:
        """True if it was valid at its last use."""
        return _digest(text) in self._known

    async def verified(self, text: str, nonce: str | None = None) -> Verified:
        """The identity that a token names, and its expiry; `nonce`: required. Raises as `principal`."""
        if len(text) > LONGEST:
            raise not_accepted(f"it is longer than {LONGEST} bytes")
        token = read_token(text)
        now_s = self._clock.now().timestamp()
        found = identity_of(token.claims, self._provider.terms, now_s)
        if nonce is not None and token.claims.get("nonce") != nonce:
            raise not_accepted("it was issued for another attempt to sign in")
        keys = await self._provider.keys(token)
        generation = self._provider.generation
        if not any(is_signed(token, by=key) for key in keys):
            raise not_accepted(f"no key of {self._provider.terms.issuer} has signed it")
        self._remember(text, generation, found)
        return found

    def _is_live(self, known: Verified) -> bool:
        return self._clock.now().timestamp() < known.until_s

    def _remember(self, text: str, generation: int, found: Verified) -> None:
        self._known[_digest(text)] = generation, found
        self._known.move_to_end(_digest(text))
        while len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="replace")).digest()
