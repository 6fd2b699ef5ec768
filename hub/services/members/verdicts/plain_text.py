"""Texts of members, as rows and events keep them."""

from typing import Final

from shared.documents import Json
from shared.wire.agent_v1 import Drift

MESSAGE_CHARS: Final = 1024
REASON_CHARS: Final = 64


def plain(text: str, limit: int = MESSAGE_CHARS) -> str:
    """Text of a member without control characters, at most `limit` long."""
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " for c in text)


PATH_CHARS, VALUE_CHARS, INSTANT_CHARS = 1024, 1024, 40


def bounded_drift(told: Drift) -> Json:
    """One field that differs, no longer than a hub keeps; agents cut values off themselves."""
    given = told.model_dump()
    for name, limit in (("path", PATH_CHARS), ("hub", VALUE_CHARS), ("member", VALUE_CHARS)):
        if given[name] is not None and len(given[name]) > limit:
            given[name] = f"{given[name][: limit - 1]}…"
    given["first_seen"] = told.first_seen[:INSTANT_CHARS]
    return given
