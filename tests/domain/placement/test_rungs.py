"""The rungs of a placement's ladder of conditions."""

import datetime as dt

import pytest

from hub.domain.placement import rungs
from hub.domain.placement.rungs import left_to_queue, placed_by_queue, unscheduled


@pytest.mark.parametrize(
    ("jobs", "named"),
    [
        (["a"], "Job(s) a wait"),
        (["a", "b", "c"], "Job(s) a, b, c wait"),
        (["a", "b", "c", "d", "e"], "Job(s) a, b, c and 2 more wait"),
    ],
)
def test_jobs_that_wait_in_queues_of_their_own_are_named(jobs, named):
    """At most three, and how many more there are."""
    rung = left_to_queue(2, jobs)

    assert (rung.type, rung.status, rung.reason) == ("Scheduled", "True", "PlacedByQueue")
    assert named in rung.message


def test_what_a_queue_has_placed_is_named_too():
    """The rung of Jobs that their queue has placed has the same reason."""
    assert placed_by_queue(1, ["a"]).reason == "PlacedByQueue"
    assert unscheduled("NoClusterMatches", "none").status == "False"


OVERRIDE = {"kind": "ResourceOverride", "namespace": "shop", "name": "small"}
WHOLE = {"kind": "ClusterResourceOverride", "namespace": "", "name": "all"}


@pytest.mark.parametrize(
    ("rung", "status", "reason", "said"),
    [
        (rungs.begun("3", "", ""), "True", "RolloutStarted", "started the rollout"),
        (rungs.begun("3", "later", ""), "False", "RolloutNotStartedYet", "version 3: later"),
        (rungs.begun("", "later", ""), "False", "RolloutNotStartedYet", "nothing yet: later"),
        (rungs.begun("3", "later", "no"), "False", "NotAccepted", "not rolled out here"),
        (rungs.all_begun(2, [], 0, "; left"), "True", "RolloutStarted", "All 2 cluster(s)"),
        (rungs.all_begun(2, [("m1", "w")], 0, ""), "False", "RolloutNotStartedYet", "first m1: w"),
        (rungs.all_begun(2, [("m1", "w")], 1, ""), "False", "NotAccepted", "is not accepted in 1"),
        (rungs.not_accepted("why"), "True", "NotAccepted", "it keeps its objects: why"),
        (rungs.given_by_run("4", ""), "True", "RolloutStarted", "gave it version 4"),
        (rungs.given_by_run("", "none"), "Unknown", rungs.BY_RUNS, "has updated it yet: none"),
        (rungs.given_by_runs(["4", "4"], "4", "", "."), "True", "RolloutStarted", "version 4."),
        (
            rungs.given_by_runs(["4"], "5", "", ""),
            "True",
            "RolloutStarted",
            "the newest, 5, waits",
        ),
        (rungs.given_by_runs(["4", ""], "4", "d", ""), "Unknown", rungs.BY_RUNS, "1 have nothing"),
        (rungs.left_to_queue(1, ["a", "b", "c", "d"]), "True", "PlacedByQueue", "and 1 more"),
        (rungs.placed_by_queue(1, ["a"]), "True", "PlacedByQueue", "Job(s) a went"),
        (rungs.unscheduled("Odd", "text"), "False", "Odd", "text"),
        (rungs.scheduled(1, 2, "why"), "False", "SchedulingPolicyUnfulfilled", "of 2: why"),
        (
            rungs.scheduled(2, None, "why"),
            "True",
            "SchedulingPolicyFulfilled",
            "2 cluster(s): why",
        ),
        (rungs.overridden("fault", [], []), "False", "OverriddenFailed", "fault"),
        (rungs.overridden("", [], ["o"]), "False", "OverridesNotSupported", "o: Jobs"),
        (rungs.overridden("", [], []), "True", "NoOverrideSpecified", "No override rules"),
        (rungs.overridden("", [OVERRIDE] * 4, []), "True", "OverriddenSucceeded", "and 1 more"),
        (rungs.all_overridden({"m1": "f"}, 1, []), "False", "OverriddenFailed", "first m1: f"),
        (rungs.all_overridden({}, 1, ["o"]), "False", "OverridesNotSupported", "o: Jobs"),
        (rungs.all_overridden({}, 0, []), "True", "NoOverrideSpecified", "No override rules"),
        (rungs.all_overridden({}, 2, []), "True", "OverriddenSucceeded", "in 2 cluster(s)"),
    ],
)
def test_a_rung_says_how_far_a_placement_is(rung, status, reason, said):
    """Status and reason for programs, and a message that names the numbers and the cause."""
    assert (rung.status, rung.reason) == (status, reason)
    assert said in rung.message


def test_overrides_are_named_by_their_scope():
    """As KubeFleet's status names them; a kind that is absent is left out."""
    assert rungs.applicable([WHOLE, OVERRIDE]) == {
        "applicableClusterResourceOverrides": ["all"],
        "applicableResourceOverrides": [{"name": "small", "namespace": "shop"}],
    }
    assert rungs.applicable([]) == {}


def test_a_placement_names_at_most_three_members_that_refuse():
    """In the order of their names; the condition goes with the last refusal."""
    now = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)
    refusals = {f"m{number}": f"no {number}" for number in range(5)}
    (told,) = rungs.with_refusals(None, refusals, 1, now)
    assert (told["type"], told["message"]) == ("NotAccepted", "no 0; no 1; no 2; and 2 more")
    assert rungs.with_refusals([told], {}, 1, now) == []
