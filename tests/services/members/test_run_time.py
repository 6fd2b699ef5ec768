"""Maximum execution time: counted from admission, over all admissions, then the job is deactivated."""

import pytest

from hub.services.works.evict import evict
from shared.clock import SteadyClock
from shared.errors import Rejected
from shared.kinds.registry import parse
from tests.services.hubs import Running, a_job, running
from tests.services.steps import admitted, gone, lively, passed, reported, watching
from tests.shared.clocks import SetClock

pytestmark = pytest.mark.anyio
LABEL = "kueue.x-k8s.io/max-exec-time-seconds"


async def _limited(hub: Running, seconds: int = 30, **given) -> str:
    uid = await admitted(hub, labels={LABEL: str(seconds)}, **given)
    await lively(hub, uid)
    return uid


async def test_a_job_that_runs_too_long_is_withdrawn_and_deactivated(tmp_path):
    """At its limit the job leaves its cluster; once it is gone it is Deactivated and says why."""
    async with running(tmp_path) as hub:
        watch = watching(hub)
        uid = await _limited(hub)
        await passed(hub, 29, watch)
        assert (await hub.job(uid)).state == "Running"
        await passed(hub, 1, watch)
        row = await hub.job(uid)
        assert (row.state, row.withdraw_to) == ("Withdrawing", "Deactivated")
        await gone(hub, uid)
        row = await hub.job(uid)
        assert (row.state, row.reason) == ("Deactivated", "MaximumExecutionTimeExceeded")
        assert "30 s" in row.message
        assert row.evicted["cause"] == "MaximumExecutionTimeExceeded"


async def test_time_adds_up_over_evictions(tmp_path):
    """20 s before an eviction leave 10 of 30 s afterwards."""
    async with running(tmp_path) as hub:
        watch = watching(hub)
        uid = await _limited(hub)
        await passed(hub, 20, watch)
        await hub.hub.db.write(lambda unit: evict(unit, [uid], "Preempted", "for another"))
        await gone(hub, uid)
        await passed(hub, 100, watch)
        await lively(hub, uid)
        await passed(hub, 9, watch)
        assert (await hub.job(uid)).state == "Running"
        await passed(hub, 1, watch)
        assert (await hub.job(uid)).withdraw_to == "Deactivated"


async def test_time_of_failed_epochs_counts(tmp_path):
    """A retried job keeps the time its failed epoch took."""
    async with running(tmp_path) as hub:
        uid = await _limited(hub, annotations={"roadstead.dev/retry": "3"})
        await passed(hub, 12)
        await reported(hub, uid, failed=1, result="Failed", reason="BackoffLimitExceeded")
        await gone(hub, uid)
        row = await hub.job(uid)
        assert (row.state, row.ran_s) == ("Pending", 12)


async def test_the_controller_wakes_when_the_next_limit_falls_due(tmp_path):
    """A turn says in how many seconds a limit falls due, where that is before its next look."""
    async with running(tmp_path) as hub:
        watch = watching(hub)
        await _limited(hub)
        assert await watch.tick() is None
        hub.clock.advance(28.5)
        assert await watch.tick() == 1.5


async def test_setting_the_machines_clock_ends_no_job(tmp_path):
    """A step of an hour is no run time, also where the job is evicted after it."""
    machine = SetClock()
    async with running(tmp_path, clock=SteadyClock(machine)) as hub:
        hub.clock = machine
        watch = watching(hub)
        uid = await _limited(hub)
        await passed(hub, 10, watch)
        machine.set_forward(3600)
        await passed(hub, 10, watch)
        assert (await hub.job(uid)).state == "Running"
        await hub.hub.db.write(lambda unit: evict(unit, [uid], "Preempted", "for another"))
        assert 19 <= (await hub.job(uid)).ran_s <= 21


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "soon", ""])
def test_a_limit_that_is_no_positive_number_is_refused(text):
    """The label holds whole seconds, at least 1."""
    with pytest.raises(Rejected) as refused:
        parse(a_job("j", labels={LABEL: text}))
    assert {e.field for e in refused.value.errors} == {f"metadata.labels[{LABEL}]"}
