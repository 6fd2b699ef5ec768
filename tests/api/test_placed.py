"""Revisions, rollbacks, bindings and works by REST: who may ask, in pages, and what is refused how."""

from pathlib import Path
from typing import Any

import pytest

from hub.controllers.placements import Placements
from hub.services.context import leadership
from hub.store import clusters
from hub.store.transaction import Transaction
from roadstead.models.placed import ClusterWork, PlacementBinding, Revision, RolledBack
from tests import waiting
from tests.api.serving import Served, served
from tests.store.build import START, a_member

pytestmark = pytest.mark.anyio
SHOP = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
PLACEMENT = {
    "apiVersion": "placement.kubernetes-fleet.io/v1",
    "kind": "ResourcePlacement",
    "metadata": {"name": "p", "namespace": "shop"},
    "spec": {
        "resourceSelectors": [{"group": "", "version": "v1", "kind": "ConfigMap", "name": "c"}]
    },
}
ROLLBACK = "/v1/placements/shop/p/rollback"


def config(color: str) -> dict[str, Any]:
    metadata = {"name": "c", "namespace": "shop"}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {"color": color},
    }


@pytest.fixture
async def hub(tmp_path: Path):
    """A placement on three members, with two revisions."""

    def members(tx: Transaction) -> None:
        for name in ("a", "b", "c"):
            clusters.add(tx, a_member(name, joined_at=START, heartbeat_at=tx.now))
            clusters.set_capacity(tx, name, b'{"pools_revision":0,"pools":[],"bound":[]}')

    async with served(tmp_path) as it:
        term = await it.hub.write(leadership.seize, "test")
        await it.hub.write(members)
        controller = Placements(it.hub, lambda: term)
        for color in ("blue", "green"):
            reply = await it.admin.post("/v1/apply", json=[SHOP, config(color), PLACEMENT])
            assert reply.status_code == 200, reply.text
            for _ in range(4):
                await waiting.turns(5)
                await controller.tick()
        yield it


async def get(hub: Served, path: str, role: str = "viewer") -> Any:
    reply = await getattr(hub, role).get(path)
    assert reply.status_code == 200, reply.text
    return reply.json()


async def test_revisions_are_for_viewers(hub: Served):
    """Newest first, with what changed."""
    told = await get(hub, "/v1/revisions?placement=shop/p")
    assert [each["index"] for each in told["items"]] == [1, 0]
    first = Revision.of(told["items"][0])
    assert first.changes is not None
    assert first.changes.changed[0].changed_fields[0].after == '"green"'
    assert len((await get(hub, "/v1/revisions?placement=shop/p&limit=1"))["items"]) == 1
    for path, code in (
        ("?placement=shop/nothing", 404),
        ("?placement=p", 404),
        ("", 422),
        ("?placement=shop/p&limit=0", 422),
    ):
        assert (await hub.viewer.get(f"/v1/revisions{path}")).status_code == code, path


async def test_a_rollback_is_shown_done_and_released(hub: Served):
    """By administrators; one of `to` and `release`."""
    shown = await hub.admin.post(ROLLBACK, json={"to": 0, "dryRun": True})
    told = RolledBack.of(shown.json())
    assert (told.carried_out, told.from_index, told.to_index) == (False, 1, 0)
    assert (await get(hub, "/v1/revisions?placement=shop/p"))["rollback"] is None
    done = await hub.admin.post(ROLLBACK, json={"to": 0})
    assert done.json()["carriedOut"] is True
    held = (await get(hub, "/v1/revisions?placement=shop/p"))["rollback"]
    assert (held["resourceSnapshotIndex"], held["by"]) == ("0", "the-administrator")
    again = await hub.admin.post(ROLLBACK, json={"release": True})
    assert (again.json()["carriedOut"], again.json()["toIndex"]) == (True, 1)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "Required"),
        ({"to": 0, "release": True}, "MutuallyExclusive"),
        ({"to": 7}, "NotFound"),
        ({"to": -1}, "OutOfRange"),
        ({"to": "0"}, "InvalidType"),
        ({"too": 0}, "UnknownField"),
    ],
)
async def test_bad_wishes_are_refused(hub: Served, body: dict[str, Any], code: str):
    """With a code that stays."""
    reply = await hub.admin.post(ROLLBACK, json=body)
    assert reply.json()["code"] == code, reply.text


async def test_only_administrators_go_back(hub: Served):
    """Viewers look."""
    assert (await hub.viewer.post(ROLLBACK, json={"to": 0})).status_code == 403
    assert (await hub.admin.post("/v1/placements/p/rollback", json={"to": 0})).status_code == 404


async def test_bindings_and_works_come_in_pages(hub: Served):
    """Of a placement or of a cluster; what is refused or not available alone, where that is asked."""
    for path in ("/v1/bindings", "/v1/works"):
        found, token = [], ""
        for _ in range(3):
            page = await get(hub, f"{path}?placement=shop/p&limit=1&continue={token}")
            found += [each["cluster"] for each in page["items"]]
            token = page["continue"]
        assert (sorted(found), token) == (["a", "b", "c"], ""), path
        (one,) = (await get(hub, f"{path}?cluster=b"))["items"]
        assert (one["cluster"], one["placement"], one["placementNamespace"]) == ("b", "p", "shop")
        assert (await hub.viewer.get(f"{path}?placement=nothing")).status_code == 404
    (binding, *_) = (await get(hub, "/v1/bindings"))["items"]
    assert PlacementBinding.of(binding).state == "Bound"
    (work, *_) = (await get(hub, "/v1/works"))["items"]
    assert (ClusterWork.of(work).kind, work["failed"]) == ("ConfigMap", False)
    assert (await get(hub, "/v1/works?failed=true"))["items"] == []
