"""The table of kinds of work that administrators define."""

from sqlalchemy import Boolean, Column, String, Table

from hub.store.columns import JsonColumn, Utc
from hub.store.metadata import NUMBER, metadata

# Definitions of kinds that administrators wrote: immutable versions, told to agents while jobs use them.
kind_versions = Table(
    "kind_versions",
    metadata,
    Column("name", String(253), primary_key=True),  # of the Karta
    Column("version", NUMBER, primary_key=True, autoincrement=False),
    Column("api_version", String(253), nullable=False),  # of the kind that it defines
    Column("kind", String(63), nullable=False),
    Column("karta", JsonColumn, nullable=False),
    Column("extension", JsonColumn),
    Column("hash", String(64), nullable=False),  # of both documents
    Column("current", Boolean, nullable=False),  # new objects are read by it
    Column("created_at", Utc, nullable=False),
)
