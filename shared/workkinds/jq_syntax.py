"""Which jq a definition may say, told from its text: jq itself can be neither bounded nor stopped. Pure.

A small recogniser of our own reads the whole expression; what it does not know is refused. Allowed are
paths, `[]`, `?`, `//`, `|`, `,`, arithmetic, comparison, `and`, `or`, `not`, `if`, `as $name |`, arrays,
objects, literals and a few functions that look at each value once. Not: definitions of functions, recursion,
`range`, `until`, `while`, `repeat`, `reduce`, `foreach`, `input`, `env`, `$__loc__`, `import`, regular
expressions, assignment, formats and texts with expressions in them.
"""

import functools
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

LONGEST: Final = 2048  # characters
MOST_TOKENS: Final = 512
DEEPEST: Final = 24  # brackets, `if` and bodies of variables within each other

_NONE: Final = frozenset({0})
# By name: with how many arguments each may be called.
FUNCTIONS: Final[Mapping[str, frozenset[int]]] = {
    "add": _NONE, "all": frozenset({0, 1, 2}), "any": frozenset({0, 1, 2}), "ascii_downcase": _NONE,
    "empty": _NONE, "has": frozenset({1}), "index": frozenset({1}), "keys": _NONE, "length": _NONE,
    "map": frozenset({1}), "max": _NONE, "min": _NONE, "not": _NONE, "select": frozenset({1}),
    "to_entries": _NONE, "tonumber": _NONE, "tostring": _NONE, "type": _NONE,
}  # fmt: skip
_LITERALS: Final = frozenset({"true", "false", "null"})
_WORDS: Final = frozenset({"if", "then", "elif", "else", "end", "as", "and", "or"})
_REFUSED_WORDS: Final = frozenset(
    {"def", "reduce", "foreach", "try", "catch", "label", "import", "include", "break"}
)
_COMPARING: Final = frozenset({"==", "!=", "<", "<=", ">", ">="})
_ADDING: Final = frozenset({"+", "-"})
_MULTIPLYING: Final = frozenset({"*", "/", "%"})
_PLAIN_PATH: Final = re.compile(r"((?:\.[A-Za-z_]\w*)*)\.[A-Za-z_]\w*")

Sort = Literal["field", "text", "number", "name", "variable", "sign"]
_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t\r\n]+)
    |(?P<field>\.[A-Za-z_][A-Za-z0-9_]*)
    |(?P<text>"(?:[^"\\\n]|\\["\\/bfnrtu])*")
    |(?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
    |(?P<variable>\$[A-Za-z_][A-Za-z0-9_]*)
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>\?//|//=|\|=|\+=|-=|\*=|/=|%=|==|!=|<=|>=|//|\.\.|[.,|()\[\]{}:;?<>=+\-*/%@#])""",
    re.VERBOSE,
)


class JqToken(NamedTuple):
    """`at`: its first character, from 0."""

    sort: Sort
    text: str
    at: int


def tokens_of(source: str) -> list[JqToken]:
    """The tokens in order. Raises ValueError at what begins none, and beyond the bounds."""
    if len(source) > LONGEST:
        raise ValueError(f"it has {len(source)} characters: at most {LONGEST} are read")
    found: list[JqToken] = []
    at = 0
    while at < len(source):
        match = _TOKEN.match(source, at)
        if match is None:
            raise ValueError(f"character {at + 1}: {source[at : at + 10]!r} begins nothing known")
        if match.lastgroup != "space":
            found.append(JqToken(match.lastgroup, match.group(), at))  # type: ignore[arg-type]  # as the groups are named
        at = match.end()
    if len(found) > MOST_TOKENS:
        raise ValueError(f"it has {len(found)} parts: at most {MOST_TOKENS} are read")
    return found


