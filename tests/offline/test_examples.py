"""The examples that `simulate run` plays: they show what their READMEs say, in figures."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from roadstead.cli.simulate import simulate

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
MODES = EXAMPLES / "failure-modes"


def _run(*args: object) -> dict[str, Any]:
    done = CliRunner().invoke(simulate, ["run", *map(str, args), "-o", "json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def _mode(name: str, queues: str, load: str = "load", settings: str = "") -> dict[str, Any]:
    more = ["--settings", MODES / name / f"{settings}.yaml"] if settings else []
    return _run(
        MODES / name / f"{queues}.yaml", "--workloads", MODES / name / f"{load}.yaml", *more
    )


def _class(told: dict[str, Any], name: str) -> dict[str, Any]:
    return next(c for c in told["classes"] if c["class"] == name)


def _wait(told: dict[str, Any], name: str) -> float:
    return float(_class(told, name)["timeToAdmission"]["average"])


def test_three_teams() -> None:
    """Three gangs of research run (8 borrowed), the fourth waits; language takes back what is its own."""
    place = EXAMPLES / "three-teams"
    told = _run(place / "queues.yaml", place / "cluster.yaml", "--workloads", place / "story.yaml")
    assert told["makespanSeconds"] == 4 * 3600
    research = _class(told, "research-8")
    assert research["timeToAdmission"] == {
        "average": 1800.0, "p50": 0.0, "p95": 7200.0, "max": 7200.0
    }  # fmt: skip
    assert _wait(told, "vision-16") == _wait(told, "language-16") == 0.0
    assert told["preemptions"] == {
        "count": 1, "workloads": 1, "byReason": {"InCohortReclamation": 1}
    }  # fmt: skip
    assert told["workLost"] == {"nvidia.com/gpu": 8 * 3600.0}
    assert told["clusters"][0]["finished"] == 6


def test_three_teams_up_to_the_first_half_hour() -> None:
    """At first research holds 24 GPUs: its sixteen and the eight that it may borrow."""
    place = EXAMPLES / "three-teams"
    told = _run(
        place / "queues.yaml", "--workloads", place / "story.yaml", "--until", "29m"
    )  # fmt: skip
    assert told["workloads"] == {
        "total": 4, "admitted": 3, "finished": 0, "running": 3, "pending": 1
    }  # fmt: skip
    research = next(q for q in told["queues"] if q["clusterQueue"] == "team-research")
    assert research["held"] == {"nvidia.com/gpu": 1.5}


def test_head_of_line_blocking() -> None:
    """With BestEffortFIFO small jobs pass a large one that does not fit; it waits no longer for it."""
    off, on = _mode("head-of-line", "off"), _mode("head-of-line", "on")
    assert (_wait(off, "small"), _wait(on, "small")) == (14560.0, 0.0)
    assert _wait(off, "large") == _wait(on, "large") == 14340.0


@pytest.mark.parametrize(("load", "whole", "hours"), [("off-load", 0, 20.0), ("on-load", 2, 0.0)])
def test_fragmentation(load: str, whole: int, hours: float) -> None:
    """As gangs two jobs start whole at once; worker by worker none does, and half of the GPUs idle."""
    told = _mode("fragmentation", "queues", load)
    at_once = sum(c["timeToAdmission"]["max"] == 0 for c in told["classes"])
    held = sum(
        c["count"] * (c["timeToAdmission"]["max"] - c["timeToAdmission"]["average"])
        for c in told["classes"]
    )
    assert at_once == whole
    assert held / 3600 == pytest.approx(hours, abs=0.1)


def test_starvation() -> None:
    """With a queue each, the team that came later gets its share at once; it costs the other little."""
    off, on = _mode("starvation", "off"), _mode("starvation", "on")
    assert (_wait(off, "team-b"), _wait(on, "team-b")) == (21840.0, 840.0)
    assert (_wait(off, "team-a"), _wait(on, "team-a")) == (10368.0, 12012.0)
    assert (on["preemptions"]["count"], on["workLost"]) == (9, {"nvidia.com/gpu": 4800.0})


def test_priority_inversion() -> None:
    """High priority starts at once at the cost of those that lose least."""
    off = _mode("priority-inversion", "off")
    on = _mode("priority-inversion", "on", settings="settings")
    assert (_wait(off, "training"), _wait(on, "training")) == (15840.0, 0.0)
    assert (on["preemptions"]["count"], on["workLost"]) == (4, {"nvidia.com/gpu": 20160.0})
