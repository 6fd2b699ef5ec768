"""`roadstead placements history|rollback|bindings`: revisions, rollback, decisions for clusters."""

import click

from roadstead.cli.nouns import list_verb
from roadstead.cli.output import (
    age,
    answer_option,
    client,
    output_option,
    show_list,
    show_one,
)
from roadstead.cli.tables import Column, indented, wrapped
from roadstead.client import Client
from roadstead.models.placed import (
    ChangedField,
    ClusterWork,
    Revision,
    RevisionChanges,
    RolledBack,
)
from roadstead.models.placements import SelectedResource

MOST_FIELDS = 3  # of one object, in a list


def _resource(each: SelectedResource) -> str:
    return f"{each.kind} {'/'.join(p for p in (each.namespace, each.name) if p)}"


def _field(each: ChangedField) -> str:
    return f"{each.path}: {each.before or '-'} → {each.after or '-'}"


def _told(changes: RevisionChanges | None, most: int) -> list[str]:
    """Format the changes, object by object."""
    if changes is None:
        return []
    lines = [f"+ {_resource(each)}" for each in changes.added]
    lines += [f"- {_resource(each)}" for each in changes.removed]
    for each in changes.changed:
        shown = [_field(one) for one in each.changed_fields[:most]]
        more = each.field_count - len(shown)
        shown += [f"and {more} more"] if more > 0 else []
        lines.append(f"~ {_resource(each)}  {'; '.join(shown)}".rstrip())
    return [*lines, f"and {changes.more} more objects"] if changes.more else lines


def _marked(each: Revision) -> str:
    words = ("newest", each.newest), ("current", each.current)
    return ",".join(word for word, holds in words if holds)


_REVISIONS = [
    Column("INDEX", lambda r: r.index),
    Column("AGE", lambda r: age(r.created_at)),
    Column("", _marked),
    Column("SELECTED", lambda r: r.selected),
    Column("CLUSTERS", lambda r: ",".join(r.clusters), shrinks=True),
    Column("CHANGED", lambda r: "; ".join(_told(r.changes, MOST_FIELDS)), wraps=True),
    Column("HASH", lambda r: r.hash[:12], wide=True),
]


@click.command("history")
@click.argument("name")
@click.option(
    "--limit", type=click.IntRange(1, 100), default=20, show_default=True, help="Maximum number."
)
@output_option
@click.pass_context
def history(ctx: click.Context, name: str, limit: int, output: str) -> None:
    """List the revisions of a placement's objects.

    Newest first, each with its changes (+ added, - removed, ~ changed) and the clusters that have it. NAME
    is that of a ClusterResourcePlacement, or namespace/name of a ResourcePlacement.
    """
    with client(ctx) as hub:
        show_list(
            lambda: hub.revisions(name, limit=limit),
            _REVISIONS,
            output,
            empty="The placement has no revisions yet.",
        )


@click.command("rollback")
@click.argument("name")
@click.option(
    "--to", type=click.IntRange(0), metavar="INDEX", help="The revision to roll back to."
)
@click.option("--release", is_flag=True, help="Roll the newest revision out again.")
@click.option("--dry-run", is_flag=True, help="Only preview the effect.")
@answer_option
@click.pass_context
def rollback(
    ctx: click.Context, name: str, to: int | None, release: bool, dry_run: bool, output: str
) -> None:
    """Roll a placement back to an older revision.

    It rolls out like any change, by the placement's strategy, and stays until the selected objects change
    or you use --release. Jobs are not affected. NAME is that of a ClusterResourcePlacement, or
    namespace/name of a ResourcePlacement.
    """
    if (to is None) == (not release):
        raise click.UsageError("use --to INDEX, or --release")
    with client(ctx) as hub:
        if to is None:
            done = hub.release_rollback(name, dry_run=dry_run)
        else:
            done = hub.roll_back(name, to, dry_run=dry_run)
        show_one(done, output, _done)


_ROLLED = [
    Column("CLUSTER", lambda c: c.name),
    Column("HAS", lambda c: c.index or "nothing"),
    Column("CHANGES", lambda c: "yes" if c.changes else "no"),
]


def _done(done: RolledBack) -> str:
    name = "/".join(each for each in (done.namespace, done.name) if each)
    lines = [f"{done.kind} {name}", *wrapped(done.message, "  ")]
    for each in _told(done.changes, 20):
        lines += wrapped(each, "  ")
    if done.clusters:
        lines += ["", *indented(done.clusters, _ROLLED)]
    if not done.carried_out and done.from_index != done.to_index:
        lines += ["", "Preview only: nothing has changed."]
    return "\n".join(lines)


_BINDINGS = [
    Column("CLUSTER", lambda b: b.cluster),
    Column("STATE", lambda b: f"{b.state}{' (a Job)' if b.of_job else ''}"),
    Column("REVISION", lambda b: b.resource_snapshot_index or "-"),
    Column("AFFINITY", lambda b: b.affinity_score),
    Column("SPREAD", lambda b: b.topology_spread_score),
    Column("AGE", lambda b: age(b.bound_at)),
    Column("WHY", lambda b: b.message, wraps=True),
]


@click.command("bindings")
@click.argument("name")
@output_option
@click.pass_context
def bindings(ctx: click.Context, name: str, output: str) -> None:
    """List a placement's decisions, one for each cluster.

    NAME is that of a ClusterResourcePlacement, or namespace/name of a ResourcePlacement.
    """
    with client(ctx) as hub:
        show_list(
            lambda: hub.bindings(placement=name),
            _BINDINGS,
            output,
            empty="The placement has picked no cluster.",
        )


def _state(work: ClusterWork) -> str:
    if (
        work.action == "Keep" and work.epoch
    ):  # a Job that has ended, which stays as long as it would
        return "Ended"
    if work.action not in {"Apply", "Compare"}:
        return {"Withdraw": "Leaving", "Keep": "Abandoning"}.get(work.action, work.action)
    if work.phase == "Applied" and work.available is False:
        return "NotAvailable"
    return work.phase or "Waiting"


def _by(work: ClusterWork) -> str:
    return "/".join(p for p in (work.placement_namespace, work.placement) if p) or "its queue"


WORKS = [
    Column("CLUSTER", lambda w: w.cluster, shrinks=True),
    Column("KIND", lambda w: w.kind),
    Column("OBJECT", lambda w: "/".join(p for p in (w.namespace, w.name) if p), shrinks=True),
    Column("PLACED BY", _by, shrinks=True),
    Column("STATE", _state, coloured=True),
    Column("DRIFTED", lambda w: w.drifted or ""),
    Column("TOLD", lambda w: age(w.observed_at)),
    Column("WHY", lambda w: f"{w.reason}: {w.message}".strip(": "), shrinks=True),
]


@click.group()
def works() -> None:
    """Show works: the desired objects of each cluster and their states."""


works.add_command(
    list_verb(
        Client.works,
        WORKS,
        does="List the desired objects of clusters, and their states.",
        empty="No cluster has desired objects.",
        no_match="No works match.",
        options=(
            click.option("--cluster", default="", help="Only this cluster."),
            click.option("--placement", default="", metavar="NAME", help="Only this placement."),
            click.option(
                "--failed", is_flag=True, help="Only rejected, missing or unavailable ones."
            ),
        ),
    )
)
