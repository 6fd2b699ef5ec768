"""`roadstead placements`: selected objects and their clusters."""

from collections.abc import Sequence

import click

from roadstead.cli import revisions
from roadstead.cli.nouns import list_verb, show_verb
from roadstead.cli.output import age, answer_option, client, show_one
from roadstead.cli.removals import lines_of
from roadstead.cli.rendered import manifests_of
from roadstead.cli.tables import Column, indented, wrapped
from roadstead.client import Client
from roadstead.models.objects import Condition
from roadstead.models.placements import ObservedDrift, Placement, SelectedResource
from roadstead.models.plan import Evicted, Rebalanced, RenderedPlacement


def _clusters(placement: Placement) -> str:
    """The picked clusters; the status has the reasons for the others."""
    return ",".join(
        each.cluster_name
        for each in placement.placement_statuses
        if each.cluster_name
        and not any(c.type == "Scheduled" and c.status == "False" for c in each.conditions)
    )


def _state(placement: Placement) -> str:
    """The last condition that is True, or the first that is not.

    Overridden comes last, because a failed apply matters more.
    """
    untrue = [each for each in placement.conditions if each.status != "True"]
    for condition in sorted(untrue, key=lambda each: each.type.endswith("Overridden")):
        return f"{condition.type.split('Placement')[-1]}: {condition.reason}"
    rungs = [each for each in placement.conditions if each.type != "NotActedOn"]
    return rungs[-1].reason if rungs else ""


COLUMNS = [
    Column("NAMESPACE", lambda p: p.namespace),
    Column("NAME", lambda p: p.name),
    Column("POLICY", lambda p: p.policy.get("placementType", "PickAll")),
    Column("SELECTED", lambda p: len(p.selected_resources)),
    Column("CLUSTERS", _clusters, shrinks=True),
    Column("STATE", _state, shrinks=True, coloured=True),
    Column("AGE", lambda p: age(p.created_at)),
]


@click.group()
def placements() -> None:
    """Manage placements: which objects and jobs go to which clusters."""


def _as_text(placement: Placement) -> str:
    lines = [f"{placement.kind} {placement.full_name}"]
    for condition in placement.conditions:
        lines += _condition(condition, "  ")
    selected = [_resource(each) for each in placement.selected_resources]
    lines += ["", *wrapped("selected: " + (", ".join(selected) or "nothing"), "  ")]
    for status in placement.placement_statuses:
        lines += ["", f"  {status.cluster_name or 'not placed'}"]
        for condition in status.conditions:
            lines += _condition(condition, "    ")
        for failed in status.failed_placements:
            lines += [f"    failed: {_resource(failed)}"]
            lines += _condition(failed.condition, "      ")
        for drifted in status.drifted_placements:
            lines += _differing("drifted", drifted, drifted.observed_drifts)
        for diffed in status.diffed_placements:
            lines += _differing("differs", diffed, diffed.observed_diffs)
    return "\n".join(lines)


def _condition(condition: Condition | None, indent: str) -> list[str]:
    if condition is None:
        return []
    told = f"{condition.type}={condition.status}  {condition.reason}"
    return wrapped(f"{told}: {condition.message}" if condition.message else told, indent)


def _differing(
    word: str, resource: SelectedResource, fields: Sequence[ObservedDrift]
) -> list[str]:
    lines = [f"    {word}: {_resource(resource)}"]
    for each in fields:
        told = f"{each.path}: hub {each.value_in_hub}, member {each.value_in_member}"
        lines += wrapped(told, "      ")
    return lines


def _resource(resource: SelectedResource) -> str:
    name = "/".join(part for part in (resource.namespace, resource.name) if part)
    lies = resource.envelope
    if lies is None:
        return f"{resource.kind} {name}"
    where = "/".join(part for part in (lies.namespace, lies.name) if part)
    return f"{resource.kind} {name} in {lies.type} {where}"


placements.add_command(
    list_verb(
        Client.placements,
        COLUMNS,
        does="List placements and their clusters.",
        empty="No placements.",
    )
)
placements.add_command(
    show_verb(
        Client.placement,
        _as_text,
        does="""Show a placement's objects, and their clusters.

        NAME is that of a ClusterResourcePlacement, or namespace/name of a ResourcePlacement.
        """,
    )
)

