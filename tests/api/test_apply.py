"""`POST /v1/apply`: any kind, document by document."""

from pathlib import Path

import pytest

from tests.api.serving import a_job, served

pytestmark = pytest.mark.anyio

YAML = {"Content-Type": "application/yaml"}
EXAMPLES = Path(__file__).parents[2] / "examples"
FLAVOR = """
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: f}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: q}
spec:
  cohort: all
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: f, resources: [{name: cpu, nominalQuota: "8", borrowingLimit: "2"}]}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: lq, namespace: team-a}
spec: {clusterQueue: q}
"""


async def _results(hub, text):
    reply = await hub.admin.post("/v1/apply", content=text, headers=YAML)
    return reply.status_code, [item["result"] for item in reply.json()["items"]]


async def test_the_guide_is_taken_as_it_is(tmp_path):
    """All seven files; once more, nothing changes."""
    async with served(tmp_path) as hub:
        for expected in ("created", "unchanged"):
            for file in sorted((EXAMPLES / "guide").glob("*.yaml")):
                status, results = await _results(hub, file.read_text())
                assert (status, set(results)) == (200, {expected}), file.name


async def test_a_change_is_configured_as_a_new_generation(tmp_path):
    """Content raises the generation, labels do not."""
    async with served(tmp_path) as hub:
        await _results(hub, FLAVOR)
        path = "/v1/objects/kueue.x-k8s.io/ClusterQueue/q"
        status, results = await _results(hub, FLAVOR.replace('"8"', '"9"'))
        assert (status, results) == (200, ["unchanged", "configured", "unchanged"])
        assert (await hub.admin.get(path)).json()["metadata"]["generation"] == 2
        labelled = FLAVOR.replace('"8"', '"9"').replace("{name: q}", "{name: q, labels: {a: b}}")
        assert (await _results(hub, labelled))[1][1] == "configured"
        assert (await hub.admin.get(path)).json()["metadata"]["generation"] == 2


async def test_one_bad_document_stops_no_other(tmp_path):
    """207 where some are taken; a problem with the same items where none is."""
    bad = "apiVersion: kueue.x-k8s.io/v1beta1\nkind: LocalQueue\nmetadata: {name: UP}\nspec: {}\n"
    async with served(tmp_path) as hub:
        status, results = await _results(hub, f"{bad}---{FLAVOR}")
        assert (status, results) == (207, ["rejected", "created", "created", "created"])
        reply = await hub.admin.post("/v1/apply", content=bad, headers=YAML)
        assert (reply.status_code, reply.json()["code"]) == (422, "InvalidName")
        assert reply.json()["items"][0]["kind"] == "LocalQueue"


async def test_a_missing_queue_is_waited_for(tmp_path):
    """Through apply a Job may come before its queue; through submit it may not."""
    async with served(tmp_path) as hub:
        reply = await hub.admin.post("/v1/apply", json=a_job(queue="lq"))
        uid = reply.json()["items"][0]["uid"]
        job = (await hub.admin.get(f"/v1/jobs/{uid}")).json()
        assert (job["state"], job["reason"]) == ("Pending", "QueueNotFound")


async def test_a_namespace_is_made_where_it_is_missing(tmp_path):
    """By apply and by submit; it can be declared in full afterwards."""
    async with served(tmp_path) as hub:
        await _results(hub, FLAVOR)
        path = "/v1/objects/core/Namespace/team-a"
        assert (await hub.admin.get(path)).json()["origin"] == "any"
        text = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team-a, labels: {a: b}}\n"
        assert await _results(hub, text) == (200, ["configured"])


async def test_a_users_default_queue_replaces_the_hubs(tmp_path):
    """What the hub provides yields to a user's object of the same name."""
    async with served(tmp_path) as hub:
        await hub.admin.post("/v1/jobs", json=a_job())
        mine = FLAVOR.replace("{name: q}", "{name: default}").replace(
            "clusterQueue: q", "clusterQueue: default"
        )
        status, results = await _results(hub, mine)
        assert (status, set(results)) == (200, {"created"})
        found = (await hub.admin.get("/v1/objects/kueue.x-k8s.io/ClusterQueue/default")).json()
        assert (found["origin"], found["spec"]["cohortName"]) == ("rest", "all")
        gpu = a_job("g")
        container = gpu["spec"]["template"]["spec"]["containers"][0]
        container["resources"] = {"limits": {"nvidia.com/gpu": "1"}}
        assert (await hub.admin.post("/v1/jobs", json=gpu)).status_code == 201
        found = (await hub.admin.get("/v1/queues/default")).json()
        assert [quota["resource"] for quota in found["quotas"]] == ["cpu"]


