"""Small files: what does not fit on a few screens is two things."""

from tests.house import sources

LONGEST = 400
# path: why this one may be longer
EXCEPTIONS: dict[str, str] = {}


def test_no_file_is_longer_than_the_budget() -> None:
    """A Python file has at most 400 lines, tests included, unless an exception gives its reason."""
    lengths = {
        str(path): len(sources.text_of(path).splitlines()) for path in sources.python_files()
    }
    over = {p: n for p, n in lengths.items() if n > LONGEST and p not in EXCEPTIONS}
    assert not over


def test_exceptions_are_still_needed() -> None:
    """An exception from the size budget names a file that exists and still exceeds it."""
    lengths = {
        str(path): len(sources.text_of(path).splitlines()) for path in sources.python_files()
    }
    assert [path for path in EXCEPTIONS if lengths.get(path, 0) <= LONGEST] == []
