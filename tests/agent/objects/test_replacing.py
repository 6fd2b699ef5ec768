"""What is written where entries of others make a forced apply invalid: the manifest, less those entries."""

from typing import Any

import pytest

from agent.objects import drift, replacing
from agent.objects.drift import at

OURS = "roadstead"


def a_pod(**container):
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "team"},
        "spec": {"containers": [{"name": "web", "image": "nginx", **container}]},
    }


def a_service(*ports, **spec):
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "team"},
        "spec": {"ports": list(ports), **spec},
    }


def live(manifest, **entries):
    metadata = {**manifest["metadata"], "uid": "u-1", "resourceVersion": "7", **entries}
    return {**manifest, "metadata": metadata}


HTTP = {"readinessProbe": {"httpGet": {"path": "/", "port": 80}}}
EXEC = {"readinessProbe": {"exec": {"command": ["true"]}, "timeoutSeconds": 9}}
VALUE = {"env": [{"name": "A", "value": "1"}]}
FROM = {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}
HELD: dict[str, Any] = {"f:spec": {"f:ports": {'k:{"port":82,"protocol":"TCP"}': {}}}}
BY_PORT = {"managedFields": [{"manager": OURS, "operation": "Apply", "fieldsV1": HELD}]}

IN_THE_WAY = {
    "a second handler, where the server names ours": (
        a_pod(**HTTP), live(a_pod(**EXEC)),
        "spec.containers[0].readinessProbe.httpGet", "spec/containers/0/readinessProbe/exec",
    ),
    "a second handler, where the server names it": (
        a_pod(**HTTP), live(a_pod(**EXEC)),
        "spec.containers[0].readinessProbe.exec.command", "spec/containers/0/readinessProbe/exec",
    ),
    "a reference beside a value": (
        a_pod(**VALUE), live(a_pod(**FROM)),
        "spec.containers[0].env[0].valueFrom", "spec/containers/0/env/0/valueFrom",
    ),
    "a port of the same name": (
        a_service({"port": 80, "name": "http"}), live(a_service({"port": 81, "name": "http"}), **BY_PORT),
        "spec.ports[1].name", "spec/ports/0",
    ),
    "a key that both maps have": (
        {**a_service(), "data": {"a": "x"}}, live({**a_service(), "binaryData": {"a": "eA=="}}),
        "data[a]", "binaryData/a",
    ),
    "one of two, of which the rule of a custom kind names the parent": (
        a_service(size=1), live(a_service(auto={"most": 3})), "spec", "spec/auto",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("manifest", "there", "field", "path"), IN_THE_WAY.values(), ids=IN_THE_WAY.keys()
)
def test_what_is_in_the_way_is_suspected_before_what_is_not(manifest, there, field, path):
    """Without it nothing of the manifest is missing."""
    made = replacing.laid_over(manifest, there, OURS)
    found = [*replacing.suspects(field, made, manifest)]
    (place,) = [each for each in found if "/".join(each) == path]
    assert all(
        each[: len(place)] == place for each in found[: found.index(place)]
    )  # smaller parts
    left = drift.without(made, [place])
    assert all(same_part(manifest["spec"], left["spec"]))


def same_part(wanted, held):
    for name, value in wanted.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            yield any(all(same_part(value[0], each)) for each in held[name])
        elif isinstance(value, dict):
            yield from same_part(value, held[name])
        else:
            yield held[name] == value


def test_a_map_with_entries_of_others_stays():
    """Of `data` only the key that the server names goes, and no null of the manifest takes the map away."""
    manifest = {**a_service(), "binaryData": {"x": "eA=="}, "data": None}
    there = live({**a_service(), "data": {"theirs": "precious", "x": "clash"}})
    made = replacing.laid_over(manifest, there, OURS)
    assert made["data"] == {"theirs": "precious", "x": "clash"}
    del manifest["data"]
    for field in ("data[x]", "binaryData[x]"):
        assert [*replacing.suspects(field, made, manifest)] == [("data", "x")]


def test_of_a_list_of_others_only_the_named_item_goes():
    """A container beside ours that the server refuses: neither the list nor what is in it before that."""
    there = live(a_pod())
    there["spec"]["initContainers"] = [{"name": "good"}, {"name": "bad", "image": ""}]
    made = replacing.laid_over(a_pod(), there, OURS)
    assert [*replacing.suspects("spec.initContainers[1].image", made, a_pod())] == [
        ("spec", "initContainers", "1", "image"),
        ("spec", "initContainers", "1"),
    ]


def test_nothing_of_the_manifest_is_a_suspect():
    """A field of ours that can not be changed has no entry of others beside it: nothing is removed."""
    manifest = a_service({"port": 80, "name": "http"}, clusterIP="None")
    made = replacing.laid_over(manifest, live(a_service({"port": 80, "name": "http"})), OURS)
    assert list(replacing.suspects("spec.clusterIP", made, manifest)) == []


def test_what_others_added_stays():
    """An own container beside ours, a default beside a value: the patch says nothing of them."""
    there = live(a_pod(image="other", imagePullPolicy="Always"))
    there["spec"]["containers"].append({"name": "sidecar", "image": "mesh"})
    made = replacing.laid_over(a_pod(), there, OURS)
    assert at(made, ("spec", "containers", "0")) == {
        "name": "web",
        "image": "nginx",
        "imagePullPolicy": "Always",
    }
    assert at(made, ("spec", "containers", "1", "name")) == "sidecar"


def test_the_patch_goes_over_one_version_of_one_object_alone():
    """It carries uid and resourceVersion, removes by null, and names nothing that is as it should be."""
    there = live(a_pod(**EXEC))
    manifest = a_pod(**EXEC)
    made = drift.without(replacing.laid_over(manifest, there, OURS), [("spec", "containers")])
    assert replacing.patch_to(made, there) == {
        "metadata": {"uid": "u-1", "resourceVersion": "7"},
        "spec": {"containers": None},
    }


def test_what_an_update_of_ours_owns_is_owned_by_the_apply():
    """Else a later manifest without the field would leave it in the member."""
    applied = {"manager": OURS, "operation": "Apply", "fieldsV1": {"f:data": {"f:a": {}}}}
    updated = {"manager": OURS, "operation": "Update", "fieldsV1": {"f:data": {"f:b": {}}}}
    other = {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:data": {"f:c": {}}}}
    patch = replacing.taken_in(live(a_pod(), managedFields=[updated, other, applied]), OURS)
    assert patch["metadata"]["managedFields"] == [
        other,
        {**applied, "fieldsV1": {"f:data": {"f:a": {}, "f:b": {}}}},
    ]
    assert replacing.taken_in(live(a_pod(), managedFields=[other, applied]), OURS) is None
