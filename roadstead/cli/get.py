"""`roadstead get`: objects of any kind, as a table or as manifests."""

from typing import Any

import click

from roadstead.cli import kinds
from roadstead.cli.examples import examples
from roadstead.cli.names import (
    ALL_NAMESPACES,
    ONLY_NAMESPACE,
    beside_the_list,
    default_namespace,
    is_uid,
)
from roadstead.cli.output import age, client, dump, is_data, output_option, show_list
from roadstead.cli.tables import Column
from roadstead.client import Client
from roadstead.errors import NotFound
from roadstead.models.jobs import Job, WholeJob
from roadstead.models.objects import KubernetesObject
from roadstead.models.record import Record

_MOST_CONDITIONS = 3


def _conditions(found: Any) -> str:
    """Summarize the conditions; true ones by name only."""
    listed = found.raw.get("status", {}).get("conditions") or []
    told = [
        c.get("type", "")
        if c.get("status") == "True"
        else f"{c.get('type')}={c.get('status')}" + f" ({c.get('reason')})" * bool(c.get("reason"))
        for c in listed
        if isinstance(c, dict)
    ]
    more = len(told) - _MOST_CONDITIONS
    return ", ".join(told[:_MOST_CONDITIONS]) + (f", {more} more" if more > 0 else "")


_NAMESPACE = Column("NAMESPACE", lambda o: o.metadata.namespace)
_COLUMNS = [
    Column("NAME", lambda o: o.metadata.name),
    Column("CONDITIONS", _conditions, shrinks=True),
    Column("AGE", lambda o: age(o.metadata.creation_timestamp)),
    Column("CAME BY", lambda o: o.origin, wide=True),
    Column("UID", lambda o: o.metadata.uid, wide=True),
]
# Jobs, and objects of the same kind that placements place.
_JOBS_AND_OBJECTS = [
    Column("NAMESPACE", lambda each: _of(each, "namespace")),
    Column("NAME", lambda each: _of(each, "name")),
    Column("STATE", lambda each: each.state if isinstance(each, Job) else "", coloured=True),
    Column("REASON", lambda each: each.reason if isinstance(each, Job) else "", shrinks=True),
    Column(
        "CONDITIONS", lambda each: "" if isinstance(each, Job) else _conditions(each), shrinks=True
    ),
    Column("AGE", lambda each: age(_created(each))),
    Column("UID", lambda each: _of(each, "uid"), wide=True),
]


def _of(found: Any, field: str) -> str:
    return str(getattr(found if isinstance(found, Job) else found.metadata, field))


def _created(found: Any) -> Any:
    return found.created_at if isinstance(found, Job) else found.metadata.creation_timestamp


@examples(
    "roadstead get clusterqueues",
    "roadstead get cq team-a -o yaml",
    "roadstead get configmap -n team-a -o name",
)
@click.command("get")
@click.argument("kind", metavar="KIND")
@click.argument("names", metavar="[NAME...]", nargs=-1)
@ONLY_NAMESPACE
@ALL_NAMESPACES
@output_option
@click.pass_context
def get(
    ctx: click.Context,
    kind: str,
    names: tuple[str, ...],
    namespace: str | None,
    all_namespaces: bool,
    output: str,
) -> None:
    """Show objects of any kind: all of them, or the named ones.

    Write KIND in any case, plural or short: clusterqueue, cq, namespace, placement, cluster, job, or with
    its group, as Widget.example.com. Name a namespaced object NAME with -n, or NAMESPACE/NAME. Values of
    Secrets are redacted. -o yaml prints manifests that you can apply again; -o json prints the full objects
    of the hub.
    """
    if kind.count("/") == 1 and not names:
        kind, _, name = kind.partition("/")
        names = (name,)
    with client(ctx) as hub:
        meant = kinds.kind_of(hub, kind)
        inside = "" if meant.namespaced is False else namespace or default_namespace()
        if names:
            found = [_find(hub, meant, each, inside) for each in dict.fromkeys(names)]
        else:
            found = _all(hub, meant, "" if all_namespaces else inside)
        unseen = _unseen(hub) if not found and meant.namespaced is False else ""
    if output == "yaml":
        from roadstead.cli.export import as_manifest

        listed = [as_manifest(each.raw) for each in found]
        alone = names and len(listed) == 1
        dump(listed[0] if alone else {"apiVersion": "v1", "kind": "List", "items": listed}, output)
        return
    if names and len(found) == 1 and is_data(output):
        dump(found[0].raw, output)
        return
    columns = _columns(meant, found)
    if meant.namespaced is not False:
        unseen = beside_the_list(namespace, everywhere=all_namespaces)
    empty = f"No {meant.name} there.{unseen}"
    show_list(lambda: found, columns, output, empty=empty)


def _columns(kind: kinds.Kind, found: list[Record]) -> list[Column]:
    """The columns of a list of one kind, whose objects may be jobs, placed objects or both."""
    if kind.namespaced is False:
        return _COLUMNS
    jobs = sum(isinstance(each, Job) for each in found)
    if kind[:2] == ("batch", "Job") or (jobs and jobs == len(found)):
        from roadstead.cli.jobs import COLUMNS

        return list(COLUMNS)
    return _JOBS_AND_OBJECTS if jobs else [_NAMESPACE, *_COLUMNS]


def _unseen(hub: Client) -> str:
    """Words that an empty list adds for people who see no objects outside namespaces."""
    if any(not each.namespaces and not each.queues for each in hub.whoami().roles):
        return ""
    return " Cluster-scoped objects need a role in all namespaces: roadstead whoami"


def _all(hub: Client, kind: kinds.Kind, namespace: str) -> list[Record]:
    if kind[:2] == ("batch", "Job"):
        return list(hub.jobs(namespace=namespace or None))
    if kind[:2] == (kinds.KUEUE, "Workload"):
        return list(hub.workloads(namespace=namespace or None))
    placed: list[Record] = list(hub.objects(kind.name, group=kind.group, namespace=namespace))
    if kinds.is_other_work(kind):
        jobs = [each for each in hub.jobs(namespace=namespace or None) if each.kind == kind.name]
        return [*jobs, *placed]
    return placed


def work_named(hub: Client, kind: str, full_name: str) -> WholeJob | None:
    """The job of this name whose object is of this kind; None if there is none."""
    try:
        found = hub.job(full_name)
    except NotFound:
        return None
    return found if found.kind == kind else None


def _find(hub: Client, kind: kinds.Kind, name: str, namespace: str) -> Record:
    """One object. Raises NotFound."""
    space, slash, short = name.rpartition("/")
    space = space if slash else namespace or ("default" if kind.namespaced else "")
    if kind[:2] == ("batch", "Job"):
        return hub.job(name if slash or is_uid(name) else f"{space}/{short}")
    if kind[:2] == (kinds.KUEUE, "Workload"):
        return hub.workload(f"{space}/{short}")
    if kinds.is_other_work(kind) and (job := work_named(hub, kind.name, f"{space}/{short}")):
        return job
    found: KubernetesObject = hub.find(kind.name, short, group=kind.group, namespace=space)
    return found
