"""What is applied, cordoned or deleted a second time, and what stays of it; places in long bodies."""

from typing import Any

import orjson
import pytest

from hub.api.apply import MOST_ERRORS, PART
from hub.api.batch import CHUNK
from hub.services.explain.never_fits import MOST_LOOKED_AT
from hub.services.index.index import ScheduleIndex
from hub.store import objects
from tests.api.serving import Served, a_job, served
from tests.domain.build import a_cluster, a_pool
from tests.services.build import in_cohort

pytestmark = pytest.mark.anyio
CHECK = {
    "apiVersion": "kueue.x-k8s.io/v1beta2",
    "kind": "AdmissionCheck",
    "metadata": {"name": "budget"},
    "spec": {"controllerName": "example.com/budget"},
}


def a_map(name: str, **metadata: Any) -> dict[str, Any]:
    named = {"name": name, "namespace": "team-a", **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named, "data": {"a": "b"}}


async def apply(hub: Served, *documents: dict[str, Any]) -> list[dict[str, Any]]:
    reply = await hub.admin.post("/v1/apply", json=list(documents))
    return list(reply.json()["items"])


async def audited(hub: Served) -> list[tuple[str, str]]:
    items = (await hub.admin.get("/v1/audit")).json()["items"]
    return [(each["verb"], each["outcome"]) for each in reversed(items)]


async def test_only_what_changed_is_written_down(tmp_path):
    """Who created and who configured is in the audit; the same again, and what is refused, is not."""
    async with served(tmp_path) as hub:
        wrong = a_map("UP")
        await apply(hub, a_map("m"), wrong)
        await apply(hub, a_map("m"))
        await apply(hub, a_map("m", labels={"x": "y"}))
        assert await audited(hub) == [("apply", "created"), ("apply", "configured")]


async def test_a_label_changes_an_object_and_none_of_its_conditions(tmp_path):
    """Its generation stays, and what its controller has said of it stands as it was."""
    async with served(tmp_path) as hub:
        await apply(hub, CHECK)
        path = "/v1/objects/kueue.x-k8s.io/AdmissionCheck/budget"
        said = {"type": "Active", "status": "True", "reason": "Serves", "message": "hello"}
        await hub.admin.put(f"{path}/status", json={"conditions": [said]})
        before = (await hub.admin.get(path)).json()
        hub.clock.advance(60)
        labelled = {**CHECK, "metadata": {"name": "budget", "labels": {"a": "b"}}}
        (item,) = await apply(hub, labelled)
        after = (await hub.admin.get(path)).json()
        assert item["result"] == "configured"
        assert after["metadata"]["labels"] == {"a": "b"}
        assert after["metadata"]["generation"] == before["metadata"]["generation"] == 1
        assert after["status"]["conditions"] == before["status"]["conditions"]


async def test_a_field_that_changes_nothing_is_told_beside_what_others_said(tmp_path):
    """The hub's own condition comes and goes; its controller's stays."""
    async with served(tmp_path) as hub:
        (queue,) = [each for each in in_cohort("a", "4") if each["kind"] == "ClusterQueue"]
        await apply(hub, *in_cohort("a", "4"))
        path = "/v1/objects/kueue.x-k8s.io/ClusterQueue/a"

        async def types() -> set[str]:
            found = (await hub.admin.get(path)).json()["status"]["conditions"]
            return {each["type"] for each in found}

        before = await types()
        assert "Active" in before
        odd = {**queue, "spec": {**queue["spec"], "flavorFungibility": {"preference": "x"}}}
        await apply(hub, odd)
        assert before <= await types()
        await apply(hub, queue)
        assert await types() == before


