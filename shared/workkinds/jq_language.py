"""jq, for definitions that are trusted: those that Roadstead brings. It is evaluated in this process.

jq can be neither bounded nor stopped: what administrators write goes through `shared.workkinds.isolated`.
"""

import functools
from typing import Any, Final

from shared.workkinds.jq_syntax import JqSyntax
from shared.workkinds.language import EvaluationFault, Object, Place

NOTHING: Final = "Cannot iterate over null"  # what jq says where a list is not there
_LONGEST: Final = 300


class JqLanguage:
    """See `shared.workkinds.language.Language`."""

    def begin(self, obj: Object) -> None:
        """Nothing is counted: these definitions are trusted."""

    def values(self, expression: str, obj: Object) -> list[Any]:
        return _evaluated(expression, obj)

    def places(self, expression: str, obj: Object) -> list[Place]:
        return [tuple(place) for place in _evaluated(f"path({expression})", obj)]


class CompiledSyntax(JqSyntax):
    """What is allowed and what jq takes as well: of definitions that administrators write."""

    def check(self, expression: str) -> None:
        super().check(expression)
        try:
            _compiled(expression)
        except ValueError as fault:
            raise ValueError(str(fault)[:_LONGEST]) from None


def fault_of(message: str) -> EvaluationFault:
    """The words of jq as a fault."""
    return EvaluationFault(message[:_LONGEST], nothing=message.startswith(NOTHING))


def _evaluated(expression: str, obj: Object) -> list[Any]:
    try:
        found: list[Any] = _compiled(expression).input_value(obj).all()
    except ValueError as fault:
        raise fault_of(str(fault)) from None
    return found


@functools.lru_cache(maxsize=2048)
def _compiled(expression: str) -> Any:
    import jq  # noqa: PLC0415  # loaded by the first expression

    return jq.compile(expression)
