"""Bad inputs 55 to 67 where REST or apply is the door: placements, their selectors, and members."""

import pytest

from hub.store import clusters
from tests.api.serving import a_job, served

pytestmark = pytest.mark.anyio


def a_placement(**policy):
    return {
        "apiVersion": "placement.kubernetes-fleet.io/v1",
        "kind": "ClusterResourcePlacement",
        "metadata": {"name": "p"},
        "spec": {
            "resourceSelectors": [
                {"group": "", "version": "v1", "kind": "Namespace", "name": "x"}
            ],
            "policy": policy,
        },
    }


def selecting(selector):
    inner = {"clusterSelectorTerms": [{"labelSelector": selector}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": inner}
    return a_placement(placementType="PickAll", affinity={"clusterAffinity": required})


def expression(operator, values):
    return selecting(
        {"matchExpressions": [{"key": "region", "operator": operator, "values": values}]}
    )


def both_named_and_selected():
    placement = selecting({"matchLabels": {"region": "a"}})
    placement["spec"]["policy"] |= {"placementType": "PickFixed", "clusterNames": ["c1"]}
    return placement


def annotated(**annotations):
    job = a_job()
    job["metadata"]["annotations"] = {
        f"roadstead.dev/{name.replace('_', '-')}": text for name, text in annotations.items()
    }
    return job


def spread(skew):
    return [{"topologyKey": "region", "maxSkew": skew}]


BAD = {
    "56 In without values": (expression("In", []), "InvalidSelector"),
    "56 Exists with values": (expression("Exists", ["a"]), "InvalidSelector"),
    "56 no operator": (expression("Near", ["a"]), "UnsupportedValue"),
    "57 terms": (
        selecting({"matchExpressions": [{"key": "a", "operator": "Exists"}] * 10_000}),
        "TooManyTerms",
    ),
    "57 value": (expression("In", [".*" * 400_000]), "InvalidLabel"),
    "58 skew": (
        a_placement(
            placementType="PickN", numberOfClusters=1, topologySpreadConstraints=spread(0)
        ),
        "OutOfRange",
    ),
    "58 negative": (a_placement(placementType="PickN", numberOfClusters=-1), "OutOfRange"),
    "58 huge": (a_placement(placementType="PickN", numberOfClusters=10**9), "OutOfRange"),
    "59 names and a selector": (both_named_and_selected(), "InvalidCombination"),
    "61 at once": (annotated(on_cluster_loss="RescheduleAfter(0s)"), "InvalidAnnotation"),
    "61 negative": (annotated(on_cluster_loss="RescheduleAfter(-5m)"), "InvalidAnnotation"),
    "61 years": (annotated(on_cluster_loss="RescheduleAfter(99999h)"), "InvalidAnnotation"),
    "61 soon": (annotated(on_cluster_loss="RescheduleAfter(soon)"), "InvalidAnnotation"),
    "62 effect": (
        a_placement(
            placementType="PickAll",
            tolerations=[{"key": "k", "operator": "Exists", "effect": "Sometimes"}],
        ),
        "UnsupportedValue",
    ),
    "65 version": (
        {
            **a_placement(placementType="PickAll"),
            "metadata": {"name": "p", "resourceVersion": "1"},
        },
        "ForbiddenField",
    ),
    "66 uid": (
        {**a_placement(placementType="PickAll"), "metadata": {"name": "p", "uid": "x"}},
        "ForbiddenField",
    ),
}


@pytest.mark.parametrize(("manifest", "code"), BAD.values(), ids=BAD)
async def test_a_bad_placement_is_refused(tmp_path, manifest, code):
    """422 by its field, and nothing is stored. A resourceVersion is no condition here: it is refused."""
    async with served(tmp_path) as hub:
        reply = await hub.admin.post("/v1/apply", json=manifest)
        assert (reply.status_code, reply.json()["code"]) == (422, code)
        assert reply.json()["errors"][0]["field"].startswith("[0].")
        assert (await hub.admin.get("/v1/placements")).json()["items"] == []
        assert (await hub.admin.get("/v1/jobs")).json()["items"] == []


@pytest.mark.parametrize(
    "annotations",
    [
        {"cluster_selector": "region=nowhere"},
        {"clusters": "absent"},
        {"clusters": "c1", "cluster_selector": "region=not-the-region-of-c1"},
    ],
)
async def test_a_job_that_no_member_suits_now_is_taken(tmp_path, annotations):
    """Rows 55, 59 and 60: members and their labels come and go, so such a job waits and says why."""
    async with served(tmp_path) as hub:
        reply = await hub.admin.post("/v1/jobs", json=annotated(**annotations))
        assert (reply.status_code, reply.json()["state"]) == (201, "Pending")


async def test_a_member_that_still_syncs_is_not_written_off(tmp_path):
    """Row 67: 409 ClusterAlive, name typed or not, unless it is said besides that this is known."""
    async with served(tmp_path) as hub:
        await hub.admin.post("/v1/clusters", json={"name": "prod"})
        await hub.db.write(
            lambda unit: clusters.change(unit, "prod", joined_at=unit.now, heartbeat_at=unit.now)
        )
        path = "/v1/clusters/prod/fence"
        for body in ({}, {"confirm": "prod"}):
            reply = await hub.admin.post(path, json=body)
            assert (reply.status_code, reply.json()["code"]) == (409, "ClusterAlive")
        both = {"confirm": "prod", "thoughItAnswers": True}
        assert (await hub.admin.post(path, json=both)).status_code == 200


@pytest.mark.parametrize(
    ("declared", "status", "code"),
    [
        ({"name": "prod"}, 409, "AlreadyExists"),
        ({"name": "Prod"}, 422, "InvalidName"),
        ({"name": "new", "labels": {"roadstead.dev/region": "x"}}, 422, "ReservedLabel"),
    ],
)
async def test_a_bad_member_is_refused(tmp_path, declared, status, code):
    """Rows 63 and 64: a name that is taken, one in capitals, a label of the hub's own."""
    async with served(tmp_path) as hub:
        assert (await hub.admin.post("/v1/clusters", json={"name": "prod"})).status_code == 201
        reply = await hub.admin.post("/v1/clusters", json=declared)
        assert (reply.status_code, reply.json()["code"]) == (status, code)
