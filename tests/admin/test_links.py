"""Links in the data folder and beside backups: nothing is written, emptied or closed through them."""

import os
import stat
from pathlib import Path

import pytest

from hub import folder
from hub.admin import backup
from hub.services.context import identity
from hub.store.errors import UnusableDatabase
from tests.databases import url_of
from tests.store.build import START, opened

pytestmark = pytest.mark.anyio


def mode_of(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


def test_a_link_in_the_data_folder_is_not_followed(tmp_path: Path) -> None:
    """A lock that is a link is refused, and no file outside of the folder is closed or emptied."""
    theirs, data = tmp_path / "theirs", tmp_path / "data"
    theirs.write_text("kept")
    theirs.chmod(0o644)
    data.mkdir()
    for name in (folder.LOCK, "hub.db-shm"):
        (data / name).symlink_to(theirs)
    mask = os.umask(0o022)
    try:
        folder.prepare(data)
    finally:
        os.umask(mask)
    with (
        pytest.raises(folder.Misconfigured, match=r"hub\.lock: it is a link"),
        folder.locked(data),
    ):
        pass
    assert (theirs.read_text(), stat.S_IMODE(theirs.stat().st_mode)) == ("kept", 0o644)


async def test_a_link_in_the_place_of_a_backup_is_not_written_through(tmp_path: Path) -> None:
    """Neither under the name of the file nor under that of the part: what it points to stays as it is."""
    async with opened(tmp_path) as db:
        await db.write(identity.load)
    url = url_of(tmp_path)
    theirs = tmp_path / "theirs"
    theirs.write_text("kept")
    (tmp_path / ".one.part").symlink_to(theirs)
    with pytest.raises(UnusableDatabase):
        backup.take(url, tmp_path / "one", START)
    (tmp_path / "two").symlink_to(tmp_path / "nowhere")
    made = backup.take(url, tmp_path / "two", START)
    assert theirs.read_text() == "kept"
    assert not (tmp_path / "nowhere").exists()
    assert mode_of(Path(made.file)) == 0o600
