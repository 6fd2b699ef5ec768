"""Queues and cohorts as they are told, whole: one that has admitted, one that reserves, one that waits."""

import math
from pathlib import Path
from typing import Any

import pytest

from hub.services.questions import gauges
from hub.services.questions.queues import get_cluster_queue, get_local_queue, list_queues
from hub.services.queues import usage
from hub.store import objects
from shared.kinds.kueue_v1beta2 import GROUP
from tests.services.build import a_cohort, in_cohort
from tests.services.hubs import Running, a_job, a_pool, running
from tests.services.outside.controller import a_check, activate

pytestmark = pytest.mark.anyio


async def a_fleet(hub: Running) -> None:
    """Cohort `all` of 2 cpu of its own, below `top`: `busy` has 3 of 1 and borrows, `asks` reserves 1."""
    await hub.cluster("north", a_pool(cpu="16", memory="16Gi"))
    await hub.apply(a_check("budget"))
    await activate(hub, "budget")
    busy = in_cohort("busy", "1", borrow="4", lend="0")
    asks = in_cohort("asks", "2")
    checks = {"admissionChecks": [{"name": "budget"}]}
    asks[1]["spec"]["admissionChecksStrategy"] = checks
    held = in_cohort("held", "0", cohort="")
    held[1]["spec"]["stopPolicy"] = "Hold"
    await hub.apply(a_cohort("top"), a_cohort("all", "2", "top"), *busy, *asks, *held)
    for n in range(3):
        await hub.apply(a_job(f"busy-{n}", queue="busy"))
    await hub.apply(
        *(a_job(f"large-{n}", queue="busy", requests={"cpu": "9"}) for n in range(2)),
        a_job("asks", queue="asks"),
        a_job("held", queue="held"),
    )
    await hub.settle()


async def test_gauges_tell_of_each_queue_what_is_its_own(tmp_path: Path) -> None:
    """Reserved beside admitted, borrowing beside lending limit, active beside pending, as numbers."""
    async with running(tmp_path) as hub:
        await a_fleet(hub)
        lines = gauges.waiting(hub.scheduler.index)
        made = await hub.hub.read(gauges.gauges, lines)
        found = {
            each.name.removeprefix("roadstead_").removeprefix("cluster_queue_"): {
                tuple(label for label in labels if label not in ("any", "cpu")): value
                for labels, value in each.samples
            }
            for each in made
        }
        shares = {name: found["weighted_share"][(name,)] for name in ("busy", "asks", "held")}
        assert shares["busy"] > 0 == shares["asks"] == shares["held"]
        assert set(found["cohort_weighted_share"]) == {("all",), ("top",)}
        del found["cohort_weighted_share"], found["weighted_share"]
        assert found == {
            "pending_workloads": {
                ("busy", "active"): 0,
                ("busy", "inadmissible"): 2,
                ("asks", "active"): 0,
                ("asks", "inadmissible"): 0,
                ("held", "active"): 0,
                ("held", "inadmissible"): 1,
            },
            "reserving_active_workloads": {("busy",): 3, ("asks",): 1, ("held",): 0},
            "admitted_active_workloads": {("busy",): 3, ("asks",): 0, ("held",): 0},
            "nominal_quota": {("busy",): 1, ("asks",): 2, ("held",): 0},
            "borrowing_limit": {("busy",): 4, ("asks",): math.inf, ("held",): math.inf},
            "lending_limit": {("busy",): 0, ("asks",): math.inf, ("held",): math.inf},
            "resource_reservation": {("busy",): 3, ("asks",): 1, ("held",): 0},
            "resource_usage": {("busy",): 3, ("asks",): 0, ("held",): 0},
            "status": {
                ("busy", "active"): 1,
                ("busy", "pending"): 0,
                ("asks", "active"): 1,
                ("asks", "pending"): 0,
                ("held", "active"): 0,
                ("held", "pending"): 1,
            },
        }


async def test_without_an_index_everybody_who_waits_counts_as_active(tmp_path: Path) -> None:
    """A replica that has read nothing yet tells what the store says."""
    async with running(tmp_path) as hub:
        await a_fleet(hub)
        assert gauges.waiting(None) == {}
        made = await hub.hub.read(gauges.gauges, {})
        (pending,) = [each for each in made if each.name == "roadstead_pending_workloads"]
        assert dict(pending.samples) == {
            ("busy", "active"): 2,
            ("busy", "inadmissible"): 0,
            ("asks", "active"): 0,
            ("asks", "inadmissible"): 0,
            ("held", "active"): 1,
            ("held", "inadmissible"): 0,
        }


async def test_a_cohort_is_told_with_its_parent_and_its_children(tmp_path: Path) -> None:
    """Queues and cohorts apart; its own quota beside that of its subtree; a share of its own."""
    async with running(tmp_path) as hub:
        await a_fleet(hub)
        cohorts = (await hub.hub.read(list_queues))["cohorts"]
        found = {each["name"]: each for each in cohorts}
        whole = found["all"]
        counted = await hub.hub.read(usage.count)
        assert {name: each["weightedShare"] for name, each in found.items()} == {
            "all": counted.cohort_share("all"),
            "top": counted.cohort_share("top"),
        }
        del whole["weightedShare"]
        assert whole == {
            "kind": "Cohort",
            "name": "all",
            "parent": "top",
            "queues": ["asks", "busy"],
            "cohorts": [],
            "quotas": [
                {
                    "flavor": "any",
                    "resource": "cpu",
                    "nominal": "2",
                    "used": "3",
                    "borrowed": "0",
                    "available": "1",
                    "potential": "4",
                    "borrowingLimit": None,
                    "lendingLimit": None,
                    "subtree": "4",
                }
            ],
        }
        assert (found["top"]["parent"], found["top"]["queues"]) == ("", [])
        assert found["top"]["cohorts"] == ["all"]


