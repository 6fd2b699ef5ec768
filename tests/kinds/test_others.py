"""What is carried without being modelled, what a manifest must be at all, and the examples."""

from pathlib import Path

import pytest

from shared import kinds, manifests
from tests.kinds.build import refused, spec_of

EXAMPLES = Path(__file__).parents[2] / "examples"
# What only `roadstead simulate` reads: loads, settings, stories, and members with their node pools.
SIMULATED = {
    "load.yaml",
    "off-load.yaml",
    "on-load.yaml",
    "settings.yaml",
    "story.yaml",
    "cluster.yaml",
    "members.yaml",  # of a local fleet
}
MANIFESTS = sorted(path for path in EXAMPLES.rglob("*.yaml") if path.name not in SIMULATED)


def a_manifest(api_version, kind, **more):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "it"}, **more}


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda p: p.name)
def test_every_example_is_read(path):
    """The guide's files and those of the articles are accepted unchanged."""
    for _, document in manifests.read_documents(path.read_bytes(), "application/yaml"):
        assert kinds.parse(document).raw is document


@pytest.mark.parametrize(
    ("manifest", "errors"),
    [(1, {}), ([], {}), (None, {}), ({}, {"apiVersion": "Required"}),
     ({"apiVersion": "v1"}, {"kind": "Required"}),
     ({"apiVersion": 1, "kind": "X"}, {"apiVersion": "InvalidType"}),
     ({"apiVersion": "a/b/c", "kind": "X"}, {"kind": "UnsupportedKind"}),
     (a_manifest("v1", "ConfigMap", metadata=None), {"metadata.name": "Required"}),
     (a_manifest("v1", "ConfigMap", metadata=[]),
      {"metadata": "InvalidType"})],
)  # fmt: skip
def test_a_manifest_says_what_it_is(manifest, errors):
    """A manifest is an object with apiVersion, kind and a name."""
    assert refused(manifest) == errors


def test_any_kind_can_be_carried():
    """A kind that is not modelled is kept whole, with its own fields as content."""
    parsed = kinds.parse(a_manifest("example.com/v7", "Widget", spec={"size": 1}, extra=[1]))
    assert (parsed.group, parsed.version, parsed.kind) == ("example.com", "v7", "Widget")
    assert parsed.spec == {"spec": {"size": 1}, "extra": [1]}
    assert not kinds.is_typed("example.com/v7", "Widget")
    assert kinds.is_typed("batch/v1", "Job")


def test_scope_follows_the_kind_where_it_is_known():
    """Namespaced kinds get the default namespace, cluster-scoped ones lose theirs as in kubectl."""
    role = a_manifest("rbac.authorization.k8s.io/v1", "ClusterRole")
    role["metadata"] = {"name": "system:it", "namespace": "x"}
    assert kinds.parse(role).namespace == ""
    assert kinds.parse(a_manifest("apps/v1", "Deployment")).namespace == "default"
    assert kinds.parse(a_manifest("example.com/v1", "Widget")).namespace == ""


@pytest.mark.parametrize(
    "key",
    [".dockerconfigjson", ".env", "_example", "x-", "-", "a" * 253, "." + "a" * 62 + ".yaml"],
)
def test_a_data_key_is_a_file_name(key):
    """As of Kubernetes: an image pull Secret has `.dockerconfigjson`, ConfigMaps of Knative `_example`."""
    assert spec_of(a_manifest("v1", "ConfigMap", data={key: "x"})) == {"data": {key: "x"}}
    assert spec_of(a_manifest("v1", "Secret", data={key: "eHg="})) == {"data": {key: "eHg="}}


@pytest.mark.parametrize("key", [".", "..", "..data", "", "a b", "a/b", "a" * 254])
def test_a_key_that_names_no_file_in_a_folder_is_refused(key):
    """As of Kubernetes."""
    assert list(refused(a_manifest("v1", "ConfigMap", data={key: "x"})).values()) == [
        "InvalidName"
    ]


def test_a_null_of_a_config_map_is_an_empty_text():
    """As an API server reads it; kubectl takes it."""
    assert spec_of(a_manifest("v1", "ConfigMap", data={"a": None})) == {"data": {"a": None}}


def test_data_of_config_maps_and_secrets_is_text():
    """Values are strings, and encoded ones base64; a misspelt field is found."""
    assert refused(a_manifest("v1", "ConfigMap", data={"a": 1, "b/c": "x"}, dta={})) == {
        "dta": "UnknownField",
        "data.a": "InvalidType",
        "data[b/c]": "InvalidName",
    }
    assert refused(a_manifest("v1", "Secret", data={"a": "?"})) == {"data.a": "InvalidValue"}
    secret = a_manifest("v1", "Secret", data={"a": "eHg="}, stringData={"b": "?"})
    assert spec_of(secret) == {"data": {"a": "eHg="}, "stringData": {"b": "?"}}
