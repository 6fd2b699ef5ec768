"""The read position of a container's log, to resume without repeated lines. Pure.

A kubelet can be asked for lines from a whole second on, no finer: what it tells again is known by its
instant, and by how many lines of that instant were read.
"""

from typing import Final

_SECOND: Final = len("2026-01-01T00:00:00")


class LogPlace:
    """The place in one log; `at` is the instant of the last line that was read, "" before the first."""

    def __init__(self) -> None:
        self.at = ""
        self._count = 0  # lines of that instant that were read
        self._again: tuple[str, int] | None = None

    @property
    def since(self) -> str:
        """From when on the log is to be asked for, as Kubernetes takes it: to the second."""
        return since_of(self.at) if self.at else ""

    def resume(self) -> None:
        """The position, or an earlier one, at which the next read begins."""
        if self.at:
            self._again = self.at, self._count

    def is_new(self, at: str) -> bool:
        """True if the next line, written at this instant, was not read before. Lines come in their order."""
        if self._again is not None and self._was_read(at):
            return False
        if at:
            self._count = self._count + 1 if at == self.at else 1
            self.at = at
        return True

    def _was_read(self, at: str) -> bool:
        assert self._again is not None
        last, left = self._again
        if order_of(at) < order_of(last):
            return True
        if at == last and left > 0:
            self._again = last, left - 1
            return True
        self._again = None
        return False


def order_of(at: str) -> str:
    """An instant as text that sorts as it does, whatever digits of its fraction were left out."""
    head, _, fraction = at.rstrip("Z").partition(".")
    return f"{head}.{fraction:0<9}" if at else ""


def since_of(at: str) -> str:
    """The second that an instant is in, as RFC 3339 has it."""
    return f"{at[:_SECOND]}Z"
