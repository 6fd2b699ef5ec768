"""One definition, two methods: a call of `roadstead.calls` as a blocking or an awaitable method.

`Calls` in `roadstead.calls.table` names every call once, wrapped in one of these; the client on which it is
looked up decides whether it returns a result or an awaitable. Arguments are bound at the call, so an
unknown argument raises TypeError there. `help` and `inspect.signature` show the signature that a type
checker sees: with the client's result, not the call's steps.
"""

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from types import TracebackType
from typing import (
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Self,
    TypeVar,
    get_args,
    get_origin,
    overload,
)

from roadstead.errors import Rejected
from roadstead.models.record import Json, Malformed
from roadstead.responses import Address
from roadstead.steps import EventStream, Flow, Found, Pause, Request, Steps

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")


class Stream(ABC, Iterator[T]):
    """An open stream: iterate it; it ends when the hub ends it, or by `close`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Close it."""


class AsyncStream(ABC, AsyncIterator[T]):
    """A stream that `async with`, or the first step of `async for`, opens."""

    @abstractmethod
    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    @abstractmethod
    async def aclose(self) -> None:
        """Close it."""


class Blocking(ABC):
    """A client that executes calls before it returns."""

    @abstractmethod
    def _carry_out(self, steps: Steps[T]) -> T: ...
    @abstractmethod
    def _iterate(self, flow: Flow[T], *, at_once: bool) -> Iterator[T]: ...
    @abstractmethod
    def _follow(self, follow: EventStream[T]) -> Stream[T]: ...


class Awaiting(ABC):
    """A client whose calls are awaited."""

    @abstractmethod
    async def _carry_out(self, steps: Steps[T]) -> T: ...
    @abstractmethod
    def _iterate(self, flow: Flow[T], *, at_once: bool) -> AsyncIterator[T]: ...
    @abstractmethod
    def _follow(self, follow: EventStream[T]) -> AsyncStream[T]: ...


class _Method(ABC, Generic[P, S]):
    """A method by `written`, which receives the object that executes calls for its client."""

    def __init__(self, written: Callable[P, S]) -> None:
        self._written = written
        self._shown: dict[tuple[bool, bool], inspect.Signature] = {}

    def _method(
        self, client: Blocking | Awaiting | None, owner: object = None
    ) -> Callable[..., Any]:
        """Bind the method to a client; without one, return a function with a client parameter."""
        if client is None:

            @functools.wraps(self._written)
            def unbound(self_: Blocking | Awaiting, *args: P.args, **kwargs: P.kwargs) -> Any:
                return self._act(self_, self._written(*args, **kwargs))

            awaited = isinstance(owner, type) and issubclass(owner, Awaiting)
            return self._show(unbound, awaited=awaited, bound=False)
        holder = client

        @functools.wraps(self._written)
        def bound(*args: P.args, **kwargs: P.kwargs) -> Any:
            return self._act(holder, self._written(*args, **kwargs))

        return self._show(bound, awaited=isinstance(client, Awaiting), bound=True)

    def _show(
        self, method: Callable[..., Any], *, awaited: bool, bound: bool
    ) -> Callable[..., Any]:
        """Set the signature that callers of a method see."""
        shown = self._shown.get((awaited, bound))
        if shown is None:
            told = inspect.signature(self._written)
            given = list(told.parameters.values())
            if not bound:
                first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
                given.insert(0, first)
            answer = self._answer(told.return_annotation, awaited=awaited)
            shown = told.replace(parameters=given, return_annotation=answer)
            self._shown[awaited, bound] = shown
        annotated: Any = method
        annotated.__signature__ = shown
        annotated.__annotations__ = {
            **self._written.__annotations__,
            "return": shown.return_annotation,
        }
        return method

    @abstractmethod
    def _act(self, client: Blocking | Awaiting, written: S) -> Any: ...

    @abstractmethod
    def _answer(self, written: Any, *, awaited: bool) -> Any:
        """The client's return annotation for an annotation of the definition."""


