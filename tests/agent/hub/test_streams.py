"""An agent answers what people ask of its member's pods: a scripted hub, a simulated member."""

from dataclasses import replace

import pytest

from agent.decide.member_policy import MemberPolicy
from shared import labels
from tests import waiting
from tests.agent.build import a_namespace
from tests.agent.scripted_hub import HUB_ID, a_job

pytestmark = pytest.mark.anyio
LINES = "sim.roadstead.dev/log-lines"
ON = MemberPolicy(logs="on")


async def a_running_job(member, lines="5", run_seconds="2", policy=ON, **spec):
    """A job of uid u-1, applied by the agent; its pods are there."""
    spec["annotations"] = {LINES: lines, **spec.get("annotations", {})}
    member.start(policy=policy)
    member.hub.put(a_job(run_seconds=run_seconds, **spec))
    await waiting.eventually(lambda: pods(member), within_s=20)


def pods(member):
    return list(member.cluster.store.list("pods", "team"))


async def test_a_log_is_followed_to_the_end_of_the_job(member):
    """All lines of all pods, each pod's in order, and the end says that all has been said."""
    await a_running_job(member, lines="20", parallelism=3, completions=3)
    asked = member.hub.streams.ask(follow=True)
    assert await member.hub.streams.ended(asked) == "Ended"
    told = member.hub.streams.lines(asked)
    assert len(pods(member)) == 3
    for pod in pods(member):
        name = pod["metadata"]["name"]
        mine = [line for line in told if line.startswith(f"{name}:")]
        assert mine == [f"{name}: line {number} of 20" for number in range(1, 21)]


async def test_of_a_pod_that_comes_later_all_lines_are_told(member):
    """`tail` is about what was written before: what begins while it is followed is read as a whole."""
    await a_running_job(member, lines="4", run_seconds="1", parallelism=1, completions=2)
    asked = member.hub.streams.ask(follow=True, tail=1)
    assert await member.hub.streams.ended(asked) == "Ended"
    told = member.hub.streams.lines(asked)
    last = told[-1].partition(":")[0]
    assert len({line.partition(":")[0] for line in told}) == 2
    assert [line for line in told if line.startswith(last)] == [
        f"{last}: line {number} of 4" for number in range(1, 5)
    ]


async def test_parts_whose_answer_is_lost_are_told_once(member):
    """The same part is sent again by the same number: no line is lost, and none comes twice."""
    await a_running_job(member, lines="20")
    member.hub.streams.loses = 2
    asked = member.hub.streams.ask(follow=True)
    assert await member.hub.streams.ended(asked) == "Ended"
    assert len(member.hub.streams.lines(asked)) == 20


async def test_what_is_not_taken_waits(member):
    """A hub without room is asked again with the same part: back-pressure, and nothing is dropped."""
    await a_running_job(member, lines="20")
    streams = member.hub.streams
    streams.full = True
    asked = streams.ask(follow=True)
    await waiting.eventually(lambda: streams.untaken > 3)
    streams.full = False
    assert await streams.ended(asked) == "Ended"
    assert len(streams.lines(asked)) == 20


async def test_nobody_waits_any_more(member):
    """A part that is refused ends the reading: no further part is brought."""
    await a_running_job(member, lines="1000", run_seconds="300")
    streams = member.hub.streams
    asked = streams.ask(follow=True)
    await waiting.eventually(lambda: streams.parts[asked])
    streams.gone.add(asked)
    await waiting.eventually(lambda: streams.refused)
    assert member.agent is not None
    gauge = member.agent.meters.streams
    await waiting.eventually(lambda: gauge._value.get() == 0)
    assert streams.refused == 1


@pytest.mark.parametrize(
    ("asked", "lines", "code"),
    [
        ({}, 5, "Ended"),
        ({"tail": 2}, 2, "Ended"),
        ({"pod": "nobody"}, 0, "PodNotFound"),
        ({"container": "side"}, 0, "ContainerNotFound"),
        ({"previous": True}, 0, "NotBegun"),
        ({"uid": "another"}, 0, "PodsRemoved"),
        ({"uid": "another", "name": "none"}, 0, "PodsRemoved"),
        ({"uid": "a,b in (c)"}, 0, "RefusedByMember"),
        ({"namespace": "kube-system"}, 0, "RefusedByMember"),
        ({"namespace": "team/pods"}, 0, "RefusedByMember"),
        ({"uid": "u-1", "name": "../pods/job"}, 0, "RefusedByMember"),
        ({"uid": "u-1", "name": ""}, 0, "RefusedByMember"),
    ],
)
async def test_what_is_asked_is_answered_in_words(member, asked, lines, code):
    """Lines where there are some; else a code that says why not. What is no name reaches no path."""
    await a_running_job(member, run_seconds="1")
    streams = member.hub.streams
    await waiting.eventually(lambda: pods(member)[0]["status"]["phase"] == "Running")
    if "uid" not in asked:
        await member.hub.finished("u-1")
    else:
        asked = {"name": "job", **asked}
    stream = streams.ask(**asked)
    assert await streams.ended(stream) == code
    assert len(streams.lines(stream)) == lines


