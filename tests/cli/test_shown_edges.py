"""What commands show at their edges: exactly as many as asked, exactly as wide, rounded, none at all."""

from typing import Any

import pytest

from roadstead.cli.output import span
from roadstead.cli.placements import COLUMNS
from roadstead.cli.tables import Column, table
from roadstead.models.placements import Placement
from tests.cli.build import a_job, a_listed_job, text
from tests.cli.commands import Ran, run
from tests.cli.scripted import Answer, Scripted, answering, items


def ran(answer: Answer, *arguments: str) -> tuple[Ran, Scripted]:
    with answering(answer) as script:
        return run("--server", script.address, "--token", "t", *arguments, columns=100), script


@pytest.mark.parametrize(("there", "more"), [(2, False), (3, False), (4, True)])
def test_a_list_says_that_there_are_more_where_there_are(there: int, more: bool):
    """As many as asked for are all there may be: only one more is worth a word."""
    found = [a_listed_job(f"j{number}") for number in range(there)]
    done, script = ran(items(*found), "jobs", "ls", "--limit", "3")
    assert len(done.lines) == 1 + min(there, 3)
    assert bool(done.err) is more
    assert script.asked == ["GET /v1/jobs?limit=4"]


@pytest.mark.parametrize(("limit", "code"), [("0", 2), ("1", 0), ("500", 0), ("501", 2)])
def test_as_many_events_may_be_asked_for_as_the_hub_tells(limit: str, code: int):
    """One to five hundred."""
    done, _ = ran(items(), "events", "--limit", limit)
    assert done.code == code


@pytest.mark.parametrize(
    ("limit", "offset", "code"),
    [("1", "0", 0), ("4000", "0", 0), ("4001", "0", 2), ("0", "0", 2), ("1", "-1", 2)],
)
def test_as_many_that_wait_may_be_asked_for_as_the_hub_tells(limit: str, offset: str, code: int):
    """One to four thousand, after any number."""
    done, _ = ran(items(), "queues", "pending", "q", "--limit", limit, "--offset", offset)
    assert done.code == code


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.4, "0s"), (0.6, "1s"), (59.6, "1m"), (61, "1m1s"), (3599, "59m59s"), (3599.6, "1h"),
        (3601, "1h1s"), (86399, "23h59m"), (86400, "1d"), (90061, "1d1h"), (86401, "1d1s"),
    ],
)  # fmt: skip
def test_spans_are_rounded_to_the_second(seconds: float, shown: str):
    """The two largest units that there are; a third one is left out."""
    assert span(seconds) == shown


LONG = [
    Column("NAME", lambda row: row["name"], shrinks=True),
    Column("STATE", lambda row: row["state"]),
]


@pytest.mark.parametrize(("width", "is_cut"), [(27, False), (26, True)])
def test_a_table_that_is_just_as_wide_is_not_cut(width: int, is_cut: bool):
    """Its columns and the gap between them: twenty, two, five."""
    shown = table([{"name": "x" * 20, "state": "Ready"}], LONG, width=width)
    assert ("…" in shown) is is_cut


def a_queue(**figures: int) -> Answer:
    return Answer(
        {
            "kind": "ClusterQueue", "name": "gold", "strategy": "StrictFIFO", "cohort": "",
            "state": "Ready", "pending": 0, "weightedShare": 0, "quotas": [],
            "localQueues": [], "notEnforced": [], "conditions": [], **figures,
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("reserving", "admitted", "said"), [(2, 2, None), (3, 2, "1 more"), (1, 2, None)]
)
def test_reservations_are_told_where_there_are_some(
    reserving: int, admitted: int, said: str | None
):
    """Those that hold quota and are not admitted; of none nothing is said."""
    done, _ = ran(a_queue(reserving=reserving, admitted=admitted), "queues", "show", "gold")
    assert ("reserved" in done.out) is (said is not None)
    assert said is None or said in done.out


def rungs(*states: str) -> Placement:
    names = ("Scheduled", "RolloutStarted", "Applied")
    return Placement.of(
        {
            "kind": "ResourcePlacement",
            "name": "p",
            "conditions": [
                {"type": f"ResourcePlacement{n}", "status": s, "reason": f"{n}Because"}
                for n, s in zip(names, states, strict=False)
            ],
        }
    )


@pytest.mark.parametrize(
    ("states", "shown"),
    [
        ((), ""),
        (("True",), "ScheduledBecause"),
        (("True", "True", "True"), "AppliedBecause"),
        (("True", "Unknown", "False"), "RolloutStarted: RolloutStartedBecause"),
        (("False",), "Scheduled: ScheduledBecause"),
    ],
)
def test_the_state_of_a_placement_is_the_last_rung_or_the_first_that_is_not_true(
    states: tuple[str, ...], shown: str
):
    """Unknown is not true either; without any rung nothing is said."""
    (state,) = (each for each in COLUMNS if each.title == "STATE")
    assert state.cell(rungs(*states)) == shown


def test_a_key_stands_as_it_is_for_a_single_job(tmp_path):
    """Of several the places tell them apart: the same command again carries the same keys."""
    single, several = tmp_path / "single.yaml", tmp_path / "several.yaml"
    single.write_text(text(a_job("a")))
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}
    several.write_text(text(a_job("a"), a_job("b"), namespace, a_job("c")))

    def answer(path: str) -> Answer:
        if path.endswith(":batch"):
            return Answer({"items": [{"index": n, **a_listed_job(f"j{n}")} for n in range(2)]})
        return Answer(a_listed_job("a"), 201)

    sent: list[list[Any]] = []
    for file in (single, several, several):
        with answering(asked=answer) as script:
            run("--server", script.address, "submit", "--key", "k", str(file))
        sent.append([headers["Idempotency-Key"] for headers in script.headers])
    assert sent == [["k"], ["k/0", "k/2", "k/3"], ["k/0", "k/2", "k/3"]]


def test_the_last_ends_before_a_start_are_shown():
    """Five of them: those that come just before it."""
    told = {
        "uid": "u1", "namespace": "team-a", "name": "train", "state": "Pending", "reason": "",
        "message": "", "cluster": "", "queue": "q", "clusterQueue": "q", "timeline": [],
        "forecast": {
            "at": "2026-01-01T10:00:00Z",
            "message": "rests on 7 known ends",
            "restsOn": [
                {"namespace": "b", "name": f"j{n}", "endsAt": f"2026-01-01T09:0{n}:00Z"}
                for n in range(7)
            ],
        },
    }  # fmt: skip
    done, _ = ran(Answer(told), "explain", "u1")
    assert done.code == 0, done
    ends = [line.split()[0] for line in done.lines if " ends at " in line]
    assert ends == [f"b/j{n}" for n in range(2, 7)]
