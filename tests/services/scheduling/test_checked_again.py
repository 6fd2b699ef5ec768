"""What a commit looks at again: only what an edit between plan and commit can have changed for the plan."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from hub.services.scheduling.grounds import Grounds
from hub.store.transaction import Transaction
from tests.services.hubs import Running, a_job, a_pool, a_queue, running
from tests.services.scheduling.plans import decided

pytestmark = pytest.mark.anyio

Change = Callable[[Running], Awaitable[Any]]


def queue(quota: str = "8", labels: dict[str, str] | None = None, **spec: Any) -> Change:
    manifest = a_queue("q", quota={"cpu": quota}, spec=spec)[1]
    manifest["metadata"]["labels"] = labels or {}
    return lambda hub: hub.apply(manifest)


def local_queue(**spec: Any) -> Change:
    manifest = a_queue("q")[2]
    manifest["spec"] |= spec
    return lambda hub: hub.apply(manifest)


def namespace(**labels: str) -> Change:
    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n", "labels": labels}}
    return lambda hub: hub.apply(made)


EDITS: dict[str, tuple[Change, bool]] = {
    "a label of the ClusterQueue": (queue(labels={"team": "x"}), False),
    "its quota": (queue("5"), False),
    "its cohort": (queue(cohortName="c"), False),
    "its stop policy": (queue(stopPolicy="Hold"), True),
    "its selector": (queue(namespaceSelector={"matchLabels": {"team": "x"}}), True),
    "its checks": (queue(admissionChecksStrategy={"admissionChecks": [{"name": "b"}]}), True),
    "the LocalQueue": (local_queue(stopPolicy="Hold"), True),
    "a label of the namespace": (namespace(team="x"), True),
}


@pytest.mark.parametrize(("edit", "moves"), EDITS.values(), ids=EDITS)
async def test_jobs_are_routed_again_only_where_an_edit_can_lead_them_elsewhere(
    tmp_path: Path, edit: Change, moves: bool
) -> None:
    """A label or a quota leaves every job where it waits: no row is read again for it."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="8"))
        await hub.apply(*a_queue("q", quota={"cpu": "8"}), a_job("j", queue="q"))
        _, grounds = await decided(hub)
        await edit(hub)

        def routes_moved(tx: Transaction, grounds: Grounds) -> bool:
            present = grounds.in_transaction(tx, ())
            assert present is not None
            assert present.rules_moved
            return present.routes_moved

        assert await hub.hub.read(routes_moved, grounds) == moves


async def test_equal_jobs_of_a_cohort_share_one_assignment(tmp_path: Path) -> None:
    """It is searched for again once, and written as JSON once, however many jobs have it."""
    async with running(tmp_path) as hub:
        await hub.cluster("a", a_pool(cpu="32"))
        manifests = [a_queue(name, quota={"cpu": "16"}) for name in ("q", "r")]
        for _, cluster_queue, _ in manifests:
            cluster_queue["spec"]["cohortName"] = "team"
        small = [a_job(f"j{n}", queue="qr"[n % 2], requests={"cpu": "1"}) for n in range(8)]
        large = [a_job(f"k{n}", queue="q", requests={"cpu": "2"}) for n in range(2)]
        await hub.apply(*manifests[0], *manifests[1], *small, *large)
        prepared, _ = await decided(hub)
        placed = prepared.plan.placements
        assert len(placed) == 10
        assert len({id(each.assignment) for each in placed}) == 3
