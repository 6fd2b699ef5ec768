"""What the logs of simulated pods say, and when."""

import asyncio
import datetime as dt

import pytest

from shared.kubesim.apimachinery.errors import ApiError
from tests import waiting
from tests.kubesim.world import World, a_job, a_pod, a_pool

LINES = "sim.roadstead.dev/log-lines"


@pytest.fixture
def world():
    return World([a_pool()])


def a_talking_pod(lines, **annotations):
    annotations = {LINES: lines, "sim.roadstead.dev/run-seconds": "4", **annotations}
    return a_pod("p", annotations=annotations, restartPolicy="Never")


def test_a_number_asks_for_as_many_lines(world):
    """log-lines as a number: so many lines, spread over the run."""
    world.create("pods", a_talking_pod("4"))
    world.advance(2.2)
    some = world.behaviours.pod_log("default", "p").splitlines()
    assert 1 < len(some) < 4
    world.advance(3)
    assert world.behaviours.pod_log("default", "p").splitlines() == [
        f"p: line {number} of 4" for number in (1, 2, 3, 4)
    ]


def test_a_text_is_printed_as_it_is(world):
    """log-lines as text: those very lines."""
    world.create("pods", a_talking_pod("loading\ntraining\ndone"))
    world.advance(5)
    assert world.behaviours.pod_log("default", "p") == "loading\ntraining\ndone\n"


def test_without_the_annotation_a_pod_says_what_it_does(world):
    """A few lines with the pod's name, its node and its end."""
    world.create("jobs.batch", a_job())
    world.advance(5)
    name = world.pods()[0]["metadata"]["name"]
    lines = world.behaviours.pod_log("default", name).splitlines()
    assert lines[0] == f"{name}: main started on cpu-0 with busybox:1.36"
    assert lines[-1] == f"{name}: ended with exit code 0"


def test_only_the_last_lines_with_their_times(world):
    """tail and timestamps work together."""
    world.create("pods", a_talking_pod("a\nb\nc"))
    world.advance(5)
    text = world.behaviours.pod_log("default", "p", tail=1, timestamps=True)
    stamp, line = text.split(" ")
    assert (line, stamp[:17]) == ("c\n", "2026-01-01T00:00:")
    assert world.behaviours.pod_log("default", "p", tail=0) == ""


@pytest.mark.parametrize(
    ("name", "container", "status", "message"),
    [
        ("nobody", None, 404, 'pods "nobody" not found'),
        ("p", "other", 400, "container other is not valid for pod p"),
        ("p", None, 400, 'container "main" in pod "p" is waiting to start: ContainerCreating'),
    ],
)
def test_what_cannot_be_read_is_refused(world, name, container, status, message):
    """The refusals are the API server's own."""
    world.create("pods", a_pod("p"))
    with pytest.raises(ApiError, match=message) as refusal:
        world.behaviours.pod_log("default", name, container)
    assert refusal.value.status == status


def test_the_previous_run_can_be_read(world):
    """After a restart `previous` shows the run before it; before one there is none."""
    annotations = {"sim.roadstead.dev/run-seconds": "1", "sim.roadstead.dev/exit-code": "1"}
    world.create("pods", a_pod("p", annotations=annotations, restartPolicy="OnFailure"))
    world.advance(0.5)
    with pytest.raises(ApiError, match="previous terminated container"):
        world.behaviours.pod_log("default", "p", previous=True)
    world.advance(2)
    assert "main started" in world.behaviours.pod_log("default", "p", previous=True)


def test_a_log_can_be_followed_to_its_end(world):
    """follow yields lines as they come and ends with the container."""
    world.create("pods", a_talking_pod("a\nb\nc\nd"))
    world.advance(0.5)

    async def read():
        parts = []

        async def drain():
            log = world.behaviours.pod_log("default", "p", follow=True)
            parts.extend([part async for part in log])

        reader = asyncio.create_task(drain())
        for _ in range(100):
            await waiting.turns()
            world.advance(0.1)
        await asyncio.wait_for(reader, 1)
        return parts

    parts = asyncio.run(read())
    assert "".join(parts) == "a\nb\nc\nd\n"
    assert len(parts) > 1


def test_only_what_was_written_since(world):
    """since goes before tail: the last lines of those that are young enough."""
    world.create("pods", a_talking_pod("a\nb\nc\nd"))
    world.advance(5)
    logs = world.behaviours.pod_log
    at = world.clock.now() - dt.timedelta(seconds=2.5)
    assert logs("default", "p", since=at) == "d\n"
    assert logs("default", "p", since=at - dt.timedelta(seconds=1), tail=1) == "d\n"
    assert logs("default", "p", since=world.clock.now()) == ""
