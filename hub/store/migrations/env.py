"""Alembic's entry: runs revisions over the connection that `hub.store.schema` hands in."""

from alembic import context

from hub.store.tables import metadata
from shared.failpoints import failpoint

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    compare_type=True,
    render_as_batch=True,  # SQLite changes a table by making it anew
    transaction_per_migration=False,
    on_version_apply=lambda **_: failpoint("H20"),
)
with context.begin_transaction():
    context.run_migrations()
