"""`roadstead clusters`: the members of the fleet."""

from collections.abc import Callable, Mapping
from typing import Any

import click

from roadstead.cli import cordon
from roadstead.cli.cluster_words import kinds_of_work, lacking_rights, means
from roadstead.cli.each import for_each
from roadstead.cli.nouns import list_verb, show_verb
from roadstead.cli.output import age, answer_option, client, dump, seconds_until, span
from roadstead.cli.removals import lines_of
from roadstead.cli.tables import Column, indented, wrapped
from roadstead.cli.visible import say
from roadstead.client import Client
from roadstead.errors import Rejected
from roadstead.models.clusters import Cluster, Drained, JoinToken
from shared.properties import USAGE_PREFIX
from shared.quantity import readable


def _free(resource: str) -> Callable[[Cluster], str]:
    def cell(cluster: Cluster) -> str:
        room = cluster.resources.get(resource)
        return f"{readable(room.free)}/{readable(room.allocatable)}" if room else ""

    return cell


def _link(cluster: Cluster) -> str:
    """Describe the connection between agent and hub."""
    said = (
        "plain HTTP" if cluster.plain_http else "",
        "client certificate" if cluster.client_certificate else "",
    )
    return ", ".join(each for each in said if each)


COLUMNS = [
    Column("NAME", lambda c: c.name, shrinks=True),
    Column("STATE", lambda c: c.state, coloured=True),
    Column("NODES", lambda c: c.node_count),
    Column("CPU FREE", _free("cpu")),
    Column("MEMORY FREE", _free("memory")),
    Column("GPU FREE", _free("nvidia.com/gpu")),
    Column("JOBS", lambda c: c.jobs),
    Column("HEARTBEAT", lambda c: age(c.heartbeat_at)),
    Column("VERSION", lambda c: c.kubernetes_version, wide=True),
    Column("AGENT", lambda c: c.agent_version, wide=True),
    Column("LINK", _link, wide=True),
    Column("LABELS", lambda c: ",".join(f"{k}={v}" for k, v in c.labels.items()), wide=True),
]


@click.group()
def clusters() -> None:
    """Member clusters."""


clusters.add_command(
    list_verb(
        Client.clusters,
        COLUMNS,
        does="List members with capacity and heartbeat.",
        empty="No clusters. Declare one: roadstead clusters add NAME",
    )
)


clusters.add_command(
    list_verb(
        Client.cluster_namespaces,
        [
            Column("NAMESPACE", lambda n: n.name, shrinks=True),
            Column("STATE", lambda n: n.state, coloured=True),
            Column("TAKEN OVER", lambda n: "yes" if n.taken_over else ""),
            Column("JOBS", lambda n: n.jobs),
            Column("QUEUES", lambda n: ",".join(n.queues)),
            Column("TENANTS", lambda n: ",".join(n.tenants)),
            Column("TO ACCEPT THE HUB", lambda n: n.command, wide=True),
        ],
        does="List namespaces of a member with their consent and jobs.",
        empty="The hub has named no namespace to this member yet.",
        options=[click.argument("cluster", metavar="NAME")],
        name="namespaces",
        may_watch=False,
    )
)


@clusters.command("add")
@click.argument("name")
@click.option(
    "--label", "labels", multiple=True, metavar="KEY=VALUE", help="May be given several times."
)
@click.option(
    "--taint",
    "taints",
    multiple=True,
    metavar="KEY[=VALUE]:EFFECT",
    help="May be given several times.",
)
@answer_option
@click.pass_context
def add(
    ctx: click.Context, name: str, labels: tuple[str, ...], taints: tuple[str, ...], output: str
) -> None:
    """Declare a member and print its one-time join token.

    Only the token goes to standard output, so you can redirect it to a file.
    """
    pairs = dict(_pair(text) for text in labels)
    repelled = [_taint(text) for text in taints]
    with client(ctx) as hub:
        answer = hub.add_cluster(name, pairs, repelled)
        _show_token(hub.server, answer, output)


@clusters.command("token")
@click.argument("name")
@answer_option
@click.pass_context
def token(ctx: click.Context, name: str, output: str) -> None:
    """Print a new join token for a member.

    Earlier unused tokens become invalid. Only the token goes to standard output.
    """
    with client(ctx) as hub:
        _show_token(hub.server, hub.join_token(name), output)


