"""Principals and their credentials. Only SHA-256 hashes of 256-bit random secrets are kept."""

import datetime as dt
from collections.abc import Collection
from typing import Final

from sqlalchemy import ColumnElement, bindparam, delete, select, update

from hub.store.lookup import Prepared
from hub.store.records.tokens import StoredPrincipal, Token
from hub.store.tables import principals, tokens
from hub.store.transaction import Transaction

_WITH_PRINCIPAL: Final = Prepared(
    select(
        tokens,
        principals.c.role,
        principals.c.name,
        principals.c.cluster,
        principals.c.groups,
    )
    .join(principals, principals.c.id == tokens.c.principal)
    .where(tokens.c.id == bindparam("token"))
)


def add_principal(
    tx: Transaction,
    *,
    id: str,  # noqa: A002 - the column
    role: str,
    name: str,
    cluster: str = "",
) -> None:
    """Insert a principal: (role, name) is unique."""
    tx.conn.execute(
        principals.insert(),
        {"id": id, "role": role, "name": name, "cluster": cluster, "created_at": tx.now},
    )


def find_principal(tx: Transaction, role: str, name: str) -> StoredPrincipal | None:
    """The principal of that role and exact name."""
    query = select(principals).where(principals.c.role == role, principals.c.name == name)
    row = tx.conn.execute(query).first()
    return None if row is None else StoredPrincipal._make(row)


def roles_named(tx: Transaction, name: str) -> set[str]:
    """The roles of all principals of that exact name."""
    query = select(principals.c.role).where(principals.c.name == name)
    return set(tx.conn.execute(query).scalars())


def set_groups(tx: Transaction, principal: str, groups: Collection[str]) -> None:
    """Set the groups of a person; caches of their tokens are cleared."""
    tx.conn.execute(
        update(principals).where(principals.c.id == principal).values(groups=sorted(set(groups)))
    )
    held = tx.conn.execute(select(tokens.c.id).where(tokens.c.principal == principal)).scalars()
    tx.touch("tokens", *held)


def list_principals(tx: Transaction) -> list[StoredPrincipal]:
    """All principals by role and name."""
    rows = tx.conn.execute(select(principals).order_by(principals.c.role, principals.c.name))
    return [StoredPrincipal._make(row) for row in rows]


def add(
    tx: Transaction,
    *,
    id: str,  # noqa: A002 - the column
    principal: str,
    purpose: str,
    secret_hash: str,
    expires_at: dt.datetime | None = None,
    replaces: str | None = None,
) -> None:
    """Insert a token of `purpose` bearer, join or session; `replaces`: an agent's bearer."""
    tx.conn.execute(
        tokens.insert(),
        {
            "id": id,
            "principal": principal,
            "purpose": purpose,
            "secret_hash": secret_hash,
            "created_at": tx.now,
            "expires_at": expires_at,
            "replaces": replaces,
        },
    )
    tx.touch("tokens", id)


def get(tx: Transaction, id: str) -> Token | None:  # noqa: A002 - the column
    """A token with role, name and cluster of its principal."""
    rows = _WITH_PRINCIPAL.rows(tx.conn, token=id)
    return Token._make(rows[0]) if rows else None


def find_bearer(tx: Transaction, principal: str, secret_hash: str) -> Token | None:
    """A principal's bearer with that secret."""
    found = tx.conn.execute(
        select(tokens.c.id).where(
            tokens.c.principal == principal,
            tokens.c.purpose == "bearer",
            tokens.c.secret_hash == secret_hash,
        )
    ).first()
    return None if found is None else get(tx, found.id)


def good_until(tx: Transaction, cluster: str) -> dt.datetime | None:
    """When the credential ends that a cluster's agent last began to use; None: never, or there is none."""
    t = tokens.c
    used = select(t.expires_at).join(principals, principals.c.id == t.principal)
    live = t.revoked_at.is_(None) & t.superseded_at.is_(None) & t.used_at.is_not(None)
    of_agent = (principals.c.cluster == cluster) & (t.purpose == "bearer")
    return tx.conn.execute(used.where(live, of_agent).order_by(t.used_at.desc()).limit(1)).scalar()


