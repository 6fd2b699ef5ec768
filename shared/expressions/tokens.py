"""An expression's tokens, as far as its bounds and the fields that it reads must be known. Pure.

Whether the whole is an expression is for the library to say; this reads what it would read.
"""

import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

DEEPEST: Final = 24  # brackets within each other
Kind = Literal["name", "text", "number", "sign"]
_TOKEN: Final = re.compile(
    r"""(?P<space>\s+)
    |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<number>0[xX][0-9a-fA-F]+[uU]?|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?[uU]?|\.\d+)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]{}])""",
    re.VERBOSE,
)


class Token(NamedTuple):
    """`at`: its first character, from 0."""

    kind: Kind
    text: str
    at: int


def tokens_of(source: str) -> list[Token]:
    """The tokens in order. Raises ValueError at what begins none.

    Texts are of one kind: raw ones, bytes and those in three quotes are refused, and so are comments, as
    each would hide from this what the library reads, or the reverse.
    """
    found: list[Token] = []
    at = 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None:
            raise ValueError(f"character {at + 1}: {source[at : at + 10]!r} begins nothing known")
        if match.lastgroup != "space":
            if found and _hides(found[-1], match):
                raise ValueError(f"character {at + 1}: two texts, a prefix of one or a comment")
            found.append(Token(match.lastgroup, match.group(), at))  # type: ignore[arg-type]  # as the groups are named
        at = match.end()
    return found


def _hides(before: Token, match: re.Match[str]) -> bool:
    """True if the library could read two adjacent tokens as one."""
    if match.lastgroup == "text":
        return before.kind == "text" or (before.kind == "name" and before.text != "in")
    return before.text == match.group() == "/"


def pairs_of(tokens: Sequence[Token]) -> dict[int, int]:
    """The closing position of each bracket, and its opening one. Raises ValueError where one stands alone."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for at, token in enumerate(tokens):
        if token.kind != "sign":
            continue
        if token.text in "([{":
            opened.append(at)
        elif token.text in ")]}":
            if not opened:
                raise ValueError(f"character {token.at + 1}: {token.text} closes nothing")
            found[at] = opened.pop()
            found[found[at]] = at
        if len(opened) > DEEPEST:
            text = f"brackets stand more than {DEEPEST} deep in each other"
            raise ValueError(f"character {token.at + 1}: {text}")
    if opened:
        raise ValueError(f"character {tokens[opened[-1]].at + 1}: the bracket is not closed")
    return found


def literal(token: Token) -> str | None:
    """The text of a token without escapes; else None."""
    if token.kind != "text" or "\\" in token.text:
        return None
    return token.text[1:-1]
