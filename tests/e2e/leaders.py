"""Who leads among the hubs of a fleet, by the database that they share."""

import psycopg

from tests import databases
from tests.e2e.running import until

# How soon another leads is bench/failover's to show; here it is whether one leads at all.
LEADS_WITHIN_S = 60


def leading(server: databases.Server, after: int = 0) -> tuple[int, int]:
    """The process that leads under a later term than `after`, and its term, once there is one.

    The database is the server's `hub`.
    """

    def found() -> tuple[int, int] | None:
        asked = "SELECT holder, term FROM leases WHERE name = 'leader' AND expires_at > now() AND term > %s"
        with psycopg.connect(server.address("hub")) as conn:
            row = conn.execute(asked, (after,)).fetchone()
        return None if row is None else (int(row[0].rpartition("/")[2]), int(row[1]))

    try:
        held = until(found, LEADS_WITHIN_S, "somebody leads", patience=1)
    except AssertionError as late:
        raise AssertionError(f"{late}\n{_sessions(server)}") from late
    assert held is not None
    return held


def _sessions(server: databases.Server) -> str:
    """Who asks what of the database and who waits for whom, for a test that fails."""
    asked = (
        "SELECT pid, pg_blocking_pids(pid), application_name, state, wait_event_type, wait_event, "
        "clock_timestamp() - state_change, left(query, 200) FROM pg_stat_activity "
        "WHERE datname = current_database() UNION ALL "
        "SELECT term, NULL, holder, 'lease', NULL, NULL, expires_at - clock_timestamp(), name FROM leases"
    )
    with psycopg.connect(server.address("hub")) as conn:
        return "\n".join(str(row) for row in conn.execute(asked))
