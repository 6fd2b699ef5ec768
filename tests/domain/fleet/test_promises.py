"""Promises are counted exactly once: until a report shows the pods, and no longer."""

from dataclasses import replace
from typing import Any

from hypothesis import given, strategies as st

from hub.domain.fleet.clusters import BoundPods, Cluster
from hub.domain.fleet.free_capacity import NodeAsk
from hub.domain.fleet.promises import Members, Promise
from shared.resources import Resources
from tests.domain.build import a_cluster, a_pool

ONE_CPU = Resources({"cpu": 1000})


def a_promise(uid: str = "j", parallelism: int = 4, succeeded: int = 0, **given: int) -> Promise:
    completions = given.get("completions", parallelism)
    pods = ((ONE_CPU, NodeAsk(), parallelism),)
    return Promise(uid, 1, "c", pods, completions, succeeded)


def reported(cpu: int, **bound: tuple[int, int]) -> Cluster:
    cluster = a_cluster(a_pool(cpu=cpu))
    return replace(cluster, bound={(uid, 1): BoundPods(*b) for uid, b in bound.items()})


def cpu_left(members: Members) -> int:
    members.refresh(lambda best, left: None)
    return int(members.room.left[members.room.layout.row["cpu"], 0]) // 1000


def left(members: Members) -> dict[str, int]:
    """Cpu left in each cluster."""
    members.refresh(lambda best, left: None)
    cores = members.room.left[members.room.layout.row["cpu"]]
    return dict(zip(members.room.layout.names, (int(n) // 1000 for n in cores), strict=True))


def test_a_promise_takes_room_before_any_report_shows_it() -> None:
    """Four pods on their way leave four of eight cpu."""
    members = Members()
    members.put(reported(8))
    members.promise(a_promise())
    assert cpu_left(members) == 4


def test_bound_pods_are_in_the_report_and_not_counted_twice() -> None:
    """With three pods bound, the report lacks three cpu and one more is promised."""
    members = Members()
    members.promise(a_promise())
    members.put(reported(8 - 3, j=(3, 0)))
    assert cpu_left(members) == 4


def test_succeeded_pods_want_no_room() -> None:
    """Of six completions four have succeeded: two pods more, at most."""
    members = Members()
    members.put(reported(8, j=(0, 4)))
    members.promise(a_promise(completions=6))
    assert cpu_left(members) == 6


def test_a_report_older_than_what_is_known_wants_no_pods_again() -> None:
    """Three of four pods have succeeded, of which its report says nothing yet: one is on its way."""
    assert a_promise(succeeded=3).count(reported(8, j=(0, 1))) == (1,)


def test_pods_of_an_earlier_epoch_do_not_count_for_this_one() -> None:
    """A report about epoch 1 says nothing of epoch 2."""
    members = Members()
    members.put(reported(5, j=(3, 0)))
    promise = a_promise()
    promise.epoch = 2
    members.promise(promise)
    assert cpu_left(members) == 1


def test_release_gives_the_room_back() -> None:
    """A work that ended is promised nothing."""
    members = Members()
    members.put(reported(8))
    members.promise(a_promise())
    assert cpu_left(members) == 4
    members.release("j")
    assert cpu_left(members) == 8


def test_a_work_queue_wants_no_more_pods_once_one_succeeded() -> None:
    """Without completions, the first success ends the adding of pods."""
    assert Promise("j", 1, "c", ((ONE_CPU, NodeAsk(), 4),), None, 1).count(None) == (0,)
    assert Promise("j", 1, "c", ((ONE_CPU, NodeAsk(), 4),), None, 0).count(None) == (4,)


def test_growth_is_told_shrinking_is_not() -> None:
    """Only a cluster whose best node or total grew may wake who waits for room."""
    members, told = Members(), []
    members.put(reported(4))
    members.refresh(lambda best, left: told.append(best["cpu"]))
    members.put(reported(2))
    members.refresh(lambda best, left: told.append(best["cpu"]))
    assert told == []
    members.put(reported(3))
    members.refresh(lambda best, left: told.append(best["cpu"]))
    assert told == [3000]


def test_growth_that_nobody_is_told_changes_the_room_all_the_same() -> None:
    """While no workload waits the growth of a cluster is not worked out, and its room is up to date."""
    members = Members()
    members.put(reported(4))
    members.refresh(None)
    members.put(reported(8))
    members.refresh(None)
    assert cpu_left(members) == 8


steps = st.lists(
    st.tuples(
        st.sampled_from(["promise", "release", "report"]), st.integers(0, 3), st.integers(0, 4)
    ),
    max_size=25,
)


@given(steps)
def test_after_any_history_the_room_is_that_of_a_fresh_start(
    history: list[tuple[str, int, int]],
) -> None:
    """Following changes one by one ends where reading everything anew would."""
    members, standing, last = Members(), {}, reported(20)
    members.put(last)
    for what, number, count in history:
        uid = f"j{number}"
        if what == "promise":
            standing[uid] = count
            members.promise(a_promise(uid, parallelism=count))
        elif what == "release":
            standing.pop(uid, None)
            members.release(uid)
        else:
            last = reported(20 - count, **{uid: (count, 0)})
            members.put(last)
        cpu_left(members)
    fresh = Members()
    fresh.put(last)
    for uid, count in standing.items():
        fresh.promise(a_promise(uid, parallelism=count))
    assert cpu_left(members) == cpu_left(fresh)
    assert members.room.free.tolist() == fresh.room.free.tolist()


NAMES = st.sampled_from("abcd")
REPORTS = st.dictionaries(NAMES, st.tuples(st.integers(0, 4), st.integers(0, 4)))
STEPS = st.one_of(
    st.tuples(st.just("report"), REPORTS),
    st.tuples(st.just("promise"), NAMES, st.integers(1, 4), st.integers(0, 4)),
    st.tuples(st.just("release"), NAMES),
    st.tuples(st.just("drop")),
)


@given(st.lists(STEPS, max_size=20))
def test_what_changed_between_reports_counts_as_everything_anew(
    steps: list[tuple[Any, ...]],
) -> None:
    """After any reports and promises: as much is promised as if the last of each were told at once."""
    members, last = Members(), None
    alive: dict[str, tuple[int, int]] = {}
    for verb, *given_ in steps:
        if verb == "report":
            last = reported(100, **given_[0])
            members.put(last)
        elif verb == "promise":
            uid, parallelism, succeeded = given_
            if uid in alive and alive[uid][0] != parallelism:
                members.release(uid)  # another size is another promise
            alive[uid] = (parallelism, succeeded)
            members.promise(a_promise(uid, parallelism, succeeded))
        elif verb == "release":
            alive.pop(given_[0], None)
            members.release(given_[0])
        else:
            last = None
            members.drop("c")
    anew = Members()
    if last is not None:
        anew.put(last)
    for uid, (parallelism, succeeded) in alive.items():
        anew.promise(a_promise(uid, parallelism, succeeded))
    if last is not None:
        assert left(members) == left(anew)


def test_bound_pods_are_those_of_the_first_pod_sets() -> None:
    """Of two pod sets of three, four bound pods are three of the first and one of the second."""
    pods = ((ONE_CPU, NodeAsk(), 3), (Resources({"cpu": 2000}), NodeAsk(), 3))
    promise = Promise("j", 1, "c", pods, None, 0)
    assert promise.count(reported(9)) == (3, 3)
    assert promise.count(reported(9, j=(4, 0))) == (0, 2)
    assert promise.count(reported(9, j=(7, 0))) == (0, 0)
    assert promise.count(None) == (3, 3)


def test_more_have_succeeded_than_were_asked_for() -> None:
    """Then none are on their way."""
    assert a_promise(completions=3).with_succeeded(5).count(None) == (0,)


def test_what_is_heard_of_progress_changes_nothing_else() -> None:
    """Another count of succeeded pods: the same work, where it was, with the same pods."""
    heard = a_promise(completions=6).with_succeeded(4)
    assert (heard.uid, heard.epoch, heard.cluster) == ("j", 1, "c")
    assert (heard.pod_sets, heard.completions, heard.succeeded) == (a_promise().pod_sets, 6, 4)


def test_a_work_is_promised_to_one_cluster() -> None:
    """Promised to another one, the first has its room back."""
    members = Members()
    for name in ("c", "d"):
        members.put(a_cluster(a_pool(cpu=8), name=name))
    members.promise(a_promise())
    moved = a_promise()
    moved.cluster = "d"
    members.promise(moved)
    assert left(members) == {"c": 8, "d": 4}
    assert members.promised("j") is moved
    assert [list(members.of_cluster(name)) for name in ("c", "d")] == [[], [moved]]
    members.release("j")
    assert (members.promised("j"), left(members)) == (None, {"c": 8, "d": 8})


def test_a_cluster_that_left_has_no_room() -> None:
    """It is out of the layout at the next look; one that was never there changes nothing."""
    members = Members()
    for name in ("c", "d"):
        members.put(a_cluster(a_pool(cpu=8), name=name))
    assert members.refresh(lambda best, left: None)
    members.drop("nobody")
    assert not members.refresh(lambda best, left: None)
    members.drop("c")
    assert members.refresh(lambda best, left: None)
    assert members.room.layout.names == ("d",)


def test_a_cluster_that_comes_back_is_promised_what_it_was() -> None:
    """Its works are still known, and count again from its first report on."""
    members = Members()
    members.put(reported(8))
    members.promise(a_promise())
    assert cpu_left(members) == 4
    members.drop("c")
    members.put(reported(7, j=(1, 0)))
    assert cpu_left(members) == 4


def test_the_larger_pods_are_promised_their_nodes_first() -> None:
    """However they came: a pod of three finds its node, those of one what is left."""
    for order in ((3, 1), (1, 3)):
        members = Members()
        members.put(a_cluster(a_pool(cpu=3), a_pool(cpu=1)))
        for cpu in order:
            pods = ((Resources({"cpu": cpu * 1000}), NodeAsk(), 1),)
            members.promise(Promise(f"w{cpu}", 1, "c", pods, 1, 0))
        members.refresh(lambda best, left: None)
        assert members.room.free[members.room.layout.row["cpu"]].tolist() == [0, 0]


def test_a_work_that_moved_is_promised_by_one_cluster_alone() -> None:
    """Where it is now; who is declared anew keeps what is promised."""
    members = Members()
    for name in "cd":
        members.put(a_cluster(a_pool(cpu=8), name=name))
    members.promise(a_promise())
    moved = Promise("j", 2, "d", ((ONE_CPU, NodeAsk(), 4),), 4, 0)
    members.promise(moved)
    assert left(members) == {"c": 8, "d": 4}
    assert members.promised("j") is moved
    assert [list(members.of_cluster(name)) for name in "cd"] == [[], [moved]]
    members.declare(replace(members.clusters["d"], cordoned=True))
    assert left(members) == {"c": 8, "d": 4}
    assert members.promised("x") is None


@given(steps, st.integers(0, 20), st.integers(0, 4), st.integers(0, 4), st.booleans())
def test_room_with_a_report_is_the_room_once_it_is_taken_in(
    history: list[tuple[str, int, int]], cpu: int, number: int, bound: int, another: bool
) -> None:
    """Nodes grouped as before or not: the same room, and nothing of the present one has changed."""
    members = Members()
    members.put(reported(20))
    for what, which, count in history:
        if what == "promise":
            members.promise(a_promise(f"j{which}", parallelism=count))
        elif what == "release":
            members.release(f"j{which}")
    before = cpu_left(members)
    report = reported(cpu, **{f"j{number}": (bound, 0)})
    report = replace(report, pools_revision=5 if another else 0)
    room = members.room_with({"c": report})
    assert cpu_left(members) == before
    members.put(report)
    cpu_left(members)
    assert room.free.tolist() == members.room.free.tolist()
    assert room.left.tolist() == members.room.left.tolist()


def test_room_with_clusters_that_come_and_go() -> None:
    """A new cluster has the room that it reports; a removed one is not in the layout."""
    members = Members()
    members.put(reported(8))
    members.promise(a_promise())
    assert left(members) == {"c": 4}
    more = replace(reported(3), name="d")
    assert members.room_with({"d": more}).layout.names == ("d", "c")
    room = members.room_with({"d": more}, {"c"})
    assert room.layout.names == ("d",)
    assert int(room.left[room.layout.row["cpu"], 0]) == 3000


def on_two_nodes(**bound: tuple[int, int]) -> Cluster:
    """Two nodes of 4 cpu."""
    cluster = a_cluster(a_pool(nodes=2, cpu=4))
    return replace(cluster, bound={(uid, 1): BoundPods(*b) for uid, b in bound.items()})


def cpu_by_node(members: Members) -> list[int]:
    members.refresh(lambda best, left: None)
    return [int(n) // 1000 for n in members.room.free[members.room.layout.row["cpu"]]]


def kept(*nodes: str, until: int = 10) -> Promise:
    """Three pods of 1 cpu for which others left room on these nodes."""
    return Promise("k", 1, "c", ((ONE_CPU, NodeAsk(), 3),), 3, 0, nodes, until)


def test_a_kept_promise_takes_its_own_nodes() -> None:
    """Before any other promise: those are laid out beside it."""
    members = Members()
    members.put(on_two_nodes())
    members.promise(a_promise(parallelism=2))
    members.promise(kept("node-1"))
    assert cpu_by_node(members) == [2, 1]
    assert members.kept_nodes() == {"c": ("node-1",)}
    assert members.all_promised()["c"]["cpu"] == 5000


def test_what_does_not_fit_on_its_nodes_is_promised_anywhere() -> None:
    """A foreign pod took the room, or the node is gone."""
    members = Members()
    members.put(on_two_nodes())
    members.promise(kept("gone"))
    assert sorted(cpu_by_node(members)) == [2, 3]


def test_room_is_kept_until_the_pods_are_bound() -> None:
    """Wherever the member bound them: the report shows their room as used."""
    members = Members()
    members.promise(kept("node-1"))
    members.put(on_two_nodes(k=(2, 0)))
    assert cpu_by_node(members) == [4, 3]
    members.put(on_two_nodes(k=(3, 0)))
    assert cpu_by_node(members) == [4, 4]
    assert members.kept_nodes() == {}


def test_after_its_time_it_is_a_promise_like_any_other() -> None:
    """It is counted as before, on no node in particular; reading its row again does not keep it longer."""
    members = Members()
    members.put(on_two_nodes())
    members.promise(kept("node-1", until=10))
    members.expire(9)
    assert members.kept_nodes()
    members.expire(10)
    assert members.kept_nodes() == {}
    assert cpu_left(members) == 5
    members.promise(kept("node-1", until=10))
    assert members.kept_nodes() == {}
    members.release("k")
    assert cpu_by_node(members) == [4, 4]


def test_in_a_transaction_kept_room_is_taken_on_the_nodes_of_the_newest_report() -> None:
    """What a commit looks at, with one of three pods bound meanwhile."""
    members = Members()
    members.put(on_two_nodes())
    members.promise(kept("node-1"))
    members.refresh(lambda best, left: None)
    room = members.room_with({"c": on_two_nodes(k=(1, 0))})
    cpu = room.free[room.layout.row["cpu"]]
    assert [int(n) // 1000 for n in cpu] == [4, 2]
    assert cpu_by_node(members) == [4, 1]