async def test_a_member_that_is_cordoned_again_is_told_once(tmp_path):
    """One event and one line of the audit for each change; the answer is the same."""
    async with served(tmp_path) as hub:
        await hub.admin.post("/v1/clusters", json={"name": "c9"})
        before = len(await audited(hub))
        for verb in ("uncordon", "cordon", "cordon", "uncordon", "uncordon"):
            reply = await hub.admin.post(f"/v1/clusters/c9/{verb}")
            assert reply.json()["cordoned"] is (verb == "cordon")
        assert [verb for verb, _ in (await audited(hub))[before:]] == ["cordon", "uncordon"]
        events = (await hub.admin.get("/v1/events?kind=MemberCluster&name=c9")).json()["items"]
        told = [each["reason"] for each in events if "ordoned" in each["reason"]]
        assert told == ["Cordoned", "Uncordoned"]


async def test_a_member_follows_its_object(tmp_path):
    """Labels, taints and pools that are applied anew are its own at once, those taken out are gone."""
    async with served(tmp_path) as hub:
        taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
        member: dict[str, Any] = {
            "apiVersion": "cluster.kubernetes-fleet.io/v1beta1",
            "kind": "MemberCluster",
            "metadata": {"name": "c9", "labels": {"tier": "one"}},
            "spec": {"taints": [taint]},
        }
        (item,) = await apply(hub, member)
        assert item["result"] == "created"
        shown = (await hub.admin.get("/v1/clusters/c9")).json()
        assert (shown["labels"], shown["taints"]) == ({"tier": "one"}, [taint])
        member["metadata"]["labels"] = {"tier": "two"}
        member["spec"] = {"taints": []}
        (item,) = await apply(hub, member)
        assert item["result"] == "configured"
        shown = (await hub.admin.get("/v1/clusters/c9")).json()
        assert (shown["labels"], shown["taints"]) == ({"tier": "two"}, [])


async def test_a_placement_is_being_deleted_since_it_was_first_asked_for(tmp_path):
    """Deleting it again while what it placed goes does not move that time."""
    placement = {
        "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
        "kind": "ClusterResourcePlacement",
        "metadata": {"name": "p"},
        "spec": {"resourceSelectors": [{"group": "", "kind": "Namespace", "version": "v1", "name": "x"}]},
    }  # fmt: skip
    async with served(tmp_path) as hub:
        await apply(hub, placement)
        times = []
        for _ in range(2):
            path = "/v1/objects/placement.kubernetes-fleet.io/ClusterResourcePlacement/p"
            assert (await hub.admin.delete(path)).json()["result"] == "deleting"
            hub.clock.advance(60)
            times.append((await hub.admin.get("/v1/placements/p")).json()["deletedAt"])
        assert times[0] == times[1]
        assert times[0] is not None
        (item,) = await apply(hub, placement)
        assert item["code"] == "BeingDeleted"


async def test_a_namespace_is_empty_where_only_the_hubs_own_is_in_it(tmp_path):
    """One object of somebody's keeps it, beside the queue that the hub provides; without that it goes."""
    async with served(tmp_path) as hub:
        await hub.admin.post("/v1/jobs", json=a_job())
        (job,) = (await hub.admin.get("/v1/jobs")).json()["items"]
        await hub.admin.delete(f"/v1/jobs/{job['uid']}")
        await apply(hub, a_map("zzz"))
        path = "/v1/objects/core/Namespace/team-a"
        kinds = await hub.hub.read(lambda tx: objects.list_namespace(tx, "team-a", 9))
        assert sorted(row.origin for row in kinds) == ["hub", "rest"]
        assert (await hub.admin.delete(path)).json()["code"] == "NamespaceNotEmpty"
        await hub.admin.delete("/v1/objects/core/ConfigMap/namespaces/team-a/zzz")
        assert (await hub.admin.delete(path)).json()["result"] == "deleted"


async def test_the_problem_is_the_first_refusal_and_its_faults_are_those_of_all(tmp_path):
    """Where every document is refused, code and detail are of the first."""
    async with served(tmp_path) as hub:
        bad = [{"kind": "Job"}, a_map("UP"), {"apiVersion": "v1", "kind": "ConfigMap"}]
        told = (await hub.admin.post("/v1/apply", json=bad)).json()
        assert (told["code"], told["items"][0]["code"]) == ("Required", "Required")
        assert told["detail"] == told["items"][0]["detail"]
        assert {each["field"].split(".")[0] for each in told["errors"]} == {"[0]", "[1]", "[2]"}


