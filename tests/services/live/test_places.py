"""Where the pods of a job are, which agent can be asked about them, and what is hidden of their answers."""

import pytest

from hub.domain.access import Area
from hub.services.live import places
from hub.store import clusters
from shared.errors import Rejected
from shared.reject_codes import RejectCode
from tests.api.streaming import running_world, with_values, world

pytestmark = pytest.mark.anyio
EVERYTHING = (Area(),)


async def found(w, shown=()):
    return await w.hub.hub.read(places.find, w.uid, shown, 45.0)


async def refusal(w):
    with pytest.raises(Rejected) as refused:
        await found(w)
    return refused.value.code


async def test_the_pods_of_a_job_are_in_its_cluster(tmp_path):
    """With what must be hidden, unless the caller may read values."""
    async with running_world(tmp_path) as w:
        place = await found(w)
        assert place == places.PodsPlace(
            w.uid, "team-a", "talk", "c1", "all", place.owner
        )._replace(hidden=("open sesame",))
        assert (await found(w, EVERYTHING)).hidden == ()
        assert (await found(w, (Area(frozenset({"team-b"})),))).hidden == ("open sesame",)


@pytest.mark.parametrize(
    ("steps", "asked"),
    [
        ((), False),
        (("offer",), True),
        (("offer", "start"), True),
        (("offer", "start", "fail"), True),
    ],
    ids=["placed", "offered", "begun", "failed"],
)
async def test_a_cluster_is_asked_about_a_job_that_its_agent_may_have_begun(
    tmp_path, steps, asked
):
    """Not about one that is only placed there; also about one whose end is stored: its pods say why."""
    async with world(tmp_path) as w:
        for step in steps:
            await w.hub.transition(step, w.uid)
        if asked:
            assert (await found(w)).cluster
        else:
            assert await refusal(w) == RejectCode.JOB_WAITS


async def test_a_job_without_a_cluster_has_no_pods(tmp_path):
    """Whatever its state."""
    async with running_world(tmp_path) as w:
        await w.hub.change(w.uid, cluster="")
        assert await refusal(w) == RejectCode.JOB_WAITS


async def test_the_pods_in_a_cluster_that_left_are_gone(tmp_path):
    """No agent can be asked."""
    async with running_world(tmp_path) as w:
        await w.hub.change(w.uid, cluster="c9")
        assert await refusal(w) == RejectCode.PODS_REMOVED


async def test_a_cluster_is_silent_from_the_second_that_makes_it_suspect(tmp_path):
    """Until then its agent is asked."""
    async with running_world(tmp_path) as w:
        heard = await w.hub.hub.read(lambda tx: clusters.get(tx, "c1").heartbeat_at)
        w.hub.clock.advance(44 - (w.hub.clock.now() - heard).total_seconds())
        assert (await found(w)).cluster == "c1"
        w.hub.clock.advance(2)
        assert await refusal(w) == RejectCode.CLUSTER_SILENT


async def test_each_line_of_a_value_is_hidden_the_longest_first(tmp_path):
    """Of four characters and more, without the space around it; a value that stands twice is one."""
    async with running_world(tmp_path) as first:
        w = await with_values(first, ["  four  \nabc\nlonger one", "four", "", "abcde"])
        assert (await found(w)).hidden == ("longer one", "abcde", "four")


@pytest.mark.parametrize(("lines", "readable"), [(500, True), (501, False)])
async def test_values_are_hidden_up_to_500_lines(tmp_path, lines, readable):
    """More would cost too much at each line: only who may read them gets the log."""
    async with running_world(tmp_path) as first:
        w = await with_values(first, [f"value-{n}" for n in range(lines)])
        assert (await found(w, EVERYTHING)).hidden == ()
        if readable:
            assert len((await found(w)).hidden) == lines
        else:
            assert await refusal(w) == RejectCode.FORBIDDEN
