"""Hubs that stop in the middle of a write, as PostgreSQL's other hubs see them.

A server ends by itself a session that asks nothing within a transaction
(idle_in_transaction_session_timeout), but not one whose client has stopped within a statement: with a
result that it does not take, or with part of a batch that it has sent. Such a session counts as active
and, whatever statement_timeout says, lasts until its client goes on or its connection ends. While it holds
the lock, no hub writes and none can lead.
"""

from typing import Final

from sqlalchemy import Connection

# "Client": the server waits for its client, to give or to take.
_END: Final = """
SELECT pid, pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND granted AND classid = %s AND objid = hashtext(current_schema())::oid
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND usename = current_user AND application_name LIKE %s
  AND state = 'active' AND wait_event_type = 'Client'
  AND state_change < clock_timestamp() - make_interval(secs => %s)
"""


def end(conn: Connection, lock: int, after_s: int, name: str) -> list[int]:
    """End the session that holds `lock` and whose client has not moved for `after_s` seconds.

    Returns its server process, if there was one. `lock`: the advisory lock's class; `name`: how the names
    of those begin that may be ended. An administrator's command does not count.
    """
    found = conn.exec_driver_sql(_END, (lock, f"{name}%", after_s))
    return [int(row[0]) for row in found if row[1]]
