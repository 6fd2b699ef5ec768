"""A hub on a folder that is not as it should be: one line and an exit code, nothing made, nothing lost."""

import os
import signal
import sqlite3
import stat
from pathlib import Path

import pytest

from tests.api.process import ended, running

pytestmark = pytest.mark.slow
MISCONFIGURED, STORE = 2, 3


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """The files of a hub that has run and ended."""
    folder = tmp_path_factory.mktemp("used")
    with running(folder) as (process, _):
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def laid_out(folder: Path, files: dict[str, bytes]) -> dict[str, bytes]:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return files


def damaged(content: bytes) -> bytes:
    """Every page but the first overwritten."""
    return content[:4096] + b"\x07" * (len(content) - 4096)


def refused(folder: Path, code: int, *words: str) -> None:
    """It ends with `code` and one line that holds `words`."""
    found, (line,) = ended(folder)
    assert found == code
    assert all(word in line for word in ("hub: ", *words)), line


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (lambda _: b"this is no database" * 500, "not a database"),
        (damaged, "malformed"),
        (lambda content: content[:-8192], "damaged"),
    ],
)
def test_a_file_that_is_damaged_or_no_database(tmp_path, used, spoil, word):
    """Said in one line; the file is left as it is."""
    spoilt = spoil(used["hub.db"])
    laid_out(tmp_path, {"admin.token": used["admin.token"], "hub.db": spoilt})
    refused(tmp_path, STORE, "hub.db", word, "backup")
    assert (tmp_path / "hub.db").read_bytes() == spoilt


@pytest.mark.parametrize("content", [b"", None])
def test_a_lost_database_is_not_begun_anew(tmp_path, used, content):
    """Empty or gone beside an administrator's token: a hub has been here, and the next one says so."""
    files = {"admin.token": used["admin.token"]}
    laid_out(tmp_path, files if content is None else {**files, "hub.db": content})
    refused(tmp_path, MISCONFIGURED, "hub.db", "admin.token", "backup")
    assert (tmp_path / "admin.token").read_bytes() == used["admin.token"]


def test_a_log_alone_says_that_a_hub_has_been_here(tmp_path):
    """What was committed may stand in the log: it is not begun anew beside it, whoever has the token."""
    laid_out(tmp_path, {"hub.db-wal": b"what was committed"})
    refused(tmp_path, MISCONFIGURED, "hub.db", "hub.db-wal", "backup")
    assert (tmp_path / "hub.db-wal").read_bytes() == b"what was committed"


def test_a_database_of_something_else(tmp_path):
    """Its tables are not touched."""
    connection = sqlite3.connect(tmp_path / "hub.db")
    connection.execute("CREATE TABLE mine (a INTEGER)")
    connection.commit()
    connection.close()
    refused(tmp_path, STORE, "not the hub's")


def test_the_folder_and_all_in_it_are_the_users_alone(tmp_path):
    """However it was made, and whatever the umask: folder 0700, files 0600."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o755)
    connection = sqlite3.connect(folder / "hub.db")
    connection.close()
    before = os.umask(0)
    try:
        with running(folder):
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert modes == dict.fromkeys(modes, 0o600)
    assert {"hub.db", "hub.db-wal", "hub.lock", "admin.token"} <= modes.keys()
