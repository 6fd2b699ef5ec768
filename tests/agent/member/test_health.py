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


async def test_a_rejected_credential_makes_the_member_unhealthy(member):
    """The API server starts again with other tokens: the next report says Unauthorized (case p06)."""
    await running(member)
    tokens = dict(member.cluster.server.tokens)
    member.cluster.server.tokens.clear()
    down = await eventually(lambda: down_of(member.hub))
    assert (down.cause, down.reason) == ("Unauthorized", "Unauthorized: Unauthorized")
    member.cluster.server.tokens.update(tokens)
    await eventually(lambda: down_of(member.hub) is None)


async def test_a_forbidden_probe_makes_the_member_unhealthy(member):
    """403 to the probe: the agent's account lost its rights."""
    await running(member)
    member.cluster.faults.add(
        "403", verb="get", resource="namespaces", name="kube-system", count=0
    )
    down = await eventually(lambda: down_of(member.hub))
    assert down.cause == "Forbidden"


async def test_403_for_one_kind_concerns_that_kind(member):
    """The member stays healthy while its API server refuses every Job."""
    await running(member)
    member.hub.put(a_job())
    fault = member.cluster.faults.add("403", verb="create", resource="jobs", count=0)
    await eventually(lambda: fault.hits >= 2)
    assert down_of(member.hub) is None


async def test_an_answered_create_is_a_sign_of_life(member):
    """Probes hang and creates are answered: the member is slow, not down."""
    await running(member)
    slow = member.cluster.faults.add(
        "delay", verb="get", resource="namespaces", name="kube-system", count=0, seconds=600.0
    )
    number = 0
    while slow.hits < 4:
        member.hub.put(a_job(f"u-{number}", f"job-{number}"))
        await member.hub.finished(f"u-{number}")
        number += 1
    assert down_of(member.hub) is None


class Server:
    """An API server that answers these probes so: True, False (no answer), or an HTTP status."""

    def __init__(self, *answers: bool | int) -> None:
        self.clock = InstantClock()
        self._answers = iter(answers)
        self.heard: Any = None

    def on_answer(self, heard: Any) -> None:
        self.heard = heard

    async def probe(self, timeout_s: float) -> None:
        answers = next(self._answers, None)
        if answers is None:
            raise asyncio.CancelledError
        if answers is False:
            self.clock.advance(timeout_s)
            raise errors.Unavailable(0, "Timeout", "no answer")
        if answers is not True:
            raise errors.from_status(answers, {})


async def probed(
    *answers: bool | int, heard: tuple[str, int] | None = None, took_s: float = 0.1
) -> Health:
    """The view of the agent after these probes, and one answer to another request at the end."""
    server: Any = Server(*answers)
    health = Health(server, server.clock, lambda: None)
    with pytest.raises(asyncio.CancelledError):
        await health.run()
    if heard is not None:
        server.heard(*heard, took_s)
    return health


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
    health = await probed(*answers)
    assert (health.told() is not None) is down


JOBS = "/apis/batch/v1/namespaces/team/jobs"


@pytest.mark.parametrize(
    ("path", "status", "lives"),
    [
        (JOBS, 201, True),
        (JOBS, 404, True),
        (JOBS, 409, True),
        (JOBS, 422, True),
        (JOBS, 429, True),
        (JOBS, 401, False),
        (JOBS, 403, False),
        (JOBS, 500, False),
        ("/api/v1/nodes", 200, True),
        ("/apis/batch/v1", 200, False),
        ("/api/v1", 200, False),
        ("/apis", 200, False),
        ("/version", 200, False),
    ],
)
async def test_an_answered_request_for_objects_ends_silence(path, status, lives):
    """Refusals of the credential, faults and what is answered from memory are no sign of life."""
    health = await probed(False, False, heard=(path, status))
    assert (health.told() is None) is lives


async def test_only_a_probe_ends_a_refusal():
    """An answer to an older request says nothing of the credential that was rejected since."""
    health = await probed(True, 401, heard=(JOBS, 200))
    told = health.told()
    assert told is not None
    assert told.cause == "Unauthorized"
    assert (await probed(True, 401, True)).told() is None


async def test_a_probe_decides_after_401_to_another_request():
    """One aggregated API that refuses the agent does not make the member unhealthy."""
    assert (await probed(True, heard=("/apis/metrics.k8s.io/v1beta1/pods", 401))).told() is None


@pytest.mark.parametrize(("took_s", "down"), [(0.1, True), (8.0, False)])
async def test_a_slow_server_is_waited_for_as_long_as_its_answers_take(took_s, down):
    """Two missed probes say nothing of a server whose last answer took eight seconds."""
    server: Any = Server(False, False)
    health = Health(server, server.clock, lambda: None)
    health.heard(JOBS, 201, took_s)
    with pytest.raises(asyncio.CancelledError):
        await health.run()
    assert (health.told() is not None) is down


async def test_a_server_that_was_slow_is_down_after_twice_the_time_its_answers_took():
    """Patience has an end."""
    server: Any = Server(*[False] * 40)
    health = Health(server, server.clock, lambda: None)
    health.heard(JOBS, 201, 8.0)
    with pytest.raises(asyncio.CancelledError):
        await health.run()
    told = health.told()
    assert told is not None
    assert told.down_s > 16.0