class Call(_Method[P, Steps[T]], Generic[P, T]):
    """A call with one result."""

    @overload
    def __get__(self, client: Blocking, owner: object = None) -> Callable[P, T]: ...
    @overload
    def __get__(
        self, client: Awaiting, owner: object = None
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(
        self, client: None, owner: type[Blocking]
    ) -> Callable[Concatenate[Blocking, P], T]: ...
    @overload
    def __get__(
        self, client: None, owner: type[Awaiting]
    ) -> Callable[Concatenate[Awaiting, P], Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Any, owner: object = None) -> Any:
        return self._method(client, owner)

    def _act(self, client: Blocking | Awaiting, written: Steps[T]) -> Any:
        return client._carry_out(written)  # noqa: SLF001 - the two are one

    def _answer(self, written: Any, *, awaited: bool) -> Any:
        result = get_args(written)[2]
        return _of(Coroutine, (Any, Any, result)) if awaited else result


class Listing(_Method[P, Flow[T]], Generic[P, T]):
    """A call with many results: fetched as you iterate, the first page at once.

    With `at_once` False it sends nothing before the first step of the iteration.
    """

    def __init__(self, written: Callable[P, Flow[T]], *, at_once: bool = True) -> None:
        super().__init__(written)
        self._at_once = at_once

    @overload
    def __get__(self, client: Blocking, owner: object = None) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: Awaiting, owner: object = None) -> Callable[P, AsyncIterator[T]]: ...
    @overload
    def __get__(
        self, client: None, owner: type[Blocking]
    ) -> Callable[Concatenate[Blocking, P], Iterator[T]]: ...
    @overload
    def __get__(
        self, client: None, owner: type[Awaiting]
    ) -> Callable[Concatenate[Awaiting, P], AsyncIterator[T]]: ...
    def __get__(self, client: Any, owner: object = None) -> Any:
        return self._method(client, owner)

    def _act(self, client: Blocking | Awaiting, written: Flow[T]) -> Any:
        return client._iterate(written, at_once=self._at_once)  # noqa: SLF001 - the two are one

    def _answer(self, written: Any, *, awaited: bool) -> Any:
        steps = get_args(get_args(written)[0])
        (item,) = (get_args(each)[0] for each in steps if get_origin(each) is Found)
        return _of(AsyncIterator if awaited else Iterator, item)


class Following(_Method[P, EventStream[T]], Generic[P, T]):
    """A call that follows a stream: the stream is open when the call returns."""

    @overload
    def __get__(self, client: Blocking, owner: object = None) -> Callable[P, Stream[T]]: ...
    @overload
    def __get__(self, client: Awaiting, owner: object = None) -> Callable[P, AsyncStream[T]]: ...
    @overload
    def __get__(
        self, client: None, owner: type[Blocking]
    ) -> Callable[Concatenate[Blocking, P], Stream[T]]: ...
    @overload
    def __get__(
        self, client: None, owner: type[Awaiting]
    ) -> Callable[Concatenate[Awaiting, P], AsyncStream[T]]: ...
    def __get__(self, client: Any, owner: object = None) -> Any:
        return self._method(client, owner)

    def _act(self, client: Blocking | Awaiting, written: EventStream[T]) -> Any:
        return client._follow(written)  # noqa: SLF001 - the two are one

    def _answer(self, written: Any, *, awaited: bool) -> Any:
        (item,) = get_args(written)
        return _of(AsyncStream if awaited else Stream, item)


def _of(generic: Any, arguments: Any) -> Any:
    """A generic type with arguments known at run time."""
    return generic[arguments]


class CallState(Generic[T]):
    """Progress of a call: the next step, or its result once `step` is None."""

    def __init__(self, steps: Steps[T] | Flow[Any], address: Address) -> None:
        self._steps: Any = steps
        self._address = address
        self.step: Request | Pause | Found[Any] | None = None
        self.result: Any = None
        self.go(None)

    @property
    def request(self) -> Request:
        """The current step, which is a request."""
        assert isinstance(self.step, Request)
        return self.step

    def go(self, answer: Json | None) -> None:
        """Continue after the step, with its answer."""
        self._advance(lambda: self._steps.send(answer))

    def fail(self, refusal: Rejected) -> None:
        """Continue after the step's error: the call converts it, or lets it propagate."""
        self._advance(lambda: self._steps.throw(refusal))

    def _advance(self, move: Callable[[], Any]) -> None:
        try:
            self.step = move()
        except StopIteration as end:
            self.step, self.result = None, end.value
        except Malformed as wrong:
            raise self._address.no_hub(wrong) from wrong
