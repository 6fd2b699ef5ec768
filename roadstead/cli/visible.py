"""Escapes control sequences in foreign text for a terminal."""

import functools
import json
import re
import sys
from collections.abc import Callable
from typing import Any, Final

import click

_TAB = 9
_DELETE = 127
# Colours and ends of lines, which we write; no other style, for one of them hides text.
_OF_PAGES: Final = re.compile(r"(\x1b\[(?:[0-4]|3[0-7]|9[0-7])?m|\n)")


def visible(text: str) -> str:
    """`text` with every control and formatting character escaped: `^[` for ESC, else its number."""
    return text if text.isprintable() else "".join(_shown(each) for each in text)


def visible_page(text: str) -> str:
    """Lines with our own colours; every other control character is escaped."""
    parts = _OF_PAGES.split(text)
    return "".join(each if place % 2 else visible(each) for place, each in enumerate(parts))


def say(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print text, also while progress is shown; what would affect a terminal is escaped, but our colours."""
    click.echo(visible_page(str(text)), file=sys.stderr if err else sys.stdout, nl=nl)


def visible_json(text: str) -> str:
    """Equivalent JSON without control characters that would affect a terminal."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(
        each if each.isprintable() or each == "\n" else json.dumps(each)[1:-1] for each in text
    )


def visible_yaml(value: Any, *, sort_keys: bool = False) -> str:
    """Equivalent YAML without control characters that would affect a terminal, in YAML escapes."""
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

    from shared.yaml_quoting import quoting

    class Dumper(quoting(yaml.SafeDumper)):  # type: ignore[misc]  # a class made at run time
        """As PyYAML's own, except for such texts."""

    def represented(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        plain = text.replace("\n", "").replace("\t", "").isprintable()
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else '"')

    Dumper.add_representer(str, represented)

    def written(value: Any, sort_keys: bool) -> str:
        return str(yaml.dump(value, Dumper=Dumper, sort_keys=sort_keys, allow_unicode=True))

    return written


def _escaped(character: str) -> str:
    """Write it in YAML double quotes."""
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _shown(character: str) -> str:
    code = ord(character)
    if character.isprintable() or code == _TAB:
        return character
    if code < 32 or code == _DELETE:
        return f"^{chr(code ^ 64)}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
