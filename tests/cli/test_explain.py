"""explain of a job that lacks quota: what its queue has, who could go for it, and why others may not."""

import pytest

from tests.cli.commands import run
from tests.cli.scripted import Answer, answering

QUOTA = {
    "flavor": "gold",
    "resource": "cpu",
    "nominal": "4",
    "used": "6",
    "borrowed": "2",
    "available": "0",
    "potential": "8",
}
TOLD = {
    "uid": "u1",
    "namespace": "team-a",
    "name": "big",
    "queue": "main",
    "clusterQueue": "cq",
    "priority": 100,
    "state": "Pending",
    "reason": "InsufficientQuota",
    "message": "cpu of gold is used up",
    "cluster": "",
    "epoch": 0,
    "placement": "",
    "position": None,
    "waiting": None,
    "admission": None,
    "decision": None,
    "setAside": {},
    "nomination": None,
    "timeline": [],
    "quota": [QUOTA],
    "preemption": {
        "candidates": [
            {
                "namespace": "team-b",
                "name": "small",
                "clusterQueue": "cq",
                "priority": 1,
                "cluster": "c1",
            }
        ],
        "candidatesTotal": 3,
        "spared": [
            {
                "reason": "reclaimWithinCohort of cq is Never",
                "count": 2,
                "examples": [{"namespace": "team-b", "name": "other"}],
            }
        ],
    },
}


def explained(**more):
    """The lines for a job of which the hub tells this."""
    with answering(Answer({**TOLD, **more})) as hub:
        done = run("--server", hub.address, "--token", "t", "explain", "u1", columns=100)
    assert done.code == 0, done
    return done.lines


def test_the_figures_of_its_queue_are_a_table():
    """Nominal, used, borrowed and available, per flavor and resource."""
    lines = explained()
    at = lines.index("Its queue's own quota")
    assert lines[at + 1].split() == [
        "FLAVOR",
        "RESOURCE",
        "NOMINAL",
        "USED",
        "BORROWED",
        "AVAILABLE",
    ]
    assert lines[at + 2].split() == ["gold", "cpu", "4", "6", "2", "0"]


def test_the_quota_that_it_lacks_is_in_the_table():
    """Also where nothing of it is used: five are asked for, and the queue has four."""
    unused = {"used": "0", "borrowed": "0", "nominal": "4", "available": "4", "potential": "4"}
    gpu, cpu = ({**QUOTA, **unused, "resource": name} for name in ("nvidia.com/gpu", "cpu"))
    short = {"flavor": "gold", "resource": "nvidia.com/gpu", "asked": "5", "used": "0"}
    waiting = {"quota": [{**short, "limit": "4", "missing": "1"}]}
    lines = explained(quota=[cpu, gpu], waiting=waiting)
    at = lines.index("Its queue's own quota")
    assert lines[at + 2].split() == ["gold", "nvidia.com/gpu", "4", "0", "0", "4"]
    assert lines[at + 3] == ""


def test_candidates_are_named_and_the_spared_counted():
    """Who could be preempted for it, how many more, and which rule spares the rest."""
    lines = explained()
    at = lines.index("Preemption")
    assert lines[at + 1] == "  preemption candidates: team-b/small (priority 1) and 2 more"
    assert lines[at + 2] == (
        "  2 protected: reclaimWithinCohort of cq is Never (team-b/other and 1 more)"
    )


@pytest.mark.parametrize(
    ("state", "head"),
    [("Running", "Decision"), ("Pending", "Decision of its last placement")],
)
def test_a_decision_that_is_past_says_so(state, head):
    """Of a job that waits again the clusters are those of its last run."""
    chosen = {"cluster": "c1", "selected": True, "score": 7, "message": "score 7"}
    lines = explained(state=state, epoch=2, decision={"clusters": [chosen]})
    assert head in lines


def test_what_would_change_it_is_a_list():
    """One line for each remedy, in the hub's own words."""
    remedies = [
        {"kind": "Priority", "message": "with a priority above 7 it would be admitted now"}
    ]
    lines = explained(remedies=remedies)
    at = lines.index("What would change it")
    assert lines[at + 1] == "  - with a priority above 7 it would be admitted now"


def test_the_expected_start_names_what_it_rests_on():
    """The instant, and the last ends before it."""
    ends = {"namespace": "team-b", "name": "small", "endsAt": "2026-01-01T10:00:00Z"}
    forecast = {
        "at": "2026-01-01T10:00:00Z",
        "message": "rests on 1 known ends",
        "restsOn": [ends],
    }
    lines = explained(forecast=forecast)
    at = lines.index("Expected start")
    assert lines[at + 1].startswith("  expected to start at 2026-01-01")
    assert lines[at + 2].startswith("    team-b/small ends at 2026-01-01")


def test_without_a_forecast_it_says_why():
    """No instant is guessed."""
    forecast = {"at": None, "message": "no forecast: nothing is known to end", "restsOn": []}
    lines = explained(forecast=forecast)
    assert lines[lines.index("Expected start") + 1] == "  no forecast: nothing is known to end"


def test_several_flavors_are_told_one_by_one():
    """What it could get of each alone."""
    flavors = [
        {"flavor": "gold", "outcome": "WaitingForQuota", "message": "", "preempts": 0},
        {"flavor": "iron", "outcome": "Preempts", "message": "", "preempts": 2},
    ]
    lines = explained(flavors=flavors)
    at = lines.index("Flavor by flavor")
    assert lines[at + 3].split()[:3] == ["iron", "Preempts", "2"]


def test_open_checks_are_told_with_who_is_awaited():
    """A reserved job shows its admission checks: state, controller, and what was said."""
    check = {
        "name": "budget",
        "state": "Pending",
        "controllerName": "example.com/b",
        "message": "",
    }
    lines = explained(checks=[check])
    at = lines.index("Admission checks")
    assert lines[at + 2].split() == ["budget", "Pending", "example.com/b", "-"]


def test_a_nomination_is_told():
    """Once victims were told to go, it says for which cluster."""
    lines = explained(nomination={"cluster": "c1", "victims": ["a", "b"]}, preemption=None)
    assert "  2 jobs are preempted to make room for it on c1" in lines
    assert "Preemption" not in lines


def test_a_cluster_without_room_does_not_fit():
    """What is shown of a cluster is the reason against it, not the name of the rule that it fails."""
    against = {"cluster": "c1", "rule": "Fits", "reason": "InsufficientRoom", "message": "full"}
    lines = explained(waiting={"clusters": [against]})
    at = lines.index("Clusters")
    assert lines[at + 2].split() == ["c1", "InsufficientRoom", "full"]


def test_a_shortage_names_the_cohort_whose_room_it_counts():
    """Numbers beside the table of the queue's own quota say that they are another's."""
    short = {"flavor": "gold", "resource": "cpu", "asked": "4", "used": "15", "limit": "15"}
    short |= {"missing": "4", "cohort": "all"}
    lines = explained(waiting={"quota": [short]})
    assert any("15 of 15 used in cohort all, 4 more needed" in line for line in lines)