async def test_a_queue_is_told_with_what_it_has_and_who_leads_to_it(tmp_path: Path) -> None:
    """What is reserved and what is admitted of it stand side by side, as do its limits."""

    def told(view: dict[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in view.items() if k not in ("conditions", "localQueues", "quotas")}

    async with running(tmp_path) as hub:
        await a_fleet(hub)
        busy = await hub.hub.read(get_cluster_queue, "busy")
        asks = await hub.hub.read(get_cluster_queue, "asks")
        held = await hub.hub.read(get_cluster_queue, "held")
        assert told(busy) == {
            "kind": "ClusterQueue",
            "name": "busy",
            "origin": "rest",
            "strategy": "BestEffortFIFO",
            "cohort": "all",
            "stopPolicy": "None",
            "state": "Ready",
            "pending": 2,
            "reserving": 3,
            "admitted": 3,
            "weight": "1",
            "weightedShare": busy["weightedShare"],
            "notEnforced": [],
        }
        assert busy["weightedShare"] > 0
        assert busy["quotas"] == [
            {
                "flavor": "any",
                "resource": "cpu",
                "nominal": "1",
                "used": "3",
                "borrowed": "2",
                "available": busy["quotas"][0]["available"],
                "potential": "5",
                "borrowingLimit": "4",
                "lendingLimit": "0",
                "admitted": "3",
            }
        ]
        assert (asks["reserving"], asks["admitted"], asks["quotas"][0]["admitted"]) == (1, 0, "0")
        assert (held["state"], held["stopPolicy"], held["pending"]) == ("Stopped", "Hold", 1)
        (local,) = asks["localQueues"]
        one = await hub.hub.read(get_local_queue, "team-a", "asks")
        assert one == {"kind": "LocalQueue", **local}
        assert [c["type"] for c in local.pop("conditions")] == ["Active"]
        assert local == {
            "namespace": "team-a",
            "name": "asks",
            "clusterQueue": "asks",
            "origin": "rest",
            "pending": 0,
            "reserving": 1,
            "admitted": 0,
            "fairSharing": {"weight": "1", "admissionFairSharingStatus": None},
        }


async def test_statuses_keep_what_is_stored_beside_their_figures(tmp_path: Path) -> None:
    """Conditions stay; flavors reserved and used differ by what waits for checks; a cohort has its share."""
    async with running(tmp_path) as hub:
        await a_fleet(hub)
        counted = await hub.hub.read(usage.count)

        async def status(kind: str, name: str, namespace: str = "") -> dict[str, Any]:
            row = await hub.hub.read(objects.find, GROUP, kind, namespace, name)
            assert row is not None
            found = usage.status_of(row, counted)
            assert found.pop("conditions", None) == (row.status or {}).get("conditions")
            return found

        def flavors(total: str, **borrowed: str) -> list[dict[str, Any]]:
            return [{"name": "any", "resources": [{"name": "cpu", "total": total, **borrowed}]}]

        assert await status("ClusterQueue", "busy") == {
            "pendingWorkloads": 2,
            "reservingWorkloads": 3,
            "admittedWorkloads": 3,
            "flavorsReservation": flavors("3", borrowed="2"),
            "flavorsUsage": flavors("3", borrowed="2"),
            "fairSharing": {"weightedShare": counted.share("busy")},
        }
        assert await status("ClusterQueue", "asks") == {
            "pendingWorkloads": 0,
            "reservingWorkloads": 1,
            "admittedWorkloads": 0,
            "flavorsReservation": flavors("1", borrowed="0"),
            "flavorsUsage": flavors("0", borrowed="0"),
            "fairSharing": {"weightedShare": 0},
        }
        assert await status("LocalQueue", "asks", "team-a") == {
            "pendingWorkloads": 0,
            "reservingWorkloads": 1,
            "admittedWorkloads": 0,
            "flavorsReservation": flavors("1"),
            "flavorsUsage": flavors("0"),
        }
        assert await status("Cohort", "all") == {
            "fairSharing": {"weightedShare": counted.cohort_share("all")}
        }


async def test_a_cohort_that_borrows_has_a_share_of_its_own(tmp_path: Path) -> None:
    """That of the cohort, in the list of cohorts, in its status and as a gauge."""
    async with running(tmp_path) as hub:
        await hub.cluster("north", a_pool(cpu="16", memory="16Gi"))
        await hub.apply(a_cohort("top", "8"), a_cohort("all", "", "top"), *in_cohort("q", "0"))
        await hub.apply(a_job("one", queue="q"))
        await hub.settle()
        counted = await hub.hub.read(usage.count)
        share = counted.cohort_share("all")
        assert share > 0
        cohorts = (await hub.hub.read(list_queues))["cohorts"]
        assert {each["name"]: each["weightedShare"] for each in cohorts} == {
            "all": share,
            "top": 0,
        }
        row = await hub.hub.read(objects.find, GROUP, "Cohort", "", "all")
        assert row is not None
        stored = row._replace(status={"conditions": ["as stored"]})
        assert usage.status_of(stored, counted) == {
            "conditions": ["as stored"],
            "fairSharing": {"weightedShare": share},
        }
        made = {each.name: each for each in await hub.hub.read(gauges.gauges, {})}
        of_cohorts = dict(made["roadstead_cohort_weighted_share"].samples)
        assert of_cohorts == {("all",): share, ("top",): 0}
