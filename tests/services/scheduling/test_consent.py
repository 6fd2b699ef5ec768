"""Jobs go only to members whose namespace of that name accepts the hub, as their agents report."""

from pathlib import Path

import pytest

from hub.services.consent import namespaces as consents
from hub.services.context import identity
from shared.consent import NOT_ACCEPTED
from tests.services.hubs import a_job, a_pool, running
from tests.services.outside.controller import a_checked_queue, answer

pytestmark = pytest.mark.anyio


def consent(revision: int = 1, **states: str):
    """As an agent reports it; names are written with _ for -."""
    return {"revision": revision, "states": {k.replace("_", "-"): v for k, v in states.items()}}


async def test_a_job_goes_where_its_namespace_accepts_the_hub(tmp_path: Path) -> None:
    """Not to the member with more room, whose people do not accept the hub."""
    async with running(tmp_path) as hub:
        await hub.cluster(
            "large", a_pool(cpu="64", memory="8Gi"), consent=consent(team_a=NOT_ACCEPTED)
        )
        await hub.cluster(
            "small", a_pool(cpu="4", memory="8Gi"), consent=consent(team_a="Labelled")
        )
        (uid,) = await hub.apply(a_job("one"))
        await hub.settle()
        assert (await hub.job(uid)).cluster == "small"


async def test_a_refusal_names_the_command_and_costs_no_epoch(tmp_path: Path) -> None:
    """The job waits; when the namespace accepts the hub it is placed, in its first epoch."""
    async with running(tmp_path) as hub:
        await hub.hub.write(identity.load)
        await hub.cluster(
            "east", a_pool(cpu="8", memory="8Gi"), consent=consent(team_a=NOT_ACCEPTED)
        )
        (uid,) = await hub.apply(a_job("one"))
        await hub.settle()
        job = await hub.job(uid)
        named = await hub.hub.read(consents.load)
        command = f"kubectl label namespace team-a roadstead.dev/accept={named.hub_id}"
        assert named.hub_id
        assert (job.state, job.reason, job.epoch) == ("Pending", "NoClusterMatches", 0)
        assert command in job.message
        await hub.cluster(
            "east", a_pool(cpu="8", memory="8Gi"), consent=consent(team_a="Labelled")
        )
        await hub.settle()
        job = await hub.job(uid)
        assert (job.state, job.cluster, job.epoch) == ("Placed", "east", 1)


async def test_agents_are_asked_about_a_new_namespace_and_awaited(tmp_path: Path) -> None:
    """The hub names it once; the job waits for the report and is placed with it."""
    async with running(tmp_path) as hub:
        await hub.cluster("east", a_pool(cpu="8", memory="8Gi"), consent=consent(0))
        uids = await hub.apply(a_job("one"), a_job("two"))
        await hub.settle()
        named = await hub.hub.read(consents.load)
        assert (named.revision, sorted(named.names)) == (1, ["team-a"])
        assert "has yet to report" in (await hub.job(uids[0])).message
        await hub.cluster("east", a_pool(cpu="8", memory="8Gi"), consent=consent(team_a="Absent"))
        await hub.settle()
        assert {job.state for job in await hub.jobs(uids)} == {"Placed"}
        await hub.apply(a_job("three"))
        await hub.settle()
        assert (await hub.hub.read(consents.load)).revision == 1


async def test_a_job_waits_for_the_reports_of_all_members_that_might_take_it(
    tmp_path: Path,
) -> None:
    """The member that answers first does not win by that: the better one is chosen once it has answered."""
    async with running(tmp_path) as hub:
        await hub.cluster("small", a_pool(cpu="4", memory="8Gi"), consent=consent(0))
        await hub.cluster("large", a_pool(cpu="64", memory="8Gi"), consent=consent(0))
        (uid,) = await hub.apply(a_job("one"))
        await hub.settle()
        await hub.cluster("small", a_pool(cpu="4", memory="8Gi"), consent=consent(team_a="Absent"))
        await hub.settle()
        job = await hub.job(uid)
        assert (job.state, job.epoch) == ("Pending", 0)
        await hub.cluster(
            "large", a_pool(cpu="64", memory="8Gi"), consent=consent(team_a="Absent")
        )
        await hub.settle()
        assert (await hub.job(uid)).cluster == "large"


