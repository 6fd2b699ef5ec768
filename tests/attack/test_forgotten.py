"""What members say of Jobs from before a restore: bounded, sealed, and none hides what another holds."""

import copy
import datetime as dt
from pathlib import Path

import pytest
from sqlalchemy import LargeBinary, select, type_coerce

from hub.services.context.settings import Settings
from hub.services.jobs import retention
from hub.services.members import forgotten
from hub.services.works.restored import begin_recovery
from hub.store import leases
from hub.store.engine import Database
from hub.store.keyring import Keyring
from hub.store.tables import settings
from hub.store.transaction import Transaction
from shared.clock import ManualClock
from shared.wire.agent_v1 import FULL_EVERY_S, MOST_UID_CHARS, Observed
from tests.databases import url_of
from tests.services.members.after_restore import accounts
from tests.services.members.hubs import Running, a_stray, running_hub
from tests.store.build import START as NOW, call, opened

pytestmark = pytest.mark.anyio
OLD = "inc-0"
CANARY = "canary-77aa-not-a-real-secret"


def kept_names(tx: Transaction) -> list[str]:
    """Under which names it is kept how such Jobs were written."""
    named = select(settings.c.name).where(settings.c.name.startswith(forgotten._WRITTEN))
    return list(tx.conn.execute(named).scalars())


def left(uid: str, **said: object) -> Observed:
    """What a member says of a Job that it holds from before, and that runs."""
    entry = {
        "uid": uid, "epoch": 3, "generation": 1, "seq": 1, "phase": "Applied",
        "object_uid": f"m-{uid}", "incarnation": OLD, "job": {"active": 1}, **said,
    }  # fmt: skip
    return Observed.model_validate(entry)


async def test_one_member_does_not_hide_what_another_holds(tmp_path: Path):
    """North says that it holds 500 such Jobs; the one that really runs in south is listed all the same."""
    async with running_hub(tmp_path) as hub:
        north, south = await hub.join("north"), await hub.join("south")
        uid = await hub.submit()
        await hub.write(begin_recovery, "yesterday", "somebody", ())
        await hub.settled()
        lies = [a_stray(hub, f"u-{n}", OLD, object_uid=f"m-{n}") for n in range(forgotten.MOST)]
        await north.sync(*lies)
        await south.sync(a_stray(hub, uid, OLD, object_uid="m-south"))
        listed = await hub.hub.read(forgotten.list_forgotten)
        assert [row["cluster"] for row in listed if row["uid"] == uid] == ["south"]


async def test_an_object_without_measure_is_refused_alone(tmp_path: Path):
    """Names of objects have a length, so that the list has, which is read with every overview."""
    async with running_hub(tmp_path) as hub:
        north = await hub.join("north")
        await hub.write(begin_recovery, "yesterday", "somebody", ())
        await hub.settled()
        body = north.request(a_stray(hub, "u", OLD), a_stray(hub, "v", OLD, object_uid="m"))
        body["observed"]["entries"][0] = copy.deepcopy(body["observed"]["entries"][1])
        body["observed"]["entries"][0] |= {"uid": "u", "object_uid": "m" * (MOST_UID_CHARS + 1)}
        reply = (await north.post(body)).json()
        refused = [(each["uid"], each["code"]) for each in reply["refused"]]
        assert refused[0] == ("u", "InvalidEntry")
        listed = await hub.hub.read(forgotten.list_forgotten)
        assert [row["uid"] for row in listed] == ["v"]


async def test_the_manifest_of_a_forgotten_job_is_sealed(tmp_path: Path):
    """With a key, no environment of a Job is in the database in clear."""
    db = Database.open(url_of(tmp_path), ManualClock(NOW), keys=Keyring([b"1" * 32]))
    container = {"name": "main", "image": "x", "env": [{"name": "PASSWORD", "value": CANARY}]}
    manifest = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "one", "namespace": "team-a"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}},
    }
    entry = left("u", manifest=manifest)
    try:
        await db.write(lambda tx: forgotten.note(tx, "north", [entry]))
        kept = await db.read(
            lambda tx: (
                tx.conn.execute(select(type_coerce(settings.c.value, LargeBinary))).scalars().all()
            )
        )
        assert not [row for row in kept if CANARY.encode() in bytes(row)]
    finally:
        await db.close()


async def test_what_was_decided_of_one_stays_decided(tmp_path: Path):
    """Its member may say something new of it before it has heard: it is asked to remove it all the same."""
    async with opened(tmp_path) as db:
        await db.write(call(forgotten.note, "north", [left("u")]))
        await db.write(call(forgotten.remove, "u", "north"))
        await db.write(call(forgotten.note, "north", [left("u", message="it goes on")]))
        assert await db.read(call(forgotten.to_remove, "north")) == {"m-u"}


async def test_how_one_was_written_goes_with_it(tmp_path: Path):
    """Once its member says it no more: with whatever is written next of another, a decision too."""
    clock = ManualClock(NOW)
    async with opened(tmp_path, clock) as db:
        for uid in ("gone", "there"):
            await db.write(call(forgotten.note, "north", [left(uid, manifest={"kind": "Job"})]))
            clock.advance(FULL_EVERY_S)
        clock.advance(FULL_EVERY_S)
        await db.write(call(forgotten.remove, "there", "north"))
        assert await db.read(kept_names) == [f"{forgotten._WRITTEN}m-there"]


async def test_of_jobs_that_are_said_no_more_nothing_is_kept(tmp_path: Path):
    """Nobody has to say or decide anything for that: retention sees to it, and leaves the others."""
    clock = ManualClock(NOW)
    async with opened(tmp_path, clock) as db:
        await db.write(call(leases.seize, "hub", dt.timedelta(minutes=1)))
        for uid in ("gone", "there"):
            await db.write(call(forgotten.note, "north", [left(uid, manifest={"kind": "Job"})]))
            clock.advance(FULL_EVERY_S)
        trim = call(retention.take_steps, [retention.trim_leftovers], Settings(), 1)
        assert not (await db.write(trim)).more
        assert len(await db.read(kept_names)) == 2
        clock.advance(FULL_EVERY_S)
        assert not (await db.write(trim)).more
        assert await db.read(kept_names) == [f"{forgotten._WRITTEN}m-there"]
        assert list(await db.read(forgotten._kept)) == ["m-there"]


async def test_a_removal_that_was_carried_out_is_listed_no_more(tmp_path: Path):
    """The member reports all its Jobs, and this one is not among them; another that stays is listed."""
    async with running_hub(tmp_path) as hub:
        north = await hub.join("north")
        await hub.write(begin_recovery, "yesterday", "somebody", ())
        there = [a_stray(hub, uid, OLD, object_uid=f"m-{uid}") for uid in ("gone", "stays")]
        await accounts(hub, north, *there)
        for uid in ("gone", "stays"):
            await hub.write(forgotten.remove, uid, "north")
        assert await listed(hub) == ["gone", "stays"]
        there[0].phase, there[0].job = "Gone", None
        await accounts(hub, north, *there)
        assert await listed(hub) == ["stays"]
        assert await hub.hub.read(forgotten.counts) == {"north": 1}


async def listed(hub: Running) -> list[str]:
    """Uids that `roadstead restored` lists."""
    return [row["uid"] for row in await hub.hub.read(forgotten.list_forgotten)]
