"""Lists: pages, selectors, consistent moments."""

import pytest

from tests.kubesim.server.build import a_config_map


@pytest.fixture
def three(kube):
    for name, tier in (("a", "web"), ("b", "web"), ("c", "db")):
        kube.create("configmaps", a_config_map(name, labels={"tier": tier, name: "yes"}))
    return kube


MINE = "tier"


def test_a_list_is_ordered_by_name(three):
    """Items come by namespace and name, whatever order they were made in."""
    three.create("configmaps", a_config_map("aa", labels={"tier": "web"}))
    assert three.names("configmaps", labelSelector=MINE) == ["a", "aa", "b", "c"]


def test_a_list_names_its_kind_and_version(three):
    """The collection is a <Kind>List with a resourceVersion; items do not repeat their kind."""
    body = three.http.get(three.url("configmaps")).json()
    assert (body["kind"], body["apiVersion"]) == ("ConfigMapList", "v1")
    assert int(body["metadata"]["resourceVersion"]) > 0


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("tier=web", ["a", "b"]),
        ("tier==db", ["c"]),
        ("tier!=web,tier", ["c"]),
        ("tier in (web, db)", ["a", "b", "c"]),
        ("tier notin (db),tier", ["a", "b"]),
        ("tier,!a", ["b", "c"]),
        ("a", ["a"]),
        ("tier=web,b=yes", ["b"]),
    ],
)
def test_label_selectors(three, selector, names):
    """Label selectors know equality, sets and existence, joined by commas."""
    assert three.names("configmaps", labelSelector=selector) == names


def test_a_bad_label_selector_is_refused(three):
    """A selector that does not parse is 400."""
    assert three.http.get(three.url("configmaps", labelSelector="a in web")).status_code == 400


def test_field_selectors_choose_by_name(three):
    """metadata.name selects by field."""
    assert three.names("configmaps", fieldSelector="metadata.name=b") == ["b"]


def test_unknown_field_selectors_are_refused(three):
    """A field that cannot select is 400."""
    reply = three.http.get(three.url("configmaps", fieldSelector="data.colour=blue"))
    assert reply.status_code == 400
    assert "is not a known field selector" in reply.json()["message"]


def test_pages_cover_everything_once(three):
    """limit and continue give every item once."""
    names, token = [], ""
    while True:
        query = {"limit": 2, "labelSelector": MINE} | ({"continue": token} if token else {})
        body = three.http.get(three.url("configmaps", **query)).json()
        names += [item["metadata"]["name"] for item in body["items"]]
        token = body["metadata"].get("continue", "")
        if not token:
            break
    assert names == ["a", "b", "c"]


def test_pages_show_the_moment_of_the_first(three):
    """What is made between two pages is in neither."""
    first = three.http.get(three.url("configmaps", limit=2)).json()
    three.create("configmaps", a_config_map("zz"))
    query = {"limit": 10, "continue": first["metadata"]["continue"]}
    second = three.http.get(three.url("configmaps", **query)).json()
    assert "zz" not in [item["metadata"]["name"] for item in second["items"]]
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


def test_a_bad_continue_token_is_refused(three):
    """A token that the server did not give is 400."""
    reply = three.http.get(three.url("configmaps", **{"continue": "nonsense"}))
    assert reply.status_code == 400


def test_a_list_of_all_namespaces(three):
    """Without a namespace in the path all of them are listed."""
    items = three.http.get("/api/v1/configmaps").json()["items"]
    spaces = {item["metadata"]["namespace"] for item in items}
    assert {three.namespace, "default"} <= spaces


def test_a_version_from_the_future_is_refused(three):
    """A list at a version that the server has not reached is a timeout, not old news."""
    query = {"resourceVersion": str(10**15), "resourceVersionMatch": "NotOlderThan"}
    reply = three.http.get(three.url("configmaps", **query))
    assert reply.status_code == 504
    assert "Too large resource version" in reply.json()["message"]


def test_metadata_alone(three):
    """A client may ask for metadata only."""
    accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    body = three.http.get(three.url("configmaps"), headers={"accept": accept}).json()
    assert body["kind"] == "PartialObjectMetadataList"
    assert all("data" not in item for item in body["items"])
