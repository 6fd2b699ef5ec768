"""Why a job waits, or where it went, in words and numbers."""

import datetime as dt
from typing import Any

import pytest

from hub.services.questions.dashboard import ShownJob
from hub.store.records.lists import JobOnPage
from hub.web import fleet_view, words
from hub.web.job_view import job_line

NOW = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


def a_row(**changes):
    told = changes.pop("told", {})
    columns: dict[str, Any] = {
        "uid": "u1",
        "namespace": "team-a",
        "name": "one",
        "queue": "default",
        "cluster_queue": "",
        "state": "Pending",
        "reason": "",
        "message": "",
        "cluster": "",
        "epoch": 0,
        "scores": None,
        "created_at": NOW - dt.timedelta(minutes=5),
        "started_at": None,
        "finished_at": None,
    }
    return ShownJob(JobOnPage(**columns | changes), told)


def told(message="waits", **waiting):
    return {
        "reason": "WaitingForQuota",
        "message": message,
        "clusterQueue": "gpus",
        "position": {"inQueue": 2, "ofQueue": 9, "overall": 4, "ofOverall": 30},
        "waiting": {"quota": [], "clusters": [], "nearest": None, **waiting},
    }


def test_a_waiting_job_has_its_position_and_the_numbers():
    """Blocking rule, position, what is short, nearest miss."""
    short = {"flavor": "a100", "resource": "nvidia.com/gpu", "asked": "16"}
    short |= {"used": "8", "limit": "16", "missing": "8"}
    nearest = {"message": "cluster g misses 1 cpu"}
    line = job_line(a_row(told=told(quota=[short], nearest=nearest)), NOW)
    assert (line.reason, line.message) == ("WaitingForQuota", "waits")
    assert line.facts == (
        "position 2 of 9 in gpus, 4 of 30 overall",
        "quota: asks 16 nvidia.com/gpu of flavor a100, 8 of 16 used, 8 more needed",
        "nearest miss: cluster g misses 1 cpu",
    )


def test_what_the_message_says_is_not_said_again():
    """The nearest miss is a fact of its own only where it is not the reason."""
    nearest = {"message": "cluster g misses 1 cpu"}
    said = told("no room; cluster g misses 1 cpu", nearest=nearest, reason="NoClusterFits")
    line = job_line(a_row(told=said), NOW)
    assert line.facts == ("position 2 of 9 in gpus, 4 of 30 overall",)


def a_score(cluster, score, **changes):
    term = {"name": "resources.kubernetes-fleet.io/available-memory", "weight": 40}
    term |= {"score": score, "value": 2.0**30}
    return {"cluster": cluster, "selected": False, "score": score, "terms": [term]} | changes


OUT = {"cluster": "c", "rule": "Fits", "reason": "InsufficientRoom", "message": "misses 1 cpu"}


@pytest.mark.parametrize(
    ("clusters", "title"),
    [
        (
            [a_score("a", 40, selected=True), a_score("b", 30)],
            "score 40, best of 2 clusters that fit (b 30)",
        ),
        ([a_score("a", 0, selected=True), OUT], "the only cluster of 2 that fits"),
        ([a_score("a", 0, selected=True), {**OUT, "cluster": "a"}], "the only cluster"),
        ([], ""),
    ],
)
def test_a_placed_job_says_why_there(clusters, title):
    """The score among others, or that no other fits; each cluster once."""
    row = a_row(state="Running", cluster="a", scores={"clusters": clusters})
    assert job_line(row, NOW).choices_title == title


def test_a_choice_shows_what_its_score_is_made_of():
    """Each property with its value, and the points it gave of those it could give."""
    row = a_row(
        state="Running", cluster="a", scores={"clusters": [a_score("a", 30, selected=True)]}
    )
    (choice,) = job_line(row, NOW).choices
    assert choice.because == "available memory 1Gi: 30 of 40"
    assert (choice.score, choice.percent, choice.chosen) == ("30", 75, True)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-5, "0s"), (0, "0s"), (59, "59s"), (60, "1m"), (3599, "59m"), (7200, "2h"), (200_000, "2d")],
)
def test_ages(seconds, shown):
    """In the largest unit that is full; never negative, though clocks differ."""
    assert words.age(NOW - dt.timedelta(seconds=seconds), NOW) == shown


@pytest.mark.parametrize(
    ("part", "whole", "shown"), [(0, 10, 0), (1, 10_000, 1), (5, 10, 50), (30, 10, 100), (1, 0, 0)]
)
def test_shares(part, whole, shown):
    """A little is not nothing, too much is all, and nothing of nothing is nothing."""
    assert words.percent(part, whole) == shown


def test_a_queue_above_its_nominal_quota_borrows():
    """The bar is full and the word says it."""
    quota = {"flavor": "f", "resource": "cpu", "nominal": "4", "used": "6"}
    (line,) = fleet_view.queue_line(a_queue(quotas=[quota])).quotas
    assert (line.percent, line.borrows) == (100, True)


@pytest.mark.parametrize("state", ["Stopped", "Inactive"])
def test_a_queue_that_admits_nothing_is_called_what_the_command_line_calls_it(state):
    """Somebody has stopped it, or something is missing: the message says what."""
    active = {"type": "Active", "status": "False", "message": "ResourceFlavors not found: nof"}
    line = fleet_view.queue_line(a_queue(state=state, conditions=[active]))
    assert (line.state, line.tone, line.message) == (state, "bad", active["message"])


def a_queue(**fields: Any) -> dict[str, Any]:
    """A row of `services.queues.list_queues`."""
    return {
        "name": "q",
        "state": "Ready",
        "conditions": [],
        "localQueues": [],
        "cohort": "",
        "strategy": "StrictFIFO",
        "pending": 0,
        "admitted": 1,
        "quotas": [],
        **fields,
    }


def test_long_texts_are_cut():
    """A message of a megabyte stays one line."""
    assert len(words.text("x" * 1_000_000)) == 600


def test_the_room_of_a_cohort_is_said_to_be_the_cohorts():
    """What is short is counted in the cohort: the fact names it."""
    short = {"flavor": "f", "resource": "cpu", "asked": "16", "used": "8", "limit": "16"}
    short |= {"missing": "8", "cohort": "all"}
    line = job_line(a_row(told=told(quota=[short])), NOW)
    assert "8 of 16 used in cohort all, 8 more needed" in line.facts[1]


@pytest.mark.parametrize(("state", "since"), [("Pending", False), ("Running", True)])
def test_a_job_that_was_taken_back_has_not_started(state, since):
    """Preempted and pending again: the start of an earlier epoch is no start of it."""
    line = job_line(a_row(state=state, started_at=NOW - dt.timedelta(minutes=5)), NOW)
    assert (line.since is not None) == since
