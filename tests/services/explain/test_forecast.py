"""When a waiting job will start: known ends of runs, played forward through the cycle itself."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from tests.services.build import heard, in_cohort, start, states, told
from tests.services.hubs import Running, a_job, a_pool, running

pytestmark = pytest.mark.anyio

EXPECTED = "roadstead.dev/expected-runtime"
LIMIT = "kueue.x-k8s.io/max-exec-time-seconds"


async def submit(hub: Running, name: str, cpu: str, queue: str = "a", **given: Any) -> str:
    annotations = {EXPECTED: given["lasts"]} if given.get("lasts") else {}
    labels = {LIMIT: given["limit"]} if given.get("limit") else {}
    job = a_job(name, queue=queue, requests={"cpu": cpu}, annotations=annotations, labels=labels)
    (uid,) = await hub.apply(job)
    hub.clock.advance(1)
    return uid


async def forecast(hub: Running, uid: str) -> dict[str, Any]:
    await hub.settle()
    found = (await told(hub, uid))["forecast"]
    assert isinstance(found, dict)
    return found


async def test_it_starts_when_the_holder_is_expected_to_end(tmp_path: Path) -> None:
    """The instant is the start of the one it waits for plus what that one said it runs for."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="16"))
        await hub.apply(*in_cohort("a", "4", cohort=""))
        one = await submit(hub, "one", "4", lasts="10m")
        await hub.settle()
        await start(hub, one)
        started = (await hub.job(one)).placed_at
        waits = await submit(hub, "two", "4")
        found = await forecast(hub, waits)
        assert found["at"] == started.isoformat().replace("+00:00", "Z").replace(
            "T00:00:01", "T00:10:01"
        )
        assert [(job["name"], job["endsAt"]) for job in found["restsOn"]] == [("one", found["at"])]


async def test_the_limit_counts_where_nothing_is_said(tmp_path: Path) -> None:
    """max-exec-time-seconds is the latest end."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="16"))
        await hub.apply(*in_cohort("a", "4", cohort=""))
        one = await submit(hub, "one", "4", limit="120")
        await hub.settle()
        await start(hub, one)
        waits = await submit(hub, "two", "4")
        assert (await forecast(hub, waits))["at"].startswith("2026-01-01T00:02:0")


async def test_those_that_go_before_it_run_first(tmp_path: Path) -> None:
    """Whoever stands before it is admitted first, and runs as long as it said."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="16"))
        await hub.apply(*in_cohort("a", "4", cohort=""))
        one = await submit(hub, "one", "4", lasts="10m")
        await hub.settle()
        await start(hub, one)
        for n in range(3):
            await submit(hub, f"before-{n}", "4", lasts="1h")
        waits = await submit(hub, "last", "4")
        found = await forecast(hub, waits)
        assert found["at"].startswith("2026-01-01T03:10:0")
        assert found["admittedBefore"] == 3


async def test_without_known_runtimes_there_is_none(tmp_path: Path) -> None:
    """No instant is guessed: the answer says how many ends are known."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="16"))
        await hub.apply(*in_cohort("a", "4", cohort=""))
        one = await submit(hub, "one", "4")
        await hub.settle()
        await start(hub, one)
        found = await forecast(hub, await submit(hub, "two", "4"))
        assert found["at"] is None
        assert found["message"] == (
            "no forecast: no other known end would free enough for it "
            "(of 1 admitted the end of 0 is known)"
        )


async def test_one_that_ran_over_its_time_is_not_known_to_end(tmp_path: Path) -> None:
    """What was expected to have ended and has not says nothing any more."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="16"))
        await hub.apply(*in_cohort("a", "4", cohort=""))
        one = await submit(hub, "one", "4", lasts="10s")
        await hub.settle()
        await start(hub, one)
        hub.clock.advance(20)
        assert (await forecast(hub, await submit(hub, "two", "4")))["at"] is None


async def test_other_queues_of_the_cohort_count(tmp_path: Path) -> None:
    """What a borrower gives back is there for the whole tree."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="16"))
        await hub.apply(*in_cohort("a", "2"), *in_cohort("b", "2"))
        one = await submit(hub, "borrower", "4", queue="b", lasts="5m")
        await hub.settle()
        await start(hub, one)
        found = await forecast(hub, await submit(hub, "owner", "2"))
        assert found["at"].startswith("2026-01-01T00:05:0")


async def test_room_counts_as_quota_does(tmp_path: Path) -> None:
    """Where the cluster is full and quota is not, the end of what fills it is waited for."""
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="4"))
        await hub.apply(*in_cohort("a", "100", cohort=""))
        one = await submit(hub, "one", "4", lasts="5m")
        await hub.settle()
        await start(hub, one)
        found = await forecast(hub, await submit(hub, "two", "4"))
        assert found["at"].startswith("2026-01-01T00:05:0")


async def test_the_forecast_comes_true(tmp_path: Path) -> None:
    """If every run takes as long as it said, it is placed at the instant that was told."""
    lasts = {"one": 60, "two": 90, "three": 30}
    async with running(tmp_path) as hub:
        await hub.cluster("c", a_pool(nodes=1, cpu="16"))
        await hub.apply(*in_cohort("a", "4", cohort="", strict=True))
        uids = {name: await submit(hub, name, "2", lasts=f"{s}s") for name, s in lasts.items()}
        waits = uids["last"] = await submit(hub, "last", "4")
        predicted = (await forecast(hub, waits))["at"]
        rests_on = []
        while (await states(hub, [waits])) == ["Pending"]:
            hub.clock.advance(1)
            await hub.hub.write(heard)
            for name, seconds in lasts.items():
                row = await hub.job(uids[name])
                if row.state == "Placed":
                    due = row.placed_at + dt.timedelta(seconds=seconds)
                    if hub.clock.now() >= due:
                        await start(hub, uids[name])
                        await hub.transition("succeed", uids[name])
                        rests_on.append(name)
            await hub.settle()
        assert rests_on == ["one", "two", "three"]
        assert (await hub.job(waits)).placed_at.isoformat() == predicted.replace("Z", "+00:00")
