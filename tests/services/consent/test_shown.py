"""Namespaces of one member as people see them: consent, and who runs there."""

from pathlib import Path
from typing import Any

import pytest

from hub.services.questions.clusters import get_namespaces
from shared.consent import NOT_ACCEPTED
from shared.errors import Rejected
from tests.services.hubs import Running, a_job, a_pool, running

pytestmark = pytest.mark.anyio


def consent(**states: str) -> dict[str, Any]:
    return {"revision": 1, "states": {k.replace("_", "-"): v for k, v in states.items()}}


async def report(hub: Running, told: dict[str, Any] | None) -> None:
    await hub.cluster("east", a_pool(cpu="8", memory="8Gi"), consent=told)


async def listed(hub: Running) -> dict[str, dict[str, Any]]:
    """What the question answers, by name."""
    told = await hub.hub.read(get_namespaces, "east")
    return {each["name"]: each for each in told["items"]}


async def test_each_namespace_shows_its_state_and_who_runs_there(tmp_path: Path) -> None:
    """Jobs, queues and owners of this member alone; a namespace without consent names the command."""
    async with running(tmp_path) as hub:
        await report(hub, consent(team_a="Labelled", team_b=NOT_ACCEPTED, team_c="Created"))
        await hub.apply(a_job("one", queue="q"), a_job("two", queue="q"))
        await hub.settle()
        found = await listed(hub)
        assert (found["team-a"]["state"], found["team-a"]["command"]) == ("Labelled", "")
        assert (found["team-c"]["state"], found["team-c"]["jobs"]) == ("Created", 0)
        assert found["team-b"]["state"] == NOT_ACCEPTED
        wanted = "kubectl label namespace team-b roadstead.dev/accept="
        assert found["team-b"]["command"].startswith(wanted)


async def test_consent_that_was_withdrawn_while_jobs_run_is_shown_as_that(tmp_path: Path) -> None:
    """What runs ends, so people want to know who is still there."""
    async with running(tmp_path) as hub:
        await report(hub, consent(team_a="Labelled"))
        (uid,) = await hub.apply(a_job("one"))
        await hub.settle()
        assert (await hub.job(uid)).cluster == "east"
        await report(hub, consent(team_a=NOT_ACCEPTED))
        here = (await listed(hub))["team-a"]
        assert (here["state"], here["jobs"]) == ("Withdrawn", 1)


async def test_a_namespace_that_its_agent_has_not_reported_is_unknown(tmp_path: Path) -> None:
    """So are all of them where an agent of an earlier release reports no consent."""
    async with running(tmp_path) as hub:
        await report(hub, None)
        await hub.apply(a_job("one"))
        await hub.settle()
        told = await hub.hub.read(get_namespaces, "east")
        assert told["reportsConsent"] is False
        assert [(each["name"], each["state"]) for each in told["items"]] == [("team-a", "Unknown")]


async def test_a_member_that_does_not_exist_is_named(tmp_path: Path) -> None:
    """As everywhere."""
    async with running(tmp_path) as hub:
        with pytest.raises(Rejected, match="west"):
            await hub.hub.read(get_namespaces, "west")
