"""Last lines of pods that failed: asked for once the job's end is stored, and kept with it."""

import asyncio

import pytest

from hub.controllers.last_lines import LastLines
from hub.services.live import last_lines
from shared.wire.streams_v1 import FAILED_PATH, FailedPod, PodTold
from tests import waiting
from tests.api.streaming import a_line, running_world, with_values

pytestmark = pytest.mark.anyio
SECRET = "open sesame"  # the value of a variable of the job


def a_failed_pod(name="p-1", code=3, reason="Error"):
    container = {"name": "main", "state": "terminated", "exit_code": code, "reason": reason}
    return {"name": name, "node": "n1", "phase": "Failed", "containers": [container]}


async def told_of(w, *parts):
    """One turn of the loop while the agent answers with these parts; what is kept then."""
    loop = LastLines(w.hub.hub, w.app.state.open_streams)
    question = asyncio.create_task(w.question())
    await waiting.eventually(lambda: w.app.state.open_streams.is_listening("c1"))
    turn = asyncio.create_task(loop.tick())
    asked = await question
    assert asked["what"] == "last"
    for number, part in enumerate(parts, start=1):
        await w.bring(asked, number, **part)
    await turn
    assert w.open == 0
    return await kept(w)


async def turn_of(w, loop, **part):
    """One turn of a loop that asks one question, and this answer."""
    question = asyncio.create_task(w.question())
    await waiting.eventually(lambda: w.app.state.open_streams.is_listening("c1"))
    turn = asyncio.create_task(loop.tick())
    await w.bring(await question, 1, **part)
    await turn


async def kept(w):
    reply = await w.http["administrator"].get(f"/v1/jobs/{w.uid}/events")
    return [each for each in reply.json()["items"] if each["reason"] == "PodFailed"]


async def test_how_pods_failed_and_their_last_lines_are_kept(tmp_path):
    """One event for each pod: how it ended, then its lines; none comes twice."""
    async with running_world(tmp_path) as w:
        await w.hub.transition("fail", w.uid)
        pods = [a_failed_pod(), a_failed_pod("p-2", 137, "OOMKilled")]
        lines = [a_line("one"), a_line("two"), a_line("other", pod="p-2")]
        first, second = await told_of(w, {"pods": pods, "lines": lines, "end": {"code": "Ended"}})
        assert first["message"].split("\n") == [
            "pod p-1 on n1: container main exited with code 3", "one", "two",
        ]  # fmt: skip
        how = "pod p-2 on n1: container main exited with code 137 (OOMKilled)"
        assert second["message"].split("\n") == [how, "other"]
        assert len(await told_of(w, {"pods": pods, "end": {"code": "Ended"}})) == 2


@pytest.mark.parametrize(
    ("code", "reason", "words"),
    [(137, "Error", " (SIGKILL)"), (143, "", " (SIGTERM)"), (1, "Error", ""), (255, "Error", "")],
)
async def test_a_code_that_stands_for_a_signal_is_said_so(tmp_path, code, reason, words):
    """As shells have it: 128 and the signal's number; a word of the kubelet's own comes first."""
    async with running_world(tmp_path) as w:
        await w.hub.transition("fail", w.uid)
        pod = a_failed_pod("p-1", code, reason)
        (told,) = await told_of(w, {"pods": [pod], "end": {"code": "Ended"}})
        assert told["message"] == f"pod p-1 on n1: container main exited with code {code}{words}"


async def test_what_is_kept_is_bounded_and_hides_values(tmp_path):
    """Five pods, twenty lines and 4 KiB of each, whatever an agent says; no value of a variable."""
    async with running_world(tmp_path) as w:
        await w.hub.transition("fail", w.uid)
        pods = [a_failed_pod(f"p-{n}") for n in range(9)]
        lines = [a_line("x" * 1000, pod="p-0")] * 50 + [
            a_line(f"{n}", pod="p-1") for n in range(50)
        ]
        lines.append(a_line("open sesame", pod="p-2"))
        told = await told_of(w, {"pods": pods, "lines": lines, "end": {"code": "Ended"}})
        shown = [each["message"].split("\n")[1:] for each in told]
        assert [len(each) for each in shown] == [4, 20, 1, 0, 0]
        assert shown[1][-1] == "49"
        assert shown[2] == ["[hidden]"]


async def test_a_job_that_did_not_fail_is_not_asked_about(tmp_path):
    """Nor one that failed long ago."""
    async with running_world(tmp_path) as w:
        hanging = asyncio.create_task(w.question())
        await waiting.eventually(lambda: w.app.state.open_streams.is_listening("c1"))
        loop = LastLines(w.hub.hub, w.app.state.open_streams)
        await loop.tick()
        await w.hub.transition("fail", w.uid)
        w.hub.clock.advance(61)
        await loop.tick()
        assert not hanging.done()
        hanging.cancel()


