"""Submitting many jobs and waiting for them from Python: nothing is lost without a word."""

import json

import pytest

from roadstead import Client, JobFailed, Rejected, SomeRejected, TimedOut, Unreachable
from tests.cli.build import a_job, a_listed_job
from tests.cli.scripted import Answer, Scripted, answering, items, problem


def _taken(*names: str, **more) -> Answer:
    """A batch of which all were taken."""
    told = [{"index": i, **a_listed_job(name)} for i, name in enumerate(names)]
    return Answer({"items": told, **more})


def _ended(state: str, name: str = "ok") -> Answer:
    return Answer(a_listed_job(name, state=state, reason="BackoffLimitExceeded"))


def _keys(script: Scripted) -> list[str]:
    return [sent["Idempotency-Key"] for sent in script.headers]


def test_pages_of_a_real_hub(hub):
    """A thousand and one jobs submitted in bulk are listed once each."""
    with hub.client() as client:
        told = client.submit_many(a_job(f"j{i}", "bulk") for i in range(1001))
        listed = [job.name for job in client.jobs(namespace="bulk")]
    assert len(told.jobs) == len(listed) == len(set(listed)) == 1001


def test_many_are_submitted_by_the_call_itself(hub):
    """Nobody has to iterate what submit_many gives for the jobs to be there."""
    with hub.client() as client:
        client.submit_many([a_job("eager-a", "eager"), a_job("eager-b", "eager")])
        assert {job.name for job in client.jobs(namespace="eager")} == {"eager-a", "eager-b"}


def test_refusals_among_many_are_raised_with_every_outcome(hub):
    """The others are taken; the error tells of each, and of the first refusal in its words."""
    given = [a_job("many-a", "many"), a_job("Bad_Name", "many"), a_job("many-b", "many")]
    with hub.client() as client, pytest.raises(SomeRejected, match="1 of 3 jobs") as caught:
        client.submit_many(given)
    outcomes = caught.value.outcomes
    assert [job.name for job in outcomes.jobs] == ["many-a", "many-b"]
    assert [(each.index, each.refusal.code) for each in outcomes.refused] == [(1, "InvalidName")]
    assert caught.value.code == "InvalidName"


def test_refusals_among_many_may_be_looked_at_instead(hub):
    """With check=False they are outcomes, in order, with code, detail and fields."""
    with hub.client() as client:
        good, bad = client.submit_many([a_job("c-a", "c"), a_job("Bad_Name", "c")], check=False)
    assert good.job.full_name == "c/c-a"
    assert bad.refusal.errors[0].field == "metadata.name"


def test_the_lazy_twin_sends_as_it_is_iterated():
    """submit_iter sends nothing before the first step, and then a thousand at a time."""
    names = [f"j{number}" for number in range(1001)]
    with (
        answering(_taken(*names[:1000]), _taken(names[1000])) as script,
        Client(script.address) as hub,
    ):
        outcomes = hub.submit_iter(a_job(name) for name in names)
        assert script.asked == []
        next(outcomes)
        assert [body.count(b"\n") + 1 for body in script.bodies] == [1000]
        assert [each.index for each in outcomes] == list(range(1, 1001))
        assert [body.count(b"\n") + 1 for body in script.bodies] == [1000, 1]


def test_a_key_makes_many_repeatable():
    """Each request of a submit_many has a key that follows from the given one; without, its own."""
    names = [f"j{number}" for number in range(1001)]
    parts = [_taken(*names[:1000]), _taken(names[1000])]
    with answering(*parts, *parts, *parts) as script, Client(script.address) as hub:
        for key in ("k", "k", None):
            hub.submit_many(map(a_job, names), key=key)
    assert _keys(script)[:4] == ["k", "k/1", "k", "k/1"]
    assert len(set(_keys(script))) == 4


def test_many_that_are_too_much_are_halved():
    """A request beyond what the hub takes at a time is sent in halves; each job has one outcome."""
    too_much = problem(422, "TooManyValues", "the body holds more than 1000000 values")
    answers = [too_much, _taken("a"), _taken("b", "c")]
    with answering(*answers) as script, Client(script.address) as hub:
        outcomes = hub.submit_many([a_job(name) for name in "abc"], key="k")
    assert [each.index for each in outcomes] == [0, 1, 2]
    assert len(set(_keys(script))) == 3


def test_many_that_are_refused_together_are_each_refused():
    """A key that was used for others: no job of that request is taken, and none is forgotten."""
    no = problem(409, "IdempotencyMismatch", "used for another body")
    with answering(no) as script, Client(script.address) as hub:
        outcomes = hub.submit_many([a_job("a"), a_job("b")], key="k", check=False)
    assert [each.refusal.code for each in outcomes] == ["IdempotencyMismatch"] * 2