class JqSyntax:
    """What is told of a jq expression from its text; see `shared.workkinds.language.Syntax`."""

    def check(self, expression: str) -> None:
        check(expression)

    def without_defaults(self, expression: str) -> str:
        kept, done = "", 0
        for sign, value in itertools.pairwise(tokens_of(expression)):
            if sign.text == "//" and _is_literal(value):
                kept += expression[done : sign.at]
                done = value.at + len(value.text)
        return (kept + expression[done:]).strip()

    def owner(self, expression: str) -> str | None:
        match = _PLAIN_PATH.fullmatch(expression.strip())
        return None if match is None else match[1] or "."

    def iterates(self, expression: str) -> bool:
        tokens = tokens_of(expression)
        pairs = itertools.pairwise(tokens)
        if any(one.text == "[" and other.text == "]" for one, other in pairs):
            return True
        return any(token.text == "," for token in tokens)

    def reads_text(self, expression: str) -> bool:
        return any(t.text in {".annotations", ".labels"} for t in tokens_of(expression))


def _is_literal(token: JqToken) -> bool:
    return token.sort in {"number", "text"} or token.text in _LITERALS


@functools.lru_cache(maxsize=4096)
def check(expression: str) -> None:
    """Raise ValueError, saying where, unless the expression is made of what the module's head lists."""
    tokens = tokens_of(expression)
    if not tokens:
        raise ValueError("it is empty")
    reader = _Reader(tokens)
    reader.pipe(frozenset())
    if reader.at < len(tokens):
        raise reader.unexpected()