async def test_an_agent_that_has_nothing_to_tell_is_asked_a_few_times(tmp_path):
    """Pods that are gone have no last lines; the loop ends with that."""
    async with running_world(tmp_path) as w:
        await w.hub.transition("fail", w.uid)
        assert await told_of(w, {"end": {"code": "RefusedByMember", "message": "no"}}) == []


def told_at_once(w, *pods, who="agent", namespace="team-a", lines=()):
    items = [
        {"job": w.uid, "namespace": namespace, "pod": pod, "lines": list(lines)} for pod in pods
    ]
    return w.http[who].post(FAILED_PATH, json={"items": items})


async def test_pods_that_fail_are_kept_while_their_job_runs(tmp_path):
    """Whatever becomes of the job: of a job that succeeds in the end too. Told again they are known."""
    async with running_world(tmp_path) as w:
        pod = a_failed_pod("p-1") | {"epoch": 1}
        for _ in range(2):
            reply = await told_at_once(
                w, pod, lines=[a_line("no such file"), a_line("open sesame")]
            )
            assert reply.status_code == 200
            w.hub.clock.advance(1)
        await w.hub.transition("succeed", w.uid)
        (event,) = await kept(w)
        assert event["message"].split("\n")[1:] == ["no such file", "[hidden]"]
        assert event["message"].startswith("pod p-1 on n1: container main exited with code 3")


async def test_where_there_is_too_much_to_hide_no_line_is_kept(tmp_path):
    """The hub keeps the exit code of its pod all the same."""
    async with running_world(tmp_path) as first:
        w = await with_values(first, [f"value-{n}" for n in range(501)])
        await told_at_once(w, a_failed_pod() | {"epoch": 1}, lines=[a_line("it is value-7")])
        (event,) = await kept(w)
        assert event["message"] == "pod p-1 on n1: container main exited with code 3"


async def test_the_newest_of_all_epochs_are_kept(tmp_path):
    """Twenty of a job; those of an earlier epoch, or of another cluster, say so."""
    async with running_world(tmp_path) as w:
        for number in range(24):
            await told_at_once(w, a_failed_pod(f"p-{number}") | {"epoch": 7})
            w.hub.clock.advance(1)
        told = [each["message"] for each in await kept(w)]
        assert [each.split()[1] for each in told] == [f"p-{n}" for n in range(4, 24)]
        assert told[0].endswith("(in c1, epoch 7)")


async def test_a_cluster_tells_of_its_own_jobs_alone(tmp_path):
    """Of no other's, nor of a pod in another namespace than its job's; and once a second at most."""
    async with running_world(tmp_path) as w:
        pod = PodTold.model_validate(a_failed_pod())
        told = [FailedPod(job=w.uid, namespace="team-a", pod=pod)]
        assert await w.hub.hub.write(last_lines.keep_told, "c3", told) == 0
        await told_at_once(w, a_failed_pod(), namespace="elsewhere")
        assert await kept(w) == []
        assert (await told_at_once(w, a_failed_pod())).status_code == 429
        w.hub.clock.advance(1)
        reply = await told_at_once(w, *[a_failed_pod()] * 21)
        assert reply.status_code == 422


async def test_a_pod_keeps_its_name_though_it_contains_a_hidden_value(tmp_path):
    """The name is what the list of pods shows; the lines are redacted."""
    async with running_world(tmp_path) as w:
        name = f"train-{SECRET}-0"
        await told_at_once(w, a_failed_pod(name) | {"epoch": 1}, lines=[a_line(SECRET, pod=name)])
        (event,) = await kept(w)
        first, line = event["message"].split("\n")
        assert first == f"pod train-{SECRET}-0 on n1: container main exited with code 3"
        assert line == "[hidden]"


async def test_a_pod_whose_name_contains_a_hidden_value_is_stored_once(tmp_path):
    """However often its member reports it."""
    async with running_world(tmp_path) as w:
        for _ in range(3):
            await told_at_once(w, a_failed_pod(f"train-{SECRET}-0"))
            w.hub.clock.advance(1)
        assert len(await kept(w)) == 1


async def test_two_pods_whose_names_differ_in_the_hidden_value_are_both_stored(tmp_path):
    """Redaction does not make one of two."""
    async with running_world(tmp_path) as w:
        await told_at_once(w, a_failed_pod(f"train-{SECRET}-0"), a_failed_pod("train-[hidden]-0"))
        assert len(await kept(w)) == 2


async def test_a_pod_that_is_told_twice_at_once_is_stored_once(tmp_path):
    """Its agent saw it fail twice before it could tell."""
    async with running_world(tmp_path) as w:
        reply = await told_at_once(w, a_failed_pod(), a_failed_pod(), a_failed_pod("p-2"))
        assert reply.json() == {"kept": 2}
        assert [each["subject"] for each in await kept(w)] == ["p-1", "p-2"]


