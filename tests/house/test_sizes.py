"""Small files: what does not fit on a few screens is two things."""

from tests.house import sources

LONGEST = 400


def test_no_file_is_longer_than_the_budget() -> None:
    """A Python file has at most 400 lines, tests included; there are no exceptions."""
    lengths = {
        str(path): len(sources.text_of(path).splitlines()) for path in sources.python_files()
    }
    assert {path: count for path, count in lengths.items() if count > LONGEST} == {}
