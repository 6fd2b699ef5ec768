"""The balancing profile: spread by relative room, pack what is large, count what is owed, break ties."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from hub.domain.cycle.snapshot import Snapshot
from hub.domain.fleet.clusters import Cluster
from hub.domain.placement.scoring.pace import Starts
from hub.domain.placement.scoring.ties import Tied, hashes
from hub.domain.plan import Plan, Score
from hub.domain.queueing.lanes import Lane
from hub.domain.workloads.demand import Constraints, queue_profile
from hub.domain.workloads.placement_policy import Policy, Preferred
from shared.selectors import parse_selector
from tests.domain.build import (
    PLENTY,
    a_cluster,
    a_demand,
    a_lane,
    a_pod_set,
    a_pool,
    a_queue,
    a_snapshot as snapshot_of,
    decide,
    where,
)

SIZES = {"large": 100, "almost": 95, "half": 50}


def a_snapshot(lanes: list[Lane], fleet: list[Cluster]) -> Snapshot:
    """With quota for whatever is asked."""
    queue = a_queue(cpu=PLENTY, memory=PLENTY, gpu=PLENTY)
    return snapshot_of(lanes, fleet, queue, key_revisions={"disk": 0})


def of_nodes(name: str, nodes: int, **given: object) -> Cluster:
    """Nodes of 32 cpu and 128 Gi."""
    return a_cluster(a_pool(nodes=nodes, cpu=32, memory="128Gi"), name=name, **given)


def jobs(count: int, **requests: str) -> Snapshot:
    """So many equal jobs of one pod before members of 100, 95 and 50 nodes."""
    demand = a_demand(a_pod_set(requests=requests or {"cpu": "1", "memory": "2Gi"}))
    fleet = [of_nodes(name, nodes) for name, nodes in SIZES.items()]
    return a_snapshot([a_lane(demand, *(f"job-{n}" for n in range(count)))], fleet)


def counts(plan: Plan) -> Counter[str]:
    return Counter(where(plan).values())


def stood(plan: Plan) -> dict[str, Score]:
    """How each cluster stood when the only job was placed."""
    (placement,) = plan.placements
    return {score.cluster: score for score in placement.scores}


@pytest.mark.parametrize("count", [100, 1000, 3500])
def test_equal_jobs_split_as_the_members_room(count: int) -> None:
    """Members of 100, 95 and 50 nodes get their part of equal jobs, within 5 points."""
    split = counts(decide(jobs(count)))
    for name, nodes in SIZES.items():
        assert abs(split[name] / count - nodes / 245) < 0.05, split


GPU_NODES: dict[str, Any] = {"cpu": 8, "memory": "64Gi", "gpu": 8}


@pytest.mark.parametrize("count", [1, 4])
def test_nodes_with_devices_are_the_last_choice_of_work_without(count: int) -> None:
    """Though an array would fit tighter there; it goes there once no other cluster has the room."""
    demand = a_demand(a_pod_set(count=count, requests={"cpu": 1}))
    fleet = [
        a_cluster(a_pool(nodes=1, **GPU_NODES), name="gpu"),
        a_cluster(a_pool(nodes=2, cpu=8, memory="64Gi"), name="plain"),
    ]
    lane = a_lane(demand, *(f"job-{n}" for n in range(24 // count)))
    placed = where(decide(a_snapshot([lane], fleet)))
    order = [placed[f"job-{n}"] for n in range(24 // count)]
    assert order == ["plain"] * (16 // count) + ["gpu"] * (8 // count)


def test_a_cluster_with_some_nodes_without_devices_is_no_last_choice() -> None:
    """Its scheduler has where to put such pods."""
    mixed = a_cluster(a_pool(nodes=1, **GPU_NODES), a_pool(nodes=2, cpu=8), name="mixed")
    fleet = [mixed, a_cluster(a_pool(nodes=1, cpu=8), name="small")]
    plan = decide(a_snapshot([a_lane(a_demand(), "job")], fleet))
    assert where(plan) == {"job": "mixed"}
    assert all("devices" not in [t.name for t in each.terms] for each in stood(plan).values())


def test_work_with_devices_goes_where_it_fits_tightest() -> None:
    """Nothing is taken off there."""
    demand = a_demand(a_pod_set(requests={"cpu": 1, "gpu": 1}))
    fleet = [a_cluster(a_pool(nodes=1, **GPU_NODES), name="gpu"), a_cluster(a_pool(cpu=8))]
    plan = decide(a_snapshot([a_lane(demand, "job")], fleet))
    assert [t.name for t in stood(plan)["gpu"].terms] == ["jobs-that-fit", "wait"]


def test_a_hair_more_room_does_not_take_everything() -> None:
    """2,432 against 2,304 idle CPUs: both get jobs, in that proportion."""
    fleet = [of_nodes("one", 76), of_nodes("two", 72)]
    lane = a_lane(a_demand(), *(f"job-{n}" for n in range(200)))
    split = counts(decide(a_snapshot([lane], fleet)))
    assert abs(split["one"] - 103) <= 2
    assert split["one"] + split["two"] == 200


def test_the_dominant_resource_counts() -> None:
    """A job goes where the fuller of its resources is less full, whatever the other one says."""
    busy = a_cluster(
        a_pool(cpu=100, memory="100Gi", used={"memory": "90Gi"}), name="little-memory"
    )
    even = a_cluster(
        a_pool(cpu=100, memory="100Gi", used={"cpu": 60, "memory": "60Gi"}), name="half-used"
    )
    demand = a_demand(a_pod_set(requests={"cpu": "1", "memory": "1Gi"}))
    assert where(decide(a_snapshot([a_lane(demand, "j")], [busy, even]))) == {"j": "half-used"}


def test_only_nodes_that_the_job_may_use_count() -> None:
    """Idle nodes that the job does not select make a member no roomier for it."""
    ask = a_pod_set(node_selector=(("disk", "ssd"),))
    ssd: dict[str, Any] = {"labels": {"disk": "ssd"}}
    wide = a_cluster(a_pool(cpu=100), a_pool(cpu=10, used={"cpu": 8}, **ssd), name="wide")
    narrow = a_cluster(a_pool(cpu=10, used={"cpu": 5}, **ssd), name="narrow")
    assert where(decide(a_snapshot([a_lane(a_demand(ask), "j")], [wide, narrow]))) == {
        "j": "narrow"
    }


def test_jobs_that_select_other_nodes_look_at_other_nodes() -> None:
    """Of one cycle's jobs each counts the nodes that it may use itself."""
    used = {"here": {"ssd": 0, "hdd": 8}, "there": {"ssd": 8, "hdd": 0}}  # cpu, by disk
    fleet = [
        a_cluster(
            *(a_pool(cpu=10, labels={"disk": d}, used={"cpu": n}) for d, n in disks.items()),
            name=name,
        )
        for name, disks in used.items()
    ]
    asks = {d: a_pod_set(node_selector=(("disk", d),)) for d in ("ssd", "hdd")}
    lanes = [a_lane(a_demand(ask), disk) for disk, ask in asks.items()]
    assert where(decide(a_snapshot(lanes, fleet))) == {"ssd": "here", "hdd": "there"}


