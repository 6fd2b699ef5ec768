"""Maps principals to rights: the bindings, cached in memory until one changes.

`Roles.principal` is the one place where a verified identity becomes a principal with rights, however it
was verified: a token of the hub today; whatever signs people in hands in their name and groups here.
"""

from dataclasses import replace
from typing import Final

from hub.domain.access import (
    Grant,
    Rights,
    Role,
    RoleBinding,
    VerifiedIdentity,
    rights_of,
)
from hub.services.access.bindings import binding_of
from hub.services.access.credentials import ADMINISTRATOR, USER, VIEWER, Principal
from hub.store import access
from hub.store.engine import Database

# What the roles of tokens are: everywhere, whatever is bound.
_OF_TOKENS: Final = {ADMINISTRATOR: Role.CLUSTER_ADMINISTRATOR, VIEWER: Role.VIEWER}


class Roles:
    """The rights of users, by their bindings."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._news = db.subscribe(access.FEED)
        self._bindings: tuple[RoleBinding, ...] | None = None
        self._touched = 0  # how often bindings were

    async def principal(self, who: VerifiedIdentity, holder: Principal) -> Principal:
        """`holder`, the verified principal of `who`, with the rights of `who` by the present bindings.

        `who.name` is compared exactly with the users of bindings and with owners of jobs: two ways to sign
        in must not give the same name to different people.
        """
        rights = rights_of(who, await self.bindings())
        return replace(holder, name=who.name, groups=who.groups, rights=rights)

    async def with_rights(self, found: Principal) -> Principal:
        """A principal whose token was shown, with what they may do; agents have no rights here."""
        if found.role == USER:
            return await self.principal(VerifiedIdentity(found.name, found.groups), found)
        role = _OF_TOKENS.get(found.role)
        return found if role is None else replace(found, rights=Rights(found.name, (Grant(role),)))

    async def bindings(self) -> tuple[RoleBinding, ...]:
        """All that hold now; none that was touched is believed any more."""
        if self._news.take() is not None:
            self._bindings = None
            self._touched += 1
        if self._bindings is not None:
            return self._bindings
        touched = self._touched
        rows = await self._db.read(access.every)
        found = tuple(each for row in rows if (each := binding_of(row)) is not None)
        if touched == self._touched:  # else another reader knows better by now
            self._bindings = found
        return found
