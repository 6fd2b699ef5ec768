"""Jobs that a member holds from before the store was restored: taken over, or removed, by decision."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from hub.services.consent import namespaces
from hub.services.jobs import adopt
from hub.services.jobs.hold import release_job
from hub.services.members import forgotten
from hub.services.works.restored import begin_recovery
from hub.store import workloads, works
from hub.store.tables import settings
from shared.errors import Rejected
from shared.kinds.registry import parse_job
from tests.services.members.after_restore import accounts
from tests.services.members.hubs import JOB, Running, a_stray, ran, running_hub
from tests.store.build import a_wanted_work

pytestmark = pytest.mark.anyio
OLD = "inc-0"


async def left_in(
    hub: Running, *names: str, uid: str = "", epoch: int = 3
) -> tuple[str, list[Any]]:
    """A job that is held, and that each of these members says to run since before; its uid."""
    agents = [await hub.join(name) for name in names]
    uid = uid or await hub.submit()
    await hub.write(begin_recovery, "yesterday", "somebody", ())
    for agent in agents:
        await hub.settled()
        await agent.sync(a_stray(hub, uid, OLD, epoch=epoch, object_uid=f"m-{agent.name}"))
    return uid, agents


async def test_an_adopted_job_is_what_its_member_says(tmp_path: Path):
    """It takes the epoch that the member has, is never made anew, and its result there is the job's."""
    async with running_hub(tmp_path) as hub:
        uid, (agent,) = await left_in(hub, "north")
        assert (await hub.job(uid)).state == "Held"
        done = await hub.write(adopt.adopt_job, uid, "", "ann")
        assert done == {"uid": uid, "cluster": "north", "epoch": 3}
        row, work = await hub.job(uid), await hub.work(uid)
        assert (row.state, row.epoch, row.cluster) == ("Offered", 3, "north")
        assert (work.epoch, work.seen, work.options.doubtful) == (3, True, True)
        await hub.settled()
        await agent.sync(ran(uid, epoch=3, running_since="2026-05-01T00:00:00Z", active=1))
        assert (await hub.job(uid)).state == "Running"
        await agent.sync(ran(uid, epoch=3, result="Succeeded", succeeded=1))
        assert (await hub.job(uid)).state == "Succeeded"
        assert await hub.hub.read(forgotten.list_forgotten) == []


async def test_an_adopted_job_that_goes_is_held_beyond_every_epoch(tmp_path: Path):
    """It may have been started elsewhere in the time that is lost: a person lets it start again."""
    async with running_hub(tmp_path) as hub:
        uid, (agent,) = await left_in(hub, "north")
        await hub.write(adopt.adopt_job, uid, "", "ann")
        await hub.settled()
        await agent.sync(ran(uid, epoch=3, active=1))
        missing = ran(uid, epoch=3)
        missing.phase = "Missing"
        await agent.sync(missing)
        gone = ran(uid, epoch=3)
        gone.phase, gone.job = "Gone", None
        await agent.sync(gone)
        row = await hub.job(uid)
        assert (row.state, row.reason) == ("Held", "Restored")
        assert row.epoch > 100_000


@pytest.mark.parametrize(
    "after", [{}, {"roadstead.dev/after": "other:any"}], ids=["alone", "chained"]
)
async def test_what_was_let_go_is_held_again_where_a_job_of_before_comes_to_light(
    tmp_path: Path, after: dict[str, str]
):
    """An order that was on its way made it after a person had looked: nothing starts another."""
    async with running_hub(tmp_path) as hub:
        await hub.submit("other")
        uid = await hub.submit(metadata={"annotations": after})
        agent = await hub.join("north")
        await hub.write(begin_recovery, "yesterday", "somebody", ())
        await accounts(hub, agent)
        await hub.write(release_job, uid, "ann")
        assert (await hub.job(uid)).reason != "Restored"
        await hub.settled()
        await agent.sync(a_stray(hub, uid, OLD, epoch=3))
        row = await hub.job(uid)
        assert (row.state, row.reason) == ("Held", "Restored")
        assert "north has a Job of it from before" in row.message


