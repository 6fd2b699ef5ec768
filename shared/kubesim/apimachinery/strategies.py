"""Per-kind rules around a write: defaults, what a writer may not set, and what is refused.

The store asks the strategy of the written resource. Strategies never change a dict they are given:
they return a new one that shares the unchanged parts. The registry of built-in strategies is in
`builtin_strategies`; CRDs add theirs at run time.
"""

from collections.abc import Sequence
from typing import Any

from shared.kubesim.apimachinery.errors import Cause

Object = dict[str, Any]


class KindStrategy:
    """What holds for any kind; kinds with rules of their own override the part that differs."""

    def prepare_create(self, obj: Object) -> Object:
        """Fill in defaults and drop what a creator may not set. Metadata is complete already."""
        if "status" in obj:
            obj = {field: value for field, value in obj.items() if field != "status"}
        return obj

    def generate(self, obj: Object) -> Object:
        """Add what the server makes up for a new object; its creator does not own these fields."""
        return obj

    def validate_create(self, obj: Object) -> Sequence[Cause]:
        """Say what is wrong with a new object."""
        return ()

    def prepare_update(self, new: Object, old: Object) -> Object:
        """Fill in defaults of a changed object. Its status is the old one already."""
        return new

    def validate_update(self, new: Object, old: Object) -> Sequence[Cause]:
        """Say what is wrong with the new spec and metadata, given the old ones."""
        return ()

    def prepare_status(self, new: Object, old: Object) -> Object:
        """Fill in defaults of a changed status. Its spec is the old one already."""
        return new

    def validate_status(self, new: Object, old: Object) -> Sequence[Cause]:
        """Say what is wrong with the new status, given the old one."""
        return ()

    def spec_differs(self, new: Object, old: Object) -> bool:
        """Whether this update counts as a new generation."""
        return bool(new.get("spec") != old.get("spec"))


class PlainStrategy(KindStrategy):
    """Kinds without a status subresource: a client may write every field."""

    def prepare_create(self, obj: Object) -> Object:
        return obj
