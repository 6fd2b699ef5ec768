"""The CustomResourceDefinitions: equal to the models, structural, and the same for both versions."""

import functools
from pathlib import Path

import pytest
import yaml

from shared.groups import PLACEMENT
from shared.kinds import KNOWN, crds, records

DIRECTORY = Path(__file__).parents[2] / "deploy" / "crds"
# Names alone: every worker imports this module, and few of them need what takes seconds to build.
FILES = [
    *(f"{each.group}_{each.plural}.yaml" for each in crds.DEFINITIONS),
    *(f"{PLACEMENT}_{kind.plural}.yaml" for kind in records.RECORDS),
]
built = functools.cache(crds.all_crds)
rendered = functools.cache(crds.rendered)


@pytest.fixture
def crd(request):
    """The definition in a file."""
    return built()[request.param]


of_every_file = pytest.mark.parametrize("crd", FILES, ids=FILES, indirect=True)


def nodes(schema, path=""):
    """Every node of a schema with its path."""
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from nodes(inner, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if name in schema:
            yield from nodes(schema[name], f"{path}[]")


def schemas(crd):
    return [v["schema"]["openAPIV3Schema"] for v in crd["spec"]["versions"]]


def test_the_files_are_those_of_the_models():
    """deploy/crds is generated: `python -m shared.kinds.crds deploy/crds` changes nothing."""
    written = {path.name: path.read_text() for path in DIRECTORY.glob("*.yaml")}
    assert written == rendered()


def test_the_files_that_are_looked_at_are_all():
    """What is asked of every file is asked of each that is built."""
    assert set(built()) == set(FILES)


@of_every_file
def test_the_text_says_what_was_built(crd):
    """Reading a file back gives the definition."""
    name = f"{crd['spec']['group']}_{crd['spec']['names']['plural']}.yaml"
    assert yaml.safe_load(rendered()[name]) == crd


@of_every_file
def test_every_version_has_the_same_schema(crd):
    """Without conversion, a field that one version lacked would be pruned on the way."""
    first, second = schemas(crd)
    assert first == second
    assert [v["storage"] for v in crd["spec"]["versions"]].count(True) == 1


@of_every_file
def test_schemas_are_structural(crd):
    """Every node has a type, or is int-or-string or anything; keys of list-maps are required or default."""
    for path, node in nodes(schemas(crd)[0]):
        free = {"x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"}
        assert "type" in node or free & node.keys(), path
        assert not ({"$ref", "title", "const", "oneOf"} & node.keys()), path
        assert not ("properties" in node and "additionalProperties" in node), path
        for key in node.get("x-kubernetes-list-map-keys", ()):
            item = node["items"]
            assert key in item.get("required", ()) or "default" in item["properties"][key], path


@pytest.mark.parametrize(
    "definition", crds.DEFINITIONS, ids=lambda each: f"{each.plural}.{each.group}"
)
def test_no_field_of_one_version_is_required(definition):
    """What only one version has must not be demanded of the other."""
    crd = crds.build(definition)
    group, kind = crd["spec"]["group"], crd["spec"]["names"]["kind"]
    models = [KNOWN[f"{group}/{v['name']}", kind].model for v in crd["spec"]["versions"]]
    fields = [set(m.model_json_schema(by_alias=True).get("required", ())) for m in models]
    required = set(schemas(crd)[0].get("required", ()))
    assert required == fields[0] & fields[1]


def test_conditions_are_told_apart_by_type():
    """Wherever there are conditions they are a list-map by type."""
    found = [
        node
        for crd in built().values()
        for path, node in nodes(schemas(crd)[0])
        if path.endswith(".conditions")
    ]
    assert len(found) > 10
    assert all(node["x-kubernetes-list-map-keys"] == ["type"] for node in found)


def test_short_names_are_those_people_know():
    """The short names of Kueue and KubeFleet work here."""
    short = {n for crd in built().values() for n in crd["spec"]["names"].get("shortNames", ())}
    assert {"cq", "lq", "rf", "wpc", "crp", "rp", "cluster", "kwl", "co", "ac"} <= short


def test_the_status_of_a_placement_has_every_field():
    """What KubeFleet reports has its place in the schema."""
    crd = built()["placement.kubernetes-fleet.io_resourceplacements.yaml"]
    status = schemas(crd)[0]["properties"]["status"]["properties"]
    cluster = status["placementStatuses"]["items"]["properties"]
    assert {"selectedResources", "observedResourceIndex", "conditions"} <= status.keys()
    assert {"clusterName", "failedPlacements", "driftedPlacements", "diffedPlacements"} <= (
        cluster.keys()
    )
    drift = cluster["driftedPlacements"]["items"]["properties"]
    assert {"observedDrifts", "firstDriftedObservedTime", "observationTime"} <= drift.keys()


def test_the_command_writes_the_files(tmp_path):
    """`python -m shared.kinds.crds DIRECTORY` writes one file a kind, and explains itself."""
    assert crds.main([str(tmp_path / "crds")]) == 0
    assert {p.name for p in (tmp_path / "crds").iterdir()} == set(built())
    assert crds.main([]) == 2
