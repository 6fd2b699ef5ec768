"""The one seam to the language of a definition's paths: another one is another module that does this.

Paths read values of an object, and say where a value lies in it, so that it can be written.
"""

from collections.abc import Mapping
from typing import Any, Protocol

Place = tuple[str | int, ...]
Object = Mapping[str, Any]


class EvaluationFault(Exception):
    """An expression gave no value for this object; the text says why.

    `nothing`: only because what it walks through is not there, which means absent.
    """

    def __init__(self, message: str, *, nothing: bool = False) -> None:
        super().__init__(message)
        self.nothing = nothing


class StoppedEvaluation(Exception):
    """An evaluation took more than it may and was stopped: the object is set aside, and this says why."""


class Language(Protocol):
    """What a definition needs of a language. Expressions were checked before they are evaluated."""

    def begin(self, obj: Object) -> None:
        """What follows is about this object; what an evaluation may take is counted from here."""

    def values(self, expression: str, obj: Object) -> list[Any]:
        """All values in order. Raises EvaluationFault, StoppedEvaluation."""

    def places(self, expression: str, obj: Object) -> list[Place]:
        """Where the values lie, also those that are not there yet. Raises as `values` does."""


class Syntax(Protocol):
    """What can be told of an expression from its text."""

    def check(self, expression: str) -> None:
        """Raise ValueError, saying where, for what a definition must not say."""

    def without_defaults(self, expression: str) -> str:
        """The same without the literals that stand in for what is missing."""

    def owner(self, expression: str) -> str | None:
        """The path of the object that holds what a plain path reads; None for any other expression."""

    def iterates(self, expression: str) -> bool:
        """Whether it may give several values for one object."""

    def reads_text(self, expression: str) -> bool:
        """Whether it reads labels or annotations, whose values are texts."""
