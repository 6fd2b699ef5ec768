"""What the client makes of an API server's answers, good and bad."""

import asyncio

import pytest
from aiohttp import web

from shared.kube import errors
from shared.kube.client import KubeClient
from shared.kubesim.cluster import SimCluster
from tests.kube.stub import running, status

pytestmark = pytest.mark.anyio

MANAGER = "tester"


def a_config_map(name="one", **data):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": data or {"a": "1"},
    }


@pytest.fixture
async def kube(tmp_path):
    """A client of a simulated cluster."""
    cluster = SimCluster("member")
    await cluster.start()
    path = tmp_path / "kubeconfig"
    path.write_text(cluster.kubeconfig_text())
    async with await KubeClient.connect(path) as client:
        yield client
    await cluster.stop()


@pytest.fixture
async def stubbed(tmp_path):
    async with (
        running(tmp_path) as (stub, kubeconfig),
        await KubeClient.connect(kubeconfig) as client,
    ):
        yield stub, client


async def test_an_object_is_written_read_and_deleted(kube):
    """Create, get, merge patch, replace and delete do what their verbs say."""
    made = await kube.create(a_config_map(), field_manager=MANAGER)
    patch = {"data": {"b": "2"}}
    await kube.merge_patch("v1", "ConfigMap", "default", "one", patch, field_manager=MANAGER)
    live = await kube.get("v1", "ConfigMap", "default", "one")
    assert live["data"] == {"a": "1", "b": "2"}
    await kube.replace({**live, "data": {"c": "3"}}, field_manager=MANAGER)
    await kube.delete("v1", "ConfigMap", "default", "one", uid=made["metadata"]["uid"])
    with pytest.raises(errors.NotFound):
        await kube.get("v1", "ConfigMap", "default", "one")


async def test_a_name_that_is_taken_is_already_exists(kube):
    """409 AlreadyExists is told apart from a conflict."""
    await kube.create(a_config_map(), field_manager=MANAGER)
    with pytest.raises(errors.AlreadyExists):
        await kube.create(a_config_map(), field_manager=MANAGER)


async def test_a_missing_namespace_is_told_apart_from_a_missing_object(kube):
    """NotFound says whether it is the namespace that is missing."""
    lost = a_config_map()
    lost["metadata"]["namespace"] = "nowhere"
    with pytest.raises(errors.NotFound) as caught:
        await kube.create(lost, field_manager=MANAGER)
    assert caught.value.of_namespace
    with pytest.raises(errors.NotFound) as caught:
        await kube.get("v1", "ConfigMap", "default", "nothing")
    assert not caught.value.of_namespace


async def test_another_uid_is_a_conflict(kube):
    """Preconditions hold for deletions and for patches."""
    await kube.create(a_config_map(), field_manager=MANAGER)
    with pytest.raises(errors.Conflict):
        await kube.delete("v1", "ConfigMap", "default", "one", uid="other")
    patch = {"metadata": {"uid": "other"}, "data": {"b": "2"}}
    with pytest.raises(errors.Conflict):
        await kube.merge_patch("v1", "ConfigMap", "default", "one", patch, field_manager=MANAGER)


async def test_an_apply_conflict_names_managers_and_fields(kube):
    """Unforced, a field of another manager is refused with its owner; forced, it is taken."""
    await kube.apply(a_config_map(a="1"), field_manager="first", force=False)
    with pytest.raises(errors.Conflict) as caught:
        await kube.apply(a_config_map(a="2"), field_manager="second", force=False)
    assert [(f.manager, f.field) for f in caught.value.owned] == [("first", ".data.a")]
    dry = await kube.apply(a_config_map(a="2"), field_manager="second", force=True, dry_run=True)
    assert dry["data"] == {"a": "2"}
    assert (await kube.get("v1", "ConfigMap", "default", "one"))["data"] == {"a": "1"}
    await kube.apply(a_config_map(a="2"), field_manager="second", force=True)
    assert (await kube.get("v1", "ConfigMap", "default", "one"))["data"] == {"a": "2"}


async def test_an_invalid_object_names_its_fields(kube):
    """422 is Invalid and carries the causes."""
    bad = a_config_map()
    bad["metadata"]["name"] = "No Such Name"
    with pytest.raises(errors.Invalid) as caught:
        await kube.create(bad, field_manager=MANAGER)
    assert caught.value.details["causes"][0]["field"] == "metadata.name"


async def test_what_is_served_is_known(kube):
    """Discovery gives path, scope, verbs and status of every kind; others are KindNotServed."""
    served = await kube.server_resources()
    jobs = served[("batch/v1", "Job")]
    assert (jobs.plural, jobs.namespaced, jobs.has_status) == ("jobs", True, True)
    assert "watch" in jobs.verbs
    assert "v1/Pod" in served.names()
    with pytest.raises(errors.KindNotServed):
        await kube.get("example.org/v1", "Thing", "default", "one")


