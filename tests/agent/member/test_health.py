"""The agent says when its API server does not answer, and when it does again."""

import asyncio
from typing import Any

import pytest

from agent.member.health import Health
from shared.kube import errors
from tests.agent.scripted_hub import a_job, eventually
from tests.shared.clocks import InstantClock

pytestmark = pytest.mark.anyio

SAID_WITHIN_S = 10.0


def down_of(hub):
    """What the last capacity says of the API server; None: it answers."""
    return hub.capacity.api_server if hub.capacity is not None else None


async def running(member):
    member.start()
    await eventually(lambda: member.hub.capacity)
    assert down_of(member.hub) is None


@pytest.mark.parametrize(
    ("action", "reason"), [("delay", "Timeout"), ("drop", "NoConnection"), ("503", "ServerError")]
)
async def test_a_server_that_does_not_answer_is_reported_within_ten_seconds(
    member, action, reason
):
    """Hung, cut off or failing: the agent's next word says so, and says why."""
    await running(member)
    member.cluster.faults.add(action, count=0, seconds=600.0)
    began = asyncio.get_running_loop().time()
    down = await eventually(lambda: down_of(member.hub))
    assert asyncio.get_running_loop().time() - began < SAID_WITHIN_S
    assert down.reason.startswith(reason)
    assert down.down_s < SAID_WITHIN_S


async def test_a_server_that_answers_again_is_taken_back(member):
    """One answer suffices; what is desired is carried out then."""
    await running(member)
    member.cluster.faults.add("503", count=0)
    await eventually(lambda: down_of(member.hub))
    member.hub.put(a_job())
    member.cluster.faults.remove()
    await eventually(lambda: down_of(member.hub) is None)
    await member.hub.finished("u-1")


@pytest.mark.parametrize("action", ["429", "409"])
async def test_a_refusal_is_an_answer(member, action):
    """A server that throttles or refuses is alive."""
    await running(member)
    member.cluster.faults.add(action, verb="get", resource="namespaces", count=0)
    await eventually(lambda: member.cluster.faults.active()[0].hits >= 3)
    assert down_of(member.hub) is None


class Server:
    """An API server that answers these questions and not those."""

    def __init__(self, *answers: bool) -> None:
        self._answers = iter(answers)

    async def probe(self, _timeout_s: float) -> None:
        answers = next(self._answers, None)
        if answers is None:
            raise asyncio.CancelledError
        if not answers:
            raise errors.Unavailable(0, "Timeout", "no answer")


@pytest.mark.parametrize(
    ("answers", "down"),
    [
        ((True, False, True, False, True), False),
        ((True, False, True, False, False), True),
        ((False, False, True, False), False),
    ],
)
async def test_only_questions_in_a_row_count(answers, down):
    """A server that misses one question now and then is up, also once it has been down."""
    server: Any = Server(*answers)
    health = Health(server, InstantClock(), lambda: None)
    with pytest.raises(asyncio.CancelledError):
        await health.run()
    assert (health.told() is not None) is down
