"""CustomResourceDefinitions: serving, pruning, defaults, validation, columns, versions, removal."""

import itertools
import os

import pytest

from tests.kubesim.server.build import a_crd
from tests.kubesim.server.kube import eventually

_numbers = itertools.count(1)


class Widgets:
    """A CRD of the test's own, and its objects."""

    def __init__(self, kube, crd):
        self.kube, self.crd = kube, crd
        spec = crd["spec"]
        self.group, self.plural = spec["group"], spec["names"]["plural"]
        self.kind = spec["names"]["kind"]

    def resource(self, version="v1"):
        return f"{self.group}/{version}/{self.plural}"

    def widget(self, name="one", version="v1", **spec):
        meta = {"name": name}
        return {
            "apiVersion": f"{self.group}/{version}",
            "kind": self.kind,
            "metadata": meta,
            "spec": spec,
        }

    def create(self, name="one", version="v1", **spec):
        return self.kube.create(self.resource(version), self.widget(name, version, **spec))

    def refused(self, **spec):
        status = self.kube.refused(self.resource(), self.widget(**spec), 422)
        return [(cause["field"], cause["message"]) for cause in status["details"]["causes"]]


@pytest.fixture
def define(kube):
    """Define a CRD and wait until it is served; removed at the end."""
    made = []

    def define(**version):
        group = f"spec{os.getpid()}-{next(_numbers)}.example.com"
        extra = version.pop("versions", None)
        crd = a_crd("widgets", group, **version)
        if extra:
            crd["spec"]["versions"] += extra(crd["spec"]["versions"][0])
        kube.create("customresourcedefinitions", crd)
        widgets = Widgets(kube, crd)
        made.append(crd["metadata"]["name"])

        def is_served():
            conditions = kube.get("customresourcedefinitions", crd["metadata"]["name"])["status"]
            established = any(
                one["type"] == "Established" and one["status"] == "True"
                for one in conditions.get("conditions") or ()
            )
            url = kube.url(widgets.resource())
            return established and kube.http.get(url).status_code == 200

        eventually(is_served, "the CRD's establishment")
        return widgets

    yield define
    for name in made:
        kube.delete("customresourcedefinitions", name)


def test_objects_of_a_crd_are_stored(define):
    """What a CRD defines can be created and read."""
    made = define().create(size=3)
    assert made["spec"]["size"] == 3
    assert made["metadata"]["generation"] == 1


def test_unknown_fields_are_pruned(define):
    """Fields that the schema does not know are dropped."""
    assert "shape" not in define().create(size=3, shape="round")["spec"]


def test_free_fields_are_kept(define):
    """x-kubernetes-preserve-unknown-fields keeps them."""
    assert define().create(free={"any": {"thing": 1}})["spec"]["free"] == {"any": {"thing": 1}}


def test_defaults_are_filled_in(define):
    """Defaults of the schema appear in the object."""
    assert define().create(size=1)["spec"]["colour"] == "red"


def test_null_gives_way_to_a_default(define):
    """null where null is not allowed counts as missing."""
    assert define().create(colour=None)["spec"]["colour"] == "red"


@pytest.mark.parametrize(
    ("spec", "field", "words"),
    [
        ({"size": "big"}, "spec.size", "must be of type integer"),
        ({"size": 0}, "spec.size", "should be greater than or equal to 1"),
        ({"size": 11}, "spec.size", "should be less than or equal to 10"),
        ({"colour": "green"}, "spec.colour", 'supported values: "red", "blue"'),
        ({"parts": [{"weight": 1}]}, "spec.parts[0].name", "Required value"),
        ({"parts": [{"name": "a"}, {"name": "a"}]}, "spec.parts[1]", "Duplicate value"),
        ({"tags": ["a", "a"]}, "spec.tags[1]", "Duplicate value"),
        ({"amount": []}, "spec.amount", "must be of type"),
    ],
)
def test_values_are_validated(define, spec, field, words):
    """Each fault is named by field, in the words of the API server."""
    found = define().refused(**spec)
    assert any(place == field and words in message for place, message in found), found


