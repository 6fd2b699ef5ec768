"""What lists and views tell of one row, whole: every field of the answer, page after page."""

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hub.domain.workloads.states import State
from hub.services.context.paging import Pager
from hub.services.context.settings import Settings
from hub.services.questions import deeds, jobs, overview, placements, watch
from hub.store import audit, clusters, objects, workloads, works
from hub.store.engine import Database
from hub.store.transaction import Transaction
from shared.clock import ManualClock
from shared.documents import Json
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from shared.kinds.placement_v1 import GROUP as PLACEMENT
from tests.store.build import (
    START,
    a_member,
    a_wanted_work,
    a_workload,
    an_object,
    call,
    opened,
)

pytestmark = pytest.mark.anyio
AT = "2026-03-01T12:00:00Z"
PAGER = Pager(b"key", "ada", {}, START, dt.timedelta(hours=1))


async def pages(db: Database, ask: Callable[[Transaction, str | None], Json]) -> list[list[Any]]:
    """The items of each page, to the last one."""
    found, token = [], None
    while token != "":
        page = await db.read(call(ask, token))
        found.append(page["items"])
        token = page["continue"]
    return found


async def test_placements_of_both_kinds_are_told_whole(tmp_path: Path):
    """Each with its policy, PickAll where none is written, and with the decisions of its own status."""
    status = {
        "conditions": [{"type": "Applied"}],
        "selectedResources": [{"name": "c"}],
        "perClusterPlacementStatuses": [{"clusterName": "north"}],
    }
    async with opened(tmp_path) as db:
        rows = [
            an_object(
                "crp", api_group=PLACEMENT, kind="ClusterResourcePlacement", namespace="",
                name="web", spec={"resourceSelectors": [{"kind": "Namespace"}]}, status=status,
                generation=3, deleted_at=START,
            ),
            an_object(
                "rp", api_group=PLACEMENT, kind="ResourcePlacement", name="web",
                spec={"policy": {"placementType": "PickN"}}, origin="hub-cluster",
                status={"placementStatuses": [{"clusterName": "south"}]},
            ),
        ]  # fmt: skip
        for row in rows:
            await db.write(call(objects.add, row))
        found = await pages(db, lambda tx, token: placements.list_placements(tx, PAGER, token, 1))
        assert [len(page) for page in found] == [1, 1]
        assert [row for page in found for row in page] == [
            {
                "kind": "ClusterResourcePlacement",
                "namespace": "",
                "name": "web",
                "uid": "crp",
                "origin": "rest",
                "generation": 3,
                "policy": {"placementType": "PickAll"},
                "resourceSelectors": [{"kind": "Namespace"}],
                "conditions": [{"type": "Applied"}],
                "selectedResources": [{"name": "c"}],
                "placementStatuses": [{"clusterName": "north"}],
                "createdAt": AT,
                "deletedAt": AT,
            },
            {
                "kind": "ResourcePlacement",
                "namespace": "team-a",
                "name": "web",
                "uid": "rp",
                "origin": "hub-cluster",
                "generation": 1,
                "policy": {"placementType": "PickN"},
                "resourceSelectors": [],
                "conditions": [],
                "selectedResources": [],
                "placementStatuses": [{"clusterName": "south"}],
                "createdAt": AT,
                "deletedAt": None,
            },
        ]
        one = await db.read(call(placements.get_placement, "", "web"))
        other = await db.read(call(placements.get_placement, "team-a", "web"))
        assert [[one], [other]] == found


async def test_a_page_ends_where_statuses_are_large(tmp_path: Path):
    """Two megabytes are a page, whatever its limit: what placements say of their clusters counts too."""
    status = {"placementStatuses": [{"clusterName": "x" * 300_000}]}
    async with opened(tmp_path) as db:
        for number in range(10):
            row = an_object(
                f"u{number}", api_group=PLACEMENT, kind="ClusterResourcePlacement", namespace="",
                name=f"p{number}", status=status,
            )  # fmt: skip
            await db.write(call(objects.add, row))
        found = await pages(
            db, lambda tx, token: placements.list_placements(tx, PAGER, token, 500)
        )
    assert [[row["name"] for row in page] for page in found] == [
        [f"p{n}" for n in range(7)],
        ["p7", "p8", "p9"],
    ]


