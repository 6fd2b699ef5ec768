"""Members as objects: what declaring, cordoning, joining and deleting one leaves behind, as a whole."""

from pathlib import Path
from typing import Any

import pytest

from hub.services.access import credentials
from hub.services.objects.clusters import cordon_cluster, create_cluster, renew_join_token
from hub.services.objects.delete import delete_object
from hub.services.objects.fence import fence_cluster
from hub.store import audit, clusters, events, objects, works
from shared.errors import Rejected
from shared.kinds.cluster_v1 import GROUP as FLEET
from tests.services.hubs import Running, a_pool, running
from tests.services.members.hubs import running_hub
from tests.store.build import a_member, a_wanted_work, call

pytestmark = pytest.mark.anyio
POOLS: list[Any] = [
    {"name": "burst", "maxNodes": 4, "allocatable": {"cpu": "8", "memory": "32Gi"}},
]


def a_declaration(labels: dict[str, str], **spec: Any) -> dict[str, Any]:
    """A MemberCluster."""
    return {
        "apiVersion": f"{FLEET}/v1",
        "kind": "MemberCluster",
        "metadata": {"name": "north", "labels": labels},
        "spec": spec,
    }


async def said(hub: Running) -> list[tuple[str, str, str]]:
    """Who did what to what, oldest first."""
    entries = await hub.hub.read(audit.list_entries)
    return [(e.principal, e.verb, e.object) for e in reversed(entries)]


async def test_a_member_is_declared_with_all_that_was_asked(tmp_path: Path) -> None:
    """Labels, taints and pools stand in its row, as in its object, and a token lets an agent join."""
    taint = {"key": "site", "value": "edge", "effect": "NoSchedule"}
    async with running(tmp_path) as hub:
        settings = hub.hub.settings
        answer = await hub.hub.write(
            create_cluster, "north", {"zone": "n"}, [taint], settings, "ada", POOLS
        )
        row = await hub.hub.read(objects.find, FLEET, "MemberCluster", "", "north")
        assert row is not None
        member = await hub.hub.read(clusters.get, "north")
        assert member == a_member(
            "north",
            object=row.uid,
            labels={"zone": "n"},
            taints=[taint],
            pools=row.spec["pools"],
            created_at=hub.clock.now(),
        )
        assert [pool["name"] for pool in row.spec["pools"]] == ["burst"]
        expires_at = hub.clock.now() + settings.api.join_token_kept
        assert answer["joinTokenExpiresAt"] == expires_at.strftime("%Y-%m-%dT%H:%M:%SZ")
        token = await hub.hub.read(credentials.check_join, answer["joinToken"])
        assert (token.cluster, token.expires_at) == ("north", expires_at)
        assert await said(hub) == [("ada", "create", "MemberCluster north")]


async def test_a_members_row_follows_its_object(tmp_path: Path) -> None:
    """What is taken out of the manifest is gone from the row too; its agent's session stays."""
    async with running(tmp_path) as hub:
        taint = {"key": "site", "value": "edge", "effect": "NoSchedule"}
        await hub.apply(a_declaration({"zone": "n"}, taints=[taint], pools=POOLS))
        joined = {"cluster_uid": "c-1", "session": "s-1", "joined_at": hub.clock.now()}
        await hub.hub.db.write(call(clusters.change, "north", **joined))
        before = await hub.hub.read(clusters.get, "north")
        await hub.apply(a_declaration({"zone": "m"}))
        assert before is not None
        assert before.pools is not None
        after = await hub.hub.read(clusters.get, "north")
        assert after == before._replace(labels={"zone": "m"}, taints=[], pools=None)


async def test_cordoning_is_said_once_and_by_whom(tmp_path: Path) -> None:
    """An event of the MemberCluster and a line of the audit for each change; none for a repetition."""
    async with running(tmp_path) as hub:
        settings = hub.hub.settings
        await hub.hub.write(create_cluster, "north", {}, [], settings, "ada")
        for who, on in (("ada", True), ("bob", True), ("bob", False), ("ada", False)):
            view = await hub.hub.write(cordon_cluster, "north", settings, who, on=on)
            assert view["cordoned"] is on
        member = await hub.hub.read(clusters.get, "north")
        assert member is not None
        heard = await hub.hub.read(lambda tx: events.list_events(tx, uid=member.object))
        assert [(e.kind, e.name, e.type, e.reason, e.message) for e in heard[1:]] == [
            ("MemberCluster", "north", "Normal", "Cordoned", "cordon by ada"),
            ("MemberCluster", "north", "Normal", "Uncordoned", "uncordon by bob"),
        ]
        assert (await said(hub))[1:] == [
            ("ada", "cordon", "MemberCluster north"),
            ("bob", "uncordon", "MemberCluster north"),
        ]


