"""Work that hubs of earlier releases do not understand: they would place a JobSet as a Job, or as nothing.

It is taken while none of them runs on the database, and once it is there, none of them starts on it.
"""

from hub.store import compatibility
from hub.store.backends.postgres import HUB_NAME
from hub.store.schema import HEAD
from hub.store.transaction import Transaction


def older_hubs(tx: Transaction) -> list[str]:
    """Revisions of other hubs on this database that are not of this release; "" of one that does not say."""
    if tx.conn.dialect.name != "postgresql":
        return []  # a hub holds its folder for itself
    asked = (
        "SELECT DISTINCT application_name FROM pg_stat_activity "
        "WHERE datname = current_database() AND application_name LIKE %s"
    )
    names = tx.conn.exec_driver_sql(asked, (f"{HUB_NAME}%",)).scalars()
    return sorted({name.removeprefix(HUB_NAME).strip() for name in names} - {HEAD})


def keep_older_out(tx: Transaction) -> None:
    """From this transaction on no hub of an earlier release starts on the database."""
    compatibility.tell(tx.conn, HEAD, ())
