"""Whoever shows a credential that is none of the hub's own: taken to who can tell whose it is.

What that needs is loaded where it is set up, and nowhere else.
"""

from typing import TYPE_CHECKING

from hub.services.access.credentials import UNAUTHENTICATED, Principal
from hub.services.access.sign_in.terms import Oidc
from shared.clock import Clock
from shared.errors import Rejected
from shared.reject_codes import RejectCode

if TYPE_CHECKING:
    from hub.services.access.sign_in.verifier import Verifier


class SignIn:
    """The ways to sign in besides the hub's own tokens; made within the event loop that serves."""

    def __init__(self, terms: Oidc, clock: Clock) -> None:
        self.terms = terms
        self.oidc = _verifier(terms, clock) if terms.issuer else None

    def takes(self, text: str) -> bool:
        """Whether it may be a token of somebody else: of three parts, where the hub's own have two."""
        return text.count(".") == 2 and self.oidc is not None

    async def principal(self, text: str) -> Principal:
        """Who shows this token. Raises Rejected: Unauthenticated, and as `Verifier.principal`."""
        if self.oidc is None:
            raise Rejected(RejectCode.UNAUTHENTICATED, UNAUTHENTICATED)
        return await self.oidc.principal(text)

    def remembers(self, text: str) -> bool:
        """Whether this very token was good when it was last shown."""
        return self.oidc is not None and self.oidc.remembers(text)


def _verifier(terms: Oidc, clock: Clock) -> "Verifier":
    from hub.services.access.sign_in.provider import Provider  # noqa: PLC0415 - joserfc comes with it
    from hub.services.access.sign_in.verifier import Verifier  # noqa: PLC0415

    return Verifier(Provider(terms, clock), clock)
