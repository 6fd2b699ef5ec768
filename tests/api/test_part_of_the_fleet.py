"""Who sees part of the fleet reads logs, pods, changes and placements' records of that part, and no other."""

import asyncio

import httpx
import pytest

from hub.services.access import bindings, people
from hub.services.access.bindings import WantedBinding
from tests import waiting
from tests.api.people import a_user, bound
from tests.api.serving import Served, a_job, served
from tests.api.streaming import World, a_line, records, running_world

pytestmark = pytest.mark.anyio


async def a_reader(w: World, name: str, **binding: object) -> None:
    """A user with that one role, as one who asks."""
    made = await w.hub.hub.write(people.issue, "user", name, "test")
    given = WantedBinding(name, str(binding.pop("role", "viewer")), users=[name], **binding)  # type: ignore[arg-type]
    await w.hub.hub.write(bindings.bind, given, "test")
    w.http[name] = httpx.AsyncClient(
        transport=httpx.ASGITransport(w.app),
        base_url="http://hub",
        headers={"Authorization": f"Bearer {made['token']}"},
    )


async def test_logs_and_pods_are_for_who_may_see_the_job(tmp_path):
    """By namespace and by queue; for others it is as if there were no such job."""
    async with running_world(tmp_path) as w:
        await a_reader(w, "ana", namespaces=["team-a"])
        await a_reader(w, "bea", namespaces=["team-a"], queues=["all"])
        await a_reader(w, "eve", namespaces=["team-b"])
        await a_reader(w, "kim", namespaces=["team-a"], queues=["other"])
        for who in ("ana", "bea"):
            for what in ("logs", "pods"):
                reading = w.ask(what, who=who)
                asked = await w.question()
                await w.bring(asked, 1, end={"code": "Ended"})
                assert (await reading).status_code == 200, (who, what)
        for who in ("eve", "kim"):
            for what in ("logs", "pods"):
                found = await w.ask(what, who=who)
                absent = await w.http[who].get(f"/v1/jobs/{'0' * len(w.uid)}/{what}")
                assert found.status_code == absent.status_code == 404, (who, what)
                assert found.json()["detail"].replace(w.uid, "") == absent.json()[
                    "detail"
                ].replace("0" * len(w.uid), "")


@pytest.mark.parametrize("namespaces", [["team-b"], None])
async def test_a_reader_whose_role_goes_reads_no_further(tmp_path, namespaces):
    """Within 5 s of a role that is taken away, or given elsewhere."""
    async with running_world(tmp_path) as w:
        await a_reader(w, "ana", namespaces=["team-a"])
        reading = w.ask(who="ana", follow="true")
        asked = await w.question()
        await w.bring(asked, 1, lines=[a_line("one")])
        await waiting.turns(50)
        if namespaces is None:
            await w.hub.hub.write(bindings.unbind, "ana", "test")
        else:
            given = WantedBinding("ana", "viewer", users=["ana"], namespaces=namespaces)
            await w.hub.hub.write(bindings.bind, given, "test")
        w.hub.clock.advance(4)
        await waiting.eventually(reading.done)
        *lines, last = records(await reading)
        assert [each["line"] for each in lines] == ["one"]
        assert last["end"]["code"] == "Forbidden"


async def test_values_are_shown_to_who_may_change_the_job(tmp_path):
    """In the manifest and in logs: its owner's and its managers', nobody's who only looks."""
    async with running_world(tmp_path) as w:
        job = a_job("mine", queue="all")
        (container,) = job["spec"]["template"]["spec"]["containers"]
        container["env"] = [{"name": "PASSWORD", "value": "open sesame"}]
        await a_reader(w, "ana", role="submitter", namespaces=["team-a"])
        await a_reader(w, "bob", role="submitter", namespaces=["team-a"])
        await a_reader(w, "eve", namespaces=["team-a"])
        await a_reader(w, "olga", role="batch-administrator", namespaces=["team-a"])
        await a_reader(w, "anywhere", role="submitter")
        own = (await w.http["ana"].post("/v1/jobs", json=job)).json()["uid"]
        for who, shown in (
            ("ana", True), ("bob", False), ("eve", False), ("olga", True), ("anywhere", False),
            ("viewer", False), ("administrator", True),
        ):  # fmt: skip
            for path in (f"jobs/{own}", "namespaces/team-a/jobs/mine"):
                text = (await w.http[who].get(f"/v1/{path}")).text
                assert ("open sesame" in text) is shown, (who, path)
        for who, shown in (("bob", False), ("olga", True)):
            reading = w.ask(who=who)
            asked = await w.question()
            await w.bring(asked, 1, lines=[a_line("open sesame")], end={"code": "Ended"})
            assert (records(await reading)[0]["line"] == "open sesame") is shown, who


CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {}}


