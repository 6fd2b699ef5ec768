"""Keys of a provider: which of them may have signed a token, and whether one has.

RS256, ES256 and EdDSA, each only with keys of its own kind; never `none`, never a shared secret.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import orjson
from joserfc import jwa, jwk, jws
from joserfc.errors import JoseError, UnsupportedAlgorithmError

from hub.services.access.sign_in.claims import not_accepted
from shared.documents import Json

# algorithm → type and curve ("": has none) of the keys that it is used with
ALGORITHMS: Final = {
    "RS256": ("RSA", ""),
    "ES256": ("EC", "P-256"),
    "EdDSA": ("OKP", "Ed25519"),
    "Ed25519": ("OKP", "Ed25519"),  # what EdDSA is called by RFC 9864
}
# ID tokens say JWT or nothing, access tokens at+jwt (RFC 9068); a logout token is none of them.
_TYPES: Final = frozenset({"", "jwt", "at+jwt", "application/at+jwt"})
_MOST_KEYS: Final = 100
_MOST_TRIED: Final = 5  # of keys that a token may mean
_RSA_BITS: Final = range(2048, 8193)  # fewer are weak, more cost the loop its time


class _Registry(jws.JWSRegistry):
    """The accepted form of a signed token."""

    max_header_length = 4096

    def get_alg(self, name: str) -> jwa.JWSAlgModel:
        """The algorithm of that name, if it is one of ours."""
        if name not in ALGORITHMS:
            raise UnsupportedAlgorithmError(name)
        return self.algorithms[name]


_REGISTRY: Final = _Registry(strict_check_header=False)
_WRONG: Final = (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError)


@dataclass(frozen=True, slots=True)
class Signed:
    """A token as it says of itself that it is; nothing of it is believed yet."""

    compact: jws.CompactSignature
    algorithm: str
    kid: str  # "": it names no key
    claims: Json


@dataclass(frozen=True, slots=True)
class ProviderKey:
    """A key, with what its owner says that it is for."""

    kid: str
    kind: tuple[str, str]
    algorithm: str  # "": any of its kind
    key: jwk.Key


def read_token(text: str) -> Signed:
    """The parts of a token. Raises Rejected: TokenNotAccepted."""
    try:
        compact = jws.extract_compact(text.encode("ascii"), registry=_REGISTRY)
        header, claims = compact.headers(), orjson.loads(compact.payload)
    except _WRONG as wrong:
        raise not_accepted("it is no signed token") from wrong
    algorithm, kid, kind = header.get("alg"), header.get("kid", ""), header.get("typ", "")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise not_accepted(f"it has to be signed by one of {', '.join(ALGORITHMS)}")
    if not isinstance(kind, str) or kind.lower() not in _TYPES:
        raise not_accepted("it is a token of another type (typ)")
    if not isinstance(kid, str) or not isinstance(claims, dict) or "crit" in header:
        raise not_accepted("its header or content is none of a token for a hub")
    return Signed(compact, algorithm, kid, claims)


def read_keys(document: Json) -> list[ProviderKey]:
    """The keys of a JSON Web Key Set that tokens may be signed with; others are left out."""
    listed = document.get("keys")
    found = [_key(each) for each in (listed if isinstance(listed, list) else ())[:_MOST_KEYS]]
    return [each for each in found if each is not None]


def meant(keys: Sequence[ProviderKey], token: Signed) -> list[ProviderKey]:
    """Those that may have signed a token, as it says itself."""
    kind = ALGORITHMS[token.algorithm]
    found = [
        each
        for each in keys
        if each.kind == kind
        and each.algorithm in {"", token.algorithm}
        and (not token.kid or each.kid == token.kid)
    ]
    return found[:_MOST_TRIED]


def is_signed(token: Signed, by: ProviderKey) -> bool:
    """True if this key has signed it."""
    try:
        return jws.validate_compact(token.compact, by.key, registry=_REGISTRY)
    except _WRONG:
        return False


def _key(given: object) -> ProviderKey | None:
    if not isinstance(given, dict) or given.get("use", "sig") != "sig":
        return None
    kid, algorithm = given.get("kid", ""), given.get("alg", "")
    kind = (str(given.get("kty")), str(given.get("crv", "")))
    if (
        kind not in ALGORITHMS.values()
        or not isinstance(kid, str)
        or not isinstance(algorithm, str)
    ):
        return None
    try:
        # Of what else a document may say of a key nothing is wanted here.
        public = {
            name: given[name] for name in ("kty", "crv", "n", "e", "x", "y") if name in given
        }
        key = jwk.import_key(public)
        key.get_op_key("verify")
    except _WRONG:
        return None
    if isinstance(key, jwk.RSAKey) and key.public_key.key_size not in _RSA_BITS:
        return None
    return ProviderKey(kid, kind, algorithm, key)
