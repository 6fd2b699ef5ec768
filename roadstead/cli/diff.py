"""`roadstead diff -f`: what `apply` of the same files would change, against the hub's current objects."""

import difflib
import sys
from collections.abc import Iterator
from typing import Any, Final

import click

from roadstead.cli import kinds
from roadstead.cli.examples import examples
from roadstead.cli.get import work_named
from roadstead.cli.manifests import manifests_options, read_sources
from roadstead.cli.messages import plain
from roadstead.cli.output import client
from roadstead.cli.tables import is_coloured
from roadstead.cli.targets import Described, Target, described
from roadstead.cli.visible import say, visible_yaml
from roadstead.client import Client
from roadstead.errors import NotFound

Json = dict[str, Any]
# Fields that servers write.
_OF_THE_HUB: Final = frozenset(
    {
        "uid",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "resourceVersion",
        "managedFields",
        "selfLink",
        "finalizers",
        "ownerReferences",
    }
)
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_COLOURS: Final = {"+": "green", "-": "red", "@": "cyan"}
DIFFERENT: Final = 1


@examples("roadstead diff -f queues.yaml", "roadstead diff -f manifests/ -R")
@click.command("diff")
@manifests_options
@click.pass_context
def diff(
    ctx: click.Context, files: tuple[str, ...], recursive: bool, namespace: str | None
) -> int:
    """Show what applying FILE would change.

    Compares documents with the hub's objects as they were applied. It sends nothing for validation, so it
    does not report what the hub would reject (`roadstead plan` does). Values of Secrets are redacted, so it
    compares only their keys. Exit codes: 0 no difference, 1 a difference, 3 rejected.
    """
    sources = read_sources(files, recursive=recursive)
    wanted = [each for source in sources for each in described(source, namespace)]
    if not wanted:
        raise click.UsageError("The files named by -f contain nothing to compare.")
    code = 0
    with client(ctx) as hub:
        for each in wanted:
            held = _held(hub, each)
            lines = list(_changes(each.target, _as_held(each, held), held))
            for line in lines:
                colour = _COLOURS.get(line[:1]) if is_coloured(sys.stdout) else None
                say(click.style(line, fg=colour) if colour else line)
            code = DIFFERENT if lines else code
    return code


def _held(hub: Client, wanted: Described) -> Json:
    """Read the hub's current object; {} if there is none."""
    kind, namespace, name = wanted.target.kind, wanted.target.namespace, wanted.target.name
    try:
        if kind[:2] == ("batch", "Job"):
            found = hub.job(f"{namespace}/{name}")
            return {} if found.deleted_at else found.manifest
        if kinds.is_other_work(kind) and (
            job := work_named(hub, kind.name, f"{namespace}/{name}")
        ):
            return {} if job.deleted_at else job.manifest
        if kind[:2] == (kinds.KUEUE, "Workload"):
            return hub.workload(f"{namespace}/{name}").raw
        try:
            return hub.find(kind.name, name, group=kind.group, namespace=namespace).raw
        except NotFound:
            if kind.namespaced is not None:
                raise
        return hub.find(kind.name, name, group=kind.group).raw
    except NotFound:
        return {}


def _as_held(wanted: Described, held: Json) -> Json:
    """Convert the document to the version in which the hub shows its kind; unchanged if that is unknown."""
    document, version = wanted.document, held.get("apiVersion")
    if not held or version == document.get("apiVersion") or "spec" not in document:
        return document
    try:
        from shared.errors import Rejected
        from shared.kinds.registry import parse
    except ModuleNotFoundError:
        what = f"{wanted.target.title}: the hub shows another version of this kind"
        say(f"{what}; fields may have other names (roadstead[hub] reads both)", err=True)
        return document
    try:
        return {**document, "apiVersion": version, "spec": parse(document).spec}
    except Rejected:
        return document


def _changes(target: Target, wanted: Json, held: Json) -> Iterator[str]:
    """A unified diff of both as YAML, keys in order; nothing if they are equal."""
    before = _lines(cleaned(held, target.namespace)) if held else []
    after = _lines(cleaned(wanted, target.namespace))
    title = plain(target.title)
    names = (f"{title} (held)" if held else "/dev/null", f"{title} ({target.place})")
    for line in difflib.unified_diff(before, after, *names, lineterm=""):
        yield plain(line)


def cleaned(document: Json, namespace: str) -> Json:
    """Remove hub-owned fields and values of Secrets, and set the namespace."""
    kept = {k: v for k, v in document.items() if k not in {"status", "origin"}}
    metadata = {k: v for k, v in (document.get("metadata") or {}).items() if k not in _OF_THE_HUB}
    if namespace:
        metadata["namespace"] = namespace
    annotations = {
        k: v for k, v in (metadata.pop("annotations", None) or {}).items() if k != _LAST_APPLIED
    }
    if annotations:
        metadata["annotations"] = annotations
    if document.get("kind") == "Secret":
        keys = {*(kept.pop("data", None) or {}), *(kept.pop("stringData", None) or {})}
        kept["data"] = dict.fromkeys(sorted(keys), "[hidden]")
    return {**kept, "metadata": {k: v for k, v in metadata.items() if v not in ({}, None)}}


def _lines(document: Json) -> list[str]:
    return visible_yaml(document, sort_keys=True).split("\n")[:-1]
