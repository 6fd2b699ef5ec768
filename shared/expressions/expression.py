"""An expression over one object: compiled once, evaluated within a few milliseconds, never raising. Pure.

The library (ADR 15) turns all that it is given into values of its own, at 0.3 µs a value, and can be neither
bounded nor stopped: it is given the fields that the expression reads, and only where the steps can be borne.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from shared.expressions.functions import HostFunctions, Object
from shared.expressions.reading import Part, Reading, read

if TYPE_CHECKING:
    import cel

MOST_NODES: Final = 5_000  # of what is read; 64 characters of a text are one
MOST_STEPS: Final = 1_000_000  # five milliseconds at the worst
DEEPEST_VALUE: Final = 32
_CHARACTERS: Final = 64
_LONGEST_FAULT: Final = 300

Scalar = bool | int | float | str


@dataclass(frozen=True, slots=True)
class NoValue:
    """The reason why there is no value. `missing`: a field that the object does not have (yet), or ""."""

    message: str
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The value; `lacking`: the last condition that `cond` was asked for and is not True."""

    value: Scalar | NoValue
    lacking: tuple[str, Mapping[str, Any]] | None = None


class CompiledExpression:
    """Made by `compiled`; may be evaluated any number of times."""

    __slots__ = ("_program", "_reading", "_wanted", "source")

    def __init__(
        self, source: str, wanted: type, reading: Reading, program: "cel.Program"
    ) -> None:
        self.source = source
        self._wanted = wanted
        self._reading = reading
        self._program = program

    def evaluate(self, obj: Object) -> Answer:
        """The value for an object, of the wanted type; a NoValue instead of any exception."""
        reading, size = self._reading, _Size()
        read_of = _parts(obj, reading.parts, size)
        if read_of is None:
            text = f"what it reads has more than {MOST_NODES} values, or lies too deep"
            return Answer(NoValue(text))
        steps = reading.tokens * size.nodes * size.longest**reading.power
        if steps > MOST_STEPS:
            text = f"it would take {steps:,} steps for a list of {size.longest}"
            return Answer(NoValue(f"{text}: at most {MOST_STEPS:,}"))
        call = HostFunctions(obj)
        try:
            value = self._program.execute(self._context(read_of, call))
        except KeyError as missing:
            name = str(missing.args[0])[:64] if missing.args else "?"
            name = name.strip(chr(39))
            return Answer(NoValue(f"it has no field {name}", name), call.lacking)
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise  # the library's own panics are no Exceptions
            return Answer(NoValue(str(error)[:_LONGEST_FAULT]), call.lacking)
        if call.fault:
            return Answer(NoValue(call.fault), call.lacking)
        if type(value) is not self._wanted or not isinstance(value, bool | int | float | str):
            text = f"it gives {type(value).__name__}, not {self._wanted.__name__}"
            return Answer(NoValue(text), call.lacking)
        return Answer(value, call.lacking)

    def _context(
        self, read_of: dict[str, Any], call: HostFunctions
    ) -> "dict[str, Any] | cel.Context":
        names = self._reading.functions
        if not names:
            return read_of
        made: cel.Context = _library().Context(read_of, {n: call.named(n) for n in names})
        return made


@lru_cache(maxsize=512)
def compiled(source: str, wanted: type = bool) -> CompiledExpression:
    """The expression, which gives a `wanted` (bool, int or str). Raises ValueError saying what is wrong."""
    reading = read(source)
    try:
        _library().compile(source)  # what is wrong is told of what was written
        program = _library().compile(reading.source)
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise ValueError(_plain(str(error))) from None
    return CompiledExpression(source, wanted, reading, program)


def _library() -> Any:
    """Loaded by the first expression: it brings a command line, 0.15 s and 29 MiB, along."""
    import cel  # noqa: PLC0415  # see above

    return cel


def _plain(text: str) -> str:
    """The library's own words without the source, which it repeats."""
    _, found, told = text.partition("ERROR: <input>:")
    first = told.partition("\n")[0] if found else text
    return first[:_LONGEST_FAULT]


def _parts(obj: Object, parts: tuple[Part, ...], size: "_Size") -> dict[str, Any] | None:
    """The variables: of each part the fields that are read, as far as there are any; None: too much."""
    read: dict[str, Any] = {}
    for place, variable, fields in parts:
        value: Any = obj
        for name in place:
            value = value.get(name) if type(value) is dict else None
        if not fields:
            read[variable] = value
            if not size.add(value, 0):
                return None
            continue
        kept = read[variable] = {}
        for name in fields if type(value) is dict else ():
            if name in value:
                kept[name] = value[name]
                if not size.add(value[name], 0):
                    return None
    return read


class _Size:
    """The size of a reading."""

    __slots__ = ("longest", "nodes")

    def __init__(self) -> None:
        self.nodes = 0
        self.longest = 1  # of its lists and maps

    def add(self, value: object, depth: int) -> bool:
        """Count a value; False as soon as it is too much."""
        self.nodes += 1
        if isinstance(value, str):
            self.nodes += len(value) // _CHARACTERS
            return self.nodes <= MOST_NODES
        if not isinstance(value, dict | list):
            return True
        if depth > DEEPEST_VALUE or self.nodes + len(value) > MOST_NODES:
            return False
        self.longest = max(self.longest, len(value))
        each = value.values() if isinstance(value, dict) else value
        return all(self.add(one, depth + 1) for one in each)
