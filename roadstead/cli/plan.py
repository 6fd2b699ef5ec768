"""`roadstead plan`: where manifests would go if you applied them now."""

import click

from roadstead.cli.manifests import documents_options, is_empty, read_sources
from roadstead.cli.names import default_namespace
from roadstead.cli.output import answer_option, client, show_one
from roadstead.cli.removals import lines_of
from roadstead.cli.rendered import manifests_of
from roadstead.cli.tables import Column, indented, wrapped
from roadstead.models.plan import Plan, PlannedJob, PlannedPlacement

_NOTHING = "There is no placement, no Job and no CronJob with a queue in them."
_OF_PLACEMENT = [
    Column("CLUSTER", lambda c: c.name),
    Column("PICKED", lambda c: "yes" if c.selected else "no"),
    Column("AFFINITY", lambda c: c.affinity_score),
    Column("SPREAD", lambda c: c.topology_spread_score),
    Column("WHY", lambda c: c.message, wraps=True),
]
_OF_JOB = [
    Column("CLUSTER", lambda c: c.name),
    Column("FITS", lambda c: "yes" if c.fits else "no"),
    Column("SCORE", lambda c: "" if c.score is None else c.score),
    Column("WHY", lambda c: c.message, wraps=True),
]


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@documents_options
@click.option(
    "--manifests", is_flag=True, help="Also print the manifests for each picked cluster."
)
@click.option("--cluster", metavar="NAME", help="Only manifests of this cluster.")
@answer_option
@click.pass_context
def plan(
    ctx: click.Context,
    files: tuple[str, ...],
    recursive: bool,
    namespace: str | None,
    manifests: bool,
    cluster: str | None,
    output: str,
) -> None:
    """Preview where manifests would go now, with every cluster's score or rejection; stores nothing.

    FILE is a file, a folder, or '-' for standard input. All files form one plan: a placement selects the
    objects of the other files. Each Job, and one run of each CronJob with a queue, is examined alone, with
    the quota that the hub has. --manifests shows each object for each cluster after overrides and envelopes,
    and the overrides that fail; values of Secrets are redacted.
    """
    sources = [each for each in read_sources(files, recursive=recursive) if not is_empty(each)]
    if not sources:
        raise click.UsageError("These files contain nothing to plan.")
    # One body: JSON is YAML too.
    body = sources[0].body if len(sources) == 1 else b"\n---\n".join(s.body for s in sources)
    with client(ctx) as hub:
        found = hub.plan(
            body,
            namespace=namespace or default_namespace() or None,
            manifests=manifests or bool(cluster),
            cluster=cluster or "",
        )
        show_one(found, output, _as_text)


def _as_text(plan: Plan) -> str:
    parts = [_placement(each) for each in plan.placements] + [_job(each) for each in plan.jobs]
    return "\n\n".join(parts) or _NOTHING


def _placement(given: PlannedPlacement) -> str:
    name = "/".join(part for part in (given.namespace, given.name) if part)
    lines = [f"{given.kind} {name}", *wrapped(given.message, "  ")]
    shown = ", ".join(
        " ".join((each.kind, "/".join(p for p in (each.namespace, each.name) if p)))
        for each in given.selected
    )
    more = given.selected_count - len(given.selected)
    lines += wrapped(f"selects {shown or 'nothing'}{f' and {more} more' if more else ''}", "  ")
    if given.clusters:
        lines += ["", *indented(given.clusters, _OF_PLACEMENT)]
    if given.members:
        lines += ["", "withdraws, once it is applied:", *lines_of(given.members, "    ")]
    if given.manifests is not None:
        lines += ["", *manifests_of(given.manifests, given.faults, given.manifests_left)]
    return "\n".join(lines)


def _job(given: PlannedJob) -> str:
    told = "admitted" if given.admitted else f"not admitted ({given.reason})"
    queue = f", queue {given.cluster_queue}" if given.cluster_queue else ""
    lines = [f"{given.kind} {given.namespace}/{given.name}  {told}{queue}"]
    if given.message:
        lines += wrapped(given.message, "  ")
    if given.clusters:
        lines += ["", *indented(given.clusters, _OF_JOB)]
    return "\n".join(lines)
