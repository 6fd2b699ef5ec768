"""Tokens of the hub cluster's service accounts: that cluster says whose they are, and is believed briefly.

Only what says of itself that it is such a token for the hub is shown to the cluster at all: a person's token
of a provider never is.
"""

import asyncio
import base64
import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from hub.domain.access import VerifiedIdentity
from hub.services.access.credentials import Principal
from hub.services.access.sign_in.claims import LONGEST_NAME, MOST_GROUPS, not_accepted
from hub.services.access.sign_in.principals import principal_of
from hub.services.access.sign_in.terms import SERVICE_ACCOUNTS
from shared.clock import Clock
from shared.documents import Json
from shared.errors import Rejected
from shared.kinds.names import is_dns_label, is_dns_subdomain
from shared.reject_codes import RejectCode

BELIEVED_S: Final = 10.0  # cached verdict about a token
MOST_KNOWN: Final = 10_000
_AT_ONCE: Final = 8
_LONGEST_S: Final = 5.0
_LONGEST: Final = 32 << 10


@dataclass(frozen=True, slots=True)
class Review:
    """The cluster's review of a token."""

    authenticated: bool
    name: str = ""
    groups: Sequence[str] = ()
    audiences: Sequence[str] = ()


class ClusterSilent(Exception):
    """The cluster does not answer, or does not let the hub ask: in words."""


Ask = Callable[[str], Awaitable[Review]]


class Reviews:
    """The issuers of tokens. `ask`: the cluster, which raises ClusterSilent."""

    def __init__(self, audience: str, ask: Ask, clock: Clock) -> None:
        self._audience, self._ask, self._clock = audience, ask, clock
        self._known: OrderedDict[bytes, tuple[float, VerifiedIdentity | None]] = OrderedDict()
        self._asking = asyncio.Semaphore(_AT_ONCE)

    def takes(self, claims: Json) -> bool:
        """True if a token claims to be a service account's, for this hub."""
        given, account = claims.get("aud"), claims.get("sub")
        named = given if isinstance(given, list) else [given]
        return (
            isinstance(account, str)
            and account.startswith(SERVICE_ACCOUNTS)
            and self._audience in named
        )

    async def principal(self, text: str) -> Principal:
        """The identity of the bearer. Raises Rejected: TokenNotAccepted, SignInUnavailable."""
        digest = hashlib.sha256(text.encode(errors="replace")).digest()
        known = self._known.get(digest)
        if known is None or known[0] < self._clock.monotonic():
            until_s = self._clock.monotonic() + BELIEVED_S
            known = until_s, await self._reviewed(text)
            self._known[digest] = known
            self._known.move_to_end(digest)
            while len(self._known) > MOST_KNOWN:
                self._known.popitem(last=False)
        if known[1] is None:
            raise not_accepted(
                "the hub cluster does not know it as a service account's for this hub"
            )
        return principal_of(known[1])

    def remembers(self, text: str) -> bool:
        """True if the last review accepted it."""
        known = self._known.get(hashlib.sha256(text.encode(errors="replace")).digest())
        return known is not None and known[1] is not None

    async def _reviewed(self, text: str) -> VerifiedIdentity | None:
        try:
            async with asyncio.timeout(_LONGEST_S), self._asking:
                found = await self._ask(text)
        except (TimeoutError, ClusterSilent) as failure:
            why = str(failure) or f"no answer within {_LONGEST_S:g} s"
            said = f"the hub cluster cannot review this token: {why}"
            raise Rejected(RejectCode.SIGN_IN_UNAVAILABLE, said) from failure
        # An API server that knows nothing of audiences says none: such a token may be for anybody.
        if not found.authenticated or self._audience not in found.audiences:
            return None
        if not _is_account(found.name):
            return None
        groups = [
            each for each in found.groups if each.isprintable() and len(each) <= LONGEST_NAME
        ]
        return VerifiedIdentity(found.name, frozenset(groups[:MOST_GROUPS]))


def claims_of(text: str) -> Json:
    """The unverified claims of a token; {} if it has none."""
    try:
        part = text.split(".")[1]
        found = orjson.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, IndexError):
        return {}
    return found if isinstance(found, dict) and len(text) <= _LONGEST else {}


def _is_account(name: str) -> bool:
    namespace, _, account = name.removeprefix(SERVICE_ACCOUNTS).partition(":")
    return (
        name.startswith(SERVICE_ACCOUNTS)
        and is_dns_label(namespace)
        and is_dns_subdomain(account)
        and len(name) <= LONGEST_NAME
    )
