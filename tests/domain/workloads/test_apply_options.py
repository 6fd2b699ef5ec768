"""What is decided of a work is kept; what is not decided leaves no trace."""

import pytest

from hub.domain.workloads.apply_options import NONE, ApplyOptions, steered

FULL = ApplyOptions(
    parallelism=2, wanted=3, node_selector={"a": "b"}, tolerations=({"key": "k"},),
    pod_labels={"l": "1"}, pod_annotations={"n": "2"}, suspend=True, queue="lq",
    when_to_apply="Always", when_to_take_over="Never", placed_by="rp/x", ttl_s=9,
    session="s", doubtful=True,
)  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [NONE, FULL, ApplyOptions(parallelism=0, wanted=0, suspend=False, queue="", ttl_s=0)],
)
def test_what_is_written_is_read_back(options: ApplyOptions) -> None:
    """Also zeros and False where they decide something."""
    assert ApplyOptions.from_json(options.as_json()) == options


def test_only_what_is_decided_is_written() -> None:
    """Empty means undecided, except where nothing is itself a decision."""
    assert NONE.as_json() == {}
    decided = ApplyOptions(parallelism=0, suspend=False, queue="", placed_by="", ttl_s=0, wanted=0)
    assert decided.as_json() == {
        "parallelism": 0, "wanted": 0, "suspend": False, "queue": "", "placed_by": "", "ttl_s": 0,
    }  # fmt: skip
    assert FULL.as_json()["tolerations"] == [{"key": "k"}]


def test_what_is_not_known_is_left_out() -> None:
    """A row that another version wrote is read as far as it is understood."""
    assert ApplyOptions.from_json({"ttl_s": 5, "novel": 1}) == ApplyOptions(ttl_s=5)


def test_each_pod_set_gets_its_own_additions() -> None:
    """Of several pod sets each has its own; those of the work stand for one that is not named."""
    driver = {"node_selector": {"pool": "cpu"}, "tolerations": [{"key": "k"}]}
    options = ApplyOptions(node_selector={"a": "b"}, pod_sets={"driver": driver}, ttl_s=5)
    assert options.of_pod_set("driver") == ApplyOptions(
        node_selector={"pool": "cpu"},
        tolerations=({"key": "k"},),
        pod_sets=options.pod_sets,
        ttl_s=5,
    )
    assert options.of_pod_set("worker") is options


def test_where_an_object_lies_does_not_change_how_it_is_applied() -> None:
    """Neither the envelope nor a later decision to abandon it makes the agent apply it anew."""
    kept = ApplyOptions(force=True, envelope="ConfigMap/ns/bundle", abandon=True)
    assert kept.hashed() == {"force": True}


def test_pods_prefer_their_own_nodes_and_leave_others_alone() -> None:
    """A node that is kept for others, and is its own too, is not avoided; at most 200 are named."""
    steered_ = steered(NONE, ["n2", "n1"], frozenset({"n1", "n9"}))
    assert (steered_.nodes, steered_.other_nodes) == (("n1", "n2"), ("n9",))
    many = steered(NONE, (), frozenset(f"n{at}" for at in range(300)))
    assert (len(many.other_nodes), many.nodes) == (200, ())