async def test_an_adopted_job_is_charged(tmp_path: Path):
    """What it asks for counts against the queue that it is in, whether or not that has room."""
    async with running_hub(tmp_path) as hub:
        uid, _ = await left_in(hub, "north")
        await hub.write(adopt.adopt_job, uid, "", "ann")
        row = await hub.job(uid)
        assert row.cluster_queue
        (pod_set,) = row.admission["podSets"]
        assert pod_set["usage"].keys() == pod_set["flavors"].keys() != set()


@pytest.mark.parametrize("cluster", ["", "south"])
async def test_what_no_member_holds_can_not_be_adopted(tmp_path: Path, cluster: str):
    """Nor what another member holds."""
    async with running_hub(tmp_path) as hub:
        uid, _ = await left_in(hub, "north")
        asked = uid if cluster else "nobody"
        with pytest.raises(Rejected, match="hold") as caught:
            await hub.write(adopt.adopt_job, asked, cluster, "ann")
        assert caught.value.code == "NotFound"


async def listed_manifests(hub: Running) -> list[str]:
    return [row["manifest"] for row in await hub.hub.read(forgotten.list_forgotten)]


async def test_a_job_that_the_hub_has_forgotten_is_not_adopted_before_its_manifest_is_reported(
    tmp_path: Path,
):
    """The refusal `ManifestAwaited` says that a later try is accepted; the list shows the difference."""
    async with running_hub(tmp_path) as hub:
        uid, (agent,) = await left_in(hub, "north", uid="unknown")
        assert await listed_manifests(hub) == ["Awaited"]
        with pytest.raises(Rejected, match="north has yet to report its manifest") as caught:
            await hub.write(adopt.adopt_job, uid, "", "ann")
        assert (caught.value.code, caught.value.code.status) == ("ManifestAwaited", 409)
        told = {"epoch": 3, "object_uid": "m-north", "manifest": JOB}
        await agent.sync(a_stray(hub, uid, OLD, **told))
        assert await listed_manifests(hub) == ["Reported"]
        await hub.write(adopt.adopt_job, uid, "", "ann")
        assert (await hub.job(uid)).state == "Offered"


async def test_a_forgotten_job_whose_manifest_is_too_large_is_not_adopted(tmp_path: Path):
    """No later try is accepted, and the refusal names what is left to do."""
    async with running_hub(tmp_path) as hub:
        uid, (agent,) = await left_in(hub, "north", uid="unknown")
        large = JOB | {"status": {"note": "x" * (300 << 10)}}
        told = {"epoch": 3, "object_uid": "m-north", "manifest": large}
        await agent.sync(a_stray(hub, uid, OLD, **told))
        assert await listed_manifests(hub) == ["TooLarge"]
        with pytest.raises(Rejected, match="too large to be kept") as caught:
            await hub.write(adopt.adopt_job, uid, "", "ann")
        assert caught.value.code == "NotFound"


async def test_what_the_hub_has_forgotten_is_adopted_as_it_was_written(tmp_path: Path):
    """Its member says how, once it was told to leave it alone; it is the job of that uid again."""
    async with running_hub(tmp_path) as hub:
        uid, (agent,) = await left_in(hub, "north", uid="unknown")
        told = {"epoch": 3, "object_uid": "m-north", "manifest": JOB}
        await agent.sync(a_stray(hub, uid, OLD, **told))
        await hub.write(adopt.adopt_job, uid, "", "ann", adopt.INTAKE, "sue")
        row, work = await hub.job(uid), await hub.work(uid)
        assert (row.state, row.epoch, row.cluster) == ("Offered", 3, "north")
        assert (work.seen, work.options.doubtful) == (True, True)
        assert row.owner == "sue", "who adopts it says whose it is: she may end it again"
        assert (row.namespace, row.name) == (JOB["metadata"]["namespace"], JOB["metadata"]["name"])
        names = await hub.hub.read(
            lambda tx: tx.conn.execute(select(settings.c.name)).scalars().all()
        )
        assert not [name for name in names if name.startswith("forgotten:")]


