"""Finds the database for a verb of `roadstead admin`, and reports its errors."""

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import click

from roadstead.context import default_data_dir
from roadstead.errors import RoadsteadError


class StoreRefused(RoadsteadError):
    """The database cannot be used, or not this way; the message has the reason."""

    exit_code = 3


def database_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --database."""
    return click.option(
        "--database",
        metavar="URL",
        callback=_chosen,
        help="postgresql://… or sqlite:///PATH [ROADSTEAD_DATABASE; else hub.db of `roadstead up`].",
    )(function)


@contextlib.contextmanager
def telling() -> Iterator[None]:
    """Report a database error in one line, with exit code 3."""
    from hub.admin.opening import FAILURES

    try:
        yield
    except FAILURES as failure:
        raise StoreRefused(" ".join(str(failure).split())) from failure


def _chosen(_ctx: click.Context, _option: click.Parameter, given: str | None) -> str:
    if found := given or os.environ.get("ROADSTEAD_DATABASE"):
        return found
    own = default_data_dir() / "hub" / "hub.db"
    if own.exists():
        from hub.admin.opening import address_of_file

        return address_of_file(own)
    raise click.UsageError("name the database: --database URL, or ROADSTEAD_DATABASE.")
