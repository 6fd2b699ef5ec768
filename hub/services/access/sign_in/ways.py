"""Routes external tokens to their verifier.

The necessary packages are imported where sign-in is configured, and nowhere else.
"""

from typing import TYPE_CHECKING

from hub.services.access.credentials import UNAUTHENTICATED, Principal
from hub.services.access.sign_in.reviews import Ask, Reviews, claims_of
from hub.services.access.sign_in.terms import Oidc
from shared.clock import Clock
from shared.errors import Rejected
from shared.reject_codes import RejectCode

if TYPE_CHECKING:
    from hub.services.access.sign_in.code_flow import CodeFlow
    from hub.services.access.sign_in.verifier import Verifier


class SignIn:
    """The ways to sign in besides the hub's own tokens; created within the event loop that serves."""

    def __init__(self, terms: Oidc, clock: Clock) -> None:
        self.terms = terms
        self._clock = clock
        self._reviews: Reviews | None = None
        self.oidc: Verifier | None = None
        self.browsers: CodeFlow | None = None
        if terms.issuer:
            self.oidc, self.browsers = _of_provider(terms, clock)

    @property
    def page(self) -> str:
        """The address where a browser begins to sign in at the provider; "" if it can not."""
        return f"{self.terms.page_url.rstrip('/')}/sign-in" if self.browsers else ""

    def review(self, audience: str, ask: Ask) -> None:
        """Take tokens of the hub cluster's service accounts, for that audience; `ask`: that cluster."""
        self._reviews = Reviews(audience, ask, self._clock)

    def takes(self, text: str) -> bool:
        """True if it may be a foreign token: of three parts, where the hub's own have two."""
        return text.count(".") == 2 and not (self.oidc is None and self._reviews is None)

    async def principal(self, text: str) -> Principal:
        """The bearer's identity. Raises Rejected: Unauthenticated, and as verifiers."""
        if self._reviews is not None and self._reviews.takes(claims_of(text)):
            return await self._reviews.principal(text)
        if self.oidc is None:
            raise Rejected(RejectCode.UNAUTHENTICATED, UNAUTHENTICATED)
        return await self.oidc.principal(text)

    def remembers(self, text: str) -> bool:
        """True if this very token was valid at its last use."""
        ways = (self.oidc, self._reviews)
        return any(way is not None and way.remembers(text) for way in ways)


def _of_provider(terms: Oidc, clock: Clock) -> "tuple[Verifier, CodeFlow | None]":
    from hub.services.access.sign_in.code_flow import CodeFlow  # noqa: PLC0415 - as below
    from hub.services.access.sign_in.provider import Provider  # noqa: PLC0415 - joserfc comes with it
    from hub.services.access.sign_in.verifier import Verifier  # noqa: PLC0415 - as above

    provider = Provider(terms, clock)
    verifier = Verifier(provider, clock)
    return verifier, CodeFlow(provider, verifier) if terms.back else None
