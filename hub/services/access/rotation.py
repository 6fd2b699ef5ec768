"""Credentials of agents live a day and are replaced at two thirds of it; one that is used again is a copy.

The hub gives a successor in a reply; its first use supersedes the credential that it was given in place
of, and every other successor of that one. All of it is in the store, none in a process: two hubs on one
database never differ in it. docs/explain/credentials.md has the rule and why it never takes an honest agent
for a thief.
"""

import datetime as dt
from typing import Final

import structlog

from hub.services.access.credentials import (
    BEARER,
    REVOKED,
    UNAUTHENTICATED,
    Principal,
    issue_for,
    matching,
    renewal_of,
)
from hub.services.access.pauses import Pauses
from hub.store import audit, clusters, tokens
from hub.store.engine import Database
from hub.store.records.tokens import Token
from hub.store.transaction import Transaction
from shared.clock import Clock
from shared.errors import Rejected
from shared.reject_codes import RejectCode

CREDENTIAL_REUSED: Final = "CredentialReused"
_GAP_S: Final = 10.0  # between two successors of one credential: replies get lost, and seldom
_log = structlog.get_logger(__name__)
_SUPERSEDED: Final = (
    "a newer credential of this agent is in use; if this is no copy, it must join again"
)


def give_successor(
    tx: Transaction, credential: str, kept: dt.timedelta, overlap: dt.timedelta
) -> str | None:
    """A new credential in place of this one, which stays good until the new one is used; None: not due.

    An unused successor is kept for `overlap`: its reply may have arrived late.
    """
    held = tokens.get(tx, credential)
    if held is None or held.revoked_at is not None or held.superseded_at is not None:
        return None
    if tx.now < renewal_of(held) or (held.expires_at is not None and held.expires_at <= tx.now):
        return None
    tokens.supersede_unused(tx, held.id, before=tx.now - overlap)
    return issue_for(tx, held.principal, BEARER, tx.now + kept, replaces=held.id)


def why_refused(
    tx: Transaction, text: str, overlap: dt.timedelta
) -> tuple[Rejected, Token | None]:
    """The reason why a credential is invalid, and the credential if it was used again after `overlap`."""
    held = matching(tx, text, BEARER)
    if held is None:
        return Rejected(RejectCode.UNAUTHENTICATED, UNAUTHENTICATED), None
    if held.revoked_at is not None:
        return Rejected(RejectCode.REVOKED, REVOKED), None
    if held.superseded_at is not None:
        reused = held if tx.now - held.superseded_at > overlap else None
        return Rejected(RejectCode.CREDENTIAL_SUPERSEDED, _SUPERSEDED), reused
    if held.expires_at is not None and held.expires_at <= tx.now:
        told = f"this credential has expired; {way_back(held.cluster)}"
        return Rejected(RejectCode.TOKEN_EXPIRED, told), None
    return Rejected(RejectCode.UNAUTHENTICATED, UNAUTHENTICATED), None


def end_family(tx: Transaction, reused: str, overlap: dt.timedelta) -> bool:
    """End every credential of the agent whose superseded one was used again, and cordon its cluster.

    Looked at again in this very transaction; False if another request has done it, or if it does not apply.
    """
    held = tokens.get(tx, reused)
    if held is None or held.superseded_at is None or held.revoked_at is not None:
        return False
    if tx.now - held.superseded_at <= overlap:
        return False
    tokens.revoke(tx, held.principal, BEARER)
    audit.add(
        tx,
        f"agent of {held.cluster}",
        "authenticate",
        f"MemberCluster {held.cluster}",
        CREDENTIAL_REUSED,
    )
    member = clusters.get(tx, held.cluster)
    if member is not None:
        clusters.change(tx, held.cluster, cordoned=True)
        text = (
            "a superseded credential of its agent was used: there is a copy of it. All of its "
            "credentials are revoked and it gets no new work. Find the copy, then: "
            f"{way_back(held.cluster)}, then roadstead clusters uncordon {held.cluster}"
        )
        clusters.say(tx, member, CREDENTIAL_REUSED, text, warning=True)
    return True


def way_back(cluster: str) -> str:
    """The remedy for an administrator when an agent is rejected."""
    return f"give its agent a new join token: roadstead clusters token {cluster}"


class Rotation:
    """Gives successors to those who come with a credential that is due, and judges those who are refused.

    The owner of this process must watch its `pauses`.
    """

    def __init__(
        self, db: Database, clock: Clock, kept: dt.timedelta, overlap: dt.timedelta
    ) -> None:
        self._db, self._clock = db, clock
        self._kept, self._overlap = kept, overlap
        self.pauses = Pauses(clock)
        self._given_at: dict[str, float] = {}  # by credential; monotonic

    async def successor(self, who: Principal) -> str | None:
        """The credential that an agent must use from now on; None while its credential is fresh enough."""
        if who.renew_at is None or self._clock.now() < who.renew_at:
            return None
        now = self._clock.monotonic()
        if now - self._given_at.get(who.credential, -_GAP_S) < _GAP_S:
            return None
        self._given_at = {known: at for known, at in self._given_at.items() if now - at < _GAP_S}
        self._given_at[who.credential] = now
        return await self._db.write(
            lambda tx: give_successor(tx, who.credential, self._kept, self._overlap)
        )

    async def refusal(self, text: str) -> tuple[Rejected, bool]:
        """The answer to a credential that is not good, and whether it ended its agent's others just now."""
        refused, reused = await self._db.read(lambda tx: why_refused(tx, text, self._overlap))
        if reused is None:
            return refused, False
        if self.pauses.lately():  # it may have lain here since before it was superseded
            _log.warning(
                "a superseded credential after a pause: nothing is concluded", id=reused.id
            )
            return refused, False
        ended = await self._db.write(lambda tx: end_family(tx, reused.id, self._overlap))
        return Rejected(RejectCode.REVOKED, REVOKED), ended
