"""Texts of members, as rows and events keep them."""

from typing import Final

MESSAGE_CHARS: Final = 1024
REASON_CHARS: Final = 64


def plain(text: str, limit: int = MESSAGE_CHARS) -> str:
    """Text of a member without control characters, at most `limit` long."""
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " for c in text)