async def test_a_new_join_token_ends_the_former_and_is_written_down(tmp_path: Path) -> None:
    """The last one that was issued joins; who asked for it stands in the audit."""
    async with running(tmp_path) as hub:
        settings = hub.hub.settings
        first = await hub.hub.write(create_cluster, "north", {}, [], settings, "ada")
        hub.clock.advance(60)
        second = await hub.hub.write(renew_join_token, "north", settings, "bob")
        expires_at = hub.clock.now() + settings.api.join_token_kept
        assert second["name"] == "north"
        assert second["joinTokenExpiresAt"] == expires_at.strftime("%Y-%m-%dT%H:%M:%SZ")
        with pytest.raises(Rejected):
            await hub.hub.read(credentials.check_join, first["joinToken"])
        assert (await hub.hub.read(credentials.check_join, second["joinToken"])).cluster == "north"
        assert (await said(hub))[-1] == ("bob", "join-token", "MemberCluster north")


async def test_of_a_deleted_member_nothing_is_left(tmp_path: Path) -> None:
    """Its row, its report, its works and its credentials go: the name is free for another cluster."""
    async with running(tmp_path) as hub:
        settings = hub.hub.settings
        answer = await hub.hub.write(create_cluster, "north", {}, [], settings, "ada")
        await hub.cluster("north", a_pool(cpu="8"))
        await hub.cluster("south", a_pool(cpu="8"))
        wanted = [a_wanted_work("north", "one"), a_wanted_work("south", "two")]
        await hub.hub.db.write(lambda tx: works.upsert(tx, wanted))
        deleted = await hub.hub.write(
            delete_object, FLEET, "MemberCluster", "", "north", origin="rest", principal="bob"
        )
        assert deleted["result"] == "deleted"
        assert await hub.hub.read(clusters.get, "north") is None
        assert list(await hub.hub.read(clusters.get_capacities)) == ["south"]
        assert [(w.cluster, w.uid) for w in await hub.hub.read(works.all_desired)] == [
            ("south", "two")
        ]
        with pytest.raises(Rejected):
            await hub.hub.read(credentials.check_join, answer["joinToken"])
        assert (await said(hub))[-1] == ("bob", "delete", "MemberCluster/north")
        heard = await hub.hub.read(lambda tx: events.list_events(tx, uid=deleted["uid"]))
        assert (heard[-1].reason, heard[-1].message) == ("Deleted", "deleted by bob")


async def test_a_member_that_is_written_off_is_declared_and_nothing_else(tmp_path: Path) -> None:
    """Of the session and the report nothing is left; what was declared stays, closed to new work."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync(capacity={"pools_revision": 0, "pools": [], "bound": [], "node_count": 1})
        before = await hub.hub.read(clusters.get, "north")
        answer = await hub.write(
            fence_cluster, "north", "north", "ada", 45.0, though_it_answers=True
        )
        assert answer == {"name": "north", "released": 1}
        after = await hub.hub.read(clusters.get, "north")
        assert after == before._replace(
            cordoned=True, session="", cluster_uid="", joined_at=None, heartbeat_at=None
        )
        assert await hub.hub.read(clusters.get_capacities) == {}
        assert await hub.hub.read(works.all_desired) == []
        job = await hub.job(uid)
        why = "ada declared north destroyed"
        assert (job.state, job.reason, job.message) == ("Pending", "ClusterFenced", why)
        heard = await hub.hub.read(lambda tx: events.list_events(tx, uid=before.object))
        assert (heard[-1].type, heard[-1].reason, heard[-1].message) == (
            "Warning",
            "ClusterFenced",
            "ada declared it destroyed: 1 jobs were requeued",
        )
        entries = await hub.hub.read(audit.list_entries)
        assert (entries[0].verb, entries[0].object) == ("fence", "MemberCluster north")