def test_the_body_of_many_is_a_line_for_each():
    """Dictionaries and JSON text alike; line ends within a text are none of the body's."""
    with answering(_taken("a", "b")) as script, Client(script.address) as hub:
        hub.submit_many([a_job("a"), json.dumps(a_job("b"), indent=2)])
    lines = script.bodies[0].split(b"\n")
    assert [json.loads(line)["metadata"]["name"] for line in lines] == ["a", "b"]


def test_a_blank_among_many_is_refused(hub):
    """Text that holds nothing has its outcome too, and moves nobody else's place."""
    with hub.client() as client:
        outcomes = client.submit_many(
            ["\n", json.dumps(a_job("after-blank", "blank"))], check=False
        )
    assert [each.index for each in outcomes.refused] == [0]
    assert [job.name for job in outcomes.jobs] == ["after-blank"]


def test_an_answer_that_tells_of_others_is_no_hubs():
    """As many results as jobs, or nobody knows whose they are."""
    with (
        answering(_taken("a")) as script,
        Client(script.address) as hub,
        pytest.raises(Unreachable, match="it answered for 1 jobs, but 2 were submitted"),
    ):
        hub.submit_many([a_job("a"), a_job("b")])


def test_warnings_of_many_are_their_jobs():
    """What the hub says of one by its index stands with what it says of its fields."""
    told = [
        {"index": 0, **a_listed_job("a")},
        {"index": 1, **a_listed_job("b"), "warnings": ["w"]},
    ]
    said = [{"index": 1, "message": "no member could ever hold it"}]
    with (
        answering(Answer({"items": told, "warnings": said})) as script,
        Client(script.address) as hub,
    ):
        a, b = hub.submit_many([a_job("a"), a_job("b")]).jobs
    assert (a.warnings, b.warnings) == ((), ("w", "no member could ever hold it"))


def test_an_answer_without_its_job_is_no_hubs():
    """A record that lacks what it must have is Unreachable with the reason, not a KeyError later."""
    with (
        answering(items({"name": "a"})) as script,
        Client(script.address) as hub,
        pytest.raises(Unreachable, match=r"is not a hub: its Job has no 'uid'"),
    ):
        hub.submit_many([a_job()])


def test_waiting_has_an_end():
    """wait raises TimedOut with the state that the job is in."""
    with (
        answering(Answer(a_listed_job())) as script,
        Client(script.address) as hub,
        pytest.raises(TimedOut, match=r"team-a/ok is Running after 0\.05 s"),
    ):
        hub.wait("01a1", timeout_s=0.05, every_s=0.01)


def test_waiting_returns_what_succeeded():
    """The job as it ended, by name too: its uid is asked for once."""
    running = Answer(a_listed_job())
    with (
        answering(running, running, _ended("Succeeded")) as script,
        Client(script.address) as hub,
    ):
        assert hub.wait("team-a/ok", every_s=0.01).has_succeeded
    assert script.asked[0] == "GET /v1/namespaces/team-a/jobs/ok"
    assert script.asked[-1] == f"GET /v1/jobs/{a_listed_job()['uid']}"


@pytest.mark.parametrize("state", ["Failed", "Cancelled", "Deactivated"])
def test_waiting_for_what_does_not_succeed_raises(state):
    """JobFailed has the job with its state and reason; check=False returns it instead."""
    with answering(_ended(state)) as script, Client(script.address) as hub:
        with pytest.raises(JobFailed, match=rf"team-a/ok {state} \(BackoffLimitExceeded\)") as no:
            hub.wait("01a1")
        assert [job.state for job in no.value.jobs] == [state]
        assert hub.wait("01a1", check=False).state == state


def test_waiting_for_all_tells_of_those_that_failed():
    """All are waited for; then the error names those that did not succeed."""
    answers = [_ended("Failed", "a"), _ended("Succeeded", "b")]
    with answering(*answers, *answers) as script, Client(script.address) as hub:
        with pytest.raises(JobFailed) as caught:
            hub.wait_all(["01a1", "01a2"])
        assert [job.name for job in hub.wait_all(["01a1", "01a2"], check=False)] == ["a", "b"]
    assert [job.name for job in caught.value.jobs] == ["a"]


def test_waiting_for_all_has_one_end():
    """timeout_s is for all together."""
    with (
        answering(_ended("Succeeded"), Answer(a_listed_job())) as script,
        Client(script.address) as hub,
        pytest.raises(TimedOut, match=r"after 0\.05 s"),
    ):
        hub.wait_all(["01a1", "01a2"], timeout_s=0.05, every_s=0.01)


def test_a_refused_job_is_not_taken_for_another():
    """submit raises the refusal as it is."""
    with (
        answering(problem(422, "InvalidName", "no")) as script,
        Client(script.address) as hub,
        pytest.raises(Rejected, match="InvalidName"),
    ):
        hub.submit(json.dumps(a_job()))
