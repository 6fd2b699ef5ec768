"""The agent says in which namespaces its account may not create Jobs, and when it may again."""

import asyncio
from typing import Any

import pytest

from agent.decide.decision import Outcome, Trouble
from agent.member.rights import Rights
from shared.kube import errors
from shared.wire.agent_v1 import MOST_FORBIDDEN
from tests.agent.scripted_hub import a_job, eventually
from tests.shared.clocks import InstantClock

pytestmark = pytest.mark.anyio
REFUSED = Outcome(trouble=Trouble("ApplyFailed", "no"), forbidden=True)


async def test_a_missing_right_is_reported_with_the_namespace(member):
    """Of the refused Job as its reason, and of the member with its capacity; it stays healthy."""
    member.cluster.faults.add("forbid", verb="create", resource="jobs", namespace="team", count=0)
    member.hub.put(a_job())
    member.start()
    await member.hub.seen("u-1", "Failed", "CreateForbidden")
    told = await eventually(lambda: (c := member.hub.capacity) and c.jobs_forbidden_in and c)
    assert told.jobs_forbidden_in == ["team"]
    assert told.api_server is None


async def test_jobs_of_other_namespaces_go_on(member):
    """The right is missing in one namespace alone."""
    member.cluster.faults.add("forbid", verb="create", resource="jobs", namespace="team", count=0)
    await member.namespace("other")
    member.start()
    member.hub.put(a_job())
    await member.hub.seen("u-1", "Failed", "CreateForbidden")
    member.hub.put(a_job("u-2", "job-2", namespace="other"))
    await member.hub.finished("u-2")


async def test_a_refused_job_never_started(member):
    """Its withdrawal says so: it is no attempt."""
    member.cluster.faults.add("forbid", verb="create", resource="jobs", count=0)
    member.hub.put(a_job(fresh=True))
    member.start()
    await member.hub.seen("u-1", "Failed", "CreateForbidden")
    member.hub.put(a_job(fresh=True, action="Withdraw"))
    assert (await member.hub.seen("u-1", "Gone")).unstarted


async def test_a_403_of_another_cause_is_no_missing_right(member):
    """A webhook or a quota refuses this Job, and the member says that the account may create Jobs."""
    member.cluster.faults.add("403", verb="create", resource="jobs", count=0)
    member.hub.put(a_job())
    member.start()
    await member.hub.seen("u-1", "Failed", "ApplyFailed")
    assert member.agent.reconciler.rights.told() == []


class Reviewed:
    """An API server that answers reviews so: True, False, or None where it fails."""

    def __init__(self, *answers: bool | None) -> None:
        self.clock = InstantClock()
        self.asked: list[str] = []
        self._answers = iter(answers)

    async def create(self, body: dict[str, Any], **_: Any) -> dict[str, Any]:
        attributes = body["spec"]["resourceAttributes"]
        self.asked.append(attributes["namespace"])
        answer = next(self._answers, "no more")
        if answer == "no more":
            raise asyncio.CancelledError
        if answer is None:
            raise errors.Unavailable(503, "ServiceUnavailable", "no answer")
        return {**body, "status": {"allowed": answer}}


async def refused(*answers: bool | None, namespace: str = "team") -> tuple[Rights, Reviewed]:
    """The rights after one refused create, to which the first answer belongs."""
    server: Any = Reviewed(*answers)
    rights = Rights(server, server.clock, lambda: None)
    await rights.judge(a_job(namespace=namespace), REFUSED)
    return rights, server


@pytest.mark.parametrize(("answer", "told"), [(False, ["team"]), (True, []), (None, [])])
async def test_only_the_members_own_word_counts(answer, told):
    """Without an answer to the review nothing is concluded from the 403."""
    rights, _ = await refused(answer)
    assert rights.told() == told


async def test_it_is_asked_again_until_it_may():
    """A review that fails changes nothing; the one that allows it ends it."""
    rights, server = await refused(False, False, None, True)
    assert rights.refusal(a_job()) is not None
    running = asyncio.create_task(rights.run())
    await eventually(lambda: rights.told() == [])
    running.cancel()
    assert rights.refusal(a_job()) is None
    assert server.asked == ["team"] * 4
    assert rights.revision == 2


async def test_no_more_is_reported_than_a_hub_takes():
    """Namespaces are many in some members."""
    rights, _ = await refused(*[False] * (MOST_FORBIDDEN + 2), namespace="n-0")
    for number in range(1, MOST_FORBIDDEN + 2):
        await rights.judge(a_job(namespace=f"n-{number}"), REFUSED)
    assert len(rights.told()) == MOST_FORBIDDEN