@clusters.command("drain")
@click.argument("name")
@click.option("--dry-run", is_flag=True, help="Show what would leave; move nothing.")
@answer_option
@click.pass_context
def drain(ctx: click.Context, name: str, dry_run: bool, output: str) -> int:
    """Empty a member: its jobs start elsewhere, its objects leave.

    Cordons the member first. Objects leave as disruption budgets allow. A job whose namespace no other
    cluster accepts waits; the answer names the command that accepts it.

    Exits with 1 if disruption budgets keep something there: drain again later.
    """
    with client(ctx) as hub:
        told = hub.drain(name, dry_run=dry_run)
    if output != "text":
        dump(told.raw, output)
    else:
        _show_drain(told)
    return 1 if told.blocked else 0


def _show_drain(told: Drained) -> None:
    leaves = "leaves" if told.carried_out else "would leave"
    say(f"{told.name}: {told.job_count} job(s) {leaves.removesuffix('s')}")
    for job in told.jobs:
        say(f"  {job.namespace}/{job.name}  {job.state}")
    for line in lines_of(told.members):
        say(line)
    for space in told.waiting:
        say(f"  {space.message}")
    for each in told.placements:
        place = "/".join(part for part in (each.namespace, each.name) if part)
        word = leaves if each.allowed else "stays"
        say(f"  {each.kind} {place}: {word}; {each.message}")
        counts = (
            (each.objects_deleted, "deleted"),
            (each.objects_released, "released: they stay in the member"),
            (each.objects_unknown, "deleted or released: the agent has not reported which"),
        )
        for count, fate in counts:
            if count and not each.allowed:
                say(f"    once it leaves: {count} object(s) {fate}")
    if told.blocked:
        say(f"{told.blocked} placement(s) stay: drain again later")


@clusters.command("rm")
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option(
    "--clean/--keep",
    default=None,
    help="Withdraw its objects first, or leave them [default: the policy of its MemberCluster, which "
    "leaves them].",
)
@click.option(
    "--dry-run", is_flag=True, help="Show what would happen to its objects; remove nothing."
)
@click.pass_context
def remove(ctx: click.Context, names: tuple[str, ...], clean: bool | None, dry_run: bool) -> int:
    """Remove members without jobs, and revoke their credentials.

    Rejects a member that may still run jobs: cordon it and let them end; if it is destroyed, use fence.
    Objects stay there, and are taken over when the cluster joins again; --clean empties it first.
    """
    objects = "" if clean is None else "Delete" if clean else "Abandon"

    def forget(hub: Client, name: str) -> str:
        done = hub.remove_cluster(name, objects=objects, dry_run=dry_run)
        words = {
            "deleted": f"{name} removed",
            "deleting": f"{name} leaves: its objects are withdrawn first",
            "wouldDelete": f"{name} would be removed",
            "ownedElsewhere": f"{name} is not removed here: {done.message}",
        }
        return "\n".join([words.get(done.result, done.result), *lines_of(done.members)])

    _, code = for_each(ctx, names, forget, say, "removing")
    return code


@clusters.command("fence")
@click.argument("name")
@click.option(
    "--destroyed", is_flag=True, required=True, help="Confirms that the cluster is destroyed."
)
@click.option("--confirm", metavar="NAME", help="Its name again; prompted for if missing.")
@click.option("--though-it-answers", is_flag=True, help="Fence it although its agent answers.")
@click.pass_context
def fence(
    ctx: click.Context, name: str, destroyed: bool, confirm: str | None, though_it_answers: bool
) -> None:
    """Fence a destroyed member: its jobs start elsewhere.

    Use this only for a cluster whose nodes are gone: if its pods still run, jobs run twice. Rejects a
    cluster whose agent answers.
    """
    assert destroyed
    if confirm is None:
        say(f"Every job that {name} may still run will start elsewhere.", err=True)
        confirm = click.prompt("Type the name of the cluster", err=True)
    with client(ctx) as hub:
        try:
            answer = hub.fence(name, confirm, though_it_answers=though_it_answers)
        except Rejected as refusal:
            if refusal.code == "ClusterAlive":
                say("If it is destroyed anyway, add --though-it-answers.", err=True)
            raise
        say(f"{name} fenced; {answer.released} jobs requeued")


