"""Jobs whose object is no Job, played: operators are late, make lost children again, and copy labels."""

from dataclasses import replace

import pytest

from tests.simulation import runner
from tests.simulation.faults import Fault, draw
from tests.simulation.parents import ParentRun, ScaledRun, WholeParentRun
from tests.simulation.quiet import QUIET


@pytest.fixture(autouse=True)
def _quiet():
    runner.quiet()


def test_no_seed_breaks_an_invariant_where_operators_make_the_pods():
    """Never do pods of two epochs run, no child is written, and no result is lost."""
    played = [runner.play(draw(seed), kind=ParentRun) for seed in range(1, 151)]
    assert [(each.seed, each.invariant, each.text) for each in played if each.invariant] == []


def test_no_seed_breaks_an_invariant_where_none_of_an_object_runs_at_no_replicas():
    """Its operator makes the child of a held object, and follows another number of replicas late."""
    played = [runner.play(draw(seed), kind=ScaledRun) for seed in range(1, 151)]
    assert [(each.seed, each.invariant, each.text) for each in played if each.invariant] == []


def test_no_seed_breaks_an_invariant_of_the_whole_hub_with_such_members():
    """The same with the hub's services over a real store."""
    played = [runner.play(draw(seed), kind=WholeParentRun) for seed in range(1, 3)]
    assert [(each.seed, each.invariant, each.text) for each in played if each.invariant] == []


def test_a_child_without_a_pod_that_outlives_the_collectors_finalizer_is_waited_for():
    """People delete the parent again, in the background, while its child has no pod yet: no second epoch."""
    faults = [
        Fault(3.0, "preempt", "w0", 0.0, 0.82, "patch", 1),
        Fault(0.0, "deleted by hand", "", 0.0, 0.1, "deleted", 1),
        Fault(60.0, "relist", "north", 0.0, 0.0),  # until then nothing is mended
    ]
    quiet = replace(draw(7), run_s=6.0, lag_s=4.0, grace_s=0.2, faults=faults, **QUIET)
    for seed in range(60, 80):  # in two of them the child makes a pod after all of that
        assert runner.play(replace(quiet, seed=seed), kind=ParentRun).text == ""


@pytest.mark.parametrize("seed", [7310005, 7324699, 7325486, 7326523])
def test_a_seed_that_once_broke_an_invariant_passes(seed):
    """An end in doubt is settled, and a read past the caches shows children that carry no label of ours."""
    assert runner.play(draw(seed), kind=ParentRun).text == ""