async def test_drift_is_told_field_by_field(tmp_path: Path):
    """Pages are of objects: all fields of one stand together, and none is told twice."""
    drift = [
        {"path": "/a", "hub": "1", "member": "2", "first_seen": "t1"},
        {"path": "/b", "hub": "3", "member": None, "first_seen": "t2"},
    ]
    async with opened(tmp_path) as db:

        def fill(tx: Transaction) -> None:
            keys = [("north", "one"), ("north", "two"), ("south", "one")]
            works.upsert(tx, [a_wanted_work(*each) for each in [*keys, ("north", "same")]])
            works.observe(
                tx,
                [
                    {
                        "cluster": cluster,
                        "uid": uid,
                        "observed_generation": 1,
                        "phase": "Applied",
                        "observed": {"member_generation": 7},
                        "drift": drift,
                        "reason": "",
                        "message": "",
                        "available": None,
                        "seen": True,
                    }
                    for cluster, uid in keys
                ],
            )

        await db.write(fill)
        found = await pages(db, lambda tx, token: overview.list_drift(tx, PAGER, token, 1))
        said = {"kind": "Job", "namespace": "team-a"}
        assert found == [
            [
                {
                    "cluster": cluster,
                    "uid": uid,
                    **said,
                    "name": uid,
                    "path": each["path"],
                    "hub": each["hub"],
                    "member": each["member"],
                    "firstSeen": each["first_seen"],
                    "lastSeen": AT,
                    "memberGeneration": 7,
                    "envelope": None,
                }
                for each in drift
            ]
            for cluster, uid in (("north", "one"), ("north", "two"), ("south", "one"))
        ]


async def test_the_audit_is_told_newest_first(tmp_path: Path):
    """Every page goes on where the last one ended, and says all of each line."""
    async with opened(tmp_path) as db:
        for n in range(5):
            await db.write(call(audit.add, f"p{n}", "verb", f"Job a/n{n} u", f"outcome {n}"))
        found = await pages(db, lambda tx, token: deeds.list_audit(tx, {}, None, PAGER, token, 2))
        assert [len(page) for page in found] == [2, 2, 1]
        assert [entry for page in found for entry in page] == [
            {
                "id": n + 1,
                "at": AT,
                "principal": f"p{n}",
                "verb": "verb",
                "kind": "Job",
                "namespace": "a",
                "name": f"n{n}",
                "object": f"Job a/n{n} u",
                "outcome": f"outcome {n}",
            }
            for n in reversed(range(5))
        ]


async def test_events_are_those_that_were_asked_for(tmp_path: Path):
    """By what they are about, in each of its parts and in several; oldest first, page before page."""
    async with opened(tmp_path) as db:
        about = [("a", "Job", "n", "x"), ("b", "Job", "n", "y"), ("c", "Job", "m", "x"),
                 ("d", "Widget", "n", "x")]  # fmt: skip

        def fill(tx: Transaction) -> None:
            for uid, kind, namespace, name in about:
                for reason in ("First", "Second"):
                    tx.event(
                        uid=uid,
                        kind=kind,
                        namespace=namespace,
                        name=name,
                        reason=reason,
                        message="",
                    )

        await db.write(fill)

        async def asked(limit: int = 10, **filters: str) -> list[list[tuple[str, str]]]:
            found = await pages(
                db, lambda tx, token: jobs.list_events(tx, filters, PAGER, token, limit)
            )
            return [[(e["uid"], e["reason"]) for e in page] for page in found]

        assert await asked(uid="a") == [[("a", "First"), ("a", "Second")]]
        for filters, expected in (
            ({"namespace": "m"}, "c"),
            ({"namespace": "n"}, "abd"),
            ({"kind": "Widget"}, "d"),
            ({"kind": "Job"}, "abc"),
            ({"name": "x"}, "acd"),
            ({"kind": "Job", "name": "x", "namespace": "n"}, "a"),
            ({}, "abcd"),
        ):
            assert await asked(10, **filters) == [
                [(uid, reason) for uid in expected for reason in ("First", "Second")]
            ], filters
        assert await asked(limit=3, kind="Job") == [
            [("b", "Second"), ("c", "First"), ("c", "Second")],
            [("a", "First"), ("a", "Second"), ("b", "First")],
        ]


