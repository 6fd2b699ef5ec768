"""CEL expressions of the shipped policies, evaluated on plain objects by a CEL library.

Each is compiled once for all tests and gets only what it names, because the library copies what it gets. The
two cost far more than the evaluation.
"""

import functools
import re
from typing import Any, Final

import cel

Json = dict[str, Any]
_ROOT: Final = re.compile(r"\b[a-zA-Z]+\b")
_VARIABLE: Final = re.compile(r"\bvariables\.(\w+)")


def value_of(expression: str, known: Json) -> Any:
    """What an expression yields, where `known` holds all names and `variables` the policy's own."""
    program, names, variables = _compiled(expression)
    given: Json = {name: known[name] for name in names if name in known}
    given["variables"] = {n: v for n, v in known["variables"].items() if n in variables}
    return program.execute(given)


@functools.cache
def _compiled(expression: str) -> tuple[cel.Program, frozenset[str], frozenset[str]]:
    """The program, and the names and variables in it; the library does not know `dyn`."""
    return (
        cel.compile(expression.replace("dyn(", "(")),
        frozenset(_ROOT.findall(expression)),
        frozenset(_VARIABLE.findall(expression)),
    )