async def test_a_job_of_a_cron_job_is_adopted_with_the_name_of_its_cron_job(tmp_path: Path):
    """The hub wrote the annotation; from a client it is refused."""
    async with running_hub(tmp_path) as hub:
        uid, (agent,) = await left_in(hub, "north", uid="unknown")
        notes = {"roadstead.dev/cron-job": "nightly"}
        manifest = {**JOB, "metadata": {**JOB["metadata"], "annotations": notes}}
        told = {"epoch": 3, "object_uid": "m-north", "manifest": manifest}
        await agent.sync(a_stray(hub, uid, OLD, **told))
        await hub.write(adopt.adopt_job, uid, "", "ann", adopt.INTAKE, "sue")
        row = await hub.job(uid)
        assert (row.state, row.annotations["roadstead.dev/cron-job"]) == ("Offered", "nightly")
        with pytest.raises(Rejected, match="cron-job"):
            parse_job(manifest)


async def test_a_job_that_the_hub_has_keeps_its_owner(tmp_path: Path):
    """To name another is refused, and not ignored without a word."""
    async with running_hub(tmp_path) as hub:
        uid, _ = await left_in(hub, "north")
        with pytest.raises(Rejected, match="leave the owner sue out") as caught:
            await hub.write(adopt.adopt_job, uid, "", "ann", adopt.INTAKE, "sue")
        assert (caught.value.code, caught.value.field) == ("InvalidState", "owner")
        assert (await hub.job(uid)).state == "Held"
        await hub.write(adopt.adopt_job, uid, "", "ann")


async def test_of_several_that_hold_it_one_must_be_named(tmp_path: Path):
    """It moved in the time that is lost: which of the two counts, a person knows."""
    async with running_hub(tmp_path) as hub:
        uid, _ = await left_in(hub, "north", "south")
        with pytest.raises(Rejected, match="north, south"):
            await hub.write(adopt.adopt_job, uid, "", "ann")
        done = await hub.write(adopt.adopt_job, uid, "south", "ann")
        assert done["cluster"] == "south"


@pytest.mark.parametrize(
    ("act", "left"),
    [
        (lambda tx, uid: adopt.adopt_job(tx, uid, "north", "ann"), [("south", "")]),
        (
            lambda tx, uid: adopt.forget_job(tx, uid, "north", "ann"),
            [("north", "Remove"), ("south", "")],
        ),
        (lambda tx, _: forgotten.destroyed(tx, "north"), [("south", "")]),
    ],
    ids=["adopted", "forgotten", "destroyed"],
)
async def test_what_is_decided_of_one_member_leaves_the_others_as_they_are(
    tmp_path: Path, act: Any, left: list[tuple[str, str]]
):
    """A decision about one member's Job neither unlists nor removes another member's Job."""
    async with running_hub(tmp_path) as hub:
        uid, _ = await left_in(hub, "north", "south")
        await hub.write(act, uid)
        rows = await hub.hub.read(forgotten.list_forgotten)
        assert [(row["cluster"], row["decided"]) for row in rows] == left
        assert await hub.hub.read(forgotten.to_remove, "south") == set()


async def test_a_job_that_is_somewhere_can_not_be_adopted_elsewhere(tmp_path: Path):
    """The one that counts is known, or the job has ended: what is left can be removed."""
    async with running_hub(tmp_path) as hub:
        placed = await hub.placed("south", name="two") if await hub.add_cluster("south") else ""
        uid, _ = await left_in(hub, "north", uid=placed)
        moves = [{"uid": uid, "epoch": (await hub.job(uid)).epoch}]
        await hub.write(workloads.transition, "cancel", moves)
        with pytest.raises(Rejected) as caught:
            await hub.write(adopt.adopt_job, uid, "", "ann")
        assert caught.value.code == "AlreadyEnded"