async def placed(hub: Served) -> None:
    """A ResourcePlacement and a StagedUpdateRun in each of two namespaces, and one for the fleet."""
    documents = []
    for namespace in ("team-a", "team-b"):
        spec = {
            "resourceSelectors": [
                {"group": "", "version": "v1", "kind": "ConfigMap", "name": f"c-{namespace}"}
            ]
        }
        documents += [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
            {**CONFIG, "metadata": {"name": f"c-{namespace}", "namespace": namespace}},
            {
                "apiVersion": "placement.kubernetes-fleet.io/v1",
                "kind": "ResourcePlacement",
                "metadata": {"name": f"p-{namespace}", "namespace": namespace},
                "spec": spec,
            },
            {
                "apiVersion": "placement.kubernetes-fleet.io/v1",
                "kind": "StagedUpdateRun",
                "metadata": {"name": f"r-{namespace}", "namespace": namespace},
                "spec": {"placementName": f"p-{namespace}", "stagedRolloutStrategyName": "s"},
            },
        ]
    reply = await hub.admin.post("/v1/apply", json=documents)
    assert reply.status_code == 200, reply.text


async def test_records_of_placements_are_cut_by_namespace(tmp_path):
    """Revisions, bindings, works and rollouts: of another namespace they look absent."""
    async with served(tmp_path) as hub:
        await placed(hub)
        ana = await a_user(hub, "ana")
        await bound(hub, "ana", "viewer", users=["ana"], namespaces=["team-a"])
        own = await ana.get("/v1/rollouts/team-a/r-team-a")
        assert own.status_code == 200, own.text
        listed = (await ana.get("/v1/rollouts")).json()["items"]
        assert [each["name"] for each in listed] == ["r-team-a"]
        assert (await ana.get("/v1/rollouts/r")).status_code == 403
        for way in ("rollouts/team-b/{}", "revisions?placement=team-b/{}", "works?placement=team-b/{}",
                    "bindings?placement=team-b/{}"):  # fmt: skip
            name = "r-team-b" if way.startswith("roll") else "p-team-b"
            found, absent = [await ana.get(f"/v1/{way.format(each)}") for each in (name, "x")]
            assert found.status_code == absent.status_code == 404, way
            assert found.json()["detail"].replace(name, "x") == absent.json()["detail"]
            kept = await hub.admin.get(f"/v1/{way.format(name)}")
            assert kept.status_code == 200, way
        for way in ("revisions", "works", "bindings"):
            assert (await ana.get(f"/v1/{way}?placement=team-a/p-team-a")).status_code == 200
            assert "team-b" not in (await ana.get(f"/v1/{way}")).text


async def test_changes_are_those_of_what_is_seen(tmp_path):
    """Keys of other namespaces and kinds are not told; a role that goes ends the stream."""
    async with served(tmp_path) as hub:
        ana = await a_user(hub, "ana")
        await bound(hub, "ana", "viewer", users=["ana"], namespaces=["team-a"])
        uids = {}
        for namespace in ("team-a", "team-b"):
            made = await hub.admin.post("/v1/jobs", json=a_job("j", namespace))
            uids[namespace] = made.json()["uid"]
        await placed(hub)
        following = asyncio.create_task(ana.get("/v1/changes?revision=0"))
        await waiting.eventually(lambda: sum(getattr(hub.app.state, "streams", {}).values()))
        await hub.admin.delete("/v1/access/bindings/ana")
        await waiting.eventually(following.done)
        text = (await following).text
        assert uids["team-a"] in text
        assert uids["team-b"] not in text
        kinds = {line.partition('"kind":"')[2].partition('"')[0] for line in text.splitlines()}
        assert kinds - {""} == {"workloads", "objects"}
        theirs = (
            await hub.admin.get("/v1/objects/placement.kubernetes-fleet.io/ResourcePlacement")
        ).json()
        named = [each["metadata"] for each in theirs["items"]]
        by_namespace = {each["namespace"]: each["uid"] for each in named}
        assert by_namespace["team-a"] in text
        assert by_namespace["team-b"] not in text


async def test_changes_follow_the_role_while_they_are_followed(tmp_path):
    """Who is bound elsewhere meanwhile is told of what is there, and no more of what was theirs."""
    async with served(tmp_path) as hub:
        ana = await a_user(hub, "ana")
        await bound(hub, "ana", "viewer", users=["ana"], namespaces=["team-a"])
        following = asyncio.create_task(ana.get("/v1/changes"))
        await waiting.eventually(lambda: sum(getattr(hub.app.state, "streams", {}).values()))
        await bound(hub, "ana", "viewer", users=["ana"], namespaces=["team-b"])
        await waiting.turns(50)
        there, here = [
            (await hub.admin.post("/v1/jobs", json=a_job("late", namespace))).json()["uid"]
            for namespace in ("team-a", "team-b")
        ]
        await hub.admin.post(f"/v1/jobs/{here}/hold")
        await waiting.turns(200)
        await hub.admin.delete("/v1/access/bindings/ana")
        await waiting.eventually(following.done)
        text = (await following).text
        assert there not in text
        assert here in text
