"""What each method of both clients asks of the hub, and what it gives for the answer."""

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from roadstead import AsyncClient, Client
from roadstead.calls.table import Calls
from roadstead.method import Following
from roadstead.models.hub import Change
from roadstead.models.pods import LogRecord
from roadstead.models.record import Record
from tests.cli.client_calls import CALLS, Call
from tests.cli.filled import filled
from tests.cli.scripted import Answer, answering, items

ELSEWHERE = {"submit_many", "submit_iter", "wait", "wait_all"}  # several requests: test_steps.py


def answer_of(method: str, gives: Any) -> Answer:
    """What the hub answers: one thing, a list, or a stream of one event and no more."""
    if not isinstance(gives, list):
        return Answer(filled(gives))
    listed = items(filled(gives[0]))
    if not isinstance(vars(Calls)[method], Following):
        return listed
    event = filled(gives[0]) if gives[0] in {Change, LogRecord} else listed.body
    return Answer(b"data: " + json.dumps(event).encode() + b"\n\n")


async def on_loop(address: str, method: str, args: Any, kwargs: Any) -> Any:
    async with AsyncClient(address, "t") as hub:
        made = getattr(hub, method)(*args, **kwargs)
        return [each async for each in made] if isinstance(made, AsyncIterator) else await made


def in_thread(address: str, method: str, args: Any, kwargs: Any) -> Any:
    with Client(address, "t") as hub:
        made = getattr(hub, method)(*args, **kwargs)
        return list(made) if isinstance(made, Iterator) else made


@pytest.mark.parametrize("awaited", [False, True], ids=["Client", "AsyncClient"])
@pytest.mark.parametrize("call", CALLS, ids=[f"{c[0]}{c[1]}{list(c[2])}" for c in CALLS])
def test_a_call_asks_with_all_it_was_given_and_answers_with_its_record(
    call: Call, awaited: bool
) -> None:
    """One request with every argument in its place, under the client's token; every field is read."""
    method, args, kwargs, request, body, gives = call
    with answering(answer_of(method, gives)) as script:
        if awaited:
            answered = asyncio.run(on_loop(script.address, method, args, kwargs))
        else:
            answered = in_thread(script.address, method, args, kwargs)
    assert script.asked == [request]
    assert (json.loads(script.bodies[0]) if script.bodies[0] else None) == body
    sent = {name.lower(): value for name, value in script.headers[0].items()}
    assert sent["authorization"] == "Bearer t"
    assert sent.get("content-type") == (None if body is None else "application/json")
    assert sent.get("idempotency-key") == kwargs.get("key")
    kind: type[Record] = gives[0] if isinstance(gives, list) else gives
    for each in answered if isinstance(gives, list) else [answered]:
        assert type(each) is kind
        assert each.raw == filled(kind)


def test_every_method_and_argument_is_in_the_table() -> None:
    """A method, or a parameter, that is new is held to what it asks too."""
    methods = {name for name in vars(Calls) if not name.startswith("_")}
    assert {call[0] for call in CALLS} == methods - ELSEWHERE
    for name in methods - ELSEWHERE:
        signature = inspect.signature(getattr(Client, name))
        given = {
            key
            for call in CALLS
            if call[0] == name
            for key in signature.bind(None, *call[1], **call[2]).arguments
        }
        assert set(signature.parameters) - given <= {"content_type"}, name
