"""ClusterQueues on a simulated hub cluster are kept in v1beta2's names."""

import pytest

from shared.kubesim.queue_names import in_new_names

FIFO = {"queueingStrategy": "BestEffortFIFO"}


def kept(spec, old=None):
    """The spec that is kept of a new object, or of one that was kept as `old` before."""
    before = None if old is None else {"spec": old}
    return in_new_names({"spec": spec}, before)["spec"]


@pytest.mark.parametrize(
    ("written", "spec"),
    [
        ({"cohort": "all"}, {"cohortName": "all"}),
        ({"cohortName": "all"}, {"cohortName": "all"}),
        (
            {"admissionChecks": ["a", "b"]},
            {"admissionChecksStrategy": {"admissionChecks": [{"name": "a"}, {"name": "b"}]}},
        ),
        ({"admissionChecks": []}, {}),
        (
            {"flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}},
            {"flavorFungibility": dict.fromkeys(("whenCanBorrow", "whenCanPreempt"), "MayStopSearch")},
        ),
        ({"queueingStrategy": "StrictFIFO"}, {"queueingStrategy": "StrictFIFO"}),
    ],
)  # fmt: skip
def test_old_names_become_new_ones(written, spec):
    """What v1beta1 calls otherwise is kept as v1beta2 calls it, with Kueue's default strategy."""
    assert kept(written) == FIFO | spec


def test_an_old_name_written_later_wins():
    """A patch in v1beta1's names changes what is kept under the new one."""
    was = FIFO | {"cohortName": "all"}
    assert kept(was | {"cohort": "other"}, was) == FIFO | {"cohortName": "other"}


def test_two_names_that_differ_are_left_alone():
    """Written both and different, they are the hub's to refuse."""
    spec = FIFO | {"cohort": "a", "cohortName": "b"}
    assert kept(spec) == spec
    assert kept(spec, FIFO | {"cohortName": "c"}) == spec
