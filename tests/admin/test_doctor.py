"""What is looked at in a store, and what is said of it."""

import datetime as dt
import resource
from pathlib import Path
from typing import Any

import orjson
import pytest

from hub.admin import backup, doctor, migrate
from hub.services.access import credentials
from hub.services.context import hub_cluster, identity
from hub.services.questions import overview
from hub.services.scheduling import stalls
from hub.services.works.restored import begin_recovery
from hub.store import clusters, leases, schema, tokens, workloads
from hub.store.engine import Database
from hub.store.records.members import DownSince
from hub.store.tables import metadata
from hub.store.transaction import Transaction
from shared.clock import SystemClock
from tests.databases import SQLITE, chosen, url_of
from tests.store.build import a_member, a_workload

pytestmark = pytest.mark.anyio


async def examined(folder: Path, *steps: Any) -> dict[str, tuple[str, str]]:
    """What is found of each thing in a store in which a hub leads, after these steps."""
    url = url_of(folder)
    db = Database.open(url, SystemClock())
    try:
        await db.write(identity.load)
        await db.write(lambda tx: leases.take(tx, "hub", dt.timedelta(minutes=5)))
        for step in steps:
            await db.write(step)
        return {each.name: (each.level, each.message) for each in doctor.examine(url).findings}
    finally:
        await db.close()


async def test_a_store_that_takes_no_write_is_not_well(tmp_path: Path):
    """All can be read, and nothing more fits into the file: doctor says so."""
    url = url_of(tmp_path)
    db = Database.open(url, SystemClock())  # a hub runs on it
    try:
        await db.write(identity.load)
        assert _writes(url)[0] == "ok"
        if chosen() == SQLITE:
            before = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1, before[1]))
            try:
                level, message = _writes(url)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, before)
            assert level == "fail"
            assert message.startswith("no write is possible: ")
    finally:
        await db.close()


async def test_a_scheduler_whose_turns_fail_is_not_well(tmp_path: Path):
    """No job is placed meanwhile, though all else is well."""
    found = await examined(tmp_path, lambda tx: stalls.record(tx, "IndexError: out of range"))
    level, message = found["scheduling"]
    assert (level, "IndexError: out of range" in message) == ("fail", True)
    assert "scheduling" not in await examined(tmp_path / "well")


def reporting(name: str, **capacity: Any) -> Any:
    """A member whose agent has reported this."""
    told = {"pools_revision": 1, "pools": [], "bound": [], **capacity}
    return lambda tx: clusters.set_capacity(tx, name, orjson.dumps(told))


async def test_a_kind_that_an_agent_may_not_list_is_named_with_the_missing_right(tmp_path: Path):
    """Such an agent never says that it has read all objects of jobs."""
    joined = declared("north", joined_at=dt.timedelta(days=9), heartbeat_at=dt.timedelta())
    told = reporting("north", unread_kinds=["ray.io/v1/RayJob"])
    level, message = (await examined(tmp_path, joined, told))["kinds"]
    assert level == "warn"
    assert message.startswith(
        "north: its agent's account may not list and watch ray.io/v1/RayJob: grant it get, list, watch"
    )
    well = reporting("north", unread_kinds=[])
    assert "kinds" not in await examined(tmp_path / "well", joined, well)


async def test_restored_says_which_right_a_member_lacks_that_owes_its_report(tmp_path: Path):
    """By member, beside those that owe it."""
    url = url_of(tmp_path)
    db = Database.open(url, SystemClock())
    try:
        await db.write(identity.load)
        await db.write(declared("north", joined_at=dt.timedelta(days=9)))
        await db.write(reporting("north", unread_kinds=["ray.io/v1/RayJob"]))
        assert (await db.read(overview.restored))["lacking"] == {}
        await db.write(lambda tx: begin_recovery(tx, "yesterday", "somebody", ()))
        shown = await db.read(overview.restored)
        assert shown["owing"] == ["north"]
        assert "ray.io/v1/RayJob" in shown["lacking"]["north"]
    finally:
        await db.close()


def _writes(url: str) -> tuple[str, str]:
    (found,) = [each for each in doctor.examine(url).findings if each.name == "writes"]
    return found.level, found.message


def declared(name: str, **ago: dt.timedelta) -> Any:
    """A member that was declared, joined and heard so long ago."""

    def add(tx: Transaction) -> None:
        columns = {column: tx.now - span for column, span in ago.items()}
        clusters.add(tx, a_member(name, **{"created_at": tx.now, **columns}))

    return add


async def test_a_store_that_is_well_has_no_finding(tmp_path: Path):
    """A hub leads, its member was heard: all is as it should be, and every table is counted."""
    joined = declared("north", joined_at=dt.timedelta(days=9), heartbeat_at=dt.timedelta())
    found = await examined(tmp_path, joined)
    assert {name for name, (level, _) in found.items() if level != "ok"} == set(), found
    tables = doctor.examine(url_of(tmp_path)).tables
    assert {each.name for each in tables} == set(metadata.tables)


