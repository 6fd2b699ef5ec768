"""Runs of equal jobs go where each of them would go alone."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import hypothesis
import pytest
from hypothesis import given, strategies as st

from hub.domain.fleet.clusters import Cluster
from hub.domain.fleet.free_capacity import Layout, NodeAsk, Room
from hub.domain.placement.cluster_search import ClusterSearch
from hub.domain.placement.picking.choice import Choice
from hub.domain.placement.picking.picker import ClusterPicker
from hub.domain.placement.picking.run import Run
from hub.domain.placement.registry import FILTERS
from hub.domain.placement.scoring.pace import Starts
from hub.domain.workloads.demand import Constraints, Demand
from hub.domain.workloads.placement_policy import Policy, Preferred
from shared.selectors import parse_selector
from tests.domain.build import NOW, a_cluster, a_demand, a_pod_set, a_pool
from tests.examples import Contents, examples, sample

LARGE = 9  # clusters of a fleet in which a decision lists the runner-up alone
FAST = Policy("PickN", 1, preferred=(Preferred(5, selector=parse_selector("tier=fast", "test")),))


class Scene(NamedTuple):
    """A fleet, what its members owe, a class of equal jobs, and how many come in each run."""

    clusters: Sequence[Cluster]
    starts: Mapping[str, Starts]
    demand: Demand
    runs: Sequence[int]


@st.composite
def members(draw: st.DrawFn, number: int) -> Cluster:
    """One to three nodes with devices or without, and little room for pods on some."""
    sizes = st.sampled_from([2, 4, 4, 8, 64])
    amounts = {
        "cpu": draw(sizes),
        "memory": draw(sizes),
        "pods": draw(st.sampled_from([1, 3, 250])),
    }
    if draw(st.integers(0, 5)) == 0:
        amounts["gpu"] = 1
    nodes = draw(st.sampled_from([1, 1, 1, 2, 3]))
    pool = a_pool(nodes=nodes, **amounts)  # type: ignore[arg-type]  # amounts alone
    labels = {"tier": "fast"} if draw(st.integers(0, 4)) == 0 else {}
    return a_cluster(pool, name=f"c{number:02}", labels=labels)


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """Enough members that a decision lists one other; some scenes know paces, some labels."""
    count = draw(st.integers(LARGE, LARGE + 5))
    clusters = [draw(members(number)) for number in range(count)]
    asked = {
        "cpu": draw(st.sampled_from(["500m", "1", "2"])),
        "memory": draw(st.sampled_from([1, 2])),
    }
    constraints = Constraints(policy=FAST) if draw(st.booleans()) else Constraints()
    paces = st.sampled_from([None, 0.05, 3.0]) if draw(st.booleans()) else st.none()
    starts = {
        c.name: Starts(draw(st.integers(0, 9)), draw(st.integers(0, 2)), draw(paces))
        for c in clusters
    }
    demand = a_demand(a_pod_set(requests=asked), constraints=constraints)
    return Scene(
        clusters, starts, demand, draw(st.lists(st.integers(1, 40), min_size=1, max_size=4))
    )


def a_search(scene: Scene, room: Room) -> ClusterSearch:
    return ClusterSearch({c.name: c for c in scene.clusters}, room, FILTERS, NOW, scene.starts)


def a_room(scene: Scene) -> Room:
    return Room.of(Layout(scene.clusters), {c.name: c for c in scene.clusters})


def a_picker(scene: Scene, room: Room) -> ClusterPicker:
    picker = a_search(scene, room).picker(scene.demand, (NodeAsk(),))
    assert isinstance(picker, ClusterPicker)
    return picker


def one_by_one(picker: ClusterPicker, uids: Sequence[str]) -> list[Choice]:
    """The plain reading: each job looks at all clusters, until one finds none."""
    found: list[Choice] = []
    while len(found) < len(uids) and (choice := picker.place(uids[len(found)])) is not None:
        found.append(choice)
    return found


def uids_of(runs: Sequence[int]) -> list[list[str]]:
    return [[f"run-{at}-job-{n}" for n in range(count)] for at, count in enumerate(runs)]


def runs_compared(settings: hypothesis.settings) -> Contents:
    """Play the property; which runs placed more jobs than there are members."""
    placed = Contents()

    @settings
    @given(scenes())
    def one(scene: Scene) -> None:
        plain, run = a_room(scene), a_room(scene)
        asked, deciding = a_picker(scene, plain), a_picker(scene, run)
        for uids in uids_of(scene.runs):
            expected = one_by_one(asked, uids)
            assert deciding.place_run(uids) == expected
            placed.note(len(expected) > LARGE)
        assert (run.free == plain.free).all()
        assert (run.left == plain.left).all()

    one()
    return placed


def test_a_run_is_decided_as_its_jobs_one_by_one() -> None:
    """Clusters, scores, runner-up, how many others competed, and the room left: the same to the bit."""
    runs_compared(examples(200))


def test_many_runs_place_more_jobs_than_there_are_members() -> None:
    """The property before has runs to compare."""
    placed = runs_compared(sample(60))
    assert placed.are_in(0.3), placed.seen


def a_large_fleet(members: int, cpu: Sequence[int]) -> list[Cluster]:
    """Members whose sizes repeat."""
    return [
        a_cluster(a_pool(cpu=cpu[n % len(cpu)], pods=500), name=f"c{n:03}") for n in range(members)
    ]


@pytest.mark.parametrize("pace", [None, 0.5], ids=["no pace is known", "paces are known"])
@pytest.mark.parametrize("asked", ["0", "10m", "1"])
@pytest.mark.parametrize(
    "fleet",
    [
        a_large_fleet(150, [4, 7, 64]),
        [*a_large_fleet(149, [4]), a_cluster(a_pool(cpu=900, pods=500), name="huge")],
    ],
    ids=["of three sizes", "and one is far larger"],
)
def test_a_run_in_a_large_fleet_is_decided_as_its_jobs_one_by_one(
    fleet: Sequence[Cluster], asked: str, pace: float | None
) -> None:
    """The order of a large fleet has only members within reach, and one run needs several orders."""
    starts = {c.name: Starts(n % 3, 0, pace) for n, c in enumerate(fleet)}
    scene = Scene(fleet, starts, a_demand(a_pod_set(requests={"cpu": asked})), (7, 180, 60))
    asked_alone, deciding = a_picker(scene, a_room(scene)), a_picker(scene, a_room(scene))
    for uids in uids_of(scene.runs):
        assert deciding.place_run(uids) == one_by_one(asked_alone, uids)


@examples(60)
@given(scenes(), st.integers(0, 40))
def test_others_that_take_room_between_two_runs_are_seen(scene: Scene, between: int) -> None:
    """Jobs of another class come after each run: the next run sees it."""
    other = a_demand(a_pod_set(requests={"cpu": "3"}))
    found: list[list[Choice]] = []
    for in_runs in (True, False):
        search = a_search(scene, a_room(scene))
        picker = search.picker(scene.demand, (NodeAsk(),))
        others = search.picker(other, (NodeAsk(),))
        assert isinstance(picker, ClusterPicker)
        assert isinstance(others, ClusterPicker)
        choices: list[Choice] = []
        for uids in uids_of(scene.runs):
            choices += picker.place_run(uids) if in_runs else one_by_one(picker, uids)
            choices += one_by_one(others, [f"other-{n}" for n in range(between)])
        found.append(choices)
    assert found[0] == found[1]


@pytest.mark.parametrize(("jobs", "pays"), [(1, False), (31, False), (32, True)])
def test_a_short_run_among_many_members_is_placed_one_by_one(jobs: int, pays: bool) -> None:
    """To put a thousand members in order pays off from 32 jobs on; once they stand so, from two."""
    scene = Scene(
        [a_cluster(a_pool(cpu=4), name=f"c{n:04}") for n in range(1000)], {}, a_demand(), ()
    )
    picker = a_picker(scene, a_room(scene))
    run = picker.run
    assert isinstance(run, Run)
    assert run.pays_off(jobs) == pays
    picker.place_run([f"j{n}" for n in range(32)])
    assert run.pays_off(2)
    assert not run.pays_off(1)
