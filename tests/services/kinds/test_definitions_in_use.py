"""Definitions by which jobs are read: what is not deleted and not changed, and names the jobs."""

import pytest

from hub.services.kinds import checked_kinds
from hub.services.kinds.definitions import judge
from shared.errors import Rejected
from tests.services.kinds.defining import code_of, delete, started, versions
from tests.services.kinds.fleet import a_fleet
from tests.services.kinds.swarms import a_definition, a_swarm, an_extension
from tests.services.members.hubs import ran

pytestmark = pytest.mark.anyio


async def test_a_definition_by_which_jobs_are_read_is_not_deleted(tmp_path):
    """Nor its extension; the refusal names the jobs. Once they ended it goes, and objects are refused."""
    async with a_fleet(tmp_path) as fleet:
        agent = await started(fleet)
        await fleet.try_all(a_definition(), an_extension())
        applied = await fleet.try_apply(a_swarm())
        await fleet.told(agent, applied.uid)
        for group, kind in (
            ("run.ai", "Karta"),
            ("roadstead.dev", "KindExtension"),
        ):
            with pytest.raises(Rejected) as refused:
                await delete(fleet, group, kind, "swarm")
            assert refused.value.code == "KindInUse"
            assert "team-a/bees" in refused.value.detail
        await agent.sync(ran(applied.uid, 1, result="Succeeded", succeeded=2))
        await delete(fleet, "run.ai", "Karta", "swarm")
        assert await versions(fleet) == [("swarm@1", False)]
        assert code_of(await fleet.try_apply(a_swarm("wasps"))) == "NoAdapter"


@pytest.mark.parametrize(
    "changed", [{"group": "example.com"}, {"version": "v2"}, {"kind": "Swarms"}]
)
async def test_the_kind_of_a_definition_does_not_change_while_jobs_use_it(tmp_path, changed):
    """By apply and by dry run it is refused, and the version stays; once the jobs ended, it changes."""
    of = {"group": "example.org", "version": "v1", "kind": "Swarm"}
    moved = a_definition(kind={**of, **changed})
    async with a_fleet(tmp_path) as fleet:
        agent = await started(fleet)
        await fleet.try_apply(a_definition())
        applied = await fleet.try_apply(a_swarm())
        await fleet.told(agent, applied.uid)
        refused = await fleet.try_apply(moved)
        assert (code_of(refused), "team-a/bees" in refused.error.detail) == ("KindInUse", True)
        with pytest.raises(Rejected) as dry:
            await fleet.hub.read(checked_kinds.checked, judge([moved], []))
        assert dry.value.code == "KindInUse"
        assert await versions(fleet) == [("swarm@1", True)]
        assert (await fleet.try_apply(a_definition(scaleDefinition={}))).error is None
        await agent.sync(ran(applied.uid, 1, result="Succeeded", succeeded=2))
        assert (await fleet.try_apply(moved)).error is None


async def test_an_extension_of_a_definition_in_use_is_not_pointed_elsewhere(tmp_path):
    """New objects would be read without it, as if it were deleted; once the jobs ended, it is."""
    async with a_fleet(tmp_path) as fleet:
        agent = await started(fleet)
        await fleet.try_all(a_definition(), an_extension())
        applied = await fleet.try_apply(a_swarm())
        await fleet.told(agent, applied.uid)
        refused = await fleet.try_apply(an_extension(karta="other"))
        assert (code_of(refused), refused.error.field) == ("KindInUse", "spec.karta")
        assert "team-a/bees" in refused.error.detail
        assert await versions(fleet) == [("swarm@1", True)]
        assert (await fleet.try_apply(an_extension(priorityPaths=[".spec.rank"]))).error is None
        await agent.sync(ran(applied.uid, 1, result="Succeeded", succeeded=2))
        assert (await fleet.try_apply(an_extension(karta="other"))).error is None


async def test_a_second_extension_of_a_definition_in_use_is_deleted(tmp_path):
    """It is not accepted, so that no job is read by it: it may go, and the first one may not."""
    async with a_fleet(tmp_path) as fleet:
        agent = await started(fleet)
        await fleet.try_all(a_definition(), an_extension())
        applied = await fleet.try_apply(a_swarm())
        await fleet.told(agent, applied.uid)
        second = await fleet.try_apply(an_extension(name="second"))
        assert "several KindExtensions" in second.warnings[0]
        with pytest.raises(Rejected, match="jobs are read by"):
            await delete(fleet, "roadstead.dev", "KindExtension", "swarm")
        await delete(fleet, "roadstead.dev", "KindExtension", "second")
        assert await versions(fleet) == [("swarm@1", True)]
