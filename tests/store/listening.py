"""Hears every statement of a connection, whichever way it takes to the driver."""

import sqlite3
from collections.abc import Callable

from sqlalchemy import Connection, event


def listen(conn: Connection, heard: Callable[[str], None]) -> None:
    """Have `heard` called with the text of each statement from now on."""
    driver = conn.connection.driver_connection
    if isinstance(driver, sqlite3.Connection):
        driver.set_trace_callback(heard)
    else:
        event.listen(conn, "before_cursor_execute", lambda *told: heard(told[2]))
