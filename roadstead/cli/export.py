"""`roadstead export`: the hub's objects, as manifests for `apply` and `simulate`."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import click

from roadstead.cli import kinds
from roadstead.cli.examples import examples
from roadstead.cli.names import ALL_NAMESPACES, ONLY_NAMESPACE, default_namespace
from roadstead.cli.output import client, dump_documents
from roadstead.cli.visible import say
from roadstead.client import Client
from roadstead.errors import NotAllowed

Json = dict[str, Any]
# What decides about who waits, in the order in which it is applied; of members what `simulate` reads.
USUAL: Final = (
    "namespace", "resourceflavor", "cohort", "workloadpriorityclass", "admissioncheck", "clusterqueue",
    "localqueue",
)  # fmt: skip
_NAMES: Final = ("name", "namespace")
_NAMED: Final = 5  # manifests that a warning names
_OF_SERVERS: Final = frozenset({"status", "origin", "metadata"})
_OF_KUBECTL: Final = "kubectl.kubernetes.io/last-applied-configuration"


def as_manifest(raw: Mapping[str, Any]) -> Json:
    """An object as REST shows it, without fields that only the hub and API servers write."""
    held = raw.get("manifest")
    if isinstance(held, dict):  # a job
        raw = {"apiVersion": "batch/v1", "kind": raw.get("kind") or "Job", **held}
    before = raw.get("metadata") or {}
    metadata = {name: before[name] for name in _NAMES if before.get(name)}
    for field in ("labels", "annotations"):
        if kept := {k: v for k, v in (before.get(field) or {}).items() if _is_users(field, k)}:
            metadata[field] = kept
    first = {name: raw[name] for name in ("apiVersion", "kind") if name in raw}
    rest = {k: v for k, v in raw.items() if k not in _OF_SERVERS}
    return {**first, "metadata": metadata, **rest}


def _is_users(field: str, key: str) -> bool:
    """Return whether users may set a label or an annotation."""
    from shared import labels as keys

    if not key.startswith(keys.PREFIX):
        return key != _OF_KUBECTL
    return field == "annotations" and key in keys.USER_ANNOTATIONS


@examples(
    "roadstead export > fleet.yaml",
    "roadstead export cq lq -n team-a",
    "roadstead export jobs -n team-a > jobs.yaml",
)
@click.command("export")
@click.argument("names", metavar="[KIND...]", nargs=-1)
@ONLY_NAMESPACE
@ALL_NAMESPACES
@click.pass_context
def export(
    ctx: click.Context, names: tuple[str, ...], namespace: str | None, all_namespaces: bool
) -> None:
    """Print objects as manifests that you can apply again, to this hub or another, or simulate.

    Without KIND: namespaces, and everything that decides admission (flavors, cohorts, queues, priority
    classes, admission checks). Leaves out fields that only the hub writes, and redacts values of Secrets,
    and of environment variables that you may not see: a note on standard error names these objects.
    """
    inside = "" if all_namespaces else namespace or default_namespace()
    with client(ctx) as hub:
        found = [
            each for name in names or USUAL for each in _all(hub, name, inside, named=bool(names))
        ]
    dump_documents(found)
    if hidden := hidden_in(found):
        which = ", ".join(hidden[:_NAMED]) + (", ..." if len(hidden) > _NAMED else "")
        say(f"Values are hidden in {which}: write them in before you apply this.", err=True)


def hidden_in(found: Iterable[Json]) -> list[str]:
    """Kind and name of the manifests in which values are hidden: of Secrets, and of variables in jobs."""
    from shared import resubmitted, secrecy

    return [
        f"{each.get('kind')} {each['metadata'].get('name')}"
        for each in found
        if secrecy.is_secret(each) or resubmitted.is_hidden(each)
    ]


def _all(hub: Client, name: str, namespace: str, *, named: bool) -> Iterator[Json]:
    kind = kinds.kind_of(hub, name)
    space = "" if kind.namespaced is False else namespace
    if kind[:2] == ("batch", "Job"):
        yield from _jobs(hub, space)  # of every kind: what runs as a job
        return
    if kinds.is_other_work(kind):
        yield from _jobs(hub, space, kind.name)
    try:
        for each in hub.objects(kind.name, group=kind.group, namespace=space):
            yield as_manifest(each.raw)
    except NotAllowed:
        if named:  # without names, the export has what the user may see
            raise


def _jobs(hub: Client, namespace: str, kind: str = "") -> Iterator[Json]:
    """The jobs that have not ended; those of one kind, if it is given."""
    for job in hub.jobs(namespace=namespace or None):
        if not job.has_ended and kind in {"", job.kind}:
            yield as_manifest(hub.job(job.uid).raw)
