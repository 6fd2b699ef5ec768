"""Outlines say what the source files say."""

import os
from pathlib import Path

from tests.house import outlines, sources

_SOURCE = '''"""What it is for."""

import a.b
from c import d


class Shown:
    """A class."""

    async def test_inside(self):
        """Its rule."""
        from e import f
'''


def test_an_outline_names_what_stands_anywhere_in_the_file() -> None:
    """Imports inside of functions and tests inside of classes too."""
    read = outlines.read(_SOURCE)
    assert read.docstring == "What it is for."
    assert read.names() == {"a.b", "c", "c.d", "e", "e.f"}
    assert read.classes == (outlines.Named("Shown", 7, "A class."),)
    assert read.tests == (outlines.Named("test_inside", 10, "Its rule."),)


def test_a_file_that_was_changed_is_read_again(monkeypatch, tmp_path: Path) -> None:
    """An entry is good as long as size and time of change of its file stay."""
    monkeypatch.setattr(sources, "REPOSITORY", tmp_path)
    path = Path("one.py")
    (tmp_path / path).write_text("import a")
    kept = outlines.refreshed({}, [path])
    assert outlines.refreshed(kept, [path])["one.py"] is kept["one.py"]
    (tmp_path / path).write_text("import b")
    os.utime(tmp_path / path, ns=(1, 1))
    assert outlines.refreshed(kept, [path])["one.py"][1].names() == {"b"}


def test_a_file_that_is_gone_has_no_entry() -> None:
    """The file of outlines does not grow with each rename."""
    assert outlines.refreshed({"gone.py": [[1, 1], []]}, []) == {}


def test_kept_outlines_are_those_of_the_files() -> None:
    """An outline from the cache file equals one read from the source."""
    path = Path(__file__).relative_to(sources.REPOSITORY)
    assert outlines.outline_of(path) == outlines.read(sources.text_of(path))
