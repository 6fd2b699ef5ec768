"""However many Jobs REST has: how many are held, how often and how much at a time is bounded."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from hub.bridge.protection import Protection
from hub.bridge.showing import PACE, SELDOM_S, TOGETHER
from hub.bridge.shown_jobs import PAGE, ShownJobs
from hub.services.context.settings import BridgeSettings, Settings
from hub.services.jobs.accept import submit_jobs
from hub.services.reading.draft import draft
from shared import labels
from shared.clock import ManualClock
from shared.kinds import parse_job
from tests.bridge.crossings import Turns, crossing
from tests.bridge.parts import Parts

pytestmark = pytest.mark.anyio
NOW = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)
MOST = 250
MARKED = Protection("Marked", True, "")


async def test_a_hundred_thousand_changes_are_no_more_than_may_be_shown(tmp_path: Path):
    """What there is no room for is passed over, not kept."""
    async with crossing(tmp_path, clock=ManualClock(NOW)) as (_, it, _cluster):
        limit(it)
        jobs = ShownJobs(it.hub.hub, it.sources)
        looked_at = jobs.concern(f"uid-{number}" for number in range(100_000))
        assert len(looked_at) == len(jobs.held()) == MOST
        for uid in looked_at:
            jobs.drop(uid)
        assert jobs.held() == []


async def test_those_passed_over_are_found_page_by_page(tmp_path: Path):
    """Each look reads one page of the store, and none twice; where there is no room nothing is read."""
    async with crossing(tmp_path, clock=ManualClock(NOW)) as (_, it, _cluster):
        limit(it, PAGE + 10)
        uids = await submitted(it, PAGE + 5)
        jobs = ShownJobs(it.hub.hub, it.sources)
        first = await jobs.find_more()
        assert (len(first), jobs.may_find_more) == (PAGE, True)
        second = await jobs.find_more()
        assert (set(first) | set(second), jobs.may_find_more) == (set(uids), False)
        assert await jobs.find_more() == []
        limit(it, 1)
        full = ShownJobs(it.hub.hub, it.sources)
        assert len(await full.find_more()) == 1
        assert (await full.find_more(), full.may_find_more) == ([], False)


async def test_a_namespace_that_is_switched_on_is_looked_through_from_the_beginning(
    tmp_path: Path,
):
    """However often: its Jobs were passed over while it was off, and older ones are shown too."""
    async with crossing(tmp_path, clock=ManualClock(NOW)) as (_, it, _cluster):
        uids = await submitted(it, 3)
        lab = await it.kube.get("v1", "Namespace", "", "lab")
        jobs = ShownJobs(it.hub.hub, it.sources)
        for value, found in (("true", uids), ("false", []), ("true", uids), (None, [])):
            await it.patch(lab, {"metadata": {"labels": {labels.SHOW_JOBS: value}}})
            assert jobs.look_at_switches()
            assert sorted(await jobs.find_more()) == sorted(found)
            for uid in jobs.held():
                jobs.drop(uid)
        assert not jobs.look_at_switches()


async def test_a_turn_writes_a_bounded_number_and_rests(tmp_path: Path):
    """News brings no turn nearer: called at once again it does nothing."""
    async with crossing(tmp_path, clock=ManualClock(NOW)) as (turns, it, cluster):
        limit(it)
        await submitted(it, MOST)
        turns.crossing._condition.protection = MARKED
        rest = await mirrors(turns)
        assert rest is not None
        assert rest >= TOGETHER / PACE
        assert cluster.store.count("jobs.batch") == TOGETHER
        assert await mirrors(turns) == pytest.approx(rest)
        assert cluster.store.count("jobs.batch") == TOGETHER
        it.hub.clock.advance(rest)
        await mirrors(turns)
        assert cluster.store.count("jobs.batch") == 2 * TOGETHER


async def test_what_is_refused_is_tried_again_every_five_minutes_at_least(tmp_path: Path):
    """However often it was refused: who mends the cause does not wait for longer."""
    async with crossing(tmp_path, clock=ManualClock(NOW)) as (turns, it, _):
        limit(it)
        await submitted(it, 1)
        waits = []
        for _ in range(12):  # the condition says nothing of protection: each try is refused
            rest = await mirrors(turns)
            assert rest is not None
            waits.append(rest)
            it.hub.clock.advance(rest)
        assert max(waits) == pytest.approx(SELDOM_S)
        assert waits[-3:] == pytest.approx([SELDOM_S] * 3)


async def mirrors(turns: Turns) -> float | None:
    return await turns.crossing._level_mirrors()


def limit(it: Parts, most: int = MOST) -> None:
    it.hub.hub.settings = Settings(bridge=BridgeSettings(jobs="On", jobs_at_most=most))


async def submitted(it: Parts, count: int) -> list[str]:
    """So many Jobs of REST; their uids."""
    drafts = [draft(parse_job(a_job(number)), NOW) for number in range(count)]

    def all_of_them(tx: Any) -> list[str]:
        rows = submit_jobs(tx, drafts, it.hub.hub.settings.intake, strict=False)
        return [row.uid for row in rows]  # type: ignore[union-attr]

    uids: list[str] = await it.hub.write(all_of_them)
    return uids


def a_job(number: int) -> dict[str, Any]:
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": f"job-{number}", "namespace": "lab"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }
