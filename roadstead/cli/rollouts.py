"""`roadstead rollouts`: staged update runs, stage by stage, and actions on them."""

import click

from roadstead.cli.nouns import list_verb, show_verb
from roadstead.cli.output import age, answer_option, client, show_one
from roadstead.cli.tables import Column, indented, wrapped
from roadstead.client import Client
from roadstead.models.rollouts import Rollout, RolloutStage

_OVER = frozenset({"UpdateRunSucceeded", "UpdateRunFailed", "UpdateRunInitializedFailed"})
COLUMNS = [
    Column("NAMESPACE", lambda r: r.namespace),
    Column("NAME", lambda r: r.name),
    Column("PLACEMENT", lambda r: r.placement if r.is_run else "", shrinks=True),
    Column("STRATEGY", lambda r: r.strategy, wide=True),
    Column("VERSION", lambda r: r.version),
    Column("DONE", lambda r: f"{r.updated}/{r.clusters}"),
    Column("STATE", lambda r: _short(r.reason), coloured=True),
    Column("AGE", lambda r: age(r.created_at)),
    Column("SAYS", lambda r: r.message, wraps=True),
]
_CLUSTERS = [
    Column("CLUSTER", lambda c: c.name),
    Column("STATE", lambda c: _short(c.reason), coloured=True),
    Column("SINCE", lambda c: age(c.started_at)),
    Column("SAYS", lambda c: c.message, wraps=True),
]
_VERSIONS = [
    Column("CLUSTER", lambda c: c.name),
    Column("VERSION", lambda c: c.version),
    Column("STATE", lambda c: c.reason, coloured=True),
    Column("SAYS", lambda c: c.message, wraps=True),
]


def _short(reason: str) -> str:
    """Remove the common prefix of a reason."""
    for prefix in ("UpdateRun", "StageUpdating", "ClusterUpdating"):
        reason = reason.removeprefix(prefix)
    return reason


@click.group()
def rollouts() -> None:
    """Manage rollouts: staged update runs, and placements that are rolling out.

    NAME is that of a ClusterStagedUpdateRun, or namespace/name of a StagedUpdateRun; `show` takes a
    placement too.
    """


def _as_text(found: Rollout) -> str:
    lines = [f"{found.kind} {found.full_name}"]
    if found.is_run:
        version = f"version {found.version}" if found.version else "no version yet"
        lines += wrapped(
            f"brings {version} of placement {found.placement} by strategy {found.strategy}", "  "
        )
    lines += wrapped(f"{_short(found.reason)}: {found.message}", "  ")
    for stage in found.stages:
        lines += _stage(stage)
    if found.cluster_versions:
        lines += ["", *indented(found.cluster_versions, _VERSIONS)]
    hints = _what_next(found)
    return "\n".join([*lines, "", *hints] if hints else lines)


def _stage(stage: RolloutStage) -> list[str]:
    name = "last stage: withdraw" if "/" in stage.name else f"stage {stage.name}"
    if "/" in stage.name and not stage.clusters:
        return []
    lines = ["", f"  {name}: {_short(stage.reason)}"]
    for when in ("before", "after"):
        if when == "after" and stage.clusters:
            lines += [f"    {line}" for line in indented(stage.clusters, _CLUSTERS)]
        for task in stage.tasks:
            if task.when == when:
                state = "done" if task.done else "open"
                what = f"{task.type} {task.request}".strip()
                said = f"{what}, {when} the stage: {state}"
                lines += wrapped(f"{said}; {task.message}" if task.message else said, "    ")
    return lines


def _what_next(found: Rollout) -> list[str]:
    """The commands to run next, each on a line to copy; none if no action is needed."""
    name = found.full_name
    resume = f"roadstead rollouts resume {name}"
    go_on = f"resume: {resume}"
    go_back = f"roll back: roadstead rollouts rollback {name}"
    if not found.is_run or found.reason in _OVER:
        return []
    if found.stopped_by_itself:
        return [go_on, go_back]
    if found.waits_for:
        return [f"approve it: roadstead rollouts approve {name}"]
    if found.origin == "hub-cluster":  # its spec is changed where it came from
        within = f" -n {found.namespace}" if found.namespace else ""
        patch = """--type merge -p '{"spec":{"state":"Run"}}'"""
        resume = f"kubectl patch {found.kind.lower()} {found.name}{within} {patch}"
    if found.state == "Initialize":
        return [f"begin: {resume}"]
    if found.state == "Stop":
        return [f"resume: {resume}"]
    return [go_back] if found.reason == "UpdateRunStuck" else []


rollouts.add_command(
    list_verb(
        Client.rollouts,
        COLUMNS,
        does="""List runs, and placements that are rolling out.

        Finished staged update runs come last. A placement is listed while a cluster waits for its turn.
        """,
        empty="No rollouts.",
    )
)
rollouts.add_command(
    show_verb(
        Client.rollout,
        _as_text,
        does="""Show a run stage by stage, and what it waits for.

        NAME is that of a ClusterStagedUpdateRun, or namespace/name of a StagedUpdateRun; else of a
        placement, whose clusters are shown with their versions.
        """,
    )
)


@rollouts.command("approve")
@click.argument("name")
@click.option(
    "--stage", default="", metavar="STAGE", help="The stage, if several requests are open."
)
@click.option("--when", type=click.Choice(["before", "after"]), help="Before or after that stage.")
@answer_option
@click.pass_context
def approve(ctx: click.Context, name: str, stage: str, when: str | None, output: str) -> None:
    """Approve a run's open request."""
    with client(ctx) as hub:
        show_one(hub.approve_rollout(name, stage=stage, when=when or ""), output, _as_text)


@rollouts.command("stop")
@click.argument("name")
@answer_option
@click.pass_context
def stop(ctx: click.Context, name: str, output: str) -> None:
    """Stop a run: clusters in progress finish."""
    with client(ctx) as hub:
        show_one(hub.stop_rollout(name), output, _as_text)


@rollouts.command("resume")
@click.argument("name")
@answer_option
@click.pass_context
def resume(ctx: click.Context, name: str, output: str) -> None:
    """Start or resume a run, also after the hub stopped it."""
    with client(ctx) as hub:
        show_one(hub.resume_rollout(name), output, _as_text)


@rollouts.command("rollback")
@click.argument("name")
@click.option("--to", "version", default="", metavar="VERSION", help="Index of the version.")
@answer_option
@click.pass_context
def rollback(ctx: click.Context, name: str, version: str, output: str) -> None:
    """Roll back with a new run of an older version.

    The new run replaces run NAME. Without --to it rolls out the version of the previous run, or else the
    version before this run's.
    """
    with client(ctx) as hub:
        show_one(hub.roll_back_run(name, version=version), output, _as_text)
