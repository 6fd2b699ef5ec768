"""Other hub processes of the same store, and their addresses, which each publishes periodically."""

import datetime as dt
from typing import Final

from hub.store import leases
from hub.store.transaction import Transaction

EVERY_S: Final = 10.0
TTL: Final = dt.timedelta(seconds=35)
_PREFIX: Final = "hub:"


def tell(tx: Transaction, name: str, url: str) -> None:
    """A process is there, and is reached at `url`; those that have not said so for long are forgotten."""
    leases.keep(tx, f"{_PREFIX}{name}", url, TTL)
    leases.forget(tx, _PREFIX)


def go(tx: Transaction, name: str) -> None:
    """A process ends."""
    leases.drop(tx, f"{_PREFIX}{name}")


def others(tx: Transaction, name: str) -> list[tuple[str, str]]:
    """All but `name`: the name of each, and where it is reached."""
    held = leases.held(tx, _PREFIX)
    return [(each.removeprefix(_PREFIX), url) for each, url in held if each != f"{_PREFIX}{name}"]
