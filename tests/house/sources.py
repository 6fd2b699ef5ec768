"""What the house rules look at: the Python sources, and every file that git keeps or would keep."""

import ast
import functools
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
PACKAGES = ("agent", "bench", "hub", "roadstead", "shared", "tests")


def python_files() -> list[Path]:
    """All Python sources of the project, sorted, relative to the repository."""
    return sorted(
        path.relative_to(REPOSITORY)
        for package in PACKAGES
        for path in (REPOSITORY / package).rglob("*.py")
    )


@functools.cache
def text_of(path: Path) -> str:
    """The text of a file named relative to the repository."""
    return (REPOSITORY / path).read_text()


def tree_of(path: Path) -> ast.Module:
    """The syntax tree of one source file. `tests.house.outlines` reads all files."""
    return ast.parse(text_of(path), filename=str(path))


def kept_files() -> list[Path]:
    """Files that are tracked, or would be by `git add`; without git, all that looks like ours."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return [p for p in python_files() if p.is_file()]
    names = sorted(filter(None, listed.decode().split("\0")))
    return [Path(name) for name in names if (REPOSITORY / name).is_file()]