def test_a_slow_member_gets_less() -> None:
    """Starts that a member owes at its measured pace count against it; the others take its part."""
    slow = {"large": Starts(pending=200, pace=0.5), "almost": Starts(200, 0, 50.0)}
    split = counts(decide(replace(jobs(1000), starts=slow)))
    even = counts(decide(jobs(1000)))
    assert split["large"] < even["large"] / 4
    assert split["almost"] > even["almost"]


def test_what_this_cycle_gives_a_slow_member_counts_at_once() -> None:
    """A member that starts one job in ten seconds is not sent a thousand in one cycle."""
    slow = {name: Starts(0, 0, 0.1 if name == "large" else 100.0) for name in SIZES}
    split = counts(decide(replace(jobs(1000), starts=slow)))
    assert split["large"] < 50


def test_what_one_class_of_jobs_takes_of_a_slow_member_counts_for_the_next() -> None:
    """A hundred that may only go to the empty one are owed there before another one is looked at."""
    half = a_pool(nodes=100, cpu=32, memory="128Gi", used={"cpu": 16, "memory": "64Gi"})
    fleet = [of_nodes("empty", 100), a_cluster(half, name="half")]
    bound = a_demand(constraints=Constraints(clusters=("empty",)))
    lanes = [
        a_lane(bound, *(f"bound-{n}" for n in range(100))),
        a_lane(a_demand(a_pod_set(requests={"cpu": "2"})), "next", since=1000),
    ]
    starts = {"empty": Starts(pending=20, pace=1.0)}
    assert where(decide(a_snapshot(lanes[1:], fleet)))["next"] == "empty"
    assert where(decide(replace(a_snapshot(lanes, fleet), starts=starts)))["next"] == "half"


