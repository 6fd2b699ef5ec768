"""Last lines of pods that failed: asked for once the job's end is stored, and kept with it."""

import asyncio

import pytest

from hub.controllers.last_lines import LastLines
from tests import waiting
from tests.api.streaming import a_line, running_world

pytestmark = pytest.mark.anyio


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
