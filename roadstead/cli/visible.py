"""Text of others on a terminal: what would steer it is shown, and does nothing."""

_TAB = 9
_DELETE = 127


def visible(text: str) -> str:
    """`text` with every control and formatting character written out: `^[` for ESC, else its number."""
    return text if text.isprintable() else "".join(_shown(each) for each in text)


def _shown(character: str) -> str:
    code = ord(character)
    if character.isprintable() or code == _TAB:
        return character
    if code < 32 or code == _DELETE:
        return f"^{chr(code ^ 64)}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
