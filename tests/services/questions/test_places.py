"""Pages of queues and clusters: bounded, in order, and no more than whoever looks may see."""

from pathlib import Path

import pytest

from hub.domain.access import Area, Scope
from hub.services.context.hub import HubWithin
from hub.services.questions import visibility
from hub.services.questions.pages import places
from tests.services.build import in_cohort, submit
from tests.services.hubs import Running, a_pool, running

pytestmark = pytest.mark.anyio


async def page_of(hub: Running, namespace: str, name: str, scope: Scope | None = None):
    index = hub.scheduler.index
    queue = visibility.queue_of(index, (namespace, name)) if namespace else name
    line = visibility.line_view(index, queue, places.MOST_IN_LINE)
    seen = hub.hub if scope is None else HubWithin(hub.hub, scope)
    return await seen.read(places.read_queue, namespace, name, line)


async def test_who_waits_stands_in_order_and_who_is_in_beside_them(tmp_path: Path) -> None:
    """The first of them with their places; of a LocalQueue its own; its quota and its cohorts."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="16"))
        await hub.apply(*in_cohort("a", "4"), *in_cohort("b", "4"))
        await submit(hub, "a", "4", "in")
        await hub.settle()
        names = [f"w{number:02}" for number in range(places.MOST_WAITING + 5)]
        await submit(hub, "a", "9", *names)
        await hub.settle()
        for namespace in ("", "team-a"):
            found = await page_of(hub, namespace, "a")
            assert [each.row.name for each in found.waiting] == names[: places.MOST_WAITING]
            assert [each.place for each in found.waiting[:3]] == [0, 1, 2]
            assert [row.name for row in found.holding] == ["in"]
            assert found.shown["pending"] == len(names)
            assert (found.policy, found.hidden) == ("None", 0)
        cohorts = (await page_of(hub, "", "a")).cohorts
        assert [sorted(each["queues"]) for each in cohorts] == [["a", "b"]]


async def test_jobs_of_others_are_counted_alone(tmp_path: Path) -> None:
    """By a LocalQueue of one's own a ClusterQueue is seen, and of who waits there one's own."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="16"))
        await hub.apply(*in_cohort("a", "4", cohort=""))
        door = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue"}
        place = {"name": "mine", "namespace": "team-b"}
        await hub.apply({**door, "metadata": place, "spec": {"clusterQueue": "a"}})
        await submit(hub, "a", "4", "in")
        await submit(hub, "a", "9", "w1", "w2")
        await hub.settle()
        assert [row.name for row in (await page_of(hub, "", "a")).holding] == ["in"]
        theirs = (Area(frozenset({"team-b"})),)
        found = await page_of(hub, "", "a", Scope(theirs, theirs))
        assert (found.waiting, found.hidden, found.holding) == ([], 2, [])
        assert list(found.cohorts) == []


async def test_a_place_in_a_local_queue_is_the_one_in_its_cluster_queue(tmp_path: Path) -> None:
    """Who comes by another door stands in the same line."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="16"))
        await hub.apply(*in_cohort("a", "4", cohort=""))
        door = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue"}
        place = {"name": "side", "namespace": "team-a"}
        await hub.apply({**door, "metadata": place, "spec": {"clusterQueue": "a"}})
        for queue, name in (("a", "w1"), ("side", "w2"), ("a", "w3"), ("side", "w4")):
            await submit(hub, queue, "9", name)
        await hub.settle()
        found = await page_of(hub, "team-a", "side")
        assert [(each.place, each.row.name) for each in found.waiting] == [(1, "w2"), (3, "w4")]
