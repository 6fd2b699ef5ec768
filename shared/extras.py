"""Names the packages to install if a part of Roadstead is started without them."""

import sys
from typing import NoReturn

OURS = frozenset({"agent", "hub", "roadstead", "shared"})
EXIT_NOT_INSTALLED = 2  # of every process that is started without its packages


def what_to_install(missing: ModuleNotFoundError, program: str, extra: str) -> str:
    """One sentence that names the extra of pyproject.toml. Raises `missing` where it is a module of ours."""
    package = (missing.name or "").partition(".")[0]
    if package in OURS or not package:
        raise missing
    return (
        f"{program} needs packages that are not installed, {package} for one: "
        f"pip install 'roadstead[{extra}]', or pip install '.[{extra}]' in a checkout."
    )


def leave_without(missing: ModuleNotFoundError, program: str, extra: str) -> NoReturn:
    """End a process that can not be started: one line on standard error, and its exit code."""
    sys.stderr.write(f"error: {what_to_install(missing, program, extra)}\n")
    sys.exit(EXIT_NOT_INSTALLED)