async def test_the_default_queue_learns_new_resources(tmp_path):
    """Quota without limit for every resource that a job names."""
    async with served(tmp_path) as hub:
        await hub.admin.post("/v1/jobs", json=a_job())
        gpu = a_job("g")
        container = gpu["spec"]["template"]["spec"]["containers"][0]
        container["resources"] = {"limits": {"nvidia.com/gpu": "1"}}
        await hub.admin.post("/v1/jobs", json=gpu)
        queue = (await hub.admin.get("/v1/queues/default")).json()
        assert {q["resource"]: q["nominal"] for q in queue["quotas"]}["nvidia.com/gpu"] is None
        assert queue["pending"] == 2


async def test_queues_say_what_they_may_have(tmp_path):
    """Quota of a queue and of its cohort: nominal, used, available, and the most it could have."""
    async with served(tmp_path) as hub:
        await _results(hub, FLAVOR)
        queue = (await hub.admin.get("/v1/queues/q")).json()
        assert queue["localQueues"][0]["namespace"] == "team-a"
        assert (queue["quotas"][0]["nominal"], queue["quotas"][0]["used"]) == ("8", "0")
        assert queue["conditions"][0]["type"] == "Active"
        assert queue["conditions"][0]["status"] == "True"
        assert queue["notEnforced"] == []
        assert queue["quotas"][0]["available"] == "8"
        (cohort,) = (await hub.admin.get("/v1/queues")).json()["cohorts"]
        assert (cohort["name"], cohort["queues"]) == (queue["cohort"], ["q"])
        assert cohort["quotas"][0]["subtree"] == "8"


async def test_a_bare_workload_holds_nothing_and_says_so(tmp_path):
    """A Workload without owner and queue gets a condition."""
    async with served(tmp_path) as hub:
        text = (EXAMPLES / "gpu-intensive.yaml").read_text()
        assert (await _results(hub, text))[0] == 200
        path = "/v1/objects/kueue.x-k8s.io/Workload/namespaces/default/gpu-intensive-job"
        status = (await hub.admin.get(path)).json()["status"]
        assert status["conditions"][0]["reason"] == "QueueNotFound"
        assert "holds no quota" in status["conditions"][0]["message"]


async def test_a_job_may_change_in_what_is_mutable(tmp_path):
    """A new generation; the pod template may not change; the fields at fault are named."""
    async with served(tmp_path) as hub:
        first = await hub.admin.post("/v1/apply", json=a_job())
        uid = first.json()["items"][0]["uid"]
        again = await hub.admin.post("/v1/apply", json=a_job(parallelism=1, backoffLimit=4))
        assert again.json()["items"][0]["result"] == "configured"
        assert (await hub.admin.get(f"/v1/jobs/{uid}")).json()["generation"] == 2
        other = a_job(backoffLimit=4)
        other["spec"]["template"]["spec"]["containers"][0]["image"] = "other"
        refused = await hub.admin.post("/v1/apply", json=other)
        assert (refused.status_code, refused.json()["code"]) == (422, "Immutable")
        assert "spec.template" in refused.json()["errors"][0]["field"]


async def test_a_priority_class_gives_its_value(tmp_path):
    """WorkloadPriorityClass → priority; one that does not exist is refused on submit."""
    manifest = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "WorkloadPriorityClass",
        "metadata": {"name": "high"},
        "value": 1000,
    }
    async with served(tmp_path) as hub:
        await hub.admin.post("/v1/apply", json=manifest)
        job = a_job()
        job["metadata"]["labels"] = {"kueue.x-k8s.io/priority-class": "high"}
        uid = (await hub.admin.post("/v1/jobs", json=job)).json()["uid"]
        assert (await hub.admin.get(f"/v1/jobs/{uid}")).json()["priority"] == 1000
        job = a_job("b")
        job["metadata"]["labels"] = {"kueue.x-k8s.io/priority-class": "nope"}
        reply = await hub.admin.post("/v1/jobs", json=job)
        assert (reply.status_code, reply.json()["code"]) == (422, "PriorityClassNotFound")
        assert "nope does not exist; there are high" in reply.json()["detail"]
        asked = {"priorityClass": "nope"}
        reply = await hub.admin.post(f"/v1/jobs/{uid}/priority", json=asked)
        assert "nope does not exist; there are high" in reply.json()["detail"]


async def test_a_priority_class_that_is_missing_is_told_of(tmp_path):
    """Applied, such a job is taken, and its answer and an Event say that it has no priority."""
    async with served(tmp_path) as hub:
        job = a_job()
        job["metadata"]["labels"] = {"kueue.x-k8s.io/priority-class": "nope"}
        (item,) = (await hub.admin.post("/v1/apply", json=job)).json()["items"]
        assert item["result"] == "created"
        assert "WorkloadPriorityClass nope does not exist" in item["warnings"][0]
        events = (await hub.admin.get("/v1/events", params={"uid": item["uid"]})).json()["items"]
        assert [e["reason"] for e in events if e["type"] == "Warning"] == ["PriorityClassNotFound"]
        job["metadata"]["labels"] = {"kueue.x-k8s.io/priority-class": "other"}
        (item,) = (await hub.admin.post("/v1/apply", json=job)).json()["items"]
        assert (item["result"], "other" in item["warnings"][0]) == ("configured", True)


