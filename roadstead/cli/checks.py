"""`roadstead checks`: admission checks, for whoever answers them by hand or by script."""

from typing import Any

import click

from roadstead.cli.absent import refuse_absent
from roadstead.cli.output import (
    Column,
    age,
    answer_option,
    client,
    output_option,
    show_list,
    show_one,
    table,
    watch_option,
)

Json = dict[str, Any]
STATES = ("Pending", "Ready", "Retry", "Rejected")
COLUMNS = [
    Column("CHECK", lambda c: c["name"]),
    Column("JOB", lambda c: f"{c['namespace']}/{c['workload']}", shrinks=True),
    Column("STATE", lambda c: c["state"]),
    Column("QUEUE", lambda c: c["clusterQueue"], shrinks=True),
    Column("CLUSTER", lambda c: c["cluster"], shrinks=True),
    Column("CONTROLLER", lambda c: c["controllerName"], wide=True),
    Column("AGE", lambda c: age(c["at"])),
    Column("SAYS", lambda c: c["message"], wraps=True),
]
_OF_JOB = [
    Column("CHECK", lambda c: c["name"]),
    Column("STATE", lambda c: c["state"]),
    Column("CONTROLLER", lambda c: c["controllerName"]),
    Column("SAYS", lambda c: c["message"], wraps=True),
]


@click.group()
def checks() -> None:
    """Admission checks: budget, approval, provisioning, whatever queues ask before jobs start."""


@checks.command("ls")
@click.option("--check", metavar="NAME", help="Only this check.")
@click.option("--controller", metavar="NAME", help="Only checks of this controller.")
@output_option
@watch_option
@click.pass_context
def list_checks(
    ctx: click.Context, check: str | None, controller: str | None, output: str, watch: bool
) -> None:
    """List jobs that hold quota and wait for a check's answer."""
    with client(ctx) as hub:

        def rows() -> list[Json]:
            found = list(hub.checks(check=check, controller=controller))
            if not found and not watch:
                refuse_absent(hub, {"check": check})
            return found

        show_list(
            rows,
            COLUMNS,
            output,
            watch=watch,
            empty="No open checks.",
        )


@checks.command("serve")
@click.argument("check")
@click.option("--off", is_flag=True, help="It is no longer served: its queues admit nothing.")
@click.option("-m", "--message", default="", metavar="TEXT", help="Shown with the condition.")
@click.pass_context
def serve_check(ctx: click.Context, check: str, off: bool, message: str) -> None:
    """Say that CHECK is served, as its controller does when it starts.

    Condition Active: queues that ask for a check admit nothing until it is.
    """
    with client(ctx) as hub:
        hub.serve_check(check, on=not off, message=message)
    click.echo(f"check {check} is {'no longer ' if off else ''}served")


@checks.command("set")
@click.argument("job")
@click.argument("check")
@click.argument("state", type=click.Choice(STATES, case_sensitive=False))
@click.option("-m", "--message", metavar="TEXT", help="Why; shown to who waits.")
@click.option(
    "--requeue-after",
    type=click.IntRange(min=0),
    metavar="SECONDS",
    help="With Retry: not considered again before.",
)
@answer_option
@click.pass_context
def set_check(
    ctx: click.Context,
    job: str,
    check: str,
    state: str,
    message: str | None,
    requeue_after: int | None,
    output: str,
) -> None:
    """Answer CHECK of JOB (its uid, or namespace/name) with STATE.

    Ready by all its checks starts the job; Retry takes its quota back and queues it again; Rejected
    deactivates it. The last two also stop a job that runs.
    """
    with client(ctx) as hub:
        told = hub.set_check(job, check, state, message=message, requeueAfterSeconds=requeue_after)
        show_one(told, output, lambda one: table(one["items"], _OF_JOB))