async def test_a_member_that_does_not_report_holds_up_no_job_for_long(tmp_path: Path) -> None:
    """After five seconds the others take it, though nothing else happens meanwhile."""
    async with running(tmp_path) as hub:
        await hub.cluster("silent", a_pool(cpu="64", memory="8Gi"), consent=consent(0))
        await hub.cluster("small", a_pool(cpu="4", memory="8Gi"), consent=consent(team_a="Absent"))
        (uid,) = await hub.apply(a_job("one"))
        await hub.settle()
        assert (await hub.job(uid)).state == "Pending"
        hub.clock.advance(5.1)
        await hub.settle()
        assert (await hub.job(uid)).cluster == "small"


async def test_a_member_that_could_never_hold_a_job_is_not_awaited(tmp_path: Path) -> None:
    """Its nodes are too small: another member takes the job without its report."""
    async with running(tmp_path) as hub:
        await hub.cluster("tiny", a_pool(cpu="500m", memory="8Gi"), consent=consent(0))
        await hub.cluster("large", a_pool(cpu="8", memory="8Gi"), consent=consent(0))
        (uid,) = await hub.apply(a_job("one"))
        await hub.settle()
        await hub.cluster("large", a_pool(cpu="8", memory="8Gi"), consent=consent(team_a="Absent"))
        await hub.settle()
        assert (await hub.job(uid)).cluster == "large"


async def test_an_agent_that_reports_no_consent_is_placed_on_as_before(tmp_path: Path) -> None:
    """It is of an earlier release: the hub names no namespace and waits for no report."""
    async with running(tmp_path) as hub:
        await hub.cluster("east", a_pool(cpu="8", memory="8Gi"))
        (uid,) = await hub.apply(a_job("one"))
        await hub.settle()
        assert (await hub.job(uid)).state == "Placed"
        assert (await hub.hub.read(consents.load)).revision == 0


async def test_jobs_of_other_namespaces_pass_those_that_are_not_accepted(tmp_path: Path) -> None:
    """A job whose namespace no member accepts does not block other namespaces in its queue."""
    async with running(tmp_path) as hub:
        states = consent(team_a=NOT_ACCEPTED, team_b="Created")
        await hub.cluster("east", a_pool(cpu="8", memory="8Gi"), consent=states)
        first, second = await hub.apply(a_job("one"), a_job("two", namespace="team-b"))
        await hub.settle()
        assert (await hub.job(first)).state == "Pending"
        assert (await hub.job(second)).state == "Placed"


async def test_withdrawn_consent_takes_no_new_job(tmp_path: Path) -> None:
    """Jobs placed before stay."""
    async with running(tmp_path) as hub:
        await hub.cluster(
            "east", a_pool(cpu="8", memory="8Gi"), consent=consent(team_a="Labelled")
        )
        (before,) = await hub.apply(a_job("one"))
        await hub.settle()
        await hub.cluster(
            "east", a_pool(cpu="8", memory="8Gi"), consent=consent(team_a=NOT_ACCEPTED)
        )
        (after,) = await hub.apply(a_job("two"))
        await hub.settle()
        assert (await hub.job(before)).state == "Placed"
        assert (await hub.job(after)).state == "Pending"


async def test_a_stream_of_new_namespaces_delays_each_job_by_its_own_wait(tmp_path: Path) -> None:
    """A member that never reports holds a job up for five seconds after its own namespace was named."""
    async with running(tmp_path) as hub:
        await hub.cluster("silent", a_pool(cpu="64", memory="8Gi"), consent=consent(0))
        names = [f"ci-{number}" for number in range(4)]
        states = {"revision": 1, "states": dict.fromkeys(names, "Absent")}
        await hub.cluster("small", a_pool(cpu="8", memory="8Gi"), consent=states)
        uids = []
        for name in names:
            uids += await hub.apply(a_job("one", namespace=name))
            await hub.settle()
            hub.clock.advance(4.0)
        await hub.settle()
        found = {job.namespace: job.state for job in await hub.jobs(uids)}
        assert found == dict.fromkeys(names[:3], "Placed") | {names[3]: "Pending"}


