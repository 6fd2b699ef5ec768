"""Objects named in manifests: kind, namespace, name, and the document itself."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import click

from roadstead.cli import kinds
from roadstead.cli.manifests import Source
from roadstead.cli.names import default_namespace


class Target(NamedTuple):
    """One object; `place` is where it was named, "" for the command line."""

    kind: kinds.Kind
    namespace: str
    name: str
    place: str = ""

    @property
    def title(self) -> str:
        """`ClusterQueue team-a`, `Job default/hello`."""
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind.name} {name}"


class Described(NamedTuple):
    """A document of a file and its object."""

    target: Target
    document: dict[str, Any]


def target(kind: kinds.Kind, name: str, namespace: str | None, place: str = "") -> Target:
    """NAME, or NAMESPACE/NAME, of a kind; `namespace` is for names without one."""
    within, slash, short = name.rpartition("/")
    if slash:
        return Target(kind, within, short, place)
    inside = "" if kind.namespaced is False else namespace or default_namespace() or "default"
    return Target(kind, inside, name, place)


def described(source: Source, namespace: str | None) -> Iterator[Described]:
    """The objects of a file's documents, in order. Raises click.UsageError."""
    import yaml

    try:
        documents = list(yaml.safe_load_all(source.body))
    except (yaml.YAMLError, ValueError) as failure:
        told = " ".join(str(failure).split())
        raise click.UsageError(f"{source.label} cannot be read: {told}") from failure
    for number, document in enumerate(documents, start=1):
        if document is None:
            continue
        place = source.label + (f", document {number}" if len(documents) > 1 else "")
        listed = isinstance(document, dict) and isinstance(document.get("items"), list)
        for each in document["items"] if listed else [document]:
            yield Described(_described_by(each, place, namespace), each)


def _described_by(document: Any, place: str, namespace: str | None) -> Target:
    try:
        group, _, _ = document["apiVersion"].rpartition("/")
        kind = kinds.described(group, document["kind"])
        metadata = document["metadata"]
        name = metadata["name"]
        inside = metadata.get("namespace")
        if not all(isinstance(each, str) for each in (kind.name, name, inside or "")):
            raise TypeError
    except (AttributeError, KeyError, TypeError):
        raise click.UsageError(
            f"{place}: it names no object; it needs apiVersion, kind and metadata.name."
        ) from None
    if kind.namespaced is not False and inside:
        return Target(kind, inside, name, place)
    return target(kind, name, namespace, place)
