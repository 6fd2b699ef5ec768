"""A plan between its decision and its commit: a turn in two steps, with room for others in between."""

from hub.domain.cycle.cycle import schedule
from hub.domain.cycle.profile import Profile
from hub.services.scheduling.commit import Committed, PreparedPlan, commit_plan, prepare
from hub.services.scheduling.grounds import Grounds
from tests.services.hubs import Running

Decided = tuple[PreparedPlan, Grounds]


async def decided(hub: Running, profile: Profile | None = None) -> Decided:
    """A plan that is not written yet."""
    await hub.follow()
    index, now = hub.scheduler.index, hub.clock.now()
    snapshot = index.snapshot(now, 100)
    assert snapshot is not None
    profile = profile or Profile()
    plan = prepare(schedule(snapshot, now, profile), index.routes.gate())
    return plan, Grounds.of(index, profile, snapshot)


async def written(hub: Running, decision: Decided) -> Committed:
    """The plan as it is committed."""
    plan, grounds = decision
    term = hub.scheduler._term()
    return await hub.hub.write(commit_plan, plan, term, grounds, hub.scheduler.index.routes.gate())
