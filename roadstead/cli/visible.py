"""Text of others on a terminal: what would steer it is shown, and does nothing."""

import functools
import json
import re
from collections.abc import Callable
from typing import Any, Final

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


def visible_yaml(value: Any, *, sort_keys: bool = False) -> str:
    """YAML that says the same, with nothing in it that would steer a terminal: escaped as YAML escapes."""
    text = _to_yaml()(value, sort_keys)
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    # Only texts that have them hold such characters, and those are in double quotes, where escapes count.
    return "".join(
        each if each.isprintable() or each in "\n\t" else _escaped(each) for each in text
    )


@functools.cache
def _to_yaml() -> Callable[[Any, bool], str]:
    """Writes YAML in which texts with control and formatting characters are in double quotes."""
    import yaml  # tens of milliseconds, which other commands do without

    class Dumper(yaml.SafeDumper):
        """As PyYAML's own, but for such texts."""

    def represented(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        plain = text.replace("\n", "").replace("\t", "").isprintable()
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else '"')

    Dumper.add_representer(str, represented)

    def written(value: Any, sort_keys: bool) -> str:
        return str(yaml.dump(value, Dumper=Dumper, sort_keys=sort_keys, allow_unicode=True))

    return written


def _escaped(character: str) -> str:
    """As it is written in double quotes of YAML."""
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _shown(character: str) -> str:
    code = ord(character)
    if character.isprintable() or code == _TAB:
        return character
    if code < 32 or code == _DELETE:
        return f"^{chr(code ^ 64)}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
