"""Ten edits by hand of each of four kinds on a real control plane: each is put back, or is Failed."""

import copy
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from agent.objects import drift
from shared import labels
from shared.kube.client import KubeClient
from tests import waiting
from tests.agent.conftest import Member
from tests.agent.scripted_hub import HUB_ID, an_object
from tests.realkube.plane import Plane

pytestmark = [pytest.mark.realkube, pytest.mark.anyio, pytest.mark.timeout(300)]
SPACE = "drifts"
HAND = "kubectl-edit"
PATIENCE_S = 60
Edits = dict[str, dict[str, Any]]  # merge patches by what they change


def of_kind(api_version: str, kind: str, name: str, **parts: Any) -> dict[str, Any]:
    metadata = {
        "name": name,
        "namespace": SPACE,
        "labels": {"team": "a"},
        "annotations": {"n": "a"},
    }
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **copy.deepcopy(parts)}


CONTAINER: dict[str, Any] = {
    "name": "main",
    "image": "nginx:1.27",
    "args": ["-g", "daemon off;"],
    "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
    "ports": [{"containerPort": 8080, "name": "http"}],
    "readinessProbe": {"httpGet": {"path": "/", "port": 8080}},
    "resources": {"requests": {"cpu": "100m"}},
    "volumeMounts": [{"name": "v", "mountPath": "/v"}],
}
VOLUME = {"name": "v", "configMap": {"name": "kube-root-ca.crt"}}


def a_deployment(name: str) -> dict[str, Any]:
    pod = {"volumes": [VOLUME], "containers": [CONTAINER]}
    return of_kind(
        "apps/v1", "Deployment", name,
        spec={
            "replicas": 1,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": pod},
        },
    )  # fmt: skip


def a_service(name: str) -> dict[str, Any]:
    ports = [{"port": 80, "targetPort": 8080, "name": "http"}]
    return of_kind(
        "v1", "Service", name, spec={"type": "ClusterIP", "selector": {"app": "a"}, "ports": ports}
    )


def a_config_map(name: str) -> dict[str, Any]:
    return of_kind("v1", "ConfigMap", name, data={"colour": "red", "size": "1"})


def a_gauge(name: str) -> dict[str, Any]:
    spec = {
        "fixed": {"most": 3},
        "size": 1,
        "names": ["a", "b"],
        "parts": [{"name": "p", "weight": 1}],
    }
    return of_kind("example.org/v1", "Gauge", name, spec={**spec, "once": "x"})


INTEGER, STRING = {"type": "integer"}, {"type": "string"}
LIMIT = {"type": "object", "properties": {"most": INTEGER}}
GAUGES = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gauges.example.org"},
    "spec": {
        "group": "example.org",
        "scope": "Namespaced",
        "names": {"plural": "gauges", "singular": "gauge", "kind": "Gauge", "listKind": "GaugeList"},
        "versions": [
            {
                "name": "v1", "served": True, "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {
                    "type": "object",
                    "x-kubernetes-validations": [
                        {"rule": "has(self.fixed) != has(self.auto)", "message": "one of fixed and auto"},
                        {"rule": "self.size >= self.least", "message": "size is at least least"},
                    ],
                    "required": ["size"],
                    "properties": {
                        "fixed": LIMIT, "auto": LIMIT, "size": INTEGER, "least": {**INTEGER, "default": 0},
                        "names": {"type": "array", "items": STRING},
                        "parts": {
                            "type": "array", "x-kubernetes-list-type": "map",
                            "x-kubernetes-list-map-keys": ["name"],
                            "items": {
                                "type": "object", "required": ["name"],
                                "properties": {"name": STRING, "weight": INTEGER},
                            },
                        },
                        "once": {**STRING, "x-kubernetes-validations": [
                            {"rule": "self == oldSelf || oldSelf == 'x'", "message": "set once"}]},
                    },
                }}}},
            }
        ],
    },
}  # fmt: skip


def pod(**changes: Any) -> dict[str, Any]:
    """A merge patch of the whole container list and of the volumes."""
    spec: dict[str, Any] = {}
    if "volumes" in changes:
        spec["volumes"] = changes.pop("volumes")
    if changes:
        merged = {**CONTAINER, **changes}
        spec["containers"] = [{k: v for k, v in merged.items() if v is not None}]
    return {"spec": {"template": {"spec": spec}}}


