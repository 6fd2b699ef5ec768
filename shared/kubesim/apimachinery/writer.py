"""The author of a write: the user of the current request, or None for the cluster itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_writer: ContextVar[str] = ContextVar("writer", default="")


def writer() -> str:
    """The user's name; "" for controllers and other behaviours of the cluster."""
    return _writer.get()


@contextmanager
def acting_as(user: str) -> Iterator[None]:
    """Within, writes are this user's."""
    token = _writer.set(user)
    try:
        yield
    finally:
        _writer.reset(token)
