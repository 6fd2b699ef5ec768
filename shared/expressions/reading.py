"""Static analysis of an expression: the fields it reads and the growth of its work, before compiling. Pure.

The library bounds neither depth nor steps (ADR 15), so an expression is taken only if both can be told
from its text: functions that are known to be cheap, macros on fields, at most two within each other.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from shared.expressions.tokens import Token, literal, pairs_of, tokens_of

LONGEST: Final = 2048  # characters
MOST_TOKENS: Final = 256
MOST_NESTED: Final = 2  # macros within each other
OBJECT: Final = "object"  # the only variable

_COLLECTING: Final = frozenset({"map", "filter"})  # they copy what they have with each element
_MACROS: Final = frozenset({"all", "exists", "exists_one"}) | _COLLECTING
_METHODS: Final = frozenset({"contains", "endsWith", "size", "startsWith"}) | _MACROS
HOSTED: Final = frozenset({"cond", "max", "min", "reason", "sum"})  # carried out here
_FUNCTIONS: Final = HOSTED | {
    "bool", "double", "duration", "has", "int", "size", "string", "timestamp",
}  # fmt: skip
_OF_THE_WHOLE: Final = frozenset({"cond", "reason"})
_WORDS: Final = frozenset({"true", "false", "null", "in"})

Path = tuple[str, ...]


class Part(NamedTuple):
    """A variable: some fields of what lies at `place`."""

    place: Path
    variable: str
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """`source` in the library's form: each part of the object that is read is a separate variable.

    `parts`: where each lies, its variable, and the fields of it that are read; none: the whole object,
    which is `OBJECT`. `functions`: those of `HOSTED` that are called.
    Steps are at most `tokens` × nodes read × (longest list) ** `power`.
    """

    source: str
    parts: tuple[Part, ...]
    functions: tuple[str, ...]
    tokens: int
    power: int


@dataclass(frozen=True, slots=True)
class _Macro:
    name: str
    variable: str
    body: range  # of tokens


def read(source: str) -> Reading:
    """The properties of an expression. Raises ValueError, whose text says what is not allowed and where."""
    if len(source) > LONGEST:
        raise ValueError(f"it has {len(source)} characters: at most {LONGEST} are read")
    tokens = tokens_of(source)
    if not tokens:
        raise ValueError("it is empty")
    if len(tokens) > MOST_TOKENS:
        raise ValueError(f"it has {len(tokens)} parts: at most {MOST_TOKENS} are read")
    macros = list(_macros(tokens, pairs_of(tokens)))
    _check_names(tokens, macros)
    called = {each.text for at, each in enumerate(tokens) if _is_called(tokens, at)}
    rewritten, parts = _divided(source, tokens)
    return Reading(
        rewritten,
        parts,
        tuple(sorted(called & HOSTED)),
        len(tokens),
        max((_power(tokens, each, macros) for each in macros), default=0),
    )


def _macros(tokens: Sequence[Token], pairs: Mapping[int, int]) -> Iterator[_Macro]:
    for at, token in enumerate(tokens):
        if token.text not in _MACROS or not _is_called(tokens, at) or not _is_method(tokens, at):
            continue
        if not (_is_field(tokens[at - 2]) or _ends_in_macro(tokens, at - 2, pairs)):
            text = f"{token.text} is asked of a field, or of what a macro gives"
            raise ValueError(f"character {token.at + 1}: {text}")
        end = pairs[at + 1]
        if at + 3 >= end or tokens[at + 2].kind != "name" or tokens[at + 3].text != ",":
            text = f"it is {token.text}(name, expression)"
            raise ValueError(f"character {token.at + 1}: {text}")
        yield _Macro(token.text, tokens[at + 2].text, range(at + 4, end))


def _is_field(last: Token) -> bool:
    return last.kind == "name" or last.text == "]"


def _ends_in_macro(tokens: Sequence[Token], at: int, pairs: Mapping[int, int]) -> bool:
    """True if the bracket closed at `at` is that of a filter or map."""
    if tokens[at].text != ")":
        return False
    opening = pairs[at]
    return opening > 0 and tokens[opening - 1].text in _COLLECTING


def _check_names(tokens: Sequence[Token], macros: Sequence[_Macro]) -> None:
    variables = {OBJECT, *(each.variable for each in macros)}
    for at, token in enumerate(tokens):
        if token.kind != "name" or token.text in _WORDS:
            continue
        place = f"character {token.at + 1}"
        if _is_called(tokens, at):
            known = _METHODS if _is_method(tokens, at) else _FUNCTIONS
            if token.text not in known:
                few = ", ".join(sorted(known))
                raise ValueError(f"{place}: there is no function {token.text} here: {few}")
        elif at + 1 < len(tokens) and tokens[at + 1].text == "{":
            raise ValueError(f"{place}: messages are not made here")
        elif not _is_method(tokens, at) and token.text not in variables:
            raise ValueError(f"{place}: there is no {token.text}: fields begin with {OBJECT}.")
    for each in macros:
        if each.variable.startswith(OBJECT):
            raise ValueError(
                f"{each.name} names its element {each.variable}: {OBJECT} is the object"
            )


def _power(tokens: Sequence[Token], macro: _Macro, macros: Sequence[_Macro]) -> int:
    """The exponent of the longest list in a macro's work, with those around it included.

    A macro whose body reads its own element alone touches each part of a list once.
    """
    around = [each for each in macros if macro.body.start in each.body]  # itself too
    if len(around) > MOST_NESTED:
        raise ValueError(f"macros stand more than {MOST_NESTED} deep in each other")
    return sum(_factors(tokens, each, macros) for each in around)


def _factors(tokens: Sequence[Token], macro: _Macro, macros: Sequence[_Macro]) -> int:
    own = {each.variable for each in macros if each.body.start in macro.body}
    roots: set[str] = set()
    for at in macro.body:
        if tokens[at].text in _OF_THE_WHOLE and _is_called(tokens, at):
            text = f"{tokens[at].text} is asked of the whole object, not within a macro"
            raise ValueError(f"character {tokens[at].at + 1}: {text}")
        if _is_root(tokens, at):
            roots.add(tokens[at].text)
    return (1 if macro.name in _COLLECTING else 0) + (0 if roots <= own else 1)


def _is_root(tokens: Sequence[Token], at: int) -> bool:
    """True if the name is a value by itself."""
    token = tokens[at]
    if token.kind != "name" or token.text in _WORDS:
        return False
    return not _is_method(tokens, at) and not _is_called(tokens, at)


def _divided(source: str, tokens: Sequence[Token]) -> tuple[str, tuple[Part, ...]]:
    """The expression with a variable for each part of the object: flat ones are taken in faster."""
    fields: dict[Path, set[str]] = {}
    names: dict[Path, str] = {}
    text: list[str] = []
    done = 0
    for at, token in enumerate(tokens):
        if token.text != OBJECT or not _is_root(tokens, at):
            continue
        path, last = _path(tokens, at + 1)
        if not path:
            fields[()] = set()
            names[()] = OBJECT
            continue
        place = path[:-1]
        name = names.setdefault(place, f"{OBJECT}_{len(names)}") if place else OBJECT
        names[place] = name
        if place or fields.get((), {""}):
            fields.setdefault(place, set()).add(path[-1])
        text += [source[done : token.at], name]
        done = tokens[last].at
    text.append(source[done:])
    parts = [Part(place, names[place], tuple(sorted(read))) for place, read in fields.items()]
    return "".join(text), tuple(parts)


def _path(tokens: Sequence[Token], at: int) -> tuple[Path, int]:
    """The fields that follow from `at`, as far as they are named; and where the last one begins."""
    path: list[str] = []
    last = at
    while at + 1 < len(tokens):
        if tokens[at].text == "." and not _is_called(tokens, at + 1):
            path.append(tokens[at + 1].text)
            last, at = at, at + 2
            continue
        name = literal(tokens[at + 1]) if tokens[at].text == "[" else None
        if name is None or at + 2 >= len(tokens) or tokens[at + 2].text != "]":
            break
        path.append(name)
        last, at = at, at + 3
    return tuple(path), last


def _is_method(tokens: Sequence[Token], at: int) -> bool:
    """True if the name follows a dot."""
    return at > 0 and tokens[at - 1].text == "."


def _is_called(tokens: Sequence[Token], at: int) -> bool:
    if tokens[at].kind != "name" or tokens[at].text in _WORDS:
        return False
    return at + 1 < len(tokens) and tokens[at + 1].text == "("
