"""One row that can not be read hides no other: lists show the rest, and say what is wrong with it."""

import pytest
from sqlalchemy import text

from hub.store import clusters
from tests.api.serving import served

pytestmark = pytest.mark.anyio

QUEUES = """
{apiVersion: kueue.x-k8s.io/v1beta1, kind: ResourceFlavor, metadata: {name: any}}
---
{apiVersion: kueue.x-k8s.io/v1beta1, kind: ClusterQueue, metadata: {name: bad}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: good}
spec:
  resourceGroups:
    - coveredResources: [cpu]
      flavors: [{name: any, resources: [{name: cpu, nominalQuota: 3}]}]
"""


@pytest.mark.parametrize(
    "spec", ['"odd"', '{"resourceGroups":[7]}', '{"resourceGroups":[{"flavors":[{}]}]}']
)
async def test_a_queue_that_can_not_be_read_hides_no_other(tmp_path, spec):
    """Its own line says so; the others keep quota and counts."""
    async with served(tmp_path) as hub:
        applied = await hub.admin.post(
            "/v1/apply", content=QUEUES, headers={"Content-Type": "application/yaml"}
        )
        assert applied.status_code == 200, applied.text
        await hub.db.write(
            lambda tx: (
                tx.conn.execute(
                    text("UPDATE objects SET spec = :spec WHERE name = 'bad'"),
                    {"spec": spec.encode()},
                ).rowcount
            )
        )
        reply = await hub.admin.get("/v1/queues")
        assert reply.status_code == 200, reply.text
        found = {each["name"]: each for each in reply.json()["items"]}
        assert "can not be read" in found["bad"]["error"]
        assert "error" not in found["good"]
        assert found["good"]["quotas"][0]["nominal"] == "3"


@pytest.mark.parametrize("report", [b"{not json", b'{"pools":[7]}'])
async def test_a_report_that_can_not_be_read_hides_no_cluster(tmp_path, report):
    """The member is listed without room until its agent reports again."""
    async with served(tmp_path) as hub:
        for name in ("bad", "good"):
            assert (await hub.admin.post("/v1/clusters", json={"name": name})).status_code == 201
        await hub.db.write(lambda tx: clusters.set_capacity(tx, "bad", report))
        reply = await hub.admin.get("/v1/clusters")
        assert reply.status_code == 200, reply.text
        found = {each["name"]: each for each in reply.json()["items"]}
        assert found["bad"]["resources"] == {}
        assert set(found) == {"bad", "good"}