async def test_a_list_is_complete_and_filtered(kube):
    """Pages are joined; selectors work; items carry their type."""
    for number in range(7):
        one = a_config_map(f"m{number}")
        one["metadata"]["labels"] = {"even": str(number % 2 == 0)}
        await kube.create(one, field_manager=MANAGER)
    listing = await kube.list("v1", "ConfigMap", "default", "even=True", page=2)
    assert [item["metadata"]["name"] for item in listing.items] == ["m0", "m2", "m4", "m6"]
    assert {item["kind"] for item in listing.items} == {"ConfigMap"}


async def test_a_watch_tells_changes_after_a_version(kube):
    """Events come in order from the version given."""
    listing = await kube.list("v1", "ConfigMap", "default")
    await kube.create(a_config_map("x"), field_manager=MANAGER)
    await kube.delete("v1", "ConfigMap", "default", "x")
    seen = []
    async with asyncio.timeout(10):
        async for event in kube.watch(
            "v1", "ConfigMap", namespace="default", resource_version=listing.resource_version
        ):
            if event.type != "BOOKMARK":
                seen.append((event.type, event.object["metadata"]["name"]))
            if len(seen) == 2:
                break
    assert seen == [("ADDED", "x"), ("DELETED", "x")]


async def test_a_version_that_is_too_old_is_gone(stubbed):
    """410 on a watch is Gone: the caller lists again."""
    stub, client = stubbed
    stub.put("a")
    stub.compact()
    with pytest.raises(errors.Gone):
        async for _ in client.watch("v1", "ConfigMap", resource_version="1"):
            pass


async def test_throttling_is_waited_out(stubbed):
    """A 429 is tried again as the server advises."""
    stub, client = stubbed
    stub.put("a")
    await client.endpoint("v1", "ConfigMap")
    stub.faults = [
        lambda request: status(429, "TooManyRequests", headers={"Retry-After": "0"})
    ] * 2
    found = await client.get("v1", "ConfigMap", "team", "a")
    assert found["metadata"]["name"] == "a"


@pytest.mark.parametrize("code", [500, 502, 503, 504])
async def test_a_failing_server_is_unavailable(stubbed, code):
    """5xx says nothing about whether a write took place."""
    stub, client = stubbed
    await client.endpoint("v1", "ConfigMap")
    stub.faults = [lambda request: status(code, "Whatever")]
    with pytest.raises(errors.Unavailable):
        await client.get("v1", "ConfigMap", "team", "a")


async def test_a_body_that_can_not_be_typed_is_invalid(stubbed):
    """An apply of `replicas: "2"`: the server says 500, and refuses before it writes anything."""
    text = "failed to create typed patch object (team/a; apps/v1, Kind=Deployment): .spec.replicas: ..."
    with pytest.raises(errors.Invalid, match="typed patch object"):
        raise errors.from_status(500, {"message": text})
    assert isinstance(errors.from_status(500, {"message": "etcd is down"}), errors.Unavailable)


async def test_an_answer_that_is_no_json_is_unavailable(stubbed):
    """A proxy's page in place of the server's answer: whether a write took place is unknown."""
    stub, client = stubbed
    await client.endpoint("v1", "ConfigMap")
    stub.faults.append(lambda _: web.Response(text="<html>welcome</html>"))
    with pytest.raises(errors.Unavailable, match="no JSON"):
        await client.create(a_config_map(), field_manager=MANAGER)


async def test_an_unreachable_server_is_unavailable(tmp_path):
    """No connection is Unavailable with status 0."""
    async with running(tmp_path) as (_, kubeconfig):
        pass
    async with await KubeClient.connect(kubeconfig) as client:
        with pytest.raises(errors.Unavailable) as caught:
            await client.get("v1", "ConfigMap", "team", "a")
        assert caught.value.status == 0


@pytest.mark.parametrize(
    ("code", "error"), [(401, errors.Unauthorized), (403, errors.Forbidden), (400, errors.Invalid)]
)
async def test_refusals_are_told_apart(stubbed, code, error):
    """Each status has its exception, with the server's words."""
    stub, client = stubbed
    await client.endpoint("v1", "ConfigMap")
    stub.faults = [lambda request: status(code, "Reason", "the server's words")]
    with pytest.raises(error, match="the server's words"):
        await client.get("v1", "ConfigMap", "team", "a")


async def test_a_list_whose_pages_never_end_is_unavailable(stubbed):
    """A server that names the page it has given as the next would keep the list going for ever."""
    stub, client = stubbed
    await client.endpoint("v1", "ConfigMap")

    def same_page(_request):
        metadata = {"resourceVersion": "1", "continue": "again"}
        return web.json_response({"metadata": metadata, "items": []})

    stub.faults = [same_page] * 3
    with pytest.raises(errors.Unavailable, match="does not end"):
        await client.list("v1", "ConfigMap")
    assert len(stub.faults) == 1
