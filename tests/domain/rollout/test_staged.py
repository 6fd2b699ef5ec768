"""Staged update runs: order, concurrency, tasks, stopping and failing, as tables and for any run."""

import datetime as dt
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from hub.domain.rollout.run_state import (
    DELETION,
    ClusterSight,
    ClusterState,
    Limits,
    Progress,
    RunState,
    RunStep,
    StageState,
    resumed,
)
from hub.domain.rollout.staged import next_step
from hub.domain.rollout.stages import Stage, StagesUnfit, in_stages
from shared.selectors import read_selector

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
LIMITS = Limits(dt.timedelta(minutes=5))
ALL = read_selector({})
READY = ClusterSight(has=True, ready=True)


def minutes(count: float) -> dt.timedelta:
    return dt.timedelta(minutes=count)


def tier(value: str, **said: Any) -> Stage:
    return Stage(value, read_selector({"matchLabels": {"tier": value}}), **said)


def run_of(*stages: tuple[Stage, Iterable[str]], leftovers: Iterable[str] = ()) -> RunState:
    return RunState(
        tuple(StageState(stage, tuple(map(ClusterState, names))) for stage, names in stages),
        StageState(Stage(DELETION), tuple(map(ClusterState, leftovers))),
    )


def step(run: RunState, *ready: str, at: dt.timedelta = dt.timedelta(0), **said: Any) -> RunStep:
    """One step; `ready` have the version, others were begun and have it, but not available yet."""
    sights = dict.fromkeys(ready, READY) | said.pop("sights", {})
    approved, limits = said.pop("approved", ()), said.pop("limits", LIMITS)
    return next_step(run, sights, approved, NOW + at, limits, **said)


def under_way(run: RunState) -> list[str]:
    return [each.cluster for stage in run.stages for each in stage.clusters if each.under_way]


@pytest.mark.parametrize(
    ("concurrency", "clusters", "expected"),
    [(1, 5, 1), (3, 5, 3), ("70%", 3, 2), ("10%", 5, 1), ("100%", 4, 4), ("50%", 7, 3)],
)
def test_percents_are_rounded_down_and_one_is_the_least(concurrency, clusters, expected):
    """KubeFleet's maxConcurrency."""
    assert Stage("s", ALL, concurrency=concurrency).at_once(clusters) == expected


def test_a_label_sorts_as_a_whole_number_then_the_name():
    """2 comes before 10; without the label a cluster comes last."""
    clusters = {
        "a": {"n": "10"}, "b": {"n": "2"}, "z": {"n": "2"}, "c": {}, "d": {"n": "-1"},
    }  # fmt: skip
    assert in_stages([Stage("s", ALL, "n")], clusters) == [("d", "b", "z", "a", "c")]
    assert in_stages([Stage("s", ALL)], clusters) == [("a", "b", "c", "d", "z")]


@pytest.mark.parametrize(
    ("stages", "clusters", "said"),
    [
        pytest.param(
            [tier("a"), Stage("rest", ALL)], {"m1": {"tier": "a"}}, "m1 is in stages a and rest",
            id="twice",
        ),
        pytest.param([tier("a"), Stage("none")], {"m1": {}}, "no stage selects m1", id="nowhere"),
        pytest.param([Stage("s", ALL, "n")], {"m1": {"n": "x"}}, "label n of cluster m1 is x", id="odd"),
    ],
)  # fmt: skip
def test_a_cluster_belongs_to_one_stage(stages, clusters, said):
    """Neither to none nor to two, and its sorting label is a whole number."""
    with pytest.raises(StagesUnfit, match=said):
        in_stages(stages, clusters)


def test_one_after_the_other_through_both_stages():
    """A later stage begins when the earlier has ended; at the end the run has succeeded."""
    run = run_of((tier("a"), "xy"), (tier("b", concurrency=2), "pq"))
    found = step(run)
    assert (found.give, found.progress) == (("x",), Progress.PROGRESSING)
    assert found.why == "stage a: updating x, 0 of 2 done"
    found = step(found.run, "x")
    assert found.give == ("y",)
    found = step(found.run, "x", "y")
    assert found.give == ("p", "q")
    assert found.run.stages[0].ended_at == NOW
    found = step(found.run, *"xypq")
    assert (found.give, found.progress) == ((), Progress.SUCCEEDED)


