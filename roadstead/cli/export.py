"""`roadstead export`: what the hub holds, as manifests that `apply` and `simulate` take."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import click

from roadstead.cli import kinds
from roadstead.cli.examples import examples
from roadstead.cli.names import default_namespace
from roadstead.cli.output import client, dump_documents
from roadstead.client import Client
from roadstead.errors import NotAllowed

Json = dict[str, Any]
# What decides about who waits, in the order in which it is applied; of members what `simulate` reads.
USUAL: Final = (
    "namespace", "resourceflavor", "cohort", "workloadpriorityclass", "admissioncheck", "clusterqueue",
    "localqueue",
)  # fmt: skip
_NAMES: Final = ("name", "namespace")
_OF_SERVERS: Final = frozenset({"status", "origin", "metadata"})
_OF_KUBECTL: Final = "kubectl.kubernetes.io/last-applied-configuration"


def as_manifest(raw: Mapping[str, Any]) -> Json:
    """An object as REST shows it, without what only the hub and API servers write."""
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
    """Whether people may set a label or an annotation."""
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
@click.option("-n", "--namespace", metavar="NAME", help="Of this namespace [default: of all].")
@click.option("-A", "--all-namespaces", is_flag=True, help="Of all, whatever is set.")
@click.pass_context
def export(
    ctx: click.Context, names: tuple[str, ...], namespace: str | None, all_namespaces: bool
) -> None:
    """Print objects as manifests that can be applied again, to this hub or another, and simulated.

    Without KIND: namespaces, and what decides about who waits (flavors, cohorts, queues, priority classes,
    admission checks). What only the hub writes is left out, and values of Secrets are shown to nobody.
    """
    inside = "" if all_namespaces else namespace or default_namespace()
    with client(ctx) as hub:
        found = [
            each for name in names or USUAL for each in _all(hub, name, inside, named=bool(names))
        ]
    dump_documents(found)


def _all(hub: Client, name: str, namespace: str, *, named: bool) -> Iterator[Json]:
    kind = kinds.kind_of(hub, name)
    space = "" if kind.namespaced is False else namespace
    if kind[:2] == ("batch", "Job"):
        for job in hub.jobs(namespace=space or None):
            if not job.has_ended:
                yield as_manifest(hub.job(job.uid).raw)
        return
    try:
        for each in hub.objects(kind.name, group=kind.group, namespace=space):
            yield as_manifest(each.raw)
    except NotAllowed:
        if named:  # of what was not asked for by name, whoever may see it gets it
            raise
