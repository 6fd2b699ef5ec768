"""Room on nodes: what fits, where it is taken, and what fragmentation leaves."""

from hypothesis import given, strategies as st

from hub.domain.fleet.clusters import Cluster, with_report
from hub.domain.fleet.free_capacity import Layout, NodeAsk, Room
from hub.domain.selectors import Taint
from shared.resources import Toleration
from tests.domain.build import a_cluster, a_pool, amounts


def _room(*pools: object) -> Room:
    cluster = a_cluster(*pools)  # type: ignore[arg-type]
    return Room.of(Layout([cluster]), {"c": cluster})


def test_free_room_in_all_is_not_room_on_a_node() -> None:
    """Four nodes with 2 free cpu each hold no pod of 3."""
    room = _room(a_pool(nodes=4, cpu=2))
    assert not room.fits(room.layout.need(amounts({"cpu": 3}), NodeAsk()), 1, 0)
    assert room.fits(room.layout.need(amounts({"cpu": 2}), NodeAsk()), 4, 0)


def test_pods_are_put_on_the_roomiest_node_first() -> None:
    """As a member's scheduler spreads them: eight small pods leave no node whole."""
    room = _room(a_pool(nodes=2, cpu=8))
    assert room.take(room.layout.need(amounts({"cpu": 1}), NodeAsk()), 8, 0)
    assert room.free[room.layout.row["cpu"]].tolist() == [4000, 4000]


def test_the_pods_a_node_may_run_are_a_resource() -> None:
    """A node that reports `pods` holds no more of them, however small they are."""
    room = _room(a_pool(cpu=8, pods=2))
    need = room.layout.need(amounts({"cpu": "1m"}), NodeAsk())
    assert room.take(need, 2, 0)
    assert not room.take(need, 1, 0)


def test_taints_of_nodes_must_be_tolerated() -> None:
    """A pool with a taint is for pods that tolerate it."""
    room = _room(a_pool(cpu=8, taints=[Taint("gpu", "yes", "NoSchedule")]))
    assert not room.fits(room.layout.need(amounts({"cpu": 1}), NodeAsk()), 1, 0)
    tolerant = NodeAsk(tolerations=(Toleration(key="gpu", value="yes"),))
    assert room.fits(room.layout.need(amounts({"cpu": 1}), tolerant), 1, 0)


def test_a_resource_nobody_reports_fits_nowhere() -> None:
    """Asking for a device that no node has leaves every cluster closed."""
    room = _room(a_pool(cpu=8))
    need = room.layout.need(amounts({"gpu": 1}), NodeAsk())
    assert need.missing == ("nvidia.com/gpu",)
    assert not room.open_clusters(need, 1).any()


def test_overcommitted_nodes_have_no_room_and_lend_none() -> None:
    """A node with negative free room takes nothing and does not eat the others' room."""
    room = _room(a_pool(cpu=2, used={"cpu": 5}), a_pool(cpu=4))
    assert room.pods_held(room.layout.need(amounts({"cpu": 1}), NodeAsk())).tolist() == [4]


def test_promised_pods_that_find_no_node_still_count() -> None:
    """What was promised lowers what is left in the cluster, room on a node or not."""
    room = _room(a_pool(nodes=2, cpu=2))
    assert room.promise(room.layout.need(amounts({"cpu": 2}), NodeAsk()), 3, 0) == 2
    assert room.left[room.layout.row["cpu"], 0] == -2000


def test_clusters_without_nodes_hold_nothing() -> None:
    """An empty cluster between others does not shift their rooms."""
    fleet = {
        "a": a_cluster(a_pool(cpu=1), name="a"),
        "b": a_cluster(name="b"),
        "c": a_cluster(a_pool(nodes=2, cpu=1), name="c"),
    }
    room = Room.of(Layout(list(fleet.values())), fleet)
    held = room.pods_held(room.layout.need(amounts({"cpu": 1}), NodeAsk())).tolist()
    assert dict(zip(room.layout.names, held, strict=True)) == {"a": 1, "b": 0, "c": 2}


def test_amounts_beyond_63_bits_count_as_the_largest() -> None:
    """An absurd report is bounded, not refused, and its sums do not wrap around."""
    huge = 2**70
    node = {"name": "n", "allocatable": [huge], "free": [huge]}
    capacity = {
        "pools_revision": 0,
        "pools": [{"labels": {}, "resources": ["memory"], "nodes": [node, {**node, "name": "m"}]}],
    }
    cluster = with_report(Cluster("c"), capacity)
    assert cluster.free["memory"] == 2**63 - 1


takes = st.lists(st.tuples(st.integers(1, 5), st.integers(0, 2), st.integers(1, 6)), max_size=12)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=6), takes)
def test_no_node_is_overdrawn(
    nodes: list[tuple[int, int]], wanted: list[tuple[int, int, int]]
) -> None:
    """Whatever is taken, all pods of it or none, every node keeps at least nothing."""
    room = _room(*(a_pool(cpu=cpu, gpu=gpu) for cpu, gpu in nodes))
    for cpu, gpu, count in wanted:
        need = room.layout.need(amounts({"cpu": cpu, "gpu": gpu}), NodeAsk())
        before, held = room.free.copy(), int(room.pods_held(need)[0])
        took = room.take(need, count, 0)
        assert took == (held >= count)
        assert (room.free >= 0).all()
        spent = (before - room.free)[room.layout.row["cpu"]].sum()
        assert spent == (cpu * 1000 * count if took else 0)