def _show_token(server: str, answer: JoinToken, output: str) -> None:
    if output != "text":
        dump(answer.raw, output)
        return
    say(answer.join_token)
    left = span(seconds_until(answer.join_token_expires_at))
    say(
        f"This token joins one agent as {answer.name}, once, within {left}. On the member:\n"
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
    Column("RESOURCE", lambda r: r[0]),
    Column("FREE", lambda r: readable(r[1].free)),
    Column("ALLOCATABLE", lambda r: readable(r[1].allocatable)),
    Column("RESERVED", lambda r: readable(r[1].reserved)),
]
_POOLS = [
    Column("NODES", lambda p: p.nodes),
    Column("LABELS", lambda p: _amounts(p.labels), wraps=True),
    Column("TAINTS", lambda p: ", ".join(p.taints), wraps=True),
]
_GROWING = [
    Column("POOL", lambda p: p.name),
    Column("MAY ADD", lambda p: p.may_add),
    Column("OF", lambda p: _amounts(p.allocatable), wraps=True),
    Column("LABELS", lambda p: _amounts(p.labels), wraps=True),
]
_PROPERTIES = [
    Column("PROPERTY", lambda p: p[0], wraps=True),
    Column("VALUE", lambda p: p[1], wraps=True),
]


def _as_text(cluster: Cluster) -> str:
    heartbeat = age(cluster.heartbeat_at)
    lines = [
        f"{cluster.name}  {cluster.state}",
        *means(cluster),
        f"  heartbeat  {f'{heartbeat} ago' if heartbeat else 'none yet'}",
        f"  version    {cluster.kubernetes_version or '-'}",
        f"  agent      {_agent(cluster)}",
        *wrapped(f"labels     {_amounts(cluster.labels) or '-'}", "  "),
        *wrapped(f"taints     {', '.join(map(_tainted, cluster.taints)) or '-'}", "  "),
        f"  jobs       {cluster.jobs}",
    ]
    if cluster.resources:
        lines += ["", *indented(list(cluster.resources.items()), _ROOM)]
    if cluster.pools:
        lines += ["", *indented(cluster.pools, _POOLS)]
    if cluster.growing_pools:
        lines += ["", *indented(cluster.growing_pools, _GROWING)]
    if told := _told(cluster):
        lines += ["", *indented(told, _PROPERTIES)]
    if cluster.property_faults:
        lines += ["", "Invalid properties"]
        for fault in cluster.property_faults:
            lines += wrapped(fault, "  ")
    lines += kinds_of_work(cluster)
    lines += lacking_rights(cluster)
    if cluster.leftover_jobs:
        lines += [
            "",
            "Of another incarnation of the hub, left alone until you delete them there",
        ]
        for each in cluster.leftover_jobs:
            lines += wrapped(f"{each.message} (uid {each.uid})", "  ")
    return "\n".join(lines)


def _told(cluster: Cluster) -> list[tuple[str, str]]:
    """List properties that are not already shown as capacity."""
    return sorted(
        pair for pair in cluster.properties.items() if not pair[0].startswith(USAGE_PREFIX)
    )


def _agent(cluster: Cluster) -> str:
    """Describe the agent's release, the hub's protocol, and the expiry of the credential."""
    if cluster.agent_protocol is None:
        return "-"
    until = cluster.credential_expires_at
    parts = (
        f"{cluster.agent_version or 'unknown'}, protocol {cluster.agent_protocol}",
        f"hub {cluster.hub_version}" if cluster.hub_version else "",
        f"credential for {span(seconds_until(until))}" if until else "credential without expiry",
        _link(cluster),
    )
    return ", ".join(part for part in parts if part)


def _amounts(pairs: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in pairs.items())


def _tainted(taint: Mapping[str, str]) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"


clusters.add_command(
    show_verb(
        Client.cluster, _as_text, does="Show one member: labels, taints, capacity, node pools."
    )
)
cordon.add_to(clusters)
