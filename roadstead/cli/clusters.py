"""`roadstead clusters`: the members of the fleet."""

from collections.abc import Mapping
from typing import Any

import click

from roadstead.cli.each import for_each
from roadstead.cli.output import (
    Column,
    age,
    answer_option,
    client,
    dump,
    output_option,
    seconds_until,
    show_list,
    show_one,
    span,
    table,
    terminal_width,
    watch_option,
    wrapped,
)
from roadstead.errors import Rejected


def _free(resource: str) -> Any:
    def cell(cluster: dict[str, Any]) -> str:
        room = (cluster.get("resources") or {}).get(resource)
        return f"{room['free']}/{room['allocatable']}" if room else ""

    return cell


COLUMNS = [
    Column("NAME", lambda c: c["name"], shrinks=True),
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
@answer_option
@click.pass_context
def show(ctx: click.Context, name: str, output: str) -> None:
    """Show one member: labels, taints, room, node pools."""
    with client(ctx) as hub:
        show_one(hub.cluster(name), output, _as_text)


@clusters.command("add")
@click.argument("name")
@click.option("--label", "labels", multiple=True, metavar="KEY=VALUE", help="May be repeated.")
@click.option(
    "--taint", "taints", multiple=True, metavar="KEY[=VALUE]:EFFECT", help="May be repeated."
)
@answer_option
@click.pass_context
def add(
    ctx: click.Context, name: str, labels: tuple[str, ...], taints: tuple[str, ...], output: str
) -> None:
    """Declare a member and print its one-time join token.

    The token alone goes to standard output, so that it can be redirected to a file.
    """
    pairs = dict(_pair(text) for text in labels)
    repelled = [_taint(text) for text in taints]
    with client(ctx) as hub:
        answer = hub.add_cluster(name, pairs, repelled)
        _show_token(hub.server, name, answer, output)


@clusters.command("token")
@click.argument("name")
@answer_option
@click.pass_context
def token(ctx: click.Context, name: str, output: str) -> None:
    """Print a fresh join token for a member.

    Earlier ones that were not used end. The token alone goes to standard output.
    """
    with client(ctx) as hub:
        _show_token(hub.server, name, hub.join_token(name), output)


@clusters.command("cordon")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.pass_context
def cordon(ctx: click.Context, names: tuple[str, ...]) -> int:
    """Send no new work to members; what runs there goes on."""
    return _switch(ctx, names, on=True)


@clusters.command("uncordon")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.pass_context
def uncordon(ctx: click.Context, names: tuple[str, ...]) -> int:
    """Send work to members again."""
    return _switch(ctx, names, on=False)


@clusters.command("fence")
@click.argument("name")
@click.option("--destroyed", is_flag=True, required=True, help="The cluster is gone for good.")
@click.option("--confirm", metavar="NAME", help="Its name again; asked for where it is not given.")
@click.option("--though-it-answers", is_flag=True, help="Its agent answers, and you know why.")
@click.pass_context
def fence(
    ctx: click.Context, name: str, destroyed: bool, confirm: str | None, though_it_answers: bool
) -> None:
    """Write a member off that is destroyed: its jobs start elsewhere.

    Only say so of a cluster whose nodes are gone: where its pods still run, jobs run twice. One
    whose agent answers is refused.
    """
    assert destroyed
    if confirm is None:
        click.echo(f"Every job that {name} may still run will be started elsewhere.", err=True)
        confirm = click.prompt("Type the name of the cluster", err=True)
    with client(ctx) as hub:
        try:
            answer = hub.fence(name, confirm, though_it_answers=though_it_answers)
        except Rejected as refusal:
            if refusal.code == "ClusterAlive":
                click.echo("If it is destroyed all the same, add --though-it-answers.", err=True)
            raise
        click.echo(f"{name} fenced; {answer['released']} jobs given back")


def _switch(ctx: click.Context, names: tuple[str, ...], *, on: bool) -> int:
    word = "cordoned" if on else "uncordoned"
    _, code = for_each(
        ctx,
        names,
        lambda hub, name: hub.cordon(name, on=on),
        lambda cluster: click.echo(f"{cluster['name']} {word}"),
    )
    return code


def _show_token(server: str, name: str, answer: dict[str, Any], output: str) -> None:
    if output != "text":
        dump(answer, output)
        return
    click.echo(answer["joinToken"])
    left = span(seconds_until(answer["joinTokenExpiresAt"]))
    click.echo(
        f"This token joins one agent as {name}, once, within {left}. On the member:\n"
        f"  python -m agent --hub {server} --join-token FILE --credential FILE",
        err=True,
    )


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise click.UsageError(f"--label {text}: expected KEY=VALUE.")
    return key, value


def _taint(text: str) -> dict[str, str]:
    left, _, effect = text.rpartition(":")
    key, _, value = left.partition("=")
    if not key or not effect:
        raise click.UsageError(f"--taint {text}: expected KEY=VALUE:EFFECT or KEY:EFFECT.")
    return {"key": key, "value": value, "effect": effect}


_ROOM = [
    Column("RESOURCE", lambda r: r["resource"]),
    Column("FREE", lambda r: r["free"]),
    Column("ALLOCATABLE", lambda r: r["allocatable"]),
    Column("RESERVED", lambda r: r["reserved"]),
]
_POOLS = [
    Column("NODES", lambda p: p["nodes"]),
    Column("LABELS", lambda p: _amounts(p["labels"]), wraps=True),
    Column("TAINTS", lambda p: ", ".join(_tainted(t) for t in p.get("taints") or ()), wraps=True),
]

_GROWING = [
    Column("POOL", lambda p: p["name"]),
    Column("MAY ADD", lambda p: p["mayAdd"]),
    Column("OF", lambda p: _amounts(p["allocatable"]), wraps=True),
    Column("LABELS", lambda p: _amounts(p["labels"]), wraps=True),
]


def _as_text(cluster: dict[str, Any]) -> str:
    heartbeat = age(cluster["heartbeatAt"])
    lines = [
        f"{cluster['name']}  {cluster['state']}",
        f"  heartbeat  {f'{heartbeat} ago' if heartbeat else 'none yet'}",
        f"  version    {cluster['kubernetesVersion'] or '-'}",
        *wrapped(f"labels     {_amounts(cluster['labels']) or '-'}", "  "),
        *wrapped(f"taints     {', '.join(map(_tainted, cluster['taints'])) or '-'}", "  "),
        f"  jobs       {cluster['jobs']}",
    ]
    room = [{"resource": name, **each} for name, each in (cluster.get("resources") or {}).items()]
    width = max(40, terminal_width() - 2)
    tables = (
        (room, _ROOM),
        (cluster.get("pools") or [], _POOLS),
        (cluster.get("growingPools") or [], _GROWING),
    )
    for rows, columns in tables:
        if rows:
            lines += ["", *(f"  {line}" for line in table(rows, columns, width=width).split("\n"))]
    if left := cluster.get("leftoverJobs"):
        lines += [
            "",
            "Of another incarnation of the hub, left alone until somebody deletes them there",
        ]
        for each in left:
            lines += wrapped(f"{each['message']} (uid {each['uid']})", "  ")
    return "\n".join(lines)


def _amounts(pairs: Mapping[str, Any] | None) -> str:
    return ", ".join(f"{key}={value}" for key, value in (pairs or {}).items())


def _tainted(taint: Mapping[str, str] | str) -> str:
    if isinstance(taint, str):
        return taint
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"
