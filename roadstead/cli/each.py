"""One verb for several names: a few at a time, told in order; who is refused is named, and stops nobody."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import click

from roadstead.cli.messages import sentence
from roadstead.cli.output import client
from roadstead.cli.progress import progress, say
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
) -> tuple[list[R], int]:
    """What `do` answers for each name, told as it comes, and the command's exit code.

    A refusal goes to standard error, with the name; one makes the exit code 3, or 4 where it is a matter of
    rights. `words` say on a terminal what goes on. Raises where no hub answers, or the credential is not
    accepted.
    """
    answered: list[R] = []
    code = 0
    with client(ctx) as hub, progress(words, len(names)) as advance:
        for name, answer in zip(names, _answers(hub, names, do), strict=True):
            if isinstance(answer, Rejected | NotAllowed):
                code = max(code, answer.exit_code)
                told = sentence(answer)
                known = told if name in told else told.replace("error: ", f"error: {name}: ", 1)
                say(known, err=True)
            else:
                answered.append(answer)
                tell(answer)
            advance(1)
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