async def test_a_failure_is_of_when_its_pod_ended_by_its_member(tmp_path):
    """Neither of when the pod started, nor of when the hub heard of it."""
    async with running_world(tmp_path) as w:
        times = {"started_at": "2025-12-31T23:00:01Z", "finished_at": "2025-12-31T23:00:02Z"}
        await told_at_once(w, a_failed_pod() | times)
        (event,) = await kept(w)
        assert event["memberAt"] == times["finished_at"]


async def test_what_the_agent_says_of_a_log_is_no_line_of_it(tmp_path):
    """A note about missing lines is not stored as output of the pod."""
    async with running_world(tmp_path) as w:
        lines = [a_line("one"), a_line("the log can not be read", note=True), a_line("two")]
        await told_at_once(w, a_failed_pod(), lines=lines)
        (event,) = await kept(w)
        assert event["message"].split("\n")[1:] == ["one", "two"]


async def test_bytes_bound_the_lines_that_are_kept_whatever_their_alphabet(tmp_path):
    """4 KiB as the store has them: of letters of two bytes half as many."""
    async with running_world(tmp_path) as w:
        await told_at_once(w, a_failed_pod(), lines=[a_line("\u00e9" * 1000)] * 9)
        (event,) = await kept(w)
        assert len(event["message"].split("\n")[1:]) == 2


async def test_a_cluster_that_had_the_job_tells_how_its_pods_failed(tmp_path):
    """The job has moved on meanwhile; the event says where and in which epoch the pod failed."""
    async with running_world(tmp_path) as w:
        await w.hub.change(w.uid, cluster="c2", set_aside={"c1": "2026-01-01T00:00:00Z"})
        await told_at_once(w, a_failed_pod() | {"epoch": 1})
        (event,) = await kept(w)
        assert event["message"].endswith("exited with code 3 (in c1, epoch 1)")


async def test_of_many_failed_pods_of_one_report_the_last_five_are_kept(tmp_path):
    """An agent reports them in the order in which they failed."""
    async with running_world(tmp_path) as w:
        await told_at_once(w, *[a_failed_pod(f"p-{n}") for n in range(7)])
        assert [each["subject"] for each in await kept(w)] == [f"p-{n}" for n in range(2, 7)]


async def test_the_hub_asks_three_times_about_a_job_whose_pods_say_nothing(tmp_path):
    """Nor does it ask about a job whose pods it has kept."""
    async with running_world(tmp_path) as w:
        await w.hub.transition("fail", w.uid)
        loop = LastLines(w.hub.hub, w.app.state.open_streams)
        for _ in range(3):
            await turn_of(w, loop, end={"code": "Ended"})
        hanging = asyncio.create_task(w.question())
        await waiting.eventually(lambda: w.app.state.open_streams.is_listening("c1"))
        await loop.tick()
        assert not hanging.done()
        again = LastLines(w.hub.hub, w.app.state.open_streams)
        turn = asyncio.create_task(again.tick())
        await w.bring(await hanging, 1, pods=[a_failed_pod()], end={"code": "Ended"})
        await turn
        await again.tick()
        assert w.open == 0


async def test_jobs_that_failed_are_looked_for_where_an_agent_listens(tmp_path):
    """A bounded number at a time, without the jobs that are named."""
    async with running_world(tmp_path) as w:
        await w.hub.transition("fail", w.uid)

        async def due(heard=("c1",), without=(), most=8):
            found = await w.hub.hub.read(last_lines.due, heard, without, most, 45.0)
            return [each.uid for each in found]

        assert await due() == [w.uid]
        assert await due(heard=("c2",)) == []
        assert await due(without=(w.uid,)) == []
        assert await due(most=0) == []


async def test_what_a_failed_pod_says_of_itself_is_one_line(tmp_path):
    """The containers that failed, five at most; else the pod's reason, else its phase."""
    async with running_world(tmp_path) as w:
        ended = a_failed_pod()["containers"][0]
        fine = ended | {"name": "fine", "exit_code": 0}
        runs = ended | {"name": "runs", "state": "running"}
        many = [ended | {"name": f"c-{n}", "reason": "a\nb"} for n in range(6)]
        pods = [
            a_failed_pod("all") | {"containers": [fine, runs, *many]},
            a_failed_pod("evicted") | {"containers": [fine], "reason": "Evicted"},
            a_failed_pod("quiet") | {"containers": [], "node": ""},
        ]
        await told_at_once(w, *[each | {"epoch": 1} for each in pods])
        found = [each["message"] for each in await kept(w)]
        five = "; ".join(f"container c-{n} exited with code 3 (a b)" for n in range(5))
        assert found == [
            f"pod all on n1: {five}",
            "pod evicted on n1: Evicted",
            "pod quiet on no node: Failed",
        ]
