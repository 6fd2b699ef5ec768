"""Statements that go to the driver as they are, without what SQLAlchemy spends on each execution.

Text and parameters were made before (`hub.store.lookup`, `hub.store.bulk`). On SQLite a cursor of the driver
takes 3 µs where `exec_driver_sql` takes 20 to 30; its errors become the ones that SQLAlchemy raises. On
PostgreSQL, where the server's answer takes longer and a connection may break, SQLAlchemy does it.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

Row = tuple[Any, ...]


def ask(conn: Connection, sql: str, parameters: Row = ()) -> list[Row]:
    """The rows that a query finds, as the driver gives them. Raises DBAPIError."""
    if not _is_plain(conn):
        result = conn.exec_driver_sql(sql, parameters)
        found = list(result.cursor.fetchall())
        result.close()
        return found
    cursor = conn.connection.cursor()
    try:
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())
    except sqlite3.Error as fault:
        raise _told(conn, sql, fault) from fault
    finally:
        cursor.close()


def batches(conn: Connection, sql: str, parameters: Row, size: int) -> Iterator[Sequence[Row]]:
    """The same, `size` rows at a time: of a million, no more are held at once. Raises DBAPIError."""
    if not _is_plain(conn):
        result = conn.exec_driver_sql(sql, parameters, {"stream_results": True})
        try:
            while rows := result.fetchmany(size):  # of the result: it has read one row already
                yield [tuple(row) for row in rows]
        finally:
            result.close()
        return
    cursor = conn.connection.cursor()
    try:
        cursor.execute(sql, parameters)
        while rows := cursor.fetchmany(size):
            yield rows
    except sqlite3.Error as fault:
        raise _told(conn, sql, fault) from fault
    finally:
        cursor.close()


def run(conn: Connection, sql: str) -> None:
    """Execute what finds nothing, as SAVEPOINT. Raises DBAPIError."""
    ask(conn, sql) if _is_plain(conn) else conn.exec_driver_sql(sql)


def begin(conn: Connection, sql: str) -> None:
    """Begin a transaction of SQLite, as its engine is configured. Raises DBAPIError."""
    cursor = conn.connection.cursor()
    try:
        cursor.execute(sql)
    except sqlite3.Error as fault:
        raise _told(conn, sql, fault) from fault
    finally:
        cursor.close()


def run_many(conn: Connection, sql: str, rows: Sequence[Row]) -> int:
    """Execute for every row; the number of rows that were affected. Raises DBAPIError."""
    if not _is_plain(conn):
        return conn.exec_driver_sql(sql, list(rows)).rowcount
    cursor = conn.connection.cursor()
    try:
        cursor.executemany(sql, rows)
        return int(cursor.rowcount)
    except sqlite3.Error as fault:
        raise _told(conn, sql, fault) from fault
    finally:
        cursor.close()


def _is_plain(conn: Connection) -> bool:
    """True on SQLite, within a transaction."""
    return conn.dialect.name == "sqlite" and conn.in_transaction()


def _told(conn: Connection, sql: str, fault: sqlite3.Error) -> BaseException:
    """The error of SQLAlchemy's that says so; it shows no parameters: manifests hold what no log may say."""
    return DBAPIError.instance(
        sql, None, fault, sqlite3.Error, hide_parameters=True, dialect=conn.dialect
    )
