"""The project speaks only of itself: no addresses of package indexes, no paths of one machine."""

from pathlib import Path

import pytest

from tests.house import sources

# Written in halves, so that this file passes its own rule.
INDEX_HOSTS = tuple(
    name + end
    for name, end in (
        ("pypi", ".org"),
        ("pythonhosted", ".org"),
        ("proxy.golang", ".org"),
        ("sum.golang", ".org"),
        ("registry.npmjs", ".org"),
        ("crates", ".io/"),
        ("repo.maven", ".apache"),
        ("deb.debian", ".org"),
    )
)
MACHINE_PATHS = tuple("/" + path for path in ("work/main", "work/shared", "root/", "tmp/brief"))
BINARY = {".png", ".ico", ".woff2", ".gif"}


def _lines_with(words: tuple[str, ...]) -> list[str]:
    return [
        f"{path}:{number}: {line.strip()[:100]}"
        for path in sources.kept_files()
        if path.suffix not in BINARY and path.name != "go.sum"
        for number, line in enumerate(_text(path).splitlines(), start=1)
        if any(word in line for word in words)
    ]


def _text(path: Path) -> str:
    return (sources.REPOSITORY / path).read_text(errors="replace")


@pytest.mark.parametrize(
    "words", [INDEX_HOSTS, MACHINE_PATHS], ids=["index-hosts", "machine-paths"]
)
def test_no_file_names_a_foreign_place(words: tuple[str, ...]) -> None:
    """No kept file names the host of a package index or a path of somebody's machine."""
    assert _lines_with(words) == []


def test_no_secret_is_kept() -> None:
    """No kept file holds a private key in PEM form."""
    headers = tuple(f"BEGIN {kind}PRIVATE" + " KEY-----" for kind in ("", "EC ", "RSA "))
    assert _lines_with(headers) == []
