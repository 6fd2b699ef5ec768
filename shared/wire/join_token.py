"""Join tokens in text form: `ID.SECRET`, and pins of the hub's CA if it has a private one.

A pin is the SHA-256 of a CA certificate's SubjectPublicKeyInfo in URL-safe base64 (`shared.certificates`).
"""

import re
from collections.abc import Iterable
from typing import Final

MOST_PINS: Final = 4  # in one token: an old CA and a new one, each with an heir
_PIN: Final = re.compile("[A-Za-z0-9_-]{43}")


def add_pins(bearer: str, pins: Iterable[str]) -> str:
    """The token to be carried: `ID.SECRET.PIN[.PIN…]`."""
    return ".".join((bearer, *list(pins)[:MOST_PINS]))


def split_pins(text: str) -> tuple[str, tuple[str, ...]]:
    """The agent's proof for the hub, and the pins that identify the hub. Raises ValueError for odd pins."""
    parts = text.split(".")
    pins = tuple(parts[2:])
    if len(pins) > MOST_PINS or not all(is_pin(each) for each in pins):
        raise ValueError(
            "the join token is damaged: expected ID.SECRET[.PIN…], as the hub gave it"
        )
    return ".".join(parts[:2]), pins


def is_pin(text: str) -> bool:
    """True if this can be a pin."""
    return _PIN.fullmatch(text) is not None