@pytest.mark.parametrize("faults", [MOST_ERRORS - 1, MOST_ERRORS, MOST_ERRORS + 1])
async def test_a_thousand_faults_are_told(tmp_path, faults):
    """Of all documents together; once they are told, of the next only code and detail are."""
    async with served(tmp_path) as hub:
        each = 50
        counts = [each] * (faults // each) + [faults % each] * bool(faults % each)
        bad = [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
            | {f"f{number}": 1 for number in range(count)}
            for count in counts
        ]
        told = (await hub.admin.post("/v1/apply", json=[*bad, a_map("UP")])).json()
        *errors, last = [len(item["errors"]) for item in told["items"]]
        assert sum(errors) == min(faults, MOST_ERRORS)
        assert bool(last) is (faults < MOST_ERRORS)
        assert len(told["errors"]) == MOST_ERRORS
        assert all(item["detail"] for item in told["items"])


def leads(hub: Served) -> None:
    """This hub decides, on a member with a node of 8 cpus."""
    index = ScheduleIndex(None, 45.0)
    index.members.put(a_cluster(a_pool(nodes=1, cpu=8, memory="32Gi"), name="north"))
    index.members.refresh(lambda _best, _left: None)
    hub.app.state.schedule_index = lambda: index


def too_large(name: str, cpu: int = 99) -> dict[str, Any]:
    job = a_job(name)
    (container,) = job["spec"]["template"]["spec"]["containers"]
    container["resources"]["requests"]["cpu"] = str(cpu)
    return job


async def test_a_warning_has_the_place_of_its_job_in_the_whole_body(tmp_path):
    """Whichever part of the batch, or of the documents, the job came in."""
    async with served(tmp_path) as hub:
        leads(hub)
        jobs = [a_job(f"j{number}") for number in range(CHUNK + 2)]
        for place in (CHUNK - 1, CHUNK, CHUNK + 1):
            jobs[place] = too_large(f"j{place}")
        lines = b"\n".join(orjson.dumps(job) for job in jobs)
        headers = {"Content-Type": "application/x-ndjson"}
        told = (await hub.admin.post("/v1/jobs:batch", content=lines, headers=headers)).json()
        assert [w["index"] for w in told["warnings"]] == [CHUNK - 1, CHUNK, CHUNK + 1]
        documents = [a_map(f"m{number}") for number in range(PART + 1)]
        documents[PART - 1], documents[PART] = too_large("before"), too_large("after")
        items = await apply(hub, *documents)
        assert [i["index"] for i in items if "warnings" in i] == [PART - 1, PART]


async def test_twenty_distinct_jobs_of_one_request_are_looked_at(tmp_path):
    """What is looked at already costs nothing: equal jobs, and those of an earlier request, are told all."""
    async with served(tmp_path) as hub:
        leads(hub)
        jobs = [too_large(f"j{n}", 100 + n) for n in range(MOST_LOOKED_AT + 1)]
        jobs.append(too_large("again", 100))
        told = (await hub.admin.post("/v1/jobs:batch", json=jobs)).json()
        assert [w["index"] for w in told["warnings"]] == [*range(MOST_LOOKED_AT), len(jobs) - 1]
        last = [too_large(f"k{n}", 100 + n) for n in range(MOST_LOOKED_AT + 1)]
        told = (await hub.admin.post("/v1/jobs:batch", json=last)).json()
        assert len(told["warnings"]) == MOST_LOOKED_AT + 1


@pytest.mark.parametrize(("second", "status"), [("j1", 422), ("j0", 200)])
async def test_a_key_of_a_batch_stands_for_its_jobs(tmp_path, second, status):
    """Another named job under the same key is another body."""
    async with served(tmp_path) as hub:
        headers = {"Idempotency-Key": "k"}
        for name, expected in (("j0", 200), (second, status)):
            reply = await hub.admin.post("/v1/jobs:batch", json=[a_job(name)], headers=headers)
            assert reply.status_code == expected
