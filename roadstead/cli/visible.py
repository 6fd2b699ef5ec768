"""Text of others on a terminal: what would steer it is shown, and does nothing."""

import json
import re
from typing import Final

_TAB = 9
_DELETE = 127
_OF_PAGES: Final = re.compile(r"(\x1b\[[0-9;]*m|\n)")  # colours and ends of lines, which we write


def visible(text: str) -> str:
    """`text` with every control and formatting character written out: `^[` for ESC, else its number."""
    return text if text.isprintable() else "".join(_shown(each) for each in text)


def visible_page(text: str) -> str:
    """Lines with colours, such as we draw; every other control is written out."""
    parts = _OF_PAGES.split(text)
    return "".join(each if place % 2 else visible(each) for place, each in enumerate(parts))


def visible_json(text: str) -> str:
    """JSON that says the same, with nothing in it that would steer a terminal."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(
        each if each.isprintable() or each == "\n" else json.dumps(each)[1:-1] for each in text
    )


def _shown(character: str) -> str:
    code = ord(character)
    if character.isprintable() or code == _TAB:
        return character
    if code < 32 or code == _DELETE:
        return f"^{chr(code ^ 64)}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
