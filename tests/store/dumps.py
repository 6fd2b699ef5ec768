"""Databases as hubs of earlier days left them: `databases/*.sql` of SQLite, `*.pg` of PostgreSQL.

Each was made by the code of the commit that its revision landed with: a real hub with a declared cluster
`north` and a Job `team-a/old` that waits.
"""

import sqlite3
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from tests.databases import POSTGRES, SQLITE

FOLDER: Final = Path(__file__).parent / "databases"
_KINDS: Final = {".sql": SQLITE, ".pg": POSTGRES}
# Each for the tests of its kind of database.
DUMPS: Final[list[Any]] = [
    pytest.param(path.name, id=path.name, marks=pytest.mark.store(_KINDS[path.suffix]))
    for path in sorted(FOLDER.iterdir())
]


def loaded(name: str, url: str) -> None:
    """Make the database at `url`, which is empty, what the dump says."""
    text = (FOLDER / name).read_text()
    if url.startswith("sqlite:"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
        connection.executescript(text)
        connection.close()
        return
    with psycopg.connect(url, autocommit=True) as conn:
        conn.execute(text.encode())


def revision_of(name: str) -> str:
    """At which revision the database of a dump is."""
    lines = (FOLDER / name).read_text().splitlines()
    (line,) = (each for each in lines if each.startswith("INSERT") and "alembic_version" in each)
    return line.split("'")[1]