@pytest.mark.parametrize("amount", [3, "3Gi"])
def test_int_or_string(define, amount):
    """x-kubernetes-int-or-string takes both."""
    assert define().create(amount=amount)["spec"]["amount"] == amount


def test_strict_writes_name_unknown_fields(define):
    """fieldValidation=Strict refuses what would be pruned."""
    widgets = define()
    body = widgets.widget(shape="round")
    status = widgets.kube.refused(widgets.resource(), body, 400, fieldValidation="Strict")
    assert 'unknown field "spec.shape"' in status["message"]


def test_the_status_is_apart(define):
    """With a status subresource the object's endpoint ignores the status, and /status the spec."""
    widgets = define()
    made = widgets.create(size=1)
    put = {**made, "status": {"phase": "Up"}, "spec": {"size": 2}}
    assert "status" not in widgets.kube.put(widgets.resource(), put).json()
    live = widgets.kube.get(widgets.resource(), "one")
    put = {**live, "status": {"phase": "Up"}, "spec": {"size": 9}}
    through = widgets.kube.put(widgets.resource(), put, "status").json()
    assert through["status"] == {"phase": "Up"}
    assert through["spec"]["size"] == 2


def test_the_status_does_not_count_generations(define):
    """A status write keeps the generation."""
    widgets = define()
    widgets.create(size=1)
    body = {"status": {"phase": "Up"}}
    patched = widgets.kube.patch(widgets.resource(), "one", body, sub="status").json()
    assert patched["metadata"]["generation"] == 1


def test_a_crd_without_status_has_no_endpoint(define):
    """Without the subresource /status does not exist and the status is an ordinary field."""
    widgets = define(subresources={})
    made = widgets.kube.create(widgets.resource(), {**widgets.widget(), "status": {"phase": "Up"}})
    assert made["status"] == {"phase": "Up"}
    url = widgets.kube.url(widgets.resource(), "one", "status")
    assert widgets.kube.http.get(url).status_code == 404


def test_two_versions_share_objects(define):
    """An object written in one version is read in the other."""
    widgets = define(versions=lambda first: [{**first, "name": "v1beta1", "storage": False}])
    widgets.create(size=4)
    other = eventually(
        lambda: widgets.kube.http.get(widgets.kube.url(widgets.resource("v1beta1"), "one")).json()
    )
    assert other["apiVersion"] == f"{widgets.group}/v1beta1"
    assert other["spec"]["size"] == 4


def test_scale_of_a_custom_resource(define):
    """A CRD can say where its replicas are."""
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas"}
    widgets = define(subresources={"status": {}, "scale": scale})
    widgets.create(size=4)
    assert widgets.kube.get(widgets.resource(), "one", "scale")["spec"] == {"replicas": 4}
    widgets.kube.patch(widgets.resource(), "one", {"spec": {"replicas": 7}}, sub="scale")
    assert widgets.kube.get(widgets.resource(), "one")["spec"]["size"] == 7


def test_printer_columns(define):
    """additionalPrinterColumns are what kubectl prints; priority 1 shows with -o wide.

    A path may name one field or another, whichever is there; a dot in a key is escaped.
    """
    columns = [
        {
            "name": "Latest",
            "type": "string",
            "jsonPath": r".metadata.labels.example\.com/is-latest",
        },
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Colour", "type": "string", "jsonPath": ".spec.colour", "priority": 1},
        {"name": "Either", "type": "string", "jsonPath": ".spec['shade','colour']"},
    ]
    widgets = define(additionalPrinterColumns=columns)
    labelled = widgets.widget(size=4)
    labelled["metadata"]["labels"] = {"example.com/is-latest": "true"}
    widgets.kube.create(widgets.resource(), labelled)
    accept = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    url = widgets.kube.url(widgets.resource())
    table = widgets.kube.http.get(url, headers=accept).json()
    names = [(one["name"], one["priority"]) for one in table["columnDefinitions"]]
    assert names == [("Name", 0), ("Latest", 0), ("Size", 0), ("Colour", 1), ("Either", 0)]
    assert table["rows"][0]["cells"] == ["one", "true", 4, "red", "red"]


