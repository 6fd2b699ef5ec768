"""`roadstead clusters`: the members of the fleet."""

from typing import Any

import click

from roadstead.cli.output import (
    Column,
    age,
    client,
    output_option,
    show_list,
    show_one,
    watch_option,
)


def _free(resource: str) -> Any:
    def cell(cluster: dict[str, Any]) -> str:
        room = (cluster.get("resources") or {}).get(resource)
        return f"{room['free']}/{room['allocatable']}" if room else ""

    return cell


COLUMNS = [
    Column("NAME", lambda c: c["name"]),
    Column("STATE", lambda c: c["state"]),
    Column("NODES", lambda c: c["nodeCount"]),
    Column("CPU FREE", _free("cpu")),
    Column("MEMORY FREE", _free("memory")),
    Column("GPU FREE", _free("nvidia.com/gpu")),
    Column("JOBS", lambda c: c["jobs"]),
    Column("HEARTBEAT", lambda c: age(c["heartbeatAt"])),
    Column("VERSION", lambda c: c["kubernetesVersion"], wide=True),
    Column("LABELS", lambda c: ",".join(f"{k}={v}" for k, v in c["labels"].items()), wide=True),
]


@click.group()
def clusters() -> None:
    """Member clusters."""


@clusters.command("ls")
@output_option
@watch_option
@click.pass_context
def list_clusters(ctx: click.Context, output: str, watch: bool) -> None:
    """List members with their room and heartbeat."""
    with client(ctx) as hub:
        show_list(
            hub.clusters,
            COLUMNS,
            output,
            watch=watch,
            empty="No clusters. Declare one: roadstead clusters add NAME",
        )


@clusters.command("show")
@click.argument("name")
@output_option
@click.pass_context
def show(ctx: click.Context, name: str, output: str) -> None:
    """Show one member: labels, taints, node pools, what it runs."""
    with client(ctx) as hub:
        show_one(hub.cluster(name), output, _as_text)


@clusters.command("add")
@click.argument("name")
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE")
@click.pass_context
def add(ctx: click.Context, name: str, labels: tuple[str, ...]) -> None:
    """Declare a member and print its one-time join token."""
    pairs = dict(_pair(text) for text in labels)
    with client(ctx) as hub:
        answer = hub.add_cluster(name, pairs)
    click.echo(answer["joinToken"])
    click.echo(
        f"The token joins one agent as {name!r}, once, within 15 minutes. On the member:\n"
        f"  python -m agent --hub {hub.server} --join-token FILE --credential FILE",
        err=True,
    )


@clusters.command("cordon")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.pass_context
def cordon(ctx: click.Context, names: tuple[str, ...]) -> None:
    """Send no new work to members; what runs there goes on."""
    _switch(ctx, names, on=True)


@clusters.command("uncordon")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.pass_context
def uncordon(ctx: click.Context, names: tuple[str, ...]) -> None:
    """Send work to members again."""
    _switch(ctx, names, on=False)


def _switch(ctx: click.Context, names: tuple[str, ...], *, on: bool) -> None:
    with client(ctx) as hub:
        for name in names:
            hub.cordon(name, on=on)
            click.echo(f"{name} {'cordoned' if on else 'uncordoned'}")


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise click.UsageError(f"--label {text}: expected KEY=VALUE.")
    return key, value


def _as_text(cluster: dict[str, Any]) -> str:
    lines = [
        f"{cluster['name']}  {cluster['state']}",
        f"  heartbeat  {age(cluster['heartbeatAt']) or 'never'} ago",
        f"  version    {cluster['kubernetesVersion'] or '-'}",
        "  labels     " + (", ".join(f"{k}={v}" for k, v in cluster["labels"].items()) or "-"),
        f"  jobs       {cluster['jobs']}",
        "  room       resource: free / allocatable, reserved by the hub",
    ]
    lines += [
        f"    {name}: {room['free']} / {room['allocatable']}, {room['reserved']}"
        for name, room in (cluster.get("resources") or {}).items()
    ]
    for pool in cluster.get("pools") or []:
        labels = ", ".join(f"{k}={v}" for k, v in pool["labels"].items())
        lines.append(f"  pool       {pool['nodes']} nodes  {labels}")
    return "\n".join(lines)
