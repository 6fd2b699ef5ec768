"""`/v1/clusters`, the change stream, and what is written down of administrators' verbs."""

import asyncio
from typing import Any

import pytest

from hub.services.access import credentials
from shared.errors import Rejected
from tests.api.serving import a_job, served

pytestmark = pytest.mark.anyio


async def test_a_declared_cluster_gets_a_join_token_once(tmp_path):
    """201 with a token; a second declaration is refused; both views agree."""
    async with served(tmp_path) as hub:
        taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
        body = {"name": "east", "labels": {"region": "east"}, "taints": [taint]}
        made = await hub.admin.post("/v1/clusters", json=body)
        assert (made.status_code, made.json()["state"]) == (201, "Declared")
        assert "." in made.json()["joinToken"]
        again = await hub.admin.post("/v1/clusters", json=body)
        assert (again.status_code, again.json()["code"]) == (409, "AlreadyExists")
        path = "/v1/objects/cluster.kubernetes-fleet.io/MemberCluster/east"
        assert (await hub.admin.get(path)).json()["metadata"]["labels"] == {"region": "east"}
        assert (await hub.viewer.get("/v1/clusters/east")).json()["taints"][0]["key"] == "gpu"


@pytest.mark.parametrize(
    "body", [{"name": "Prod"}, {}, {"name": "a", "x": 1}, {"name": 1}, [], {"name": "a/b"}]
)
async def test_a_bad_declaration_is_refused(tmp_path, body):
    """422 for names, types and fields that are not known."""
    async with served(tmp_path) as hub:
        assert (await hub.admin.post("/v1/clusters", json=body)).status_code == 422


async def test_pools_that_may_grow_are_declared_with_the_cluster(tmp_path):
    """They are `spec.pools` of its MemberCluster; none counts before the cluster has reported."""
    async with served(tmp_path) as hub:
        pool = {"name": "burst", "maxNodes": 3, "allocatable": {"cpu": "4"}}
        made = await hub.admin.post("/v1/clusters", json={"name": "east", "pools": [pool]})
        assert (made.status_code, made.json()["growingPools"]) == (201, [])
        path = "/v1/objects/cluster.kubernetes-fleet.io/MemberCluster/east"
        assert (await hub.admin.get(path)).json()["spec"]["pools"] == [pool]
        wrong = {"name": "west", "pools": [{**pool, "maxNodes": -1}]}
        refused = await hub.admin.post("/v1/clusters", json=wrong)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (
            422,
            "spec.pools[0].maxNodes",
        )


async def test_a_member_cluster_object_declares_as_well(tmp_path):
    """Apply and POST are two ways to one cluster."""
    manifest: dict[str, Any] = {
        "apiVersion": "cluster.kubernetes-fleet.io/v1",
        "kind": "MemberCluster",
        "metadata": {"name": "west", "labels": {"a": "b"}},
        "spec": {},
    }
    async with served(tmp_path) as hub:
        await hub.admin.post("/v1/apply", json=manifest)
        assert (await hub.admin.get("/v1/clusters/west")).json()["labels"] == {"a": "b"}
        manifest["metadata"]["labels"] = {"a": "c"}
        await hub.admin.post("/v1/apply", json=manifest)
        assert (await hub.admin.get("/v1/clusters/west")).json()["labels"] == {"a": "c"}
        assert (await hub.admin.delete("/v1/clusters/west")).status_code == 200
        assert (await hub.admin.get("/v1/clusters/west")).status_code == 404


async def test_cordon_and_uncordon_are_idempotent_and_audited(tmp_path):
    """Each change is one audit row and one event."""
    async with served(tmp_path) as hub:
        await hub.admin.post("/v1/clusters", json={"name": "c"})
        for verb, state in (("cordon", True), ("cordon", True), ("uncordon", False)):
            reply = await hub.admin.post(f"/v1/clusters/c/{verb}")
            assert reply.json()["cordoned"] is state
        verbs = [row["verb"] for row in (await hub.admin.get("/v1/audit")).json()["items"]]
        assert verbs == ["uncordon", "cordon", "create"]
        assert (await hub.admin.post("/v1/clusters/none/cordon")).status_code == 404


async def test_a_join_token_is_used_once_and_not_for_long(tmp_path):
    """100 at once: exactly one; a renewed one ends the one before; after 15 min none."""
    async with served(tmp_path) as hub:
        made = await hub.admin.post("/v1/clusters", json={"name": "c"})
        old = made.json()["joinToken"]
        new = (await hub.admin.post("/v1/clusters/c/join-token")).json()["joinToken"]

        def redeem(text):
            return hub.db.write(lambda unit: credentials.redeem_join(unit, text))

        with pytest.raises(Rejected, match=r"Unauthenticated.*join token.*clusters token NAME"):
            await redeem(old)
        answers = await asyncio.gather(*(redeem(new) for _ in range(100)), return_exceptions=True)
        won = [answer for answer in answers if isinstance(answer, credentials.Principal)]
        assert [(p.role, p.cluster) for p in won] == [("agent", "c")]
        assert {a.code for a in answers if isinstance(a, Rejected)} == {"TokenUsed"}
        late = (await hub.admin.post("/v1/clusters/c/join-token")).json()["joinToken"]
        hub.clock.advance(15 * 60)
        with pytest.raises(Rejected, match="TokenExpired"):
            await redeem(late)


async def test_secrets_are_stored_as_hashes(tmp_path):
    """No token's secret is in the database files."""
    async with served(tmp_path) as hub:
        made = await hub.admin.post("/v1/clusters", json={"name": "c"})
        secret = made.json()["joinToken"].partition(".")[2].encode()
    assert all(secret not in path.read_bytes() for path in tmp_path.iterdir())


async def test_the_overview_counts(tmp_path):
    """Jobs and clusters by state."""
    async with served(tmp_path) as hub:
        await hub.admin.post("/v1/clusters", json={"name": "c"})
        await hub.admin.post("/v1/jobs", json=a_job())
        seen = (await hub.viewer.get("/v1/overview")).json()
        assert (seen["jobs"], seen["clusters"]) == ({"Pending": 1}, {"total": 1, "Declared": 1})


async def test_changes_are_followed_without_holes(tmp_path):
    """Every revision after the one asked for comes, in order, those committed before included."""
    from hub.services.questions import overview

    async with served(tmp_path) as hub:
        start = hub.db.revision
        for i in range(5):
            await hub.admin.post("/v1/jobs", json=a_job(f"j{i}"))
        revision, seen, more = start, [], True
        while more or revision < hub.db.revision:
            rows, more = await hub.hub.read(overview.changes_since, revision, 9)
            seen += [row["revision"] for row in rows]
            revision = seen[-1]
        assert sorted(set(seen)) == list(range(start + 1, hub.db.revision + 1))
        assert seen == sorted(seen)
