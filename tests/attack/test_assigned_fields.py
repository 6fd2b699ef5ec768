"""What only the hub or a cluster sets can be given by nobody: 60 fields, each refused or without effect."""

import pytest

from tests.api.serving import a_job, served

pytestmark = pytest.mark.anyio
_STATUS = {"succeeded": 1, "conditions": [{"type": "Complete", "status": "True"}]}
# Beside the manifest: of the hub's own rows and answers.
ROWS = [
    *("uid", "state", "epoch", "generation", "cluster", "origin", "reason", "message", "live"),
    *("clusterQueue", "admission", "placement", "scores", "nomination", "checks", "createdAt"),
    *("queuedAt", "placedAt", "startedAt", "finishedAt", "submittedBy", "owner", "principal"),
]
SPEC = [
    *("uid", "state", "epoch", "cluster", "clusterName", "clusters", "placement", "priority"),
    *("priorityClass", "queue", "queueName", "admission", "nodeName", "owner"),
]
METADATA = {
    "uid": "00000000-0000-4000-8000-000000000001",
    "resourceVersion": "7",
    "generation": 9,
    "creationTimestamp": "2001-01-01T00:00:00Z",
    "deletionTimestamp": "2001-01-01T00:00:00Z",
    "selfLink": "/x",
    "managedFields": [{"manager": "x", "operation": "Apply"}],
    "finalizers": ["roadstead.dev/hub"],
    "ownerReferences": [
        {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}
    ],
}
KEYS = [
    *("managed-by", "job-uid", "epoch", "generation", "incarnation", "spec-hash", "placed-by"),
    *("not-started", "mark", "submitted-by", "pool", "anything"),
]
FIELDS = [
    *(pytest.param({name: "x"}, {}, id=f"row {name}") for name in ROWS),
    pytest.param({"status": _STATUS}, {}, id="status"),
    *(pytest.param({}, {"spec": {name: "x"}}, id=f"spec {name}") for name in SPEC),
    *(pytest.param({}, {"metadata": {k: v}}, id=f"metadata {k}") for k, v in METADATA.items()),
    *(
        pytest.param({}, {"metadata": {part: {f"roadstead.dev/{key}": "x"}}}, id=f"{part} {key}")
        for key in KEYS
        for part in ("labels", "annotations")
    ),
]
# What a job is once it was taken, whatever else was said.
ITS_OWN = ("state", "epoch", "cluster", "generation", "createdAt", "priority", "clusterQueue")


def test_there_are_sixty_and_more():
    """Each is tried by itself."""
    assert len(FIELDS) >= 60


@pytest.mark.parametrize(("beside", "within"), FIELDS)
async def test_it_is_refused_or_changes_nothing(tmp_path, beside, within):
    """422, or a job that is in everything as one to which nothing was added."""
    async with served(tmp_path) as hub:
        plain = await hub.admin.post("/v1/jobs", json=a_job("plain"))
        job = {**a_job("given"), **beside}
        for part, more in within.items():
            job[part] = {**job[part], **more}
        reply = await hub.admin.post("/v1/jobs", json=job)
        if reply.status_code == 422:
            return
        assert reply.status_code == 201, reply.text
        mine = (await hub.admin.get(f"/v1/jobs/{reply.json()['uid']}")).json()
        other = (await hub.admin.get(f"/v1/jobs/{plain.json()['uid']}")).json()
        assert {name: mine.get(name) for name in ITS_OWN} == {
            name: other.get(name) for name in ITS_OWN
        }
        assert mine["uid"] not in {"x", METADATA["uid"]}
        marks = mine.get("manifest", {}).get("metadata", {})
        kept = {**marks.get("labels", {}), **marks.get("annotations", {})}
        assert not [key for key in kept if key.startswith("roadstead.dev/")]
