"""What is decided of a work is kept; what is not decided leaves no trace."""

import pytest

from hub.domain.workloads.apply_options import NONE, ApplyOptions

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