def test_what_a_cluster_has_already_costs_no_turn():
    """It is done as soon as it is begun, and the next one follows at once."""
    assert step(run_of((tier("a"), "xyz")), "x", "y").give == ("z",)


def test_a_stage_without_clusters_is_skipped():
    """Its tasks too."""
    empty = tier("a", before=(None,), after=(minutes(9),))
    found = step(run_of((empty, ()), (tier("b"), "x")))
    assert found.give == ("x",)
    assert found.run.stages[0].ended_at == NOW


def test_approval_comes_before_a_stage():
    """It is asked for, and nothing is begun until it is there."""
    run = run_of((tier("a", before=(None,)), "x"))
    found = step(run)
    assert (found.requests, found.give) == ((("a", "before"),), ())
    assert (found.progress, found.run.stages[0].started_at) == (Progress.WAITING, None)
    assert found.why == "waiting for before-stage tasks of stage a: approval"
    assert step(found.run, approved={("a", "before")}).give == ("x",)


@pytest.mark.parametrize(
    ("approved", "begun", "asked"),
    [
        (set(), False, {("canary", "before")}),
        ({("canary", "after")}, False, {("canary", "before")}),
        ({("rest", "before")}, False, {("canary", "before")}),
        ({("canary", "before")}, True, {("canary", "after")}),
    ],
    ids=["none", "of its end", "of another stage", "of its begin"],
)
def test_an_approval_is_of_one_end_of_one_stage(approved, begun, asked):
    """An approval before a stage does not approve its end, nor another stage."""
    run = run_of((tier("canary", before=(None,), after=(None,)), "a"), (tier("rest"), "b"))
    told = step(run, approved=approved)
    assert bool(under_way(told.run)) is begun
    told = step(told.run, "a", approved=approved)
    assert set(told.requests) == asked
    assert told.progress is Progress.WAITING
    assert under_way(told.run) == []


def test_a_wait_begins_when_all_clusters_are_done_and_both_tasks_count():
    """The wait and the approval go on beside each other; the next stage needs both."""
    run = run_of((tier("a", after=(minutes(10), None)), "x"), (tier("b"), "y"))
    found = step(step(run).run, "x", at=minutes(3))
    assert found.requests == (("a", "after"),)
    assert found.again_at == NOW + minutes(13)
    assert found.why == "waiting for after-stage tasks of stage a: 10m to pass and approval"
    found = step(found.run, "x", at=minutes(13))
    assert found.why == "waiting for after-stage tasks of stage a: approval"
    found = step(found.run, "x", at=minutes(14), approved={("a", "after")})
    assert found.give == ("y",)


def test_clusters_not_chosen_any_more_come_last():
    """After all stages, all at once; the run ends when nothing is left there."""
    run = run_of((tier("a"), "x"), leftovers="pq")
    found = step(run)
    assert found.remove == ()
    found = step(found.run, "x", sights={"p": ClusterSight(), "q": ClusterSight()})
    assert (found.remove, found.progress) == (("p", "q"), Progress.PROGRESSING)
    found = step(found.run, "x", sights={"p": ClusterSight(gone=True), "q": ClusterSight()})
    assert found.remove == ("q",)
    found = step(
        found.run, "x", sights={"p": ClusterSight(gone=True), "q": ClusterSight(gone=True)}
    )
    assert found.progress is Progress.SUCCEEDED


def test_stopped_it_sees_through_who_is_under_way():
    """And begins nobody; resumed it goes on where it was."""
    run = step(run_of((tier("a"), "xy"))).run
    found = step(run, stopped=True)
    assert (found.progress, found.why) == (Progress.STOPPING, "stopping once x are done")
    found = step(found.run, "x", stopped=True)
    assert (found.progress, found.give, under_way(found.run)) == (Progress.STOPPED, (), [])
    assert step(found.run, "x").give == ("y",)


