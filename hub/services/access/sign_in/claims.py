"""Maps the claims of a verified token to a principal: pure.

Of a token whose signature is good: exactly this issuer, one of these audiences, not expired, not early;
a name that can be kept and shown, and groups within bounds.
"""

import math
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hub.domain.access import VerifiedIdentity
from hub.services.access.sign_in.terms import Oidc
from shared.errors import Rejected
from shared.reject_codes import RejectCode

LEEWAY_S: Final = 30.0  # clocks of two machines
LONGEST_NAME: Final = 253  # with its prefix; as in role bindings
MOST_GROUPS: Final = 500
_MOST_AUDIENCES: Final = 100
_RESERVED_GROUPS: Final = "system:"


@dataclass(frozen=True, slots=True)
class Verified:
    """The identity of a caller, and its expiry (seconds since 1970, of the token's own clock)."""

    who: VerifiedIdentity
    until_s: float


def identity_of(claims: Mapping[str, object], terms: Oidc, now_s: float) -> Verified:
    """The identity that a token names. Raises Rejected: TokenNotAccepted, TokenExpired."""
    if claims.get("iss") != terms.issuer:
        raise not_accepted(f"it was not issued by {terms.issuer}")
    _check_audience(claims.get("aud"), claims.get("azp", claims.get("client_id")), terms)
    until_s = _number(claims, "exp") + LEEWAY_S
    if until_s <= now_s:
        raise Rejected(
            RejectCode.TOKEN_EXPIRED, "this token has expired: sign in again (roadstead login)"
        )
    if "nbf" in claims and _number(claims, "nbf") > now_s + LEEWAY_S:
        raise not_accepted("it is not valid yet: compare the clocks")
    return Verified(VerifiedIdentity(_name(claims, terms), _groups(claims, terms)), until_s)


def not_accepted(why: str) -> Rejected:
    """The refusal of a token."""
    return Rejected(RejectCode.TOKEN_NOT_ACCEPTED, f"this token is not accepted: {why}")


def _check_audience(given: object, party: object, terms: Oidc) -> None:
    """`party` (azp, else client_id) is the client that the token was issued to; several audiences need it."""
    named = given if isinstance(given, list) else [given]
    if len(named) > _MOST_AUDIENCES or not all(isinstance(each, str) for each in named):
        raise not_accepted("its audience (aud) is no text or list of texts")
    if terms.accepted.isdisjoint(named):
        raise not_accepted("its audience (aud) is another service; it must be this hub")
    if party is None and not terms.accepted.issuperset(named):
        raise not_accepted(
            "it is for several clients (aud) and does not name the one that asked (azp)"
        )
    if party is not None and not (isinstance(party, str) and party in terms.clients):
        raise not_accepted(
            "it was issued to another client (azp, client_id): sign in again (roadstead login)"
        )


def _number(claims: Mapping[str, object], name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise not_accepted(f"it does not say {name} as a number")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise not_accepted(f"{name} is no time")
    return found


def _name(claims: Mapping[str, object], terms: Oidc) -> str:
    claim = terms.username_claim
    given = claims.get(claim)
    if not isinstance(given, str) or not given:
        raise not_accepted(f"it has no {claim}, which names people here")
    if claim == "email" and claims.get("email_verified") is not True:
        raise not_accepted("its email is not verified (email_verified)")
    name = terms.username_prefix + given
    if len(name) > LONGEST_NAME or not _is_plain(given):
        raise not_accepted(
            f"its {claim} is no name: at most {LONGEST_NAME} printable characters with the prefix, "
            "none of them a space at an end, composed (NFC)"
        )
    return name


def _groups(claims: Mapping[str, object], terms: Oidc) -> frozenset[str]:
    """Groups that a binding can name; more than the limit are refused, not cut: rights would be missing."""
    given = claims.get(terms.groups_claim)
    named = [given] if isinstance(given, str) else [] if given is None else given
    if not isinstance(named, list):
        raise not_accepted(f"its {terms.groups_claim} are no list of texts")
    if len(named) > MOST_GROUPS:
        raise not_accepted(
            f"it has {len(named)} {terms.groups_claim}; at most {MOST_GROUPS} are taken: "
            "let the provider send those alone that this hub knows"
        )
    found = frozenset(
        terms.groups_prefix + each for each in named if isinstance(each, str) and _is_plain(each)
    )
    return frozenset(
        each
        for each in found
        if len(each) <= LONGEST_NAME and not each.startswith(_RESERVED_GROUPS)
    )


def _is_plain(text: str) -> bool:
    return bool(
        text
        and text.isprintable()
        and text == text.strip()
        and unicodedata.is_normalized("NFC", text)
    )