def test_apply_knows_keyed_lists(define):
    """x-kubernetes-list-type: map lets two managers own items of one list."""
    widgets = define()
    first = widgets.widget(parts=[{"name": "a", "weight": 1}])
    second = widgets.widget(parts=[{"name": "b", "weight": 2}])
    widgets.kube.apply(widgets.resource(), first, "first")
    both = widgets.kube.apply(widgets.resource(), second, "second").json()
    assert [part["name"] for part in both["spec"]["parts"]] == ["a", "b"]


def test_strategic_merge_is_for_built_in_kinds(define):
    """A strategic merge patch of a custom object is 415."""
    widgets = define()
    widgets.create(size=1)
    kind = "application/strategic-merge-patch+json"
    assert widgets.kube.patch(widgets.resource(), "one", {}, kind).status_code == 415


def test_a_removed_crd_takes_its_objects_along(define):
    """Deleting a CRD deletes its objects and ends its API."""
    widgets = define()
    widgets.create(size=1)
    widgets.kube.delete("customresourcedefinitions", widgets.crd["metadata"]["name"])
    url = widgets.kube.url(widgets.resource())
    eventually(lambda: widgets.kube.http.get(url).status_code == 404, "the end of the API")


def test_a_crd_is_named_after_what_it_defines(kube):
    """metadata.name must be plural.group."""
    crd = a_crd("widgets", "wrong.example.com")
    crd["metadata"]["name"] = "toys.wrong.example.com"
    status = kube.refused("customresourcedefinitions", crd, 422)
    assert status["details"]["causes"][0]["field"] == "metadata.name"


def test_a_crd_stores_one_version(kube):
    """Exactly one version is the storage version."""
    crd = a_crd("widgets", "wrong.example.com", storage=False)
    assert kube.refused("customresourcedefinitions", crd, 422)


def test_kubectl_explains_a_crd(define):
    """kubectl explain reads the schema from OpenAPI."""
    widgets = define()
    text = eventually(
        lambda: widgets.kube.run_kubectl("explain", f"widgets.{widgets.group}.spec").stdout
    )
    assert "colour\t<string>" in text


def test_kubectl_validates_against_a_crd(define):
    """kubectl apply refuses unknown fields by name."""
    widgets = define()
    manifest = (
        f"apiVersion: {widgets.group}/v1\nkind: {widgets.kind}\n"
        "metadata: {name: one}\nspec: {shape: round}\n"
    )
    refused = widgets.kube.run_kubectl("apply", "-f", "-", stdin=manifest)
    assert refused.returncode != 0
    assert 'unknown field "spec.shape"' in refused.stderr


@pytest.mark.kubectl
def test_kubectl_applies_a_changed_custom_resource(define):
    """What was applied is applied again, unchanged and changed: custom kinds take merge patches alone."""
    widgets = define()

    def applied(spec):
        manifest = (
            f"apiVersion: {widgets.group}/v1\nkind: {widgets.kind}\n"
            f"metadata: {{name: again}}\nspec: {spec}\n"
        )
        done = widgets.kube.run_kubectl("apply", "-f", "-", stdin=manifest)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "created" in applied("{}")
    assert "unchanged" in applied("{}")
    assert "configured" in applied("{colour: red}")
    assert "configured" in applied("{colour: blue}")
    assert widgets.kube.get(widgets.resource(), "again")["spec"] == {"colour": "blue"}


def test_openapi_names_the_patches_that_custom_resources_take(define):
    """No strategic merge patch: there is no schema of Go types to merge by."""
    widgets = define()
    url = f"/openapi/v3/apis/{widgets.group}/v1"  # published a moment after the kind is served
    answer = eventually(lambda: _documented(widgets.kube.http.get(url)), "the kind is described")
    document = answer.json()
    taken = {
        kind
        for path in document["paths"].values()
        if "patch" in path
        for kind in path["patch"]["requestBody"]["content"]
    }
    assert "application/merge-patch+json" in taken
    assert "application/strategic-merge-patch+json" not in taken


def _documented(answer):
    """The answer, once it describes paths."""
    described = answer.status_code == 200 and b'"paths"' in answer.content
    return answer if described else None