FROM = {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
DEPLOYMENT: Edits = {
    "replicas": {"spec": {"replicas": 3}},
    "image": pod(image="nginx:1.28"),
    "args": pod(args=["-v"]),
    "probe": pod(readinessProbe={"exec": {"command": ["true"]}}),
    "volume": pod(volumes=[{"name": "v", "emptyDir": {}}]),
    "env": pod(env=[FROM, {"name": "B", "value": "2"}]),
    "port": pod(ports=[{"containerPort": 9090, "name": "http"}]),
    "requests": pod(resources={"limits": {"cpu": "50m"}, "requests": {"cpu": "50m"}}),
    "strategy": {"spec": {"strategy": {"type": "Recreate", "rollingUpdate": None}}},
    "label": {"metadata": {"labels": {"team": "b"}}},
}
SERVICE: Edits = {
    "port": {"spec": {"ports": [{"port": 81, "targetPort": 8080, "name": "http"}]}},
    "target": {"spec": {"ports": [{"port": 80, "targetPort": 9090, "name": "http"}]}},
    "name": {"spec": {"ports": [{"port": 80, "targetPort": 8080, "name": "web"}]}},
    "protocol": {"spec": {"ports": [{"port": 80, "targetPort": 8080, "name": "http", "protocol": "UDP"}]}},
    "selector": {"spec": {"selector": {"app": "b"}}},
    "type": {"spec": {"type": "NodePort"}},
    "external": {
        "spec": {"type": "ExternalName", "externalName": "a.org", "clusterIP": None, "clusterIPs": None}
    },
    "no-selector": {"spec": {"selector": None}},
    "label": {"metadata": {"labels": {"team": None}}},
    "annotation": {"metadata": {"annotations": {"n": "b"}}},
}  # fmt: skip
CONFIG_MAP: Edits = {
    "value": {"data": {"colour": "blue"}},
    "key-removed": {"data": {"size": None}},
    "all-removed": {"data": None},
    "theirs": {
        "data": {"colour": None, "more": "x"},
        "binaryData": {"colour": "eA==", "own": "eA=="},
    },
    "binary": {"data": {"colour": None}, "binaryData": {"colour": "eA=="}},
    "all-binary": {"data": None, "binaryData": {"colour": "eA==", "size": "eA=="}},
    "immutable": {"data": {"colour": "blue"}, "immutable": True},
    "label": {"metadata": {"labels": {"team": "b"}}},
    "labels-removed": {"metadata": {"labels": {"team": None}}},
    "annotation": {"metadata": {"annotations": {"n": None}}},
}
GAUGE: Edits = {
    "union": {"spec": {"fixed": None, "auto": {"most": 1}}},
    "bound": {"spec": {"size": 9, "least": 5}},
    "size": {"spec": {"size": 2}},
    "names": {"spec": {"names": ["c"]}},
    "part": {"spec": {"parts": [{"name": "p", "weight": 2}]}},
    "part-renamed": {"spec": {"parts": [{"name": "q", "weight": 1}]}},
    "most": {"spec": {"fixed": {"most": 4}}},
    "once": {"spec": {"once": "y"}},
    "label": {"metadata": {"labels": {"team": "b"}}},
    "removed": {"spec": {"names": None, "parts": None}},
}
# What no write puts back: the API server says so, and so does the agent.
TOLD = {"immutable": "immutable", "once": "set once"}
KINDS: dict[str, tuple[Callable[[str], dict[str, Any]], Edits]] = {
    "Deployment": (a_deployment, DEPLOYMENT),
    "Service": (a_service, SERVICE),
    "ConfigMap": (a_config_map, CONFIG_MAP),
    "Gauge": (a_gauge, GAUGE),
}


@pytest.fixture
async def member(real_control_plane: Plane, tmp_path: Path) -> AsyncIterator[Member]:
    """A real member; the agent is not started yet."""
    (tmp_path / "kubeconfig").write_bytes(real_control_plane.kubeconfig.read_bytes())
    async with await KubeClient.connect(tmp_path / "kubeconfig") as kube:
        one = Member(tmp_path, None, kube)
        space = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": SPACE, "labels": {labels.ACCEPT: HUB_ID}},
        }
        await kube.apply(space, field_manager="test", force=True)
        await kube.apply(GAUGES, field_manager="test", force=True)
        try:
            yield one
        finally:
            await one.stop()
            await waiting.span(0.5, why="TLS connections close after their client")