async def test_the_other_origin_may_not_touch(tmp_path):
    """An object of the hub cluster is not changed, and not deleted, through REST."""
    from hub.services.context.settings import Intake
    from hub.services.objects.apply import apply_documents
    from hub.services.reading.draft import draft
    from shared.kinds.registry import parse

    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "c", "namespace": "n"},
    }
    async with served(tmp_path) as hub:

        def mirror(tx):
            given = draft(parse(manifest), tx.now, origin="hub-cluster", uid="u-1")
            return apply_documents(tx, [given], Intake())[0].result

        assert await hub.db.write(mirror) == "created"
        reply = await hub.admin.post("/v1/apply", json=manifest)
        assert (reply.status_code, reply.json()["code"]) == (409, "OwnedElsewhere")
        path = "/v1/objects/core/ConfigMap/namespaces/n/c"
        refused = await hub.admin.delete(path)
        assert refused.status_code == 409
        for each in (reply, refused):
            assert each.json()["detail"].endswith("on the hub cluster, with kubectl")


async def test_objects_are_listed_and_deleted(tmp_path):
    """By kind, in pages; a namespace only when it is empty."""
    async with served(tmp_path) as hub:
        maps = [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": f"c{i}", "namespace": "n"},
            }
            for i in range(3)
        ]
        await hub.admin.post("/v1/apply", json=maps)
        page = (await hub.admin.get("/v1/objects/core/ConfigMap?limit=2")).json()
        names = [item["metadata"]["name"] for item in page["items"]]
        rest = f"/v1/objects/core/ConfigMap?limit=2&continue={page['continue']}"
        names += [i["metadata"]["name"] for i in (await hub.admin.get(rest)).json()["items"]]
        assert names == ["c0", "c1", "c2"]
        refused = await hub.admin.delete("/v1/objects/core/Namespace/n")
        assert (refused.status_code, refused.json()["code"]) == (409, "NamespaceNotEmpty")
        for name in names:
            path = f"/v1/objects/core/ConfigMap/namespaces/n/{name}"
            assert (await hub.admin.delete(path)).json()["result"] == "deleted"
        assert (await hub.admin.delete("/v1/objects/core/Namespace/n")).status_code == 200


OLD = {
    "Workload": (
        {
            "priority": 3,
            "priorityClassName": "high",
            "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass",
            "podSets": [
                {
                    "name": "main",
                    "count": 1,
                    "template": {
                        "spec": {
                            "restartPolicy": "Never",
                            "containers": [{"name": "c", "image": "x"}],
                        }
                    },
                }
            ],
        },
        ("priorityClassRef", "priorityClassName"),
    ),
    "AdmissionCheck": (
        {"controllerName": "example.com/c", "retryDelayMinutes": 15},
        ("controllerName", "retryDelayMinutes"),
    ),
    "MultiKueueCluster": (
        {"kubeConfig": {"location": "north", "locationType": "Secret"}},
        ("clusterSource", "kubeConfig"),
    ),
}


@pytest.mark.parametrize("kind", OLD)
async def test_other_kinds_of_v1beta1_are_served_in_v1beta2(tmp_path, kind):
    """Whatever differs between the versions is served under its new name alone."""
    spec, (new, old) = OLD[kind]
    metadata = {"name": "x", **({"namespace": "n"} if kind == "Workload" else {})}
    manifest = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
    }
    async with served(tmp_path) as hub:
        reply = await hub.admin.post("/v1/apply", json=manifest)
        assert reply.json()["items"][0]["result"] == "created", reply.text
        place = "namespaces/n/x" if kind == "Workload" else "x"
        found = (await hub.admin.get(f"/v1/objects/kueue.x-k8s.io/{kind}/{place}")).json()
        assert found["apiVersion"] == "kueue.x-k8s.io/v1beta2"
        assert (new in found["spec"], old in found["spec"]) == (True, False)
        again = await hub.admin.post("/v1/apply", json=manifest)
        assert again.json()["items"][0]["result"] == "unchanged"


async def test_what_was_written_in_v1beta1_is_served_in_v1beta2(tmp_path):
    """An object has one form: the names of the version that Kueue stores, defaults filled in."""
    old = {
        "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "metadata": {"name": "q"},
        "spec": {"cohort": "all", "namespaceSelector": {}},
    }  # fmt: skip
    async with served(tmp_path) as hub:
        reply = await hub.admin.post("/v1/apply", json=old)
        assert reply.json()["items"][0]["result"] == "created"
        found = (await hub.admin.get("/v1/objects/kueue.x-k8s.io/ClusterQueue/q")).json()
        assert found["apiVersion"] == "kueue.x-k8s.io/v1beta2"
        assert (found["spec"]["cohortName"], "cohort" in found["spec"]) == ("all", False)
        assert found["spec"]["queueingStrategy"] == "BestEffortFIFO"
        again = await hub.admin.post("/v1/apply", json=old)
        assert again.json()["items"][0]["result"] == "unchanged"
