"""Authentication by bearer credentials `id.secret` and join tokens for agents.

A secret is 256 random bits, shown once; its SHA-256 is kept. Identity comes from the credential
alone; names are compared exactly.
"""

import datetime as dt
import hashlib
import hmac
import re
import secrets
import uuid
from dataclasses import dataclass, field
from typing import Final

from hub.domain.access import Rights
from hub.store import tokens
from hub.store.engine import Database
from hub.store.records.tokens import Token
from hub.store.transaction import Transaction
from shared.clock import Clock
from shared.errors import Rejected
from shared.reject_codes import RejectCode

ADMINISTRATOR, VIEWER, AGENT = "administrator", "viewer", "agent"
USER = "user"  # a person whose rights are what roles are bound to them
BEARER, JOIN, SESSION = "bearer", "join", "session"
_PRESENTED = frozenset({BEARER, SESSION})  # with every request; a join token is given once
_LONGEST = 256
# What a deployment may give: hardly less than what is made here.
_GIVEN = re.compile(r"[\w-]{16,36}\.[\w-]{40,}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller. `cluster` is an agent's own, "" otherwise; `rights`: a person's."""

    id: str
    role: str
    name: str
    cluster: str = ""
    credential: str = field(default="", compare=False)  # the id of the token that was presented
    renew_at: dt.datetime | None = field(default=None, compare=False)  # agents: give another then
    groups: frozenset[str] = frozenset()
    rights: Rights = field(default_factory=Rights, compare=False)


MOST_TOUCHED: Final = 10_000  # credentials that were touched and not shown since


@dataclass(slots=True)
class _KnownCredential:
    """A credential looked up lately: its hash, its holder, and until when that may be believed."""

    purpose: str
    secret_hash: str
    principal: Principal
    expires_at: dt.datetime | None
    is_used: bool  # its first use is written down, if it has to be
    fresh_until: float


def issue_bearer(tx: Transaction, role: str, name: str, cluster: str = "") -> str:
    """A new credential for the principal of that role and name; creates the principal if absent."""
    return issue_for(tx, _principal_id(tx, role, name, cluster), BEARER, None)


def replace_bearer(tx: Transaction, role: str, name: str, cluster: str = "") -> str:
    """Like `issue_bearer`; earlier credentials of that principal end."""
    return issue_for(tx, _alone(tx, role, name, cluster), BEARER, None)


def admit_agent(tx: Transaction, cluster: str, secret_hash: str, expires_at: dt.datetime) -> str:
    """A credential for a secret that the agent made itself: its id. Earlier ones of the agent end."""
    holder = _alone(tx, AGENT, cluster, cluster)
    made = uuid.uuid4().hex
    tokens.add(
        tx,
        id=made,
        principal=holder,
        purpose=BEARER,
        secret_hash=secret_hash,
        expires_at=expires_at,
    )
    return made


def find_admitted(tx: Transaction, joined_by: Token, secret_hash: str) -> str | None:
    """The credential that this very secret was given for this join token, while both are good: its id."""
    if not secret_hash or (joined_by.expires_at is not None and joined_by.expires_at <= tx.now):
        return None
    held = tokens.find_bearer(tx, joined_by.principal, secret_hash)
    if held is None or held.revoked_at is not None or held.superseded_at is not None:
        return None
    return held.id


def is_bearer(text: str) -> bool:
    """True if it has the form of a credential, valid or not."""
    return _GIVEN.fullmatch(text) is not None and len(text) <= _LONGEST


def take_bearer(tx: Transaction, role: str, name: str, text: str) -> bool:
    """Like `replace_bearer`, with a credential that was made elsewhere; done again, nothing changes.

    False, and nothing is written, if `text` is not `ID.SECRET` of enough letters, digits, `-` and `_`,
    or if that id was used for anything else before: what was taken back stays so.
    """
    if not is_bearer(text):
        return False
    given, _, secret = text.partition(".")
    if tokens.get(tx, given) is not None:
        found = matching(tx, text, BEARER)
        holder = tokens.find_principal(tx, role, name)
        return (
            found is not None
            and found.revoked_at is None
            and holder is not None
            and found.principal == holder.id
        )
    holder_id = _principal_id(tx, role, name, "")
    for purpose in (BEARER, SESSION):
        tokens.revoke(tx, holder_id, purpose)
    tokens.add(
        tx,
        id=given,
        principal=holder_id,
        purpose=BEARER,
        secret_hash=hashed(secret),
        expires_at=None,
    )
    return True


def issue_session(tx: Transaction, bearer: str, kept: dt.timedelta) -> str | None:
    """What a browser holds in a bearer's stead, for the page and its actions; None if `bearer` is not known.

    It ends after `kept`, by signing out, and with the token itself.
    """
    found = matching(tx, bearer, BEARER)
    if found is None or found.revoked_at is not None:
        return None
    until = tx.now + kept
    if found.expires_at is not None:
        until = min(until, found.expires_at)
    return issue_for(tx, found.principal, SESSION, until)


def end_session(tx: Transaction, text: str) -> None:
    """Sign out: this session ends, others of that person go on."""
    found = matching(tx, text, SESSION)
    if found is not None:
        tokens.revoke_one(tx, found.id)


def issue_join(tx: Transaction, cluster: str, kept: dt.timedelta) -> tuple[str, dt.datetime]:
    """A one-time token by which an agent becomes `cluster`'s; earlier unused ones end."""
    holder = _principal_id(tx, AGENT, cluster, cluster)
    tokens.revoke(tx, holder, JOIN)
    expires_at = tx.now + kept
    return issue_for(tx, holder, JOIN, expires_at), expires_at


def find_join(tx: Transaction, text: str) -> Token:
    """A join token that was used, or could be redeemed now. Raises Rejected as `redeem_join` does.

    Pins of the hub's CA that are still on it, as people carry it, are the agent's matter.
    """
    found = matching(tx, ".".join(text.split(".", 2)[:2]), JOIN)
    if found is None or found.revoked_at is not None:
        raise Rejected(RejectCode.UNAUTHENTICATED, _NO_JOIN)
    return found


def check_join(tx: Transaction, text: str) -> Token:
    """A join token that could be redeemed now. Raises Rejected as `redeem_join` does."""
    found = find_join(tx, text)
    if found.used_at is not None:
        raise Rejected(RejectCode.TOKEN_USED, f"this join token was used; {_ANEW}")
    if found.expires_at is not None and found.expires_at <= tx.now:
        raise Rejected(RejectCode.TOKEN_EXPIRED, f"this join token has expired; {_ANEW}")
    return found


def redeem_join(tx: Transaction, text: str) -> Principal:
    """Use up a join token. Raises Rejected: Unauthenticated, TokenExpired, TokenUsed (all 401)."""
    found = check_join(tx, text)
    if not tokens.use(tx, found.id):
        raise Rejected(RejectCode.TOKEN_USED, f"this join token was used; {_ANEW}")
    return _principal_of(found)


def forget_agent(tx: Transaction, cluster: str) -> None:
    """End every credential of a cluster's agent."""
    holder = tokens.find_principal(tx, AGENT, cluster)
    if holder is not None:
        tokens.remove_principal(tx, holder.id)


_ANEW = "ask for a new one (roadstead clusters token NAME)"
_NO_JOIN = f"this hub did not issue this join token, or a later one replaced it; {_ANEW}"
UNAUTHENTICATED = "no valid credential for this; send `Authorization: Bearer ID.SECRET`"

REVOKED = "this credential is revoked: the cluster joined again, or has left"


class Authenticator:
    """Checks bearer credentials; remembers them for `cache_s` seconds or until they are touched.

    And which were touched lately: one that was just made, or superseded, is known of before it is shown.
    """

    def __init__(
        self,
        db: Database,
        clock: Clock,
        cache_s: float,
        idle: dt.timedelta = dt.timedelta.max,
    ) -> None:
        self._db = db
        self._idle = idle  # after which an idle session ends
        self._clock = clock
        self._cache_s = cache_s
        self._known: dict[str, _KnownCredential] = {}
        self._touched: dict[str, None] = {}  # ids, the oldest first
        self._heard = 0  # how often credentials were touched
        self._news = db.subscribe("tokens")

    async def authenticate(self, text: str, purpose: str = BEARER) -> Principal | None:
        """The principal whose credential of that purpose `text` is, or None."""
        self._hear()
        given, _, secret = text.partition(".")
        if not given or not secret or len(text) > _LONGEST:
            return None
        known = self._known.get(given)
        if known is None or known.fresh_until < self._clock.monotonic():
            known = await self._look_up(given)
            if known is None:
                return None
        if known.purpose != purpose or not hmac.compare_digest(known.secret_hash, hashed(secret)):
            return None
        if known.expires_at is not None and known.expires_at <= self._clock.now():
            return None
        if not known.is_used:  # before anything is done in its name
            await self._db.write(lambda tx: tokens.begin_use(tx, given))
            known = await self._look_up(given)
        return None if known is None else known.principal

    def remembers(self, text: str) -> bool:
        """Whether this very credential was good when it was last looked at, or was touched since.

        It may have ended. Ids can not be guessed: of one that was touched and not looked at since, the
        id is enough.
        """
        self._hear()
        given, _, secret = text.partition(".")
        if given in self._touched:
            return True
        known = self._known.get(given)
        return known is not None and hmac.compare_digest(known.secret_hash, hashed(secret))

    def _hear(self) -> None:
        """Believe nothing any more of what was touched."""
        change = self._news.take()
        if change is None:
            return
        self._heard += 1
        for touched in change.keys["tokens"]:
            self._known.pop(touched, None)
            self._touched.pop(touched, None)
            self._touched[touched] = None
        for oldest in list(self._touched)[: max(0, len(self._touched) - MOST_TOUCHED)]:
            del self._touched[oldest]

    async def _look_up(self, given: str) -> _KnownCredential | None:
        heard = self._heard
        token = await self._db.read(lambda tx: tokens.get(tx, given))
        self._known.pop(given, None)
        self._touched.pop(given, None)
        if token is None or token.purpose not in _PRESENTED or token.revoked_at is not None:
            return None
        if token.superseded_at is not None:
            return None
        known = _KnownCredential(
            token.purpose,
            token.secret_hash,
            _principal_of(token),
            self._end_of(token),
            token.role != AGENT or token.used_at is not None,
            self._clock.monotonic() + self._cache_s,
        )
        if heard == self._heard:  # else it may be as it was before it was touched
            self._known[given] = known
        return known

    def _end_of(self, token: Token) -> dt.datetime | None:
        if token.purpose != SESSION or self._idle == dt.timedelta.max:
            return token.expires_at
        idle_at = (token.used_at or token.created_at) + self._idle
        return idle_at if token.expires_at is None else min(idle_at, token.expires_at)


def matching(tx: Transaction, text: str, purpose: str) -> Token | None:
    """The token of that purpose whose text this is, good or not."""
    given, _, secret = text.partition(".")
    found = tokens.get(tx, given) if secret and len(text) <= _LONGEST else None
    if found is None or found.purpose != purpose:
        return None
    return found if hmac.compare_digest(found.secret_hash, hashed(secret)) else None


def renewal_of(token: Token) -> dt.datetime:
    """When an agent's credential is to be replaced: at two thirds of its life; at once if it has no end."""
    if token.expires_at is None:
        return token.created_at
    return token.created_at + (token.expires_at - token.created_at) * 2 / 3


def _alone(tx: Transaction, role: str, name: str, cluster: str) -> str:
    """The principal's id; its credentials end."""
    holder = _principal_id(tx, role, name, cluster)
    for purpose in (BEARER, SESSION):
        tokens.revoke(tx, holder, purpose)
    return holder


def _principal_id(tx: Transaction, role: str, name: str, cluster: str) -> str:
    found = tokens.find_principal(tx, role, name)
    if found is not None:
        return found.id
    made = str(uuid.uuid4())
    tokens.add_principal(tx, id=made, role=role, name=name, cluster=cluster)
    return made


def issue_for(
    tx: Transaction,
    principal: str,
    purpose: str,
    expires_at: dt.datetime | None,
    replaces: str | None = None,
) -> str:
    """A new token of that principal, as text; no other answer contains it."""
    given, secret = uuid.uuid4().hex, secrets.token_urlsafe(32)
    tokens.add(
        tx,
        id=given,
        principal=principal,
        purpose=purpose,
        secret_hash=hashed(secret),
        expires_at=expires_at,
        replaces=replaces,
    )
    return f"{given}.{secret}"


def _principal_of(token: Token) -> Principal:
    renew_at = renewal_of(token) if token.role == AGENT else None
    return Principal(
        token.principal,
        token.role,
        token.name,
        token.cluster,
        token.id,
        renew_at,
        frozenset(token.groups or ()),
    )


def hashed(secret: str) -> str:
    """The stored hash of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()