@pytest.mark.parametrize("kind", KINDS)
async def test_no_edit_by_hand_is_silent(member: Member, kind: str) -> None:
    """Under Always: the manifest's values are there again, or Failed says why in the API server's words."""
    make, edits = KINDS[kind]
    wanted = {edit: make(f"{kind.lower()}-{number}") for number, edit in enumerate(edits)}
    for edit, manifest in wanted.items():
        member.hub.put(an_object(manifest, edit, when_to_apply="Always"))
    member.start(lease_s=5.0)
    for edit in edits:
        await member.hub.seen(edit, "Applied")
    for edit, patch in edits.items():
        await edited(member, wanted[edit], patch)
    for edit, manifest in wanted.items():
        if edit in TOLD:
            entry = await member.hub.seen(edit, "Failed", "ApplyFailed")
            assert TOLD[edit] in entry.message
        else:
            await eventually_put_back(member, manifest)
            assert member.hub.observed[edit].phase == "Applied"
    if kind == "ConfigMap":  # what others added beside the key in the way stays
        live = await member.kube.get(
            "v1", "ConfigMap", SPACE, wanted["theirs"]["metadata"]["name"]
        )
        assert (live["data"]["more"], live["binaryData"]) == ("x", {"own": "eA=="})


async def edited(member: Member, manifest: dict[str, Any], patch: dict[str, Any]) -> None:
    at = (manifest["apiVersion"], manifest["kind"], SPACE, manifest["metadata"]["name"])
    await member.kube.merge_patch(*at, patch, field_manager=HAND)


async def eventually_put_back(member: Member, manifest: dict[str, Any]) -> None:
    """The live object has every value of the manifest."""
    at = (manifest["apiVersion"], manifest["kind"], SPACE, manifest["metadata"]["name"])
    left: list[str] = []
    for _ in range(PATIENCE_S * 4):
        live = await member.kube.get(*at)
        left = [each.pointer for each in drift.compared(manifest, live)]
        if not left:
            return
        await waiting.span(0.25, why="the agent looks again")
    raise AssertionError(f"{at}: {left}")


UNTYPED = {
    "text-for-a-number": ("replicas", "2"),
    "a-list-for-a-map": ("selector", ["app"]),
}


@pytest.mark.parametrize("fault", UNTYPED)
async def test_a_body_that_fits_no_type_is_failed(member: Member, fault: str) -> None:
    """The API server answers 500 to it, for ever: that is no outage."""
    field, value = UNTYPED[fault]
    manifest = a_deployment(fault)
    manifest["spec"][field] = value
    member.hub.put(an_object(manifest, fault))
    member.start()
    entry = await member.hub.seen(fault, "Failed", "ApplyFailed", timeout_s=PATIENCE_S)
    assert "failed to create typed patch object" in entry.message


async def test_equal_quantities_are_taken_over(member: Member) -> None:
    """`cpu: 2` and "2", 1000m and 1 conflict by their text and differ in nothing."""
    manifest = a_deployment("quantities")
    resources = {
        "requests": {"cpu": "1000m", "memory": "1024Mi"},
        "limits": {"cpu": 2, "memory": "2048Mi"},
    }
    pod = manifest["spec"]["template"]["spec"]
    pod["automountServiceAccountToken"] = False  # as the agent bounds pods of a hub
    pod["containers"][0]["resources"] = resources
    await member.kube.create(manifest, field_manager="kubectl-create")
    member.hub.put(an_object(manifest, "equal"))
    member.start()
    await member.hub.seen("equal", "Applied", timeout_s=PATIENCE_S)


async def test_a_key_that_leaves_string_data_leaves_a_real_member(member: Member) -> None:
    """By REST and by kubectl people write `stringData`; the member's Secret follows it."""
    secret = of_kind("v1", "Secret", "keys", stringData={"user": "ada", "password": "hunter2"})
    member.hub.put(an_object(secret, "keys"))
    member.start()
    await member.hub.seen("keys", "Applied", timeout_s=PATIENCE_S)
    member.hub.put(an_object({**secret, "stringData": {"user": "ada"}}, "keys", generation=2))
    await member.hub.until(lambda hub: hub.observed["keys"].generation == 2, timeout_s=PATIENCE_S)
    live = await member.kube.get("v1", "Secret", SPACE, "keys")
    assert live["data"] == {"user": "YWRh"}
