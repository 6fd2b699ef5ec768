"""One verb for several names: a few at a time, told in order; who is refused is named, and stops nobody."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

from roadstead.cli.output import client
from roadstead.cli.telling import sentence
from roadstead.client import Client
from roadstead.errors import Rejected

Json = dict[str, Any]
Do = Callable[[Client, str], Json]
_AT_ONCE = 8


def for_each(
    ctx: click.Context, names: Sequence[str], do: Do, tell: Callable[[Json], None]
) -> tuple[list[Json], int]:
    """What `do` answers for each name, told as it comes, and the command's exit code.

    A refusal goes to standard error, with the name; one makes the exit code 3. Raises where no hub
    answers, or the credential is not accepted.
    """
    answered: list[Json] = []
    for name, answer in zip(names, _answers(ctx, names, do), strict=True):
        if isinstance(answer, Rejected):
            told = sentence(answer)
            known = told if name in told else told.replace("error: ", f"error: {name}: ", 1)
            click.echo(known, err=True)
        else:
            answered.append(answer)
            tell(answer)
    return answered, 0 if len(answered) == len(names) else Rejected.exit_code


def _answers(ctx: click.Context, names: Sequence[str], do: Do) -> Iterator[Json | Rejected]:
    if len(names) == 1:
        with client(ctx) as hub:
            yield _answer(do, hub, names[0])
        return
    from concurrent.futures import ThreadPoolExecutor
    from queue import SimpleQueue

    free: SimpleQueue[Client] = SimpleQueue()  # a client is for one thread at a time
    clients = [client(ctx) for _ in range(min(_AT_ONCE, len(names)))]
    for each in clients:
        free.put(each)

    def answer(name: str) -> Json | Rejected:
        hub = free.get()
        try:
            return _answer(do, hub, name)
        finally:
            free.put(hub)

    pool = ThreadPoolExecutor(len(clients))
    try:
        yield from pool.map(answer, names)
    finally:
        pool.shutdown(cancel_futures=True)
        for each in clients:
            each.close()


def _answer(do: Do, hub: Client, name: str) -> Json | Rejected:
    try:
        return do(hub, name)
    except Rejected as refusal:
        return refusal