def test_stopped_it_sees_through_what_it_takes_back():
    """It has stopped once nothing of what it began to take back is left."""
    run = step(run_of((tier("a"), "x"), leftovers="p")).run
    run = step(run, "x", sights={"p": ClusterSight()}).run
    found = step(run, "x", sights={"p": ClusterSight()}, stopped=True)
    assert (found.progress, found.why) == (Progress.STOPPING, "stopping once p are done")
    found = step(found.run, "x", sights={"p": ClusterSight(gone=True)}, stopped=True)
    assert found.progress is Progress.STOPPED


def test_late_is_stuck():
    """By the deadline; it is looked at again then, and goes on when the cluster is ready after all."""
    found = step(run_of((tier("a"), "xy")))
    assert found.again_at == NOW + minutes(5)
    sights = {"x": ClusterSight(has=True, trouble="0 of 1 pods are ready")}
    found = step(found.run, at=minutes(5), sights=sights)
    assert found.progress is Progress.STUCK
    assert "first x: not available after 5m: 0 of 1 pods are ready" in found.why
    assert step(found.run, "x", at=minutes(6)).give == ("y",)


def test_so_many_failed_clusters_stop_the_run():
    """It says who and why; resumed, these do not count again, and others do."""
    limits = Limits(minutes(5), most_failed=1)
    refused = {name: ClusterSight(has=True, refused=True, trouble="conflict") for name in "xy"}
    run = step(run_of((tier("a", concurrency=2), "xyz")), limits=limits).run
    found = step(run, sights={"x": refused["x"]}, limits=limits)
    assert found.progress is Progress.STOPPING  # y is under way
    found = step(found.run, "y", sights={"x": refused["x"]}, limits=limits)
    assert (found.progress, found.give) == (Progress.STOPPED, ())
    assert found.why.startswith("the hub stopped it: x failed (first x: conflict), and 1 failed")
    mended = step(found.run, "x", "y", limits=limits)
    assert mended.progress is Progress.STOPPED  # until somebody says so
    found = step(resumed(found.run), "y", sights={"x": refused["x"]}, limits=limits)
    assert (found.give, found.progress) == (("z",), Progress.PROGRESSING)
    assert "x failed, first x: conflict" in found.why


def test_an_accepted_cluster_that_recovers_may_fail_anew():
    """What was accepted was that failure: the next one counts, and stops the run again."""
    limits = Limits(minutes(5), most_failed=1)
    refused = {"x": ClusterSight(has=True, refused=True, trouble="conflict")}
    run = step(run_of((tier("a"), "xy")), limits=limits).run
    run = resumed(step(run, sights=refused, limits=limits).run)
    mended = step(run, sights={"x": ClusterSight(has=True)}, limits=limits).run
    assert mended.stages[0].clusters == (ClusterState("x", started_at=NOW), ClusterState("y"))
    found = step(mended, sights=refused, limits=limits)
    assert found.progress is Progress.STOPPED
    assert found.run.stages[0].clusters[0] == ClusterState("x", NOW, failure="conflict")


