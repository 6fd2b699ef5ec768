"""Files of `kinds` and `simulate podsets`: definitions of kinds, and objects to read by them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from roadstead.cli.manifests import read_sources

if TYPE_CHECKING:
    from shared.workkinds.catalog import KindCatalog
    from shared.workkinds.definition import Definition
    from shared.workkinds.reading import KindReader


class UnusableInput(click.ClickException):
    """A file that can not be used: which, and why."""

    exit_code = 2


def read_documents(files: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
    """Every document, with its file. Raises `UnusableInput` for what is no manifest."""
    from shared import manifests
    from shared.errors import Rejected

    found = []
    for source in read_sources(files):
        kind = "application/json" if source.label.endswith(".json") else "application/yaml"
        try:
            listed = manifests.read_documents(source.body, kind)
        except Rejected as refusal:
            raise UnusableInput(f"{source.label}: {refusal.code}: {refusal.detail}") from None
        for number, document in listed:
            place = f"{source.label}, document {number + 1}"
            if not isinstance(document, dict):
                raise UnusableInput(f"{place}: a manifest is an object")
            for field in ("apiVersion", "kind"):
                if not isinstance(document.get(field), str) or not document[field]:
                    raise UnusableInput(f"{place}, {field}: Required: a text is required")
            if not isinstance(document.get("metadata", {}), dict):
                raise UnusableInput(f"{place}, metadata: InvalidType: must be an object")
            found.append((source.label, document))
    return found


def divide(
    documents: Sequence[tuple[str, dict[str, Any]]],
) -> "tuple[list[Definition], list[dict[str, Any]]]":
    """The definitions among documents, and the other objects. Raises `UnusableInput` for a wrong one."""
    from shared.errors import Rejected
    from shared.workkinds.catalog import is_definition, read_definitions

    definitions = [(file, each) for file, each in documents if is_definition(each)]
    files = ", ".join(dict.fromkeys(file for file, _ in definitions))
    try:
        read = read_definitions([each for _, each in definitions], files)
    except Rejected as refusal:
        raise UnusableInput(f"{files}: {refusal.detail}") from None
    return read, [each for _, each in documents if not is_definition(each)]


@contextmanager
def kind_reader(catalog: "KindCatalog") -> "Iterator[KindReader]":
    """A reader whose process for administrators' definitions ends with the block."""
    from shared.workkinds.isolated import isolated_jq
    from shared.workkinds.jq_language import JqLanguage
    from shared.workkinds.jq_syntax import JqSyntax
    from shared.workkinds.reading import KindReader

    with isolated_jq() as bounded:
        yield KindReader(catalog, JqLanguage(), bounded, JqSyntax())


def objects_table(told: dict[str, Any]) -> str:
    """A line for each pod set, and one for what has none."""
    from roadstead.cli.tables import Column, table

    nothing: dict[str, Any] = {"name": "", "count": "", "minCount": None, "requests": {}}
    rows = [
        {**each, "set": pod_set}
        for each in told["objects"]
        for pod_set in each["podSets"] or [nothing]
    ]
    return table(
        rows,
        [
            Column("NAMESPACE", lambda r: r["namespace"]),
            Column("KIND", lambda r: r["kind"]),
            Column("NAME", lambda r: r["name"]),
            Column("OUTCOME", lambda r: r["outcome"]),
            Column("WORKLOADS", lambda r: r["workloads"]),
            Column("POD SET", lambda r: r["set"]["name"]),
            Column("COUNT", lambda r: _count(r["set"])),
            Column(
                "EACH", lambda r: ", ".join(f"{n} {a}" for n, a in r["set"]["requests"].items())
            ),
            Column("PRIORITY", lambda r: r["priorityClass"] or ""),
            Column("HELD BY", lambda r: r["suspendPath"] or ""),
            Column("REASON", lambda r: r.get("reason", ""), shrinks=True),
        ],
    )


def _count(pod_set: dict[str, Any]) -> str:
    least = pod_set["minCount"]
    return f"{pod_set['count']}" if least is None else f"{pod_set['count']} (at least {least})"
