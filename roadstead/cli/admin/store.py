"""Which database a verb of `roadstead admin` works on, and how what goes wrong there is told."""

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import click

from roadstead.context import default_data_dir
from roadstead.errors import RoadsteadError


class StoreRefused(RoadsteadError):
    """The database can not be used, or not in this way; the message says how it is."""

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
    """Tell of a database that refuses in one line, with exit code 3."""
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
    raise click.UsageError("say which database: --database URL, or ROADSTEAD_DATABASE.")
