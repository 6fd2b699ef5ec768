"""Who is calling: bearer credentials `id.secret`, join tokens for agents, and the check of both.

A secret is 256 random bits, shown once; its SHA-256 is kept. Identity comes from the credential
alone; names are compared exactly.
"""

import datetime as dt
import hashlib
import hmac
import secrets
import uuid
from dataclasses import dataclass

from hub.store import tokens
from hub.store.engine import Database
from hub.store.records.tokens import Token
from hub.store.transaction import Transaction
from shared.clock import Clock
from shared.errors import Rejected
from shared.reject_codes import RejectCode

ADMINISTRATOR, VIEWER, AGENT = "administrator", "viewer", "agent"
BEARER, JOIN, SESSION = "bearer", "join", "session"
_PRESENTED = frozenset({BEARER, SESSION})  # with every request; a join token is given once
_LONGEST = 256


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller. `cluster` is an agent's own, "" otherwise."""

    id: str
    role: str
    name: str
    cluster: str = ""


@dataclass(slots=True)
class _KnownCredential:
    """A credential looked up lately: its hash, its holder, and until when that may be believed."""

    purpose: str
    secret_hash: str
    principal: Principal
    expires_at: dt.datetime | None
    fresh_until: float


def issue_bearer(tx: Transaction, role: str, name: str, cluster: str = "") -> str:
    """A new credential for the principal of that role and name, which is made if there is none."""
    return _issue(tx, _principal_id(tx, role, name, cluster), BEARER, None)


def replace_bearer(tx: Transaction, role: str, name: str, cluster: str = "") -> str:
    """Like `issue_bearer`; earlier credentials of that principal end."""
    holder = _principal_id(tx, role, name, cluster)
    for purpose in (BEARER, SESSION):
        tokens.revoke(tx, holder, purpose)
    return _issue(tx, holder, BEARER, None)


def issue_session(tx: Transaction, bearer: str, kept: dt.timedelta) -> str | None:
    """What a browser holds in a bearer's stead, good for looking only; None if `bearer` is not known.

    It ends after `kept`, by signing out, and with the token itself.
    """
    found = _matching(tx, bearer, BEARER)
    if found is None or found.revoked_at is not None:
        return None
    until = tx.now + kept
    if found.expires_at is not None:
        until = min(until, found.expires_at)
    return _issue(tx, found.principal, SESSION, until)


def end_session(tx: Transaction, text: str) -> None:
    """Sign out: this session ends, others of that person go on."""
    found = _matching(tx, text, SESSION)
    if found is not None:
        tokens.revoke_one(tx, found.id)


def issue_join(tx: Transaction, cluster: str, kept: dt.timedelta) -> tuple[str, dt.datetime]:
    """A one-time token by which an agent becomes `cluster`'s; earlier unused ones end."""
    holder = _principal_id(tx, AGENT, cluster, cluster)
    tokens.revoke(tx, holder, JOIN)
    expires_at = tx.now + kept
    return _issue(tx, holder, JOIN, expires_at), expires_at


def check_join(tx: Transaction, text: str) -> Token:
    """A join token that could be redeemed now. Raises Rejected as `redeem_join` does."""
    found = _matching(tx, text, JOIN)
    if found is None or found.revoked_at is not None:
        raise Rejected(RejectCode.UNAUTHENTICATED, UNAUTHENTICATED)
    if found.used_at is not None:
        raise Rejected(RejectCode.TOKEN_USED, "this join token was used; ask for a new one")
    if found.expires_at is not None and found.expires_at <= tx.now:
        raise Rejected(RejectCode.TOKEN_EXPIRED, "this join token has expired; ask for a new one")
    return found


def redeem_join(tx: Transaction, text: str) -> Principal:
    """Use up a join token. Raises Rejected: Unauthenticated, TokenExpired, TokenUsed (all 401)."""
    found = check_join(tx, text)
    if not tokens.use(tx, found.id):
        raise Rejected(RejectCode.TOKEN_USED, "this join token was used; ask for a new one")
    return _principal_of(found)


def forget_agent(tx: Transaction, cluster: str) -> None:
    """End every credential of a cluster's agent."""
    holder = tokens.find_principal(tx, AGENT, cluster)
    if holder is not None:
        tokens.remove_principal(tx, holder.id)


UNAUTHENTICATED = "no valid credential for this; send `Authorization: Bearer ID.SECRET`"

REVOKED = "this credential was taken back: the cluster joined anew, or has left"


class Authenticator:
    """Checks bearer credentials; remembers them for `cache_s` seconds or until they are touched."""

    def __init__(self, db: Database, clock: Clock, cache_s: float) -> None:
        self._db = db
        self._clock = clock
        self._cache_s = cache_s
        self._known: dict[str, _KnownCredential] = {}
        self._ended = db.subscribe("tokens")

    async def authenticate(self, text: str, purpose: str = BEARER) -> Principal | None:
        """The principal whose credential of that purpose `text` is, or None."""
        change = self._ended.take()
        if change is not None:
            for touched in change.keys["tokens"]:
                self._known.pop(touched, None)
        given, _, secret = text.partition(".")
        if not given or not secret or len(text) > _LONGEST:
            return None
        known = self._known.get(given)
        if known is None or known.fresh_until < self._clock.monotonic():
            known = await self._look_up(given)
            if known is None:
                return None
        if known.purpose != purpose or not hmac.compare_digest(known.secret_hash, _hash(secret)):
            return None
        if known.expires_at is not None and known.expires_at <= self._clock.now():
            return None
        return known.principal

    async def was_revoked(self, text: str) -> bool:
        """Whether this is a credential that was good once: whoever has its secret may know."""
        found = await self._db.read(lambda tx: _matching(tx, text, BEARER))
        return found is not None and found.revoked_at is not None

    async def _look_up(self, given: str) -> _KnownCredential | None:
        token = await self._db.read(lambda tx: tokens.get(tx, given))
        self._known.pop(given, None)
        if token is None or token.purpose not in _PRESENTED or token.revoked_at is not None:
            return None
        known = _KnownCredential(
            token.purpose,
            token.secret_hash,
            _principal_of(token),
            token.expires_at,
            self._clock.monotonic() + self._cache_s,
        )
        self._known[given] = known
        return known


def _matching(tx: Transaction, text: str, purpose: str) -> Token | None:
    given, _, secret = text.partition(".")
    found = tokens.get(tx, given) if secret and len(text) <= _LONGEST else None
    if found is None or found.purpose != purpose:
        return None
    return found if hmac.compare_digest(found.secret_hash, _hash(secret)) else None


def _principal_id(tx: Transaction, role: str, name: str, cluster: str) -> str:
    found = tokens.find_principal(tx, role, name)
    if found is not None:
        return found.id
    made = str(uuid.uuid4())
    tokens.add_principal(tx, id=made, role=role, name=name, cluster=cluster)
    return made


def _issue(tx: Transaction, principal: str, purpose: str, expires_at: dt.datetime | None) -> str:
    given, secret = uuid.uuid4().hex, secrets.token_urlsafe(32)
    tokens.add(
        tx,
        id=given,
        principal=principal,
        purpose=purpose,
        secret_hash=_hash(secret),
        expires_at=expires_at,
    )
    return f"{given}.{secret}"


def _principal_of(token: Token) -> Principal:
    return Principal(token.principal, token.role, token.name, token.cluster)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