for _verb in (revisions.history, revisions.rollback, revisions.bindings):
    placements.add_command(_verb)


@placements.command("render")
@click.argument("name")
@click.option("--cluster", metavar="NAME", required=True, help="The cluster to render for.")
@answer_option
@click.pass_context
def render(ctx: click.Context, name: str, cluster: str, output: str) -> None:
    """Show the manifests of a placement for a cluster, as of now.

    With overrides and envelopes applied, whether the cluster was picked or not; without Jobs. Values of
    Secrets are redacted. NAME is that of a ClusterResourcePlacement, or namespace/name of a
    ResourcePlacement.
    """
    with client(ctx) as hub:
        show_one(hub.render(name, cluster), output, _rendered)


def _rendered(found: RenderedPlacement) -> str:
    name = "/".join(each for each in (found.namespace, found.name) if each)
    lines = [f"# {found.kind} {name}, {found.cluster}: {found.message}"]
    lines += manifests_of(found.manifests, found.faults, found.manifests_left)
    return "\n".join(lines)


_ANEW = [
    Column("CLUSTER", lambda c: c.name),
    Column("PICKED", lambda c: "yes" if c.selected else "no"),
    Column("AFFINITY", lambda c: c.affinity_score),
    Column("SPREAD", lambda c: c.topology_spread_score),
    Column("WHY", lambda c: c.message, wraps=True),
]


@placements.command("rebalance")
@click.argument("name")
@click.option(
    "--yes", is_flag=True, help="Move the objects; without it the command only shows the changes."
)
@answer_option
@click.pass_context
def rebalance(ctx: click.Context, name: str, yes: bool, output: str) -> None:
    """Preview a new pick of a placement's clusters, or move.

    Without --yes nothing moves. NAME is that of a ClusterResourcePlacement, or namespace/name of a
    ResourcePlacement. Objects leave a cluster once they are available on another. Running Jobs never move.
    """
    with client(ctx) as hub:
        show_one(hub.rebalance(name, carry_out=yes), output, _moves)


def _moves(found: Rebalanced) -> str:
    name = "/".join(each for each in (found.namespace, found.name) if each)
    lines = [f"{found.kind} {name}", *wrapped(found.message, "  ")]
    for word, names in (("stays", found.stays), ("goes", found.goes), ("comes", found.comes)):
        if names:
            lines += wrapped(f"{word}: {', '.join(names)}", "  ")
    if found.clusters:
        lines += ["", *indented(found.clusters, _ANEW)]
    if found.carried_out:
        lines += ["", "Moving: objects leave a cluster once they are available on the new one."]
    elif found.goes or found.comes:
        lines += ["", "Nothing has moved; use --yes to move."]
    return "\n".join(lines)


@placements.command("evict")
@click.argument("name")
@click.argument("cluster")
@click.option("--dry-run", is_flag=True, help="Show what would leave; evict nothing.")
@answer_option
@click.pass_context
def evict(ctx: click.Context, name: str, cluster: str, dry_run: bool, output: str) -> int:
    """Evict a placement from one cluster, as budgets allow.

    NAME is that of a ClusterResourcePlacement, or namespace/name of a ResourcePlacement. The cluster may be
    picked again unless it is cordoned or tainted.

    Exits with 1 if the placement may not leave.
    """
    with client(ctx) as hub:
        told = hub.evict(name, cluster, dry_run=dry_run)
    show_one(told, output, _leaves)
    return 0 if told.allowed else 1


def _leaves(told: Evicted) -> str:
    name = "/".join(each for each in (told.namespace, told.name) if each)
    verb = "leaves" if told.eviction else "would leave"
    word = f"{verb} {told.cluster}" if told.allowed else f"stays on {told.cluster}"
    lines = [f"{told.kind} {name} {word}", *wrapped(told.message, "  ")]
    if told.allowed:
        lines.append(f"  {told.object_count} object(s), {told.job_count} job(s)")
        lines += lines_of(told.members)
    if told.eviction:
        lines.append(f"  {told.kind}Eviction {told.eviction}")
    return "\n".join(lines)
