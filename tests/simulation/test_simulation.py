"""Some seeds of the simulation, and that a seed always tells the same story."""

import os
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from shared import labels
from tests.simulation import runner
from tests.simulation.checks import Checks
from tests.simulation.faults import Fault, draw
from tests.simulation.hub_faults import ReplicatedRun
from tests.simulation.quiet import QUIET
from tests.simulation.restores import RestoredRun
from tests.simulation.scenario import Run
from tests.simulation.services import WholeRun
from tests.simulation.world import Violation


@pytest.fixture(autouse=True)
def _quiet():
    runner.quiet()


def test_no_seed_breaks_an_invariant():
    """Whatever befalls agents, hub, members and what lies between, nothing runs twice or is lost."""
    played = [runner.play(draw(seed)) for seed in range(1, 301)]
    assert [(each.seed, each.invariant, each.text) for each in played if each.invariant] == []
    assert sum(each.steps for each in played) > 300 * 100


@pytest.mark.parametrize(
    "seed", [14978, 26479, 95361, 97704, 98721, 119970, 154387, 156962, 160264]
)
def test_no_seed_that_once_did_breaks_an_invariant(seed):
    """Agents that were behind let go what a later one had begun; hubs forgot whom they had awaited."""
    assert runner.play(draw(seed)).text == ""


def test_no_seed_breaks_an_invariant_of_the_whole_hub():
    """The same with the hub's services over a real store, its scheduler and its quota."""
    played = [runner.play(draw(seed), kind=WholeRun) for seed in range(1, 5)]
    assert [(each.seed, each.invariant, each.text) for each in played if each.invariant] == []
    again = runner.play(draw(1), kind=WholeRun)
    assert again == played[0]


def test_no_seed_breaks_an_invariant_where_the_store_goes_back():
    """What runs, or has ended, unknown to the restored store is not begun again."""
    played = [runner.play(draw(seed), kind=RestoredRun) for seed in range(1, 5)]
    assert [(each.seed, each.invariant, each.text) for each in played if each.invariant] == []


def test_sessions_are_judged_in_the_order_in_which_the_hub_answers_them():
    """The acceptance of a restored store answers hanging requests of two sessions; the newer one is later."""
    assert runner.play(draw(302), kind=RestoredRun).text == ""


def test_no_seed_breaks_an_invariant_of_hubs_that_share_a_store():
    """Two hubs: they are paused, cut off and killed, hear late, and do not know what they committed."""
    played = [runner.play(draw(seed), kind=ReplicatedRun) for seed in range(1, 5)]
    assert [(each.seed, each.invariant, each.text) for each in played if each.invariant] == []
    again = runner.play(draw(1), kind=ReplicatedRun)
    assert again == played[0]


def test_a_seed_tells_the_same_story_again():
    """The hash of a trace depends on the seed alone."""
    once, again = (runner.play(draw(17), tell=True) for _ in range(2))
    assert once == again
    assert once.crc != runner.play(draw(18)).crc


def test_a_seed_tells_the_same_story_in_another_process():
    """The last line is JSON with seeds, steps, violations and the hash, whoever runs it."""
    command = [sys.executable, "-m", "tests.simulation", "--seeds", "1,8", "--workers", "1"]
    told = []
    for order in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": order}
        done = subprocess.run(command, env=env, capture_output=True, check=True, timeout=120)
        told.append(orjson.loads(done.stdout.splitlines()[-1]))
    assert told[0]["seeds"] == 8
    assert told[0]["violations"] == []
    assert told[0]["hash"] == told[1]["hash"]
    assert told[0]["steps"] == told[1]["steps"]


def test_a_fault_follows_its_moment():
    """What is to follow a moment comes where that is, each time when it is: in the middle of a request."""
    cut = Fault(at=0.0, kind="hang", where="", seconds=5.0, draw=0.5, moment="create")
    scenario = replace(draw(7), jobs=1, limit=1, trouble=0.0, faults=[cut], copied_at=0.0)
    lines = runner.play(scenario, tell=True).lines
    at = next(index for index, line in enumerate(lines) if "hang at" in line)
    made = next(line for line in lines[at:] if "is made" in line)
    assert float(made.split()[0]) >= float(lines[at].split()[0]) + 5.0


