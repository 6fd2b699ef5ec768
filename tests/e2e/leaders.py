"""Who leads among the hubs of a fleet, by the database that they share."""

import psycopg

from tests import databases
from tests.e2e.running import until

LEADS_WITHIN_S = 15


def leading(server: databases.Server, after: int = 0) -> tuple[int, int]:
    """The process that leads under a later term than `after`, and its term, once there is one.

    The database is the server's `hub`.
    """

    def found() -> tuple[int, int] | None:
        asked = "SELECT holder, term FROM leases WHERE expires_at > now() AND term > %s"
        with psycopg.connect(server.address("hub")) as conn:
            row = conn.execute(asked, (after,)).fetchone()
        return None if row is None else (int(row[0].rpartition("/")[2]), int(row[1]))

    held = until(found, LEADS_WITHIN_S, "somebody leads")
    assert held is not None
    return held
