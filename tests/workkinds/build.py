"""Objects of many kinds, and a reader for them."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shared import quantity
from shared.manifest_yaml import read_yaml
from shared.workkinds.catalog import builtin_catalog, is_definition, read_definitions
from shared.workkinds.isolated import isolated_jq
from shared.workkinds.jq_language import JqLanguage
from shared.workkinds.jq_syntax import JqSyntax
from shared.workkinds.read_object import ReadObject
from shared.workkinds.reading import KindReader

HERE = Path(__file__).parent
QUEUE = {"kueue.x-k8s.io/queue-name": "q"}
Json = dict[str, Any]


def a_pod(cpu: str = "1", memory: str = "1Gi", **fields: Any) -> Json:
    """A pod template with one container."""
    asked = {"cpu": cpu, "memory": memory}
    return {"spec": {"containers": [{"name": "c", "resources": {"requests": asked}}], **fields}}


def an_object(api_version: str, kind: str, spec: Any, **metadata: Any) -> Json:
    """An object that names a queue, unless its labels are given."""
    about = {"name": "x", "namespace": "team", "labels": QUEUE, **metadata}
    return {"apiVersion": api_version, "kind": kind, "metadata": about, "spec": spec}


def a_job(**spec: Any) -> Json:
    return an_object("batch/v1", "Job", {"template": a_pod(), **spec})


def a_karta(group: str = "example.org", kind: str = "Swarm", **root: Any) -> Json:
    """A Karta whose root runs the pods of `.spec.template`, unless it is said otherwise."""
    component = {
        "name": kind.lower(),
        "kind": {"group": group, "version": "v1", "kind": kind},
        "specDefinition": {"podTemplateSpecPath": ".spec.template"},
        "statusDefinition": {"statusMappings": {}},
        **root,
    }
    children = component.pop("children", [])
    structure = {"rootComponent": component, "childComponents": children}
    return {
        "apiVersion": "run.ai/v1alpha1",
        "kind": "Karta",
        "metadata": {"name": kind.lower()},
        "spec": {"structureDefinition": structure},
    }


def an_extension(karta: str = "swarm", **spec: Any) -> Json:
    return {
        "apiVersion": "roadstead.dev/v1alpha1",
        "kind": "KindExtension",
        "metadata": {"name": karta},
        "spec": {"karta": karta, **spec},
    }


def a_swarm(**spec: Any) -> Json:
    return an_object("example.org/v1", "Swarm", {"template": a_pod(), **spec})


def read_all(objects: Sequence[Json], definitions: Sequence[Json] = ()) -> list[ReadObject]:
    """What is read of objects, by the built-in definitions and by those that an administrator adds."""
    catalog = builtin_catalog().with_added(read_definitions(definitions, "test"))
    with isolated_jq() as bounded:
        reader = KindReader(catalog, JqLanguage(), bounded, JqSyntax())
        return list(reader.read_all(objects))


def read(*objects: Json, by: Sequence[Json] = ()) -> ReadObject:
    """What is read of the first object; the others are there as well."""
    return read_all(objects, by)[0]


def pods(read_object: ReadObject) -> dict[str, tuple[int, dict[str, str]]]:
    """Pod sets in order: how many, and what one asks for."""
    return {
        each.name: (each.count, {n: quantity.canonical(n, a) for n, a in each.requests.items()})
        for each in read_object.pod_sets
    }


def counts(read_object: ReadObject) -> dict[str, int]:
    return {each.name: each.count for each in read_object.pod_sets}


@functools.cache
def rows() -> list[Json]:
    """The example rows: `row`, `objects`, `expect`."""
    listed: list[Json] = read_yaml((HERE / "rows.yaml").read_bytes())[0]
    return listed


def karta_file(name: str) -> tuple[list[Json], list[Json]]:
    """The definitions of a file in `kartas`, and its objects."""
    documents = read_yaml((HERE / "kartas" / f"{name}.yaml").read_bytes())
    return [d for d in documents if is_definition(d)], [
        d for d in documents if not is_definition(d)
    ]