STAGES = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.one_of(st.integers(1, 3), st.sampled_from(["1%", "50%", "100%"])),
        st.booleans(),
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=150)
@given(stages=STAGES, leftovers=st.integers(0, 2), data=st.data())
def test_any_run_keeps_its_order_and_its_bounds(stages, leftovers, data):
    """Whatever becomes ready, fails, is approved or stopped when.

    Never more clusters under way than a stage allows, none of a later stage before the earlier one and what
    comes after it are done, inside a stage in order, leftovers last; what was done stays done.
    """
    names, made = iter(range(99)), []
    for index, (count, concurrency, before, after) in enumerate(stages):
        tasks: dict[str, Any] = {
            "before": (None,) if before else (),
            "after": (minutes(2), None) if after else (),
        }
        stage = Stage(f"s{index}", ALL, "", concurrency, **tasks)
        made.append((stage, [f"c{next(names)}" for _ in range(count)]))
    run = run_of(*made, leftovers=[f"l{i}" for i in range(leftovers)])
    has: set[str] = set()
    ready: set[str] = set()
    gone: set[str] = set()
    approved: set[tuple[str, str]] = set()
    done_before: set[str] = set()
    limits = Limits(minutes(5), data.draw(st.integers(0, 2)))
    for turn in range(data.draw(st.integers(1, 25))):
        refused = {n for n in has - ready if data.draw(st.integers(0, 5)) == 0}
        ready |= {n for n in sorted(has - ready - refused) if data.draw(st.booleans())}
        sights = {
            n: ClusterSight(n in has, n in ready, n in refused, "bad", n in gone)
            for n in has | gone
        }
        awaited = [
            n for _, some in made for n in some if n not in has and data.draw(st.booleans())
        ]
        sights |= {n: ClusterSight(trouble="no report", awaited=True) for n in awaited}
        sights |= {f"l{i}": ClusterSight(gone=f"l{i}" in gone) for i in range(leftovers)}
        found = next_step(
            run, sights, approved, NOW + minutes(turn), limits, stopped=data.draw(st.booleans())
        )
        run = found.run
        has |= set(found.give)
        gone |= {n for n in found.remove if data.draw(st.booleans())}
        approved |= {r for r in found.requests if data.draw(st.booleans())}
        if run.halted and data.draw(st.booleans()):
            run = resumed(run)
        check_order(run, set(found.remove))
        done = {c.cluster for s in run.stages for c in s.clusters if c.done}
        assert done >= done_before
        done_before = done


def check_order(run: RunState, removed: set[str]) -> None:
    earlier_over = True
    for stage in run.stages:
        begun = [each.started_at is not None for each in stage.clusters]
        assert begun == sorted(begun, reverse=True), "in order"
        moving = [each for each in stage.clusters if each.under_way]
        assert len(moving) <= stage.stage.at_once(len(stage.clusters))
        if any(begun):
            assert earlier_over
            assert all(stage.before)
        if stage.ended_at is not None:
            assert stage.updated
            assert all(stage.after) or not stage.clusters
        earlier_over = earlier_over and stage.ended_at is not None
    assert earlier_over or not removed


def test_a_cluster_whose_report_is_awaited_is_not_begun():
    """Nor is the next one; its deadline begins when it may be given something."""
    run = run_of((Stage("s", ALL, concurrency=2), "xy"))
    awaited = {"x": ClusterSight(trouble="its agent has yet to report", awaited=True)}
    limits = Limits(minutes(1), 1)
    found = step(run, sights=awaited, limits=limits)
    assert under_way(found.run) == []
    assert found.why == "stage s: waiting for x: its agent has yet to report, 0 of 2 done"
    found = step(found.run, at=minutes(5), limits=limits)
    assert (under_way(found.run), found.run.halted) == (["x", "y"], "")
    late = step(found.run, at=minutes(5.5), limits=limits)
    assert late.run.failed() == []


@settings(max_examples=80)
@given(
    homes=st.dictionaries(
        st.text("abc", min_size=1, max_size=3), st.tuples(st.integers(0, 2), st.integers(-2, 12)),
        min_size=1, max_size=9,
    )
)  # fmt: skip
def test_stages_part_the_clusters(homes):
    """Each cluster stands in exactly the stage that selects it, by number and then by name."""
    clusters = {n: {"tier": str(home), "n": str(rank)} for n, (home, rank) in homes.items()}
    found = in_stages([tier(str(each), sorting_key="n") for each in range(3)], clusters)
    assert sorted(name for names in found for name in names) == sorted(homes)
    for index, names in enumerate(found):
        assert all(homes[name][0] == index for name in names)
        assert list(names) == sorted(names, key=lambda name: (homes[name][1], name))
