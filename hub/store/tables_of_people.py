"""Tables of people and agents: who may do what, who did what, and what a repeated request was answered."""

from sqlalchemy import Column, String, Table, UniqueConstraint

from hub.store.columns import JsonColumn, SealedColumn, Utc
from hub.store.metadata import NUMBER, metadata

# Who may do what, and the hashes of their credentials.
principals = Table(
    "principals",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("role", String(16), nullable=False),  # administrator | viewer | user | agent
    Column("name", String(253), nullable=False),
    Column("cluster", String(63), nullable=False, default=""),  # agents: their cluster, exactly
    Column("created_at", Utc, nullable=False),
    Column("groups", JsonColumn),  # people: those they were in when they last said who they are
    UniqueConstraint("role", "name"),
)
# Who has which role where: hub.domain.access.
role_bindings = Table(
    "role_bindings",
    metadata,
    Column("name", String(253), primary_key=True),
    Column("role", String(32), nullable=False),
    Column("users", JsonColumn, nullable=False),
    Column("groups", JsonColumn, nullable=False),
    Column("namespaces", JsonColumn),  # null: all of them
    Column("queues", JsonColumn),  # LocalQueues by name; null: all of them
    Column("created_by", String(253), nullable=False),
    Column("created_at", Utc, nullable=False),
)
tokens = Table(
    "tokens",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("principal", String(36), nullable=False, index=True),
    Column("purpose", String(16), nullable=False),  # bearer | join | session
    Column("secret_hash", String(64), nullable=False),  # SHA-256 of a 256-bit random secret
    Column("created_at", Utc, nullable=False),
    Column("expires_at", Utc),
    Column("used_at", Utc),  # join tokens: once; agents' bearers: first; sessions: last
    Column("revoked_at", Utc),
    Column("replaces", String(36)),  # the bearer of an agent that this one was given in place of
    Column("superseded_at", Utc),  # … and when it was, by the first use of such a one
)
audit = Table(
    "audit",
    metadata,
    Column("id", NUMBER, primary_key=True, autoincrement=True),
    Column("at", Utc, nullable=False, index=True),
    Column("principal", String(253), nullable=False),
    Column("verb", String(32), nullable=False),
    Column("object", String(600), nullable=False),
    Column("outcome", String(64), nullable=False),
    # what `object` begins with, where it is of that form
    Column("kind", String(63), nullable=False, default="", server_default=""),
    Column("namespace", String(63), nullable=False, default="", server_default=""),
    Column("name", String(253), nullable=False, default="", server_default=""),
)
idempotency = Table(
    "idempotency",
    metadata,
    Column("principal", String(36), primary_key=True),
    Column("key", String(255), primary_key=True),
    Column("request_hash", String(64), nullable=False),
    Column("status", NUMBER, nullable=False),
    Column("response", SealedColumn("idempotency.response"), nullable=False),
    Column("created_at", Utc, nullable=False, index=True),
)