async def test_namespaces_in_which_nothing_waits_make_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the bound the hub forgets namespaces without waiting jobs, and asks about the new one."""
    monkeypatch.setattr(consents, "MOST_NAMES", 2)
    async with running(tmp_path) as hub:
        states = consent(team_a="Absent", team_b="Absent")
        await hub.cluster("east", a_pool(cpu="8", memory="8Gi"), consent=states)
        for name in ("team-a", "team-b", "team-c"):
            (uid,) = await hub.apply(a_job("one", namespace=name))
            await hub.settle()
        assert (await hub.hub.read(consents.load)).names == {"team-c"}
        assert (await hub.job(uid)).state == "Pending"
        await hub.cluster(
            "east", a_pool(cpu="8", memory="8Gi"), consent=consent(2, team_c="Absent")
        )
        await hub.settle()
        assert (await hub.job(uid)).state == "Placed"


async def test_beyond_the_bound_the_agent_alone_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job of a namespace that is not named waits for no report."""
    monkeypatch.setattr(consents, "MOST_NAMES", 1)
    async with running(tmp_path) as hub:
        states = consent(team_a=NOT_ACCEPTED)
        await hub.cluster("east", a_pool(cpu="8", memory="8Gi"), consent=states)
        uids = await hub.apply(a_job("one"), a_job("one", namespace="team-b"))
        await hub.settle()
        assert (await hub.hub.read(consents.load)).names == {"team-a"}
        await hub.cluster("east", a_pool(cpu="9", memory="8Gi"), consent=states)
        await hub.settle()
        found = {job.namespace: job.state for job in await hub.jobs(uids)}
        assert found == {"team-a": "Pending", "team-b": "Placed"}


async def test_a_report_that_is_still_to_come_takes_no_reservation_back(tmp_path: Path) -> None:
    """An agent is upgraded while a job waits for its check: it begins to report consent."""
    async with running(tmp_path) as hub:
        await a_checked_queue(hub, "budget", quota={"cpu": "8", "memory": "8Gi"})
        await hub.cluster("east", a_pool(cpu="8", memory="8Gi"))
        (uid,) = await hub.apply(a_job("one", queue="gold"))
        await hub.settle()
        assert (await hub.job(uid)).state == "Reserved"
        await hub.cluster("east", a_pool(cpu="8", memory="8Gi"), consent=consent(0))
        await hub.settle()
        assert (await hub.job(uid)).state == "Reserved"
        await answer(hub, uid, "budget", "Ready")
        await hub.cluster("east", a_pool(cpu="8", memory="8Gi"), consent=consent(team_a="Absent"))
        await hub.settle()
        assert (await hub.job(uid)).state == "Placed"


async def test_a_waiting_job_says_what_its_members_reported(tmp_path: Path) -> None:
    """Once the reports have come, the message no longer says that one is missing."""
    async with running(tmp_path) as hub:
        await hub.hub.write(identity.load)
        await hub.cluster("east", a_pool(cpu="8", memory="8Gi"), consent=consent(0))
        (uid,) = await hub.apply(a_job("one"))
        await hub.settle()
        assert "has yet to report" in (await hub.job(uid)).message
        await hub.cluster(
            "east", a_pool(cpu="8", memory="8Gi"), consent=consent(team_a=NOT_ACCEPTED)
        )
        await hub.settle()
        hub.clock.advance(6)
        await hub.settle()
        assert "kubectl label namespace team-a" in (await hub.job(uid)).message


async def test_a_report_of_an_earlier_namespace_places_no_job(tmp_path: Path) -> None:
    """The namespace was created again: earlier reports of its agent are about the deleted one."""
    async with running(tmp_path) as hub:
        await hub.cluster("east", a_pool(cpu="8", memory="8Gi"), consent=consent(team_a="Created"))
        await hub.apply(a_job("one"))
        await hub.settle()
        await hub.hub.write(consents.renewed, "team-a")
        (uid,) = await hub.apply(a_job("two"))
        await hub.settle()
        job = await hub.job(uid)
        assert (job.state, job.epoch) == ("Pending", 0)
        assert "has yet to report" in job.message
        await hub.cluster(
            "east", a_pool(cpu="8", memory="8Gi"), consent=consent(2, team_a="Absent")
        )
        await hub.settle()
        assert (await hub.job(uid)).state == "Placed"
