"""One verb for several names: a few in parallel, reported in order; an error does not stop the others."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

import click

from roadstead.cli.messages import sentence
from roadstead.cli.output import client
from roadstead.cli.progress import progress
from roadstead.cli.visible import say
from roadstead.client import Client
from roadstead.errors import NotAllowed, Rejected

R = TypeVar("R")
_AT_ONCE = 8


def for_each(
    ctx: click.Context,
    names: Sequence[str],
    do: Callable[[Client, str], R],
    tell: Callable[[R], None],
    words: str,
    *,
    called: Mapping[str, str] = MappingProxyType({}),
    hint: str = "",
) -> tuple[list[R], int]:
    """Run `do` for each name, print the results in order, and return the exit code.

    An error goes to standard error, with the name, and sets the exit code to 3, or to 4 for missing rights.
    `words` are the progress text on a terminal. `called`: what errors call a uid. `hint`: the
    next step if the caller has no right to some. Raises if no hub answers, or the credential is not
    accepted.
    """
    answered: list[R] = []
    code, lacking = 0, False
    with client(ctx) as hub, progress(words, len(names)) as advance:
        for name, answer in zip(names, _answers(hub, names, do), strict=True):
            if isinstance(answer, Rejected | NotAllowed):
                code = max(code, answer.exit_code)
                told, known = sentence(answer), called.get(name, name)
                if known not in told:
                    told = told.replace("error: ", f"error: {known}: ", 1)
                say(told, err=True)
                lacking = lacking or isinstance(answer, NotAllowed)
            else:
                answered.append(answer)
                tell(answer)
            advance(1)
    if lacking and hint:
        say(f"  {hint}", err=True)
    return answered, code


def _answers(
    hub: Client, names: Sequence[str], do: Callable[[Client, str], R]
) -> Iterator[R | Rejected | NotAllowed]:
    def answer(name: str) -> R | Rejected | NotAllowed:
        try:
            return do(hub, name)
        except Rejected as refusal:
            return refusal
        except NotAllowed as refusal:
            if refusal.status != 403:
                raise
            return refusal

    if len(names) == 1:
        yield answer(names[0])
        return
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(min(_AT_ONCE, len(names)))
    try:
        yield from pool.map(answer, names)
    finally:
        pool.shutdown(cancel_futures=True)
