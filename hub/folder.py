"""The data folder: readable only for the hub's user, and never initialized beside another hub's leftovers.

A folder that somebody else made wider is closed where it is ours to close; what can not be closed (a
volume that belongs to root) is left as it is: its files are private in any case.
"""

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

DATABASE: Final = "hub.db"
LOCK: Final = "hub.lock"
_FILES: Final = (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", LOCK, "admin.token")
_FOLDER_MODE, _FILE_MODE, _OTHERS = 0o700, 0o600, 0o077


class Misconfigured(Exception):
    """The process can not start as it was asked to."""


def prepare(folder: Path) -> None:
    """Make it, or close it to others; whatever this process makes from now on is private."""
    os.umask(_OTHERS)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)
    except OSError as error:
        raise Misconfigured(f"--data {folder}: {error.strerror}") from error
    if not folder.stat().st_mode & stat.S_ISVTX:  # never close a folder that is everybody's
        _close(folder, _FOLDER_MODE)
    for name in _FILES:
        if not (folder / name).is_symlink():  # what a link points to is not of this folder
            _close(folder / name, _FILE_MODE)


def refuse_lost(folder: Path, token_file: Path) -> None:
    """Raises Misconfigured where a hub has been, and its database is gone or empty.

    A token file that was given to this hub, rather than written by it, says nothing of that.
    """
    database, log = folder / DATABASE, folder / f"{DATABASE}-wal"
    left = 0 if _is_given(token_file) else _size(token_file)
    if _size(database) == 0 and (left or _size(log)):
        what = "is empty" if database.exists() else "is gone"
        beside = token_file if left else log
        raise Misconfigured(
            f"{database} {what}, and {beside} says that a hub has been here: name its database if that "
            f"is a server's (--database), restore a backup, or remove {beside} to begin a new hub"
        )


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the folder for this process alone. Raises Misconfigured."""
    path = folder / LOCK
    try:  # through no link: it would be made, or locked, where that points to
        made = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, _FILE_MODE)
    except OSError as error:
        why = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise Misconfigured(f"{path}: {why}") from error
    with os.fdopen(made, "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Misconfigured(f"another hub is running on {folder}") from None
        yield


def _is_given(path: Path) -> bool:
    """Whether a deployment has put the file there: a mounted Secret is a link, or can not be written."""
    return path.is_symlink() or not os.access(path, os.W_OK)


def _close(path: Path, mode: int) -> None:
    with contextlib.suppress(FileNotFoundError, PermissionError):
        if stat.S_IMODE(path.stat().st_mode) & _OTHERS:
            path.chmod(mode)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