async def test_a_job_that_another_member_may_still_hold_is_not_adopted(tmp_path: Path):
    """It waits, and what it was given once is not known to be gone: there would be two."""
    async with running_hub(tmp_path) as hub:
        uid, _ = await left_in(hub, "north")
        await hub.join("south")
        await hub.write(works.upsert, [a_wanted_work("south", uid)])
        with pytest.raises(Rejected) as no:
            await hub.write(adopt.adopt_job, uid, "north", "ann")
        assert no.value.code.name == "INVALID_STATE"
        assert (await hub.job(uid)).state == "Held"


async def test_what_is_forgotten_is_ordered_away_by_its_object(tmp_path: Path):
    """Its member is asked to say again what it holds, and told to remove exactly this object."""
    async with running_hub(tmp_path) as hub:
        uid, (agent,) = await left_in(hub, "north", uid="nobody")
        await hub.write(adopt.forget_job, uid, "", "ann")
        await hub.settled()
        assert (await agent.sync())["need_full"]
        reply = await agent.sync()
        assert reply["orders"] == [{"uid": uid, "object_uid": "m-north", "action": "Remove"}]
        (row,) = await hub.hub.read(forgotten.list_forgotten)
        assert row["decided"] == "Remove"


async def test_while_a_backup_is_not_accepted_leftovers_are_shown(tmp_path: Path):
    """An incarnation has begun: what is of an earlier one is known by that, and nothing else goes."""
    async with running_hub(tmp_path) as hub:
        assert hub.sync._timeline is None or not hub.sync._timeline.recovering
        uid, _ = await left_in(hub, "north", uid="nobody")
        (row,) = await hub.hub.read(forgotten.list_forgotten)
        assert (row["uid"], row["cluster"]) == (uid, "north")
        assert row["seenAt"] >= dt.datetime(2026, 1, 1, tzinfo=dt.UTC).isoformat()


ID, OTHER = "01a225c7-80de-7237-b66d-c0bd8da6697e", "01a225c7-80de-7534-ac97-a4e03b60f5a9"


async def id_of(hub: Running) -> str:
    return (await hub.hub.read(namespaces.ids_of, ["team-a"])).get("team-a", "")


async def adopted(hub: Running, agent: Any, uid: str, namespace_id: str) -> None:
    """A job that the store has lost is adopted; its member tells the id of its namespace."""
    manifest = {**JOB, "metadata": {**JOB["metadata"], "name": uid}}
    told = {"epoch": 3, "object_uid": f"m-{uid}", "manifest": manifest}
    await agent.sync(a_stray(hub, uid, OLD, **told, namespace_id=namespace_id))
    await hub.write(adopt.adopt_job, uid, "", "ann")


@pytest.mark.parametrize(("born", "kept"), [("after", True), ("before", False)])
async def test_an_adopted_job_brings_the_id_of_its_namespace(
    tmp_path: Path, born: str, kept: bool
):
    """Its member's namespace is used on; a namespace that the restored store knew keeps its own id."""
    async with running_hub(tmp_path) as hub:
        if born == "before":
            await hub.submit("other")
            hub.clock.advance(1)
        _, (agent,) = await left_in(hub, "north", uid="elsewhere")
        hub.clock.advance(1)
        await adopted(hub, agent, "unknown", ID)
        assert (await id_of(hub) == ID) is kept


async def test_the_first_job_that_is_adopted_settles_the_id(tmp_path: Path):
    """A second one may be of an earlier namespace of the name; and a job by REST counts as well."""
    async with running_hub(tmp_path) as hub:
        _, (agent,) = await left_in(hub, "north", uid="elsewhere")
        hub.clock.advance(1)
        await adopted(hub, agent, "unknown", ID)
        await adopted(hub, agent, "another", OTHER)
        assert await id_of(hub) == ID


@pytest.mark.parametrize("told", ["", "../../etc", "an id", "x" * 64, "ID-1234567"])
async def test_an_id_that_is_none_is_not_taken(tmp_path: Path, told: str):
    """A member may report anything."""
    async with running_hub(tmp_path) as hub:
        _, (agent,) = await left_in(hub, "north", uid="elsewhere")
        hub.clock.advance(1)
        await adopted(hub, agent, "unknown", told)
        assert await id_of(hub) not in {"", told}