class _Reader:
    """Descends through the grammar by its precedences; nothing is kept but how far it came."""

    def __init__(self, tokens: Sequence[JqToken]) -> None:
        self.tokens = tokens
        self.at = 0
        self._depth = 0

    # What comes next

    def peek(self) -> str:
        """The next token, if a text, as its sort: no text equals a sign."""
        if self.at >= len(self.tokens):
            return ""
        token = self.tokens[self.at]
        return "text" if token.sort == "text" else token.text

    def take(self, wanted: str) -> None:
        if self.peek() != wanted:
            raise self.unexpected(f", where {wanted} is due")
        self.at += 1

    def unexpected(self, due: str = "") -> ValueError:
        if self.at >= len(self.tokens):
            return ValueError(f"it ends{due or ' too early'}")
        token = self.tokens[self.at]
        shown = token.text if len(token.text) <= 40 else f"{token.text[:39]}…"
        return ValueError(
            f"character {token.at + 1}: {shown} is not allowed here{due}{_why(token)}"
        )

    def _deeper(self, read: Callable[[frozenset[str]], None], names: frozenset[str]) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ValueError(f"parts stand more than {DEEPEST} deep in each other")
        read(names)
        self._depth -= 1

    # The grammar, loosest first

    def pipe(self, names: frozenset[str]) -> None:
        self._commas(names)
        while self.peek() == "|":
            self.at += 1
            self._commas(names)

    def _commas(self, names: frozenset[str]) -> None:
        self._alternatives(names)
        while self.peek() == ",":
            self.at += 1
            self._alternatives(names)

    def _alternatives(self, names: frozenset[str]) -> None:
        self._joined(names)
        while self.peek() == "//":
            self.at += 1
            self._joined(names)

    def _joined(self, names: frozenset[str]) -> None:
        self._compared(names)
        while self.peek() in {"and", "or"}:
            self.at += 1
            self._compared(names)

    def _compared(self, names: frozenset[str]) -> None:
        self._sums(names)
        if self.peek() in _COMPARING:
            self.at += 1
            self._sums(names)

    def _sums(self, names: frozenset[str]) -> None:
        self._products(names)
        while self.peek() in _ADDING:
            self.at += 1
            self._products(names)

    def _products(self, names: frozenset[str]) -> None:
        self._suffixed(names)
        while self.peek() in _MULTIPLYING:
            self.at += 1
            self._suffixed(names)

    def _suffixed(self, names: frozenset[str]) -> None:
        if self.peek() == "-":
            self.at += 1
        self._term(names)
        while self._suffix(names):
            pass
        if self.peek() == "as":
            self._bind(names)

    def _bind(self, names: frozenset[str]) -> None:
        self.at += 1
        if self.at >= len(self.tokens) or self.tokens[self.at].sort != "variable":
            raise self.unexpected(", where $name is due")
        name = self.tokens[self.at].text
        self.at += 1
        self.take("|")
        self._deeper(self.pipe, names | {name})

    def _suffix(self, names: frozenset[str]) -> bool:
        token = self.tokens[self.at] if self.at < len(self.tokens) else None
        if token is None:
            return False
        if token.sort == "field" or token.text == "?":
            self.at += 1
            return True
        if token.text == ".":
            self.at += 1
            if self.peek() == "text":
                self.at += 1
            elif self.peek() != "[":
                raise self.unexpected(", where a field is due")
            return True
        if token.text == "[":
            self._brackets(names)
            return True
        return False

    def _brackets(self, names: frozenset[str]) -> None:
        self.take("[")
        if self.peek() not in {"]", ":"}:
            self._deeper(self.pipe, names)
        if self.peek() == ":":
            self.at += 1
            if self.peek() != "]":
                self._deeper(self.pipe, names)
        self.take("]")

    def _term(self, names: frozenset[str]) -> None:
        if self.at >= len(self.tokens):
            raise self.unexpected()
        token = self.tokens[self.at]
        if token.sort in {"field", "text", "number"}:
            self.at += 1
        elif token.sort == "variable":
            if token.text not in names:
                raise self.unexpected(f": nothing is bound to {token.text}")
            self.at += 1
        elif token.sort == "name":
            self._named(names)
        else:
            self._signed(names)

    def _signed(self, names: frozenset[str]) -> None:
        sign = self.peek()
        if sign == ".":
            self.at += 1
            if self.peek() == "text":
                self.at += 1
        elif sign == "(":
            self.at += 1
            self._deeper(self.pipe, names)
            self.take(")")
        elif sign == "[":
            self.at += 1
            if self.peek() != "]":
                self._deeper(self.pipe, names)
            self.take("]")
        elif sign == "{":
            self._object(names)
        else:
            raise self.unexpected()

    def _object(self, names: frozenset[str]) -> None:
        self.take("{")
        while self.peek() != "}":
            token = self.tokens[self.at] if self.at < len(self.tokens) else None
            if token is None or token.sort not in {"name", "text"}:
                raise self.unexpected(", where a key is due")
            self.at += 1
            if self.peek() == ":":
                self.at += 1
                self._deeper(self._alternatives, names)
            if self.peek() != "}":
                self.take(",")
        self.take("}")

    def _named(self, names: frozenset[str]) -> None:
        word = self.peek()
        if word in _LITERALS:
            self.at += 1
        elif word == "if":
            self._deeper(self._if, names)
        elif word in FUNCTIONS:
            self._call(word, names)
        else:
            raise self.unexpected()

    def _if(self, names: frozenset[str]) -> None:
        self.take("if")
        self.pipe(names)
        self.take("then")
        self.pipe(names)
        while self.peek() == "elif":
            self.at += 1
            self.pipe(names)
            self.take("then")
            self.pipe(names)
        if self.peek() == "else":
            self.at += 1
            self.pipe(names)
        self.take("end")

    def _call(self, name: str, names: frozenset[str]) -> None:
        start = self.at
        self.at += 1
        arguments = 0
        if self.peek() == "(":
            while self.peek() in {"(", ";"}:
                self.at += 1
                self._deeper(self.pipe, names)
                arguments += 1
            self.take(")")
        if arguments not in FUNCTIONS[name]:
            self.at = start
            raise self.unexpected(f": it does not take {arguments} arguments")


def _why(token: JqToken) -> str:
    if token.text in _REFUSED_WORDS or token.text == "..":
        return ": it is among what a definition may not say, as its work has no bound"
    if token.sort == "name" and token.text not in _WORDS:
        return f": a path begins with a dot, and the functions are {', '.join(sorted(FUNCTIONS))}"
    if token.text in {"=", "|=", "+=", "-=", "*=", "/=", "%=", "//="}:
        return ": a definition changes nothing"
    return ""
