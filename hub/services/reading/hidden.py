"""Marks that the hub shows in place of hidden values: no client sends them back. No input or output.

A manifest that was read from the hub and is applied again would run with the marks as its values.
"""

from collections.abc import Sequence
from typing import Final

from hub.services.reading.draft import Draft
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from shared.secrecy import HIDDEN, Step, marked

_IN_BODY: Final = (HIDDEN.encode(), b"hidden:")


def refuse_hidden(given: Draft) -> Draft:
    """The draft. Raises Rejected: InvalidValue, with the field of the first mark in it."""
    if any(mark in given.body for mark in _IN_BODY):
        for path in marked(given.manifest):
            field = _field(path)
            text = (
                f"{field}: {HIDDEN} stands for a value that the hub does not show: send the manifest "
                "with the value itself, and not what was read from the hub"
            )
            raise Rejected(RejectCode.INVALID_VALUE, text, field)
    return given


def _field(path: Sequence[Step]) -> str:
    parts = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(parts).lstrip(".")
