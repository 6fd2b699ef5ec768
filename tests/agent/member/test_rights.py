"""The agent says in which namespaces its account may not create Jobs, and when it may again."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agent.decide.decision import Outcome, Trouble
from agent.member.rights import Rights
from shared.kube import errors
from shared.wire.agent_v1 import MOST_FORBIDDEN
from shared.wire.consent import NamedNamespaces
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


async def test_a_job_that_may_not_be_started_names_the_missing_right(member):
    """The account may create Jobs and not patch them: the reason says so, not only that it failed."""
    member.cluster.faults.add("forbid", verb="patch", resource="jobs", count=0)
    member.hub.put(a_job())
    member.start()
    told = await member.hub.seen("u-1", "Failed", "ApplyFailed")
    assert "may not patch Jobs in namespace team (403)" in told.message


async def test_a_403_of_another_cause_is_no_missing_right(member):
    """A webhook or a quota refuses this Job, and the member says that the account may create Jobs."""
    member.cluster.faults.add("403", verb="create", resource="jobs", count=0)
    member.hub.put(a_job())
    member.start()
    await member.hub.seen("u-1", "Failed", "ApplyFailed")
    assert not member.agent.reconciler.rights.told()


async def test_an_agent_that_restarts_finds_out_what_is_missing(member):
    """It never reports the right as there: what it has not asked about is not known."""
    member.cluster.faults.add("forbid", verb="create", resource="jobs", count=0)
    member.hub.named = NamedNamespaces(revision=3, names=["team"])
    member.start()
    told = [
        each.capacity.jobs_forbidden_in
        for each in await eventually(lambda: rights_told(member) and member.hub.requests)
        if each.capacity is not None
    ]
    assert told[-1] == ["team"]
    assert [] not in told


def rights_told(member: Any) -> bool:
    """Has the agent reported a missing right?"""
    return bool(member.hub.capacity and member.hub.capacity.jobs_forbidden_in)


class Reviewed:
    """An API server that answers reviews so: True, False, or None where it fails."""

    def __init__(self, *answers: bool | None) -> None:
        self.clock = InstantClock()
        self.asked: list[str] = []
        self.spent = False
        self._answers = iter(answers)

    async def create(self, body: dict[str, Any], **_: Any) -> dict[str, Any]:
        attributes = body["spec"]["resourceAttributes"]
        self.asked.append(attributes["namespace"])
        answer = next(self._answers, "no more")
        if answer == "no more":
            self.spent = True
            raise asyncio.CancelledError
        if answer is None:
            raise errors.Unavailable(503, "ServiceUnavailable", "no answer")
        return {**body, "status": {"allowed": answer}}


def begun(*answers: bool | None, named: list[str] | None = None) -> tuple[Rights, Reviewed]:
    """The rights of an agent that starts, at a hub that has named these namespaces."""
    server: Any = Reviewed(*answers)
    return Rights(server, server.clock, lambda: None, lambda: named), server


async def asks(rights: Rights, until: Callable[[], bool]) -> None:
    """Let it ask the member until something is so."""
    running = asyncio.create_task(rights.run())
    await eventually(until)
    running.cancel()


async def refused(*answers: bool | None, namespace: str = "team") -> tuple[Rights, Reviewed]:
    """The rights after one refused create, to which the first answer belongs."""
    rights, server = begun(*answers)
    await rights.judge(a_job(namespace=namespace), REFUSED)
    return rights, server


async def test_what_was_not_asked_is_not_known():
    """An agent that starts says neither that it may nor that it may not."""
    rights, server = begun(None, None)
    assert rights.told() is None
    await asks(rights, lambda: server.spent)
    assert rights.told() is None


async def test_a_right_in_all_namespaces_answers_for_each():
    """RBAC is additive: one review, and nothing is missing."""
    rights, server = begun(True, named=["team", "other"])
    await asks(rights, lambda: rights.told() == [])
    assert server.asked == [""]


async def test_without_it_each_namespace_that_the_hub_named_is_asked_about():
    """It is known once all are answered; what was answered is not asked again until then."""
    rights, server = begun(False, False, None, True, named=["a", "b"])
    await asks(rights, lambda: rights.told() == ["a"])
    assert server.asked[:4] == ["", "a", "b", "b"]


async def test_an_answer_that_is_missing_leaves_the_rest_unknown():
    """Half of the answers would tell the hub that the other half is allowed."""
    rights, server = begun(False, False, None, named=["a", "b"])
    await asks(rights, lambda: server.spent)
    assert rights.told() is None
    assert rights.refusal(a_job(namespace="a")) is not None


async def test_a_hub_that_has_named_no_namespace_yet_is_waited_for():
    """Without names there is nothing to ask about, and nothing known."""
    rights, server = begun(False)
    start = server.clock.monotonic()
    await asks(rights, lambda: server.clock.monotonic() > start + 5)
    assert rights.told() is None
    assert server.asked == [""]


async def test_no_more_reviews_are_asked_for_than_tell_something():
    """Once as many namespaces lack the right as are reported, the rest is left to refused creates."""
    names = [f"n-{number:03}" for number in range(MOST_FORBIDDEN + 9)]
    rights, server = begun(False, *[False] * MOST_FORBIDDEN, named=names)
    await asks(rights, lambda: rights.told() is not None)
    assert rights.told() == names[:MOST_FORBIDDEN]
    assert server.asked[: MOST_FORBIDDEN + 1] == ["", *names[:MOST_FORBIDDEN]]


async def test_a_refusal_before_it_is_known_is_kept():
    """The create of a Job was refused while the agent was still asking."""
    rights, _ = await refused(False, True)
    await asks(rights, lambda: rights.told() is not None)
    assert rights.told() == ["team"]


@pytest.mark.parametrize(("answer", "told"), [(False, ["team"]), (True, []), (None, [])])
async def test_only_the_members_own_word_counts(answer, told):
    """Without an answer to the review nothing is concluded from the 403."""
    rights, _ = await refused(answer, True)
    await asks(rights, lambda: rights.told() is not None)
    assert rights.told() == told


async def test_it_is_asked_again_until_it_may():
    """A review that fails changes nothing; the one that allows it ends it."""
    rights, server = await refused(False, True, False, None, True)
    assert rights.refusal(a_job()) is not None
    await asks(rights, lambda: rights.told() == [])
    assert rights.refusal(a_job()) is None
    assert server.asked == ["team", "", *["team"] * 3]
    assert rights.revision == 3


async def test_no_more_is_reported_than_a_hub_takes():
    """Namespaces are many in some members."""
    rights, _ = await refused(*[False] * (MOST_FORBIDDEN + 2), True, namespace="n-0")
    for number in range(1, MOST_FORBIDDEN + 2):
        await rights.judge(a_job(namespace=f"n-{number}"), REFUSED)
    await asks(rights, lambda: rights.told() is not None)
    assert len(rights.told() or ()) == MOST_FORBIDDEN