async def test_a_jobs_history_begins_when_it_was_submitted(tmp_path: Path):
    """Of whatever kind it is, with where it came from and its queue; a full page has no room for it."""
    later = START + dt.timedelta(hours=1)
    async with opened(tmp_path, ManualClock(later)) as db:
        row = a_workload("one", kind="Workload", queue="", origin="hub-cluster", queued_at=later)

        def fill(tx: Transaction) -> None:
            workloads.add(tx, [row])
            for reason in ("First", "Second"):
                tx.say(row, reason, "")

        await db.write(fill)
        first, *rest = (await db.read(call(jobs.job_events, "one", 3)))["items"]
        assert first == {
            "id": 0,
            "at": AT,
            "uid": "one",
            "kind": "Workload",
            "namespace": "team-a",
            "name": "one",
            "type": "Normal",
            "reason": "Submitted",
            "message": "from hub-cluster, to queue (none)",
            "cluster": "",
            "epoch": 0,
            "cause": "",
            "subject": "",
            "memberAt": None,
        }
        assert [each["reason"] for each in rest] == ["First", "Second"]
        full = (await db.read(call(jobs.job_events, "one", 2)))["items"]
        assert [each["reason"] for each in full] == ["First", "Second"]


async def test_a_search_for_a_rare_label_goes_on_after_many_rows(tmp_path: Path):
    """A page ends where it has looked at enough, with whatever it found, and loses nobody."""
    async with opened(tmp_path) as db:
        rows = [
            a_workload(f"j{n}", labels={"rare": "yes"} if n in (0, 5) else {}) for n in range(9)
        ]
        await db.write(call(workloads.add, rows))

        def ask(tx: Transaction, token: str | None) -> Json:
            def rare(labels: Any) -> bool:
                return "rare" in labels

            return jobs.list_jobs(tx, {}, rare, PAGER, token, 2, most_scanned=4)

        found = await pages(db, ask)
        assert [[each["name"] for each in page] for page in found] == [["j5"], [], ["j0"]]


async def test_followers_get_the_workloads_of_whole_revisions(tmp_path: Path):
    """Of all kinds of change those of workloads, each once, and whether there is more to come."""
    async with opened(tmp_path) as db:
        await db.write(call(workloads.add, [a_workload("one"), a_workload("two")]))
        await db.write(call(objects.add, an_object("three")))
        await db.write(call(workloads.add, [a_workload("four", queue="other")]))
        await db.write(lambda tx: tx.touch("works", "north/one"))

        async def news(revision: int, limit: int, **filters: str) -> tuple[int, list[str], bool]:
            reached, found, more = await db.read(call(watch.news, revision, filters, limit))
            return reached, sorted(each["uid"] for each in found), more

        assert await news(0, 10) == (4, ["four", "one", "two"], False)
        assert await news(0, 2) == (1, ["one", "two"], True)
        assert await news(1, 10) == (4, ["four"], False)
        assert await news(3, 10) == (4, [], False)
        assert await news(0, 10, queue="other,none") == (4, ["four"], False)


async def test_the_fleet_is_counted_by_state(tmp_path: Path):
    """Members and jobs, each state with its number; what else there is, and the newest revision."""
    async with opened(tmp_path, ManualClock(START)) as db:

        def fill(tx: Transaction) -> None:
            for name, heard in (("a", START), ("b", START), ("c", None)):
                clusters.add(tx, a_member(name, joined_at=START, heartbeat_at=heard))
            workloads.add(tx, [a_workload("one"), a_workload("two")])
            workloads.add(tx, [a_workload("three", state=State.RUNNING, cluster="a")])
            objects.add(tx, an_object("q", api_group=KUEUE, kind="ClusterQueue", namespace=""))

        await db.write(fill)
        found = await db.read(call(overview.overview, Settings()))
        (other,) = set(found["clusters"]) - {"total", "Ready"}
        assert found["clusters"] == {"total": 3, "Ready": 2, other: 1}
        assert found["jobs"] == {"Pending": 2, "Running": 1}
        assert (found["queues"], found["revision"], found["conditions"]) == (1, 1, [])
        assert [each["name"] for each in found["room"]] == ["a", "b", "c"]