def test_a_quiet_fleet_ends_when_nothing_can_happen_any_more():
    """All has ended and no request is on its way: what is left of the scenario is not played."""
    scenario = replace(draw(7), jobs=1, limit=1, trouble=0.0, run_s=0.5, ttl_s=None, failing=0.0)
    run = Run(replace(scenario, faults=[], copied_at=0.0))
    run.play()
    assert run.world.now < 20.0


def test_a_scenario_is_what_its_seed_says():
    """Leaving out a fault leaves the rest of the scenario as it is."""
    scenario = draw(5)
    smaller = replace(scenario, faults=scenario.faults[1:])
    assert smaller.faults == draw(5).faults[1:]
    assert runner.play(smaller).crc != runner.play(scenario).crc


def test_a_job_that_was_only_held_does_not_end_failed():
    """What its pods did because they were told to end is no failure of the job: it runs again."""
    held = Fault(at=5.0, kind="hold", where="w0", seconds=3.0, draw=0.5)
    scenario = replace(draw(7), run_s=60.0, faults=[held], **QUIET)
    run = Run(scenario)
    run.play()
    assert run.hub.store.workloads["w0"]["state"] == "Succeeded"


def test_an_agent_that_is_behind_keeps_the_end_of_what_another_was_told_of():
    """Somebody deletes what has ended while the hub is away: who was told of it tells how it ended."""
    faults = [
        Fault(0.1, "hold", "w0", 0.0, 0.5, "create"),
        Fault(0.02, "second agent", "", 25.0, 0.27, "requeue"),
        Fault(2.4, "hub dies", "", 15.0, 0.5, "requeue"),
        Fault(3.0, "deleted by hand", "", 0.0, 0.1, "over", 2),
    ]
    quiet = replace(draw(7), run_s=3.0, grace_s=0.5, lag_s=0.1, faults=faults, **QUIET)
    for seed in range(8):  # in some the second epoch is given to the same cluster
        run = Run(replace(quiet, seed=seed))
        run.play()
        assert run.hub.store.workloads["w0"]["state"] == "Succeeded"


def test_what_was_told_in_the_time_that_a_store_lost_is_carried_out():
    """A Job whose time is over goes though the restored hub still waits for it to begin."""
    given = {**QUIET, "ttl_s": 5, "copied_at": 2.05}
    scenario = replace(draw(55142), run_s=0.5, lag_s=1.0, rates=(1.0, 1.0), faults=[], **given)
    result = runner.play(scenario, tell=True)
    at = next(index for index, line in enumerate(result.lines) if "is put back" in line)
    assert any("j0 is gone" in line for line in result.lines[at:])
    assert result.invariant == ""


def desiring(**works: str) -> SimpleNamespace:
    """A store that has these works of epoch 1 in north."""
    rows = {("north", uid): {"epoch": 1, "action": action} for uid, action in works.items()}
    return SimpleNamespace(works=rows)


def test_no_agent_ends_what_the_hub_wants_to_run():
    """Neither before nor after its store went back, save what it had taken back in the time between."""

    def a_job(uid: str) -> dict[str, Any]:
        marks = {labels.JOB_UID: uid, labels.EPOCH: "1"}
        return {"metadata": {"labels": marks, "uid": f"{uid}@north"}, "spec": {}}

    checks = Checks()
    checks.store = desiring(w0="Apply", w1="Withdraw")
    checks.deleted("north", a_job("w1"))
    with pytest.raises(Violation, match="R-08"):
        checks.deleted("north", a_job("w0"))
    checks.store_went_back()
    checks.store = desiring(w0="Apply", w1="Apply", w2="Apply")
    for uid in ("w1", "w2"):
        checks.deleted("north", a_job(uid))
    with pytest.raises(Violation, match="R-08"):
        checks.deleted("north", a_job("w0"))


def test_a_job_in_a_members_queue_goes_elsewhere_once_consent_is_withdrawn():
    """It never ran there: its first epoch is no attempt, and it ends in the other cluster."""
    away = Fault(0.5, "consent withdrawn", "", 400.0, 0.0, "patch", 1)
    later = Fault(60.0, "relist", "north", 0.0, 0.0)  # until then nothing is mended
    faults = [away, later]
    given = replace(draw(1), **QUIET, consent=True, queue_s=60.0, loss="", faults=faults)
    run = WholeRun(given)
    try:
        run.play()
        (row,) = run.checks.store.workloads.values()
        assert (row["state"], row["epoch"]) == ("Succeeded", 2)
        assert run.checks.unstarted == {(row["uid"], 1)}
    finally:
        run.finish()