def test_a_pace_that_is_not_known_counts_for_nothing() -> None:
    """A member that was just given its first jobs is not taken for slow."""
    fresh = {"large": Starts(pending=400)}
    assert counts(decide(replace(jobs(1000), starts=fresh))) == counts(decide(jobs(1000)))


def test_a_gang_goes_where_it_fits_tightest() -> None:
    """Eight pods of four cpus: the member that just holds them, not the largest."""
    gang = a_demand(a_pod_set(count=8, requests={"cpu": "4"}))
    fleet = [of_nodes("large", 40), of_nodes("tight", 1), of_nodes("middle", 3)]
    plan = decide(a_snapshot([a_lane(gang, "one", "two")], fleet))
    assert where(plan) == {"one": "tight", "two": "middle"}


def test_devices_pack() -> None:
    """A pod with a GPU goes to the member with the fewest left, so that whole nodes stay free."""
    demand = a_demand(a_pod_set(requests={"gpu": 1}))
    begun = a_cluster(a_pool(nodes=2, cpu=8, gpu=8, used={"gpu": 5}), name="begun")
    idle = a_cluster(a_pool(nodes=2, cpu=8, gpu=8), name="idle")
    plan = decide(a_snapshot([a_lane(demand, *"abcdefg")], [idle, begun]))
    assert counts(plan) == {"begun": 6, "idle": 1}


def test_of_equals_the_fewest_running_takes_it() -> None:
    """Equal room: the member with fewer running jobs, whatever the names."""
    fleet = [of_nodes("a", 4), of_nodes("z", 4)]
    snapshot = a_snapshot([a_lane(a_demand(), "j")], fleet)
    for quiet, busy in (("a", "z"), ("z", "a")):
        starts = {quiet: Starts(running=1), busy: Starts(running=2)}
        assert where(decide(replace(snapshot, starts=starts))) == {"j": quiet}


def test_equal_members_take_equal_shares_of_lone_jobs() -> None:
    """Jobs that come one at a time to equal members spread over all of them, not to one name."""
    fleet = [of_nodes(f"m{n}", 4) for n in range(5)]
    went = Counter(
        where(decide(a_snapshot([a_lane(a_demand(), f"job-{n}")], fleet)))[f"job-{n}"]
        for n in range(500)
    )
    assert len(went) == 5
    assert min(went.values()) > 60


@pytest.mark.parametrize("seed", range(5))
def test_fewer_equals_are_told_apart_after_many(seed: int) -> None:
    """Whoever was picked of forty says nothing of where to look among the ten that are first now."""
    names = hashes(tuple(f"cluster-{number}" for number in range(40)))
    tied, scores = Tied(), np.zeros(40, dtype=np.float64)
    tied.pick(scores, 0, f"before-{seed}", names, 0)
    scores[:10] = 1.0
    picked = {tied.pick(scores, 0, f"job-{number}", names, 1) for number in range(200)}
    assert picked == set(range(10))


