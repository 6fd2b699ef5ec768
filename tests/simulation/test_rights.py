"""Members of the simulation that take rights away from their agents, and tools that write without pause."""

from dataclasses import replace
from typing import Any

import pytest

from tests.simulation import runner
from tests.simulation.faults import Fault, draw
from tests.simulation.scenario import Run
from tests.simulation.services import WholeRun


@pytest.fixture(autouse=True)
def _quiet():
    runner.quiet()


def played(kind: Any, *faults: Fault, **given: Any) -> tuple[Any, list[str]]:
    """The only job at the end, and the trace."""
    quiet = replace(
        draw(1), jobs=1, limit=1, trouble=0.0, failing=0.0, foreign=False, retries=1, ttl_s=None,
        copied_at=0.0, loss="", consent=False, queue_s=0.0, run_s=3.0,
    )  # fmt: skip
    run = kind(replace(quiet, faults=list(faults), **given), tell=True)
    try:
        run.play()
        (row,) = run.checks.store.workloads.values()
        return row, run.world.lines
    finally:
        run.finish()


def later(cluster: str = "north") -> Fault:
    """Until then nothing is mended."""
    return Fault(60.0, "relist", cluster, 0.0, 0.0)


def test_a_job_goes_where_the_agent_may_create():
    """The agent asks what it may after the first refusal, and the hub places the job elsewhere."""
    denied = Fault(0.0, "create denied", "", 400.0, 0.0, "offer")
    row, lines = played(WholeRun, denied, later(), rights=True)
    where = next(line.split()[-5] for line in lines if "create denied at" in line)
    assert row["state"] == "Succeeded"
    assert not any(f"{where}: j0 is made" in line for line in lines)


def test_an_agent_that_knows_no_rights_tries_again():
    """One of a release before goes on trying until it may create."""
    denied = Fault(0.0, "create denied", "", 30.0, 0.0, "offer")
    row, lines = played(Run, denied, later(), rights=True)
    made = next(float(line.split()[0]) for line in lines if "j0 is made" in line)
    assert (row["state"], made > 30.0) == ("Succeeded", True)


def test_a_job_begins_once_its_agent_may_patch_again():
    """Without the right to patch it is made and not started; it runs once, when the right is back."""
    denied = Fault(0.0, "patch denied", "", 30.0, 0.0, "create")
    row, lines = played(Run, denied, later(), rights=True)
    runs = [float(line.split()[0]) for line in lines if "of j0 runs" in line]
    assert (row["state"], len(runs), runs[0] > 30.0) == ("Succeeded", 1, True)


@pytest.mark.parametrize("draw_of_burst", [0.1, 0.9])
def test_a_tool_that_writes_without_pause_keeps_no_job_from_running(draw_of_burst):
    """Sixty events at once, or one every moment for seconds: it begins once, and its two pods run."""
    burst = Fault(0.0, "burst of events", "", 8.0, draw_of_burst, "made")
    row, lines = played(WholeRun, burst)
    assert row["state"] == "Succeeded"
    assert sum("j0 is made" in line for line in lines) == 1
    assert sum("of j0 runs" in line for line in lines) == 2
