"""The steps of an SDK call, without their execution: one definition for both clients.

A call is a generator: it yields a `Request` to the hub and receives the JSON of the answer, yields a
`Pause` to let time pass, yields each of many results as `Found`, and returns its result. `roadstead.client`
executes the steps at once, `roadstead.async_client` on an event loop.
"""

from collections.abc import Callable, Generator, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, Generic, NamedTuple, TypeVar

from roadstead.models.record import Json, Malformed, Record

T = TypeVar("T")
R = TypeVar("R", bound=Record)
Query = Mapping[str, str | int | None]
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
PAGE: Final = 500  # what the hub gives at most at a time


class Request(NamedTuple):
    """One request. `repeatable`: idempotent, although its method is not.

    `timeout_s` is for this request; None: the client's.
    """

    method: str
    path: str
    query: Query = _NOTHING
    body: bytes | None = None
    content_type: str = "application/json"
    headers: Mapping[str, str] = _NOTHING
    repeatable: bool = False
    timeout_s: float | None = None


class Pause(NamedTuple):
    """Wait this number of seconds."""

    seconds: float


class Found(NamedTuple, Generic[T]):
    """One of many results."""

    item: T


class EventStream(NamedTuple, Generic[T]):
    """A stream of server-sent events, and a parser for the data of each."""

    path: str
    query: Query
    read: Callable[[Json], Iterable[T]]


Steps = Generator[Request | Pause, Json, T]
Flow = Generator[Request | Pause | Found[T], Json, None]


def one(ask: Request, kind: type[R]) -> Steps[R]:
    """The answer as one record."""
    return kind.of((yield ask))


def items(ask: Request, kind: type[R]) -> Steps[list[R]]:
    """The answer's items as records."""
    return [kind.of(each) for each in items_of((yield ask))]


def pages(path: str, filters: Query, kind: type[R], limit: int | None = None) -> Flow[R]:
    """Records of page after page, at most `limit`. Raises ValueError if that is negative."""
    yield from counted_pages(path, filters, kind, limit)


def counted_pages(
    path: str, filters: Query, kind: type[R], limit: int | None = None
) -> Generator[Request | Pause | Found[R], Json, int]:
    """`pages`, which returns the number of results."""
    if limit is not None and limit < 0:
        raise ValueError(f"limit is {limit}: it must not be negative")
    left, token, count = limit, "", 0
    while left is None or left > 0:
        page = PAGE if left is None else min(PAGE, left)
        answer = yield Request("GET", path, {**filters, "limit": page, "continue": token})
        found = items_of(answer)
        for each in found:
            yield Found(kind.of(each))
        count += len(found)
        left = None if left is None else left - len(found)
        before, token = token, answer.get("continue") or ""
        if not token:
            break
        if token == before:
            raise Malformed("its list continues at the same place as before")
    return count


def items_of(answer: Json) -> list[Json]:
    """The items of a list. Raises Malformed if there are none."""
    found = answer.get("items")
    if not isinstance(found, list):
        raise Malformed("its list has no items")
    return found
