"""Every planted defect can still be planted: what it replaces stands in the source that it names."""

import re

import pytest

from tests.house.sources import REPOSITORY

PATCHES = sorted((REPOSITORY / "tests" / "planted").glob("*.patch"))
_FILE = re.compile(r"^\+\+\+ b/(.+)$", re.MULTILINE)
_HUNK = re.compile(r"^@@ .*\n((?:[-+ ].*\n?|\n)+)", re.MULTILINE)


@pytest.mark.parametrize("patch", PATCHES, ids=lambda path: path.stem)
def test_what_it_replaces_is_there(patch):
    """A change of those lines takes the defect along, or it proves nothing any more."""
    parts = re.split(r"^(?=diff --git )", patch.read_text(), flags=re.MULTILINE)[1:]
    assert parts
    for part in parts:
        source = (REPOSITORY / _FILE.search(part)[1]).read_text()
        for hunk in _HUNK.findall(part):
            kept = [line[1:] for line in hunk.splitlines() if not line.startswith("+")]
            assert "\n".join(kept) in source, hunk