def test_label_preferences_go_before_balance() -> None:
    """A placement that prefers by label and names no sorter: the label first, then balance."""
    selector = parse_selector("tier=fast", "test")
    policy = Policy("PickN", 1, preferred=(Preferred(5, selector=selector),))
    demand = a_demand(constraints=Constraints(policy=policy), placement="p")
    fleet = [
        of_nodes("big", 100),
        of_nodes("fast-1", 2, labels={"tier": "fast"}),
        of_nodes("fast-2", 2, labels={"tier": "fast"}),
    ]
    plan = decide(a_snapshot([a_lane(demand, *(f"j{n}" for n in range(20)))], fleet))
    assert counts(plan) == {"fast-1": 10, "fast-2": 10}


def test_kubefleets_arithmetic_remains_where_it_is_asked_for() -> None:
    """With a profile of sorters the scores are KubeFleet's, and of equals the larger name wins."""
    pods = a_pod_set()
    demand = a_demand(pods, profile=queue_profile((pods,)))
    plan = decide(a_snapshot([a_lane(demand, "j")], [of_nodes("a", 4), of_nodes("b", 4)]))
    assert where(plan) == {"j": "b"}
    assert [s.running for s in stood(plan).values()] == [None, None]


def test_the_terms_carry_their_numbers() -> None:
    """A decision shows the share in use after placing, the wait, and what runs there."""
    starts = {"half": Starts(pending=99, running=7, pace=1.0)}
    half = stood(decide(replace(jobs(1, cpu="16"), starts=starts)))["half"]
    room, wait = half.terms
    assert (room.name, room.score) == ("in-use-after", 9900)
    assert room.value == pytest.approx(0.01)
    assert (wait.name, wait.value) == ("wait", 100.0)
    assert wait.score == -round(10_000 * 70 / 130)
    assert half.score == room.score + wait.score
    assert half.running == 7


@given(
    sizes=st.lists(st.integers(1, 40), min_size=2, max_size=6),
    count=st.integers(1, 120),
    cpu=st.integers(1, 8),
)
def test_no_member_is_left_more_than_a_job_behind(sizes: list[int], count: int, cpu: int) -> None:
    """Whatever the sizes: no member is fuller than another would be with one job more."""
    fleet = [of_nodes(f"m{at}", nodes) for at, nodes in enumerate(sizes)]
    demand = a_demand(a_pod_set(requests={"cpu": str(cpu)}))
    snapshot = a_snapshot([a_lane(demand, *(f"j{n}" for n in range(count)))], fleet)
    plan = decide(snapshot)
    split = counts(plan)
    used = [split[f"m{at}"] * cpu / (32 * nodes) for at, nodes in enumerate(sizes)]
    more = [cpu / (32 * nodes) for nodes in sizes]
    rounding = 0.0001  # scores are whole points of 10,000
    open_ones = [u + m for u, m in zip(used, more, strict=True) if u + m <= 1]
    for share in used:
        assert all(share <= other + rounding for other in open_ones)


@given(order=st.permutations(["a", "b", "c", "d"]), count=st.integers(1, 40))
def test_equal_pictures_give_equal_decisions(order: list[str], count: int) -> None:
    """The order in which members are listed decides nothing."""
    lane = a_lane(a_demand(), *(f"j{n}" for n in range(count)))
    sizes = {"a": 3, "b": 3, "c": 3, "d": 7}
    one = decide(a_snapshot([lane], [of_nodes(n, sizes[n]) for n in order]))
    other = decide(a_snapshot([lane], [of_nodes(n, sizes[n]) for n in sizes]))
    assert where(one) == where(other)
