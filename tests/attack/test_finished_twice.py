"""Jobs of the hub cluster that have ended, and that the store does not know (any more)."""

from pathlib import Path

import pytest

from hub.store import retention, works
from tests.bridge.defined import with_hub_kinds
from tests.bridge.guide import absent, apply_guide, condition, workload
from tests.bridge.hub_cluster import until, world
from tests.services.members.hubs import ran

pytestmark = pytest.mark.anyio

MORE = """
apiVersion: batch/v1
kind: Job
metadata:
  name: another
  namespace: compute-jobs
  labels: {kueue.x-k8s.io/queue-name: local-queue}
spec:
  suspend: true
  managedBy: roadstead.dev/hub
  template:
    spec: {restartPolicy: Never, containers: [{name: main, image: "busybox:1.36"}]}
"""


@pytest.mark.parametrize("result", ["Succeeded", "Failed"])
async def test_a_job_that_has_ended_is_not_begun_again_when_its_record_is_gone(
    tmp_path: Path, result: str
):
    """Its record is kept for the retention, the Job on the hub cluster for as long as its owner likes."""
    cluster = with_hub_kinds()
    await cluster.start()
    try:
        async with world(tmp_path, cluster) as it:
            await apply_guide(it)
            row = await until(lambda: workload(it, "mock-workload"))
            agent = await it.hub.join("north")
            await it.hub.place(row.uid, "north")
            await agent.sync()
            await agent.sync(ran(row.uid, result=result, succeeded=3))
            await until(lambda: condition(it, "Complete" if result == "Succeeded" else "Failed"))
            await it.hub.write(works.remove, [("north", row.uid)])
            await it.hub.write(retention.remove_jobs, [row.uid])
        async with world(tmp_path, cluster) as it:
            await it.apply(MORE)
            await until(lambda: workload(it, "another"))
            assert await it.hub.job(row.uid) is None
            assert await condition(it, "Complete" if result == "Succeeded" else "Failed")
            await it.delete("Job", "mock-workload", "compute-jobs")
            await until(lambda: absent(it, "Job", "mock-workload", "compute-jobs"))
    finally:
        await cluster.stop()
