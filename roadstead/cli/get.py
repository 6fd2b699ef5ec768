"""`roadstead get`: objects of any kind, as a table or as they are."""

from typing import Any

import click

from roadstead.cli import kinds
from roadstead.cli.examples import examples
from roadstead.cli.names import beside_the_list, default_namespace, is_uid
from roadstead.cli.output import age, client, dump, is_data, output_option, show_list
from roadstead.cli.tables import Column
from roadstead.client import Client
from roadstead.models.objects import KubernetesObject
from roadstead.models.record import Record

_MOST_CONDITIONS = 3


def _conditions(found: Any) -> str:
    """What its conditions say, those that hold by their names alone."""
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


@examples(
    "roadstead get clusterqueues",
    "roadstead get cq team-a -o yaml",
    "roadstead get configmap -n team-a -o name",
)
@click.command("get")
@click.argument("kind", metavar="KIND")
@click.argument("names", metavar="[NAME...]", nargs=-1)
@click.option("-n", "--namespace", metavar="NAME", help="Of this namespace [default: of all].")
@click.option("-A", "--all-namespaces", is_flag=True, help="Of all, whatever is set.")
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
    """Show objects of any kind: all of them, or those that are named.

    KIND is written in any case, plural or short: clusterqueue, cq, namespace, placement, cluster, job, or
    with its group, as Widget.example.com. What lives in a namespace is named NAME with -n, or
    NAMESPACE/NAME. Values of Secrets are shown to nobody. -o yaml prints manifests that can be applied
    again; -o json has all that the hub says of an object.
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
    if output == "yaml":
        from roadstead.cli.export import as_manifest

        listed = [as_manifest(each.raw) for each in found]
        alone = names and len(listed) == 1
        dump(listed[0] if alone else {"apiVersion": "v1", "kind": "List", "items": listed}, output)
        return
    if names and len(found) == 1 and is_data(output):
        dump(found[0].raw, output)
        return
    if meant[:2] == ("batch", "Job"):
        from roadstead.cli.jobs import COLUMNS

        columns = list(COLUMNS)
    else:
        columns = _COLUMNS if meant.namespaced is False else [_NAMESPACE, *_COLUMNS]
    empty = f"No {meant.name} there."
    if meant.namespaced is not False:
        empty += beside_the_list(namespace, everywhere=all_namespaces)
    if (
        meant.namespaced is False
    ):  # for who has a role in some namespaces nothing of the kind is there
        empty += " What is in no namespace is shown to who has a role everywhere: roadstead whoami"
    show_list(lambda: found, columns, output, empty=empty)


def _all(hub: Client, kind: kinds.Kind, namespace: str) -> list[Record]:
    if kind[:2] == ("batch", "Job"):
        return list(hub.jobs(namespace=namespace or None))
    if kind[:2] == (kinds.KUEUE, "Workload"):
        return list(hub.workloads(namespace=namespace or None))
    return list(hub.objects(kind.name, group=kind.group, namespace=namespace))


def _find(hub: Client, kind: kinds.Kind, name: str, namespace: str) -> Record:
    """One object. Raises NotFound."""
    space, slash, short = name.rpartition("/")
    space = space if slash else namespace or ("default" if kind.namespaced else "")
    if kind[:2] == ("batch", "Job"):
        return hub.job(name if slash or is_uid(name) else f"{space}/{short}")
    if kind[:2] == (kinds.KUEUE, "Workload"):
        return hub.workload(f"{space}/{short}")
    found: KubernetesObject = hub.find(kind.name, short, group=kind.group, namespace=space)
    return found