async def test_a_job_without_pods_has_no_log_yet(member):
    """A reader that follows the whole job waits for them; any other gets NoPodsYet."""
    member.start(policy=ON)
    member.hub.put(a_job(parallelism=0))
    await waiting.eventually(lambda: list(member.cluster.store.list("jobs.batch", "team")))
    streams = member.hub.streams
    followed = streams.ask(follow=True)
    for asked in ({}, {"pod": "job-x"}, {"follow": True, "pod": "job-x"}):
        assert await streams.ended(streams.ask(**asked)) == "NoPodsYet"
    assert [part.end for part in streams.parts[followed]] == [None]


async def test_a_log_goes_on_where_it_broke_off(member):
    """From the second of the last line on, whatever else is asked; who asks knows what was read."""
    await a_running_job(member, lines="5", run_seconds="1")
    await member.hub.finished("u-1")
    streams = member.hub.streams
    whole = streams.ask()
    assert await streams.ended(whole) == "Ended"
    told = [line for part in streams.parts[whole] for line in part.lines]
    log = f"{told[2].pod}/{told[2].container}"
    for more in ({}, {"tail": 1}):
        rest = streams.ask(after={log: told[2].at}, **more)
        assert await streams.ended(rest) == "Ended"
        again = streams.lines(rest)
        assert again == [each.line for each in told][-len(again) :]
        assert len(again) >= 3
    later = streams.ask(after={log: "2999-01-01T00:00:00Z"})
    assert await streams.ended(later) == "Ended"
    assert streams.lines(later) == []


async def test_a_pod_that_waits_says_why(member):
    """Without following it is an answer of its own; followed, it is a note beside the lines."""
    await a_running_job(member, image="nothing.invalid/x:1", run_seconds="300")
    streams = member.hub.streams
    followed = streams.ask(follow=True)
    await waiting.eventually(lambda: [n for n in streams.notes(followed) if "ImagePull" in n])
    once = streams.ask()
    assert await streams.ended(once) == "NotBegun"


async def test_logs_are_off_until_somebody_says_on(member):
    """The member's own word: no log is read; how pods are is told all the same."""
    await a_running_job(member, policy=replace(ON, logs="off"))
    streams = member.hub.streams
    await member.hub.finished("u-1")
    assert await streams.ended(streams.ask()) == "LogsOff"
    told = streams.ask("pods")
    assert await streams.ended(told) == "Ended"
    (part,) = streams.parts[told]
    assert [pod.phase for pod in part.pods] == ["Succeeded"]
    assert {event.about.partition("/")[0] for event in part.events} == {"Job", "Pod"}


async def a_namespace_of_the_agents(member, **more):
    """Namespace `shop`, which the agent created, with a Secret of the member's people."""
    body = a_namespace("shop")
    body["metadata"]["labels"] = {labels.MANAGED_BY: HUB_ID, labels.CREATED_BY: HUB_ID, **more}
    await member.kube.create(body, field_manager=labels.FIELD_MANAGER)
    metadata = {"name": "theirs", "namespace": "shop"}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"a": "b"}}
    await member.kube.create(secret, field_manager="people")


async def inside(member):
    """The last part of the agent's answer about namespace `shop`."""
    streams = member.hub.streams
    asked = streams.ask("namespace", namespace="shop", name="shop")
    await streams.ended(asked)
    return streams.parts[asked][-1]


async def test_what_others_have_in_a_namespace_is_named(member):
    """The objects of the member's people, which keep a namespace that the agent created."""
    await a_namespace_of_the_agents(member)
    member.start(policy=replace(ON, profile="objects"))
    told = (await inside(member)).namespace
    assert (told.ours, told.others, told.named) == (0, 1, ["Secret/theirs"])


