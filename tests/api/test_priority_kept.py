"""An administrator's number as priority is for the pods that it was given for."""

from typing import Any

import orjson
import pytest

from tests.api.people import a_user, bound
from tests.api.serving import served
from tests.services.build import a_workload, in_cohort

pytestmark = pytest.mark.anyio
MERGE = {"content-type": "application/merge-patch+json"}
BIG = 2_000_000_000


def with_pod(manifest: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of the Workload, with a field in its pods or in their container."""
    copied: dict[str, Any] = orjson.loads(orjson.dumps(manifest))
    pod = copied["spec"]["podSets"][0]["template"]["spec"]
    (pod["containers"][0] if path == "image" else pod)[path] = value
    return copied


@pytest.mark.parametrize("door", ["patch", "apply"])
@pytest.mark.parametrize("where", ["spec", "pods"])
async def test_an_administrators_number_does_not_stay_with_other_pods(tmp_path, door, where):
    """The owner of a pending Workload changes its pods: the number was given for those that it had."""
    async with served(tmp_path) as hub:
        for each in in_cohort("a", "4"):
            assert (await hub.admin.post("/v1/apply", json=each)).status_code == 200
        await bound(hub, "sue", "submitter", users=["sue"], namespaces=["team-a"])
        submitter = await a_user(hub, "sue")

        async def applied(client: Any, manifest: Any) -> dict[str, Any]:
            return (await client.post("/v1/apply", json=manifest)).json()["items"][0]

        given = a_workload("w", active=False)
        assert (await submitter.post("/v1/workloads", json=given)).status_code == 201
        if where == "spec":
            given["spec"]["priority"] = BIG
        else:
            given = with_pod(given, "priority", 7)
        assert (await applied(hub.admin, given))["result"] == "configured"
        again = {**given, "spec": {**given["spec"], "maximumExecutionTimeSeconds": 60}}
        assert (await applied(submitter, again))["result"] == "configured"
        changed = with_pod(again, "image", "registry.test/other")
        if door == "apply":
            told = await applied(submitter, changed)
        else:
            content = orjson.dumps({"spec": {"podSets": changed["spec"]["podSets"]}})
            path = "/v1/workloads/team-a/w"
            told = (await submitter.patch(path, content=content, headers=MERGE)).json()
        assert told["code"] == "PriorityNotAllowed", told
        assert (await applied(hub.admin, changed))["result"] == "configured"