@pytest.mark.parametrize(
    ("ago", "says"),
    [
        ({"joined_at": dt.timedelta(days=9), "heartbeat_at": dt.timedelta(days=8)}, "fence it"),
        ({"joined_at": dt.timedelta(days=9), "heartbeat_at": dt.timedelta(seconds=50)}, "silent"),
        ({"created_at": dt.timedelta(days=8)}, "never joined"),
    ],
    ids=["stale", "silent", "never joined"],
)
async def test_members_that_are_not_heard_are_named(tmp_path: Path, ago: Any, says: str):
    """Silent for minutes, for days, or declared and never seen."""
    level, message = (await examined(tmp_path, declared("north", **ago)))["members"]
    assert level == "warn"
    assert "north" in message
    assert says in message


async def test_a_member_whose_api_server_does_not_answer_is_named(tmp_path: Path):
    """Its agent is heard, and can do nothing there."""

    def falls(tx: Transaction) -> None:
        since: DownSince = {
            "reason": "no answer",
            "since": tx.now.isoformat(),
            "cause": "NoAnswer",
        }
        clusters.set_capacity(tx, "north", b"{}", since)

    heard = declared("north", joined_at=dt.timedelta(days=9), heartbeat_at=dt.timedelta())
    level, message = (await examined(tmp_path, heard, falls))["members"]
    assert (level, "north is Unhealthy" in message) == ("warn", True)


@pytest.mark.parametrize(("hours", "level"), [(1, "warn"), (3, "ok")])
async def test_a_credential_that_is_not_replaced_in_time_is_named(
    tmp_path: Path, hours: int, level: str
):
    """It ends in less than two hours, though it should have been replaced at two thirds of its life."""

    def joins(tx: Transaction) -> None:
        until = tx.now + dt.timedelta(hours=hours)
        tokens.begin_use(tx, credentials.admit_agent(tx, "north", "hash", until))

    heard = declared("north", joined_at=dt.timedelta(days=9), heartbeat_at=dt.timedelta())
    found = (await examined(tmp_path, heard, joins))["members"]
    assert found[0] == level
    assert ("north has a credential that expires soon" in found[1]) is (level == "warn")


async def test_a_restored_store_is_a_failure_until_it_is_accepted(tmp_path: Path):
    """Nothing is dispatched; and whoever led it before does no longer."""
    found = await examined(tmp_path, lambda tx: begin_recovery(tx, "", "somebody", ()))
    assert found["restored"][0] == "fail"
    assert found["leader"][0] == "warn"


async def test_numbers_that_are_not_the_rows_are_found(tmp_path: Path):
    """Whatever changed the rows without the triggers: by hand, or with other software."""

    def spoil(tx: Transaction) -> None:
        workloads.add(tx, [a_workload("one")])
        tx.conn.execute(metadata.tables["tallies"].update().values(number=7))

    level, message = (await examined(tmp_path, spoil))["counts"]
    assert level == "fail"
    assert "7 for 1" in message


async def test_a_schema_that_does_not_fit_is_all_that_is_said(tmp_path: Path):
    """The rest can not be read: behind, or not there at all."""
    url = url_of(tmp_path)
    missing = doctor.examine(url).findings
    assert [each.level for each in missing] == ["fail"]
    migrate.up(url)
    migrate.down(url, schema.FIRST_OF_POSTGRES)
    (behind,) = doctor.examine(url).findings
    assert (behind.name, behind.level) == ("schema", "fail")
    assert "admin migrate" in behind.message


def test_an_address_that_is_none_is_a_finding_too():
    """As a database that is not there is: exit code 3, and the hub is asked all the same."""
    (finding,) = doctor.examine("/var/lib/hub.db").findings
    assert (finding.name, finding.level) == ("database", "fail")
    assert "postgresql://" in finding.message


async def test_a_backup_is_looked_at_and_stays_as_it_is(tmp_path: Path):
    """No write is tried in it: not one byte of the file changes, and none appears beside it."""
    db = Database.open(url_of(tmp_path), SystemClock())
    await db.write(identity.load)
    await db.close()
    file = tmp_path / "backup"
    backup.take(url_of(tmp_path), file, SystemClock().now())
    before = as_it_is(file)
    found = {each.name: each.message for each in doctor.examine(f"sqlite:///{file}").findings}
    assert found["writes"] == "skipped: a backup stays unchanged"
    assert as_it_is(file) == before


def as_it_is(file: Path) -> tuple[bytes, list[Path]]:
    """What a file holds, and what is beside it."""
    return file.read_bytes(), sorted(file.parent.iterdir())


@pytest.mark.parametrize(
    ("reason", "level"), [("HubClusterSilent", "fail"), ("HubClusterStarting", "warn")]
)
async def test_a_hub_cluster_that_is_not_followed_is_named(
    tmp_path: Path, reason: str, level: str
):
    """The hub takes nothing from kubectl there, whatever else is well."""
    told = {"status": "False", "reason": reason, "message": "no answer within 5 s"}
    found = await examined(tmp_path, lambda tx: hub_cluster.tell_condition(tx, told))
    assert found["hub cluster"][0] == level
    assert f"{reason}: no answer within 5 s" in found["hub cluster"][1]


@pytest.mark.parametrize("told", [{}, {"status": "True", "reason": "Running"}])
async def test_a_hub_cluster_that_is_followed_or_absent_is_well(tmp_path: Path, told: Any):
    """Without a hub cluster, or while the bridge runs."""
    found = await examined(tmp_path, lambda tx: hub_cluster.tell_condition(tx, told))
    assert found["hub cluster"][0] == "ok"