async def test_pods_of_the_hubs_jobs_are_the_hubs(member):
    """They go with their Job: nothing of other people keeps the namespace."""
    marks = {"metadata": {"labels": {labels.MANAGED_BY: HUB_ID, labels.CREATED_BY: HUB_ID}}}
    at = ("v1", "Namespace", "", "team")
    await member.kube.merge_patch(*at, marks, field_manager=labels.FIELD_MANAGER)
    await a_running_job(member, run_seconds="300", policy=replace(ON, profile="objects"))
    streams = member.hub.streams
    asked = streams.ask("namespace", namespace="team", name="team")
    await streams.ended(asked)
    told = streams.parts[asked][-1].namespace
    assert (told.ours, told.others) == (2, 0)


async def test_nothing_is_told_of_a_namespace_that_the_agent_did_not_create(member):
    """Its people own it."""
    await a_namespace_of_the_agents(member, **{labels.CREATED_BY: "another-hub"})
    member.start(policy=replace(ON, profile="objects"))
    part = await inside(member)
    assert (part.namespace, part.end.code) == (None, "RefusedByMember")


async def test_an_agent_of_profile_jobs_does_not_look(member):
    """It has no right to, and deletes no namespace."""
    await a_namespace_of_the_agents(member)
    member.start(policy=replace(ON, profile="jobs"))
    assert "profile jobs" in (await inside(member)).namespace.unread


async def test_hostile_lines_are_told_as_they_are(member):
    """Control sequences, quotes and what looks like a record travel as text."""
    hostile = '\x1b[2J"}\\n{"end":{}}'
    await a_running_job(member, lines=hostile, run_seconds="1")
    await member.hub.finished("u-1")
    asked = member.hub.streams.ask()
    assert await member.hub.streams.ended(asked) == "Ended"
    assert member.hub.streams.lines(asked) == [hostile]


@pytest.mark.parametrize("logs", ["on", "off"])
@pytest.mark.parametrize("what", ["pods", "last"])
async def test_a_termination_message_is_told_only_with_logs(member, what, logs):
    """Pods are told, and what a container wrote only where the member gives logs."""
    await a_running_job(member, run_seconds="300", policy=replace(ON, logs=logs))
    ended = {"exitCode": 3, "reason": "Error", "message": "password=hunter2"}
    status = {"containerStatuses": [{"name": "main", "state": {"terminated": ended}}]}
    name = pods(member)[0]["metadata"]["name"]
    await member.kube.merge_patch(
        "v1",
        "Pod",
        "team",
        name,
        {"status": {**status, "phase": "Failed"}},
        field_manager="kubelet",
        subresource="status",
    )
    streams = member.hub.streams
    told = streams.ask(what)
    assert await streams.ended(told) == "Ended"
    failed = [pod for part in streams.parts[told] for pod in part.pods if pod.phase == "Failed"]
    assert [each.containers[0].exit_code for each in failed] == [3]
    assert ("hunter2" in str(streams.parts[told])) is (logs == "on")


async def test_the_exchange_goes_on_whatever_streams_do(member):
    """A job ends and is told while a stream's hub takes nothing."""
    await a_running_job(member, lines="1000", run_seconds="1")
    member.hub.streams.full = True
    member.hub.streams.ask(follow=True)
    await member.hub.finished("u-1")


async def test_a_pod_that_fails_is_told_of_at_once_with_its_last_lines(member):
    """While its Job goes on: nobody knows how long the pod will be there."""
    annotations = {"sim.roadstead.dev/exit-code": "3"}
    await a_running_job(
        member,
        lines="loading\nno such file",
        run_seconds="0.2",
        annotations=annotations,
        backoffLimit=9,
    )
    failed = await waiting.eventually(lambda: member.hub.streams.failed, within_s=20)
    (first, *_) = failed
    assert (first.job, first.namespace, first.pod.phase, first.pod.epoch) == (
        "u-1",
        "team",
        "Failed",
        1,
    )
    assert first.pod.containers[0].exit_code == 3
    assert [line.line for line in first.lines] == ["loading", "no such file"]


async def test_how_a_pod_failed_is_told_where_logs_are_off(member):
    """Without a line of its log."""
    await a_running_job(
        member,
        run_seconds="0.2",
        annotations={"sim.roadstead.dev/exit-code": "3"},
        policy=replace(ON, logs="off"),
    )
    (first, *_) = await waiting.eventually(lambda: member.hub.streams.failed, within_s=20)
    assert (first.pod.containers[0].exit_code, first.lines) == (3, [])