def begin_use(tx: Transaction, id: str) -> bool:  # noqa: A002 - the column
    """Mark an agent's bearer as used; what it replaces, and whatever else does, is superseded.

    False if it was used before, or is no longer good: exactly one caller wins.
    """
    t = tokens.c
    done = tx.conn.execute(
        update(tokens)
        .where(t.id == id, t.used_at.is_(None), t.revoked_at.is_(None), t.superseded_at.is_(None))
        .values(used_at=tx.now)
    )
    replaced = tx.conn.execute(select(t.replaces).where(t.id == id)).scalar()
    tx.touch("tokens", id)
    if not done.rowcount or replaced is None:
        return bool(done.rowcount)
    others = (t.replaces == replaced) & (t.id != id)
    _supersede(tx, (t.id == replaced) | others)
    return True


def supersede_unused(tx: Transaction, replaces: str, before: dt.datetime) -> None:
    """Supersede what was given in place of a bearer before then, and was never used."""
    t = tokens.c
    _supersede(tx, (t.replaces == replaces) & t.used_at.is_(None) & (t.created_at < before))


def _supersede(tx: Transaction, which: ColumnElement[bool]) -> None:
    t = tokens.c
    live = which & t.superseded_at.is_(None) & t.revoked_at.is_(None)
    found = list(tx.conn.execute(select(t.id).where(live)).scalars())
    if found:
        tx.conn.execute(update(tokens).where(t.id.in_(found)).values(superseded_at=tx.now))
        tx.touch("tokens", *found)


def note_use(tx: Transaction, id: str) -> None:  # noqa: A002 - the column
    """Note the use of a session; other processes read it again."""
    tx.conn.execute(update(tokens).where(tokens.c.id == id).values(used_at=tx.now))
    tx.touch("tokens", id)


def live(tx: Transaction, principal: str, purpose: str) -> list[str]:
    """Ids of a principal's tokens of one purpose that have not ended, the oldest first."""
    t = tokens.c
    mine = (t.principal == principal) & (t.purpose == purpose) & t.revoked_at.is_(None)
    lasting = t.expires_at.is_(None) | (t.expires_at > tx.now)
    query = select(t.id).where(mine, lasting).order_by(t.created_at, t.id)
    return list(tx.conn.execute(query).scalars())


def use(tx: Transaction, id: str) -> bool:  # noqa: A002 - the column
    """Mark a join token used; False if it was used or revoked before: exactly one caller wins."""
    done = tx.conn.execute(
        update(tokens)
        .where(tokens.c.id == id, tokens.c.used_at.is_(None), tokens.c.revoked_at.is_(None))
        .values(used_at=tx.now)
    )
    tx.touch("tokens", id)
    return bool(done.rowcount)


def revoke(tx: Transaction, principal: str, purpose: str) -> int:
    """Revoke a principal's live tokens of one purpose; how many."""
    found = list(
        tx.conn.execute(
            select(tokens.c.id).where(
                tokens.c.principal == principal,
                tokens.c.purpose == purpose,
                tokens.c.revoked_at.is_(None),
            )
        ).scalars()
    )
    if found:
        tx.conn.execute(update(tokens).where(tokens.c.id.in_(found)).values(revoked_at=tx.now))
        tx.touch("tokens", *found)
    return len(found)


def revoke_one(tx: Transaction, id: str) -> None:  # noqa: A002 - the column
    """Revoke this token."""
    tx.conn.execute(
        update(tokens)
        .where(tokens.c.id == id, tokens.c.revoked_at.is_(None))
        .values(revoked_at=tx.now)
    )
    tx.touch("tokens", id)


def remove_principal(tx: Transaction, principal: str) -> None:
    """Forget a principal and all of its tokens."""
    found = tx.conn.execute(select(tokens.c.id).where(tokens.c.principal == principal))
    tx.touch("tokens", *found.scalars())
    tx.conn.execute(delete(tokens).where(tokens.c.principal == principal))
    tx.conn.execute(delete(principals).where(principals.c.id == principal))


def trim(tx: Transaction, before: dt.datetime) -> int:
    """Delete tokens that expired or were revoked before `before`; how many."""
    return tx.conn.execute(
        delete(tokens).where((tokens.c.expires_at < before) | (tokens.c.revoked_at < before))
    ).rowcount
