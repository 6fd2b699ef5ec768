"""`roadstead checks`: answer admission checks by hand or by script."""

import click

from roadstead.cli.nouns import list_verb
from roadstead.cli.output import age, answer_option, client, show_one
from roadstead.cli.tables import Column, table
from roadstead.cli.visible import say
from roadstead.client import Client

STATES = ("Pending", "Ready", "Retry", "Rejected")
COLUMNS = [
    Column("CHECK", lambda c: c.name),
    Column("JOB", lambda c: f"{c.namespace}/{c.workload}", shrinks=True),
    Column("STATE", lambda c: c.state, coloured=True),
    Column("QUEUE", lambda c: c.cluster_queue, shrinks=True),
    Column("CLUSTER", lambda c: c.cluster, shrinks=True),
    Column("CONTROLLER", lambda c: c.controller_name, wide=True),
    Column("AGE", lambda c: age(c.at)),
    Column("SAYS", lambda c: c.message, wraps=True),
]
_OF_JOB = [
    Column("CHECK", lambda c: c.name),
    Column("STATE", lambda c: c.state, coloured=True),
    Column("CONTROLLER", lambda c: c.controller_name),
    Column("SAYS", lambda c: c.message, wraps=True),
]


@click.group()
def checks() -> None:
    """Manage admission checks: budget, approval, provisioning and others that queues require before jobs
    start.
    """


checks.add_command(
    list_verb(
        Client.checks,
        COLUMNS,
        does="List jobs that hold quota and wait for a check's answer.",
        empty="No open checks.",
        options=[
            click.option("--check", metavar="NAME", help="Only this check."),
            click.option("--controller", metavar="NAME", help="Only checks of this controller."),
        ],
    )
)


@checks.command("serve")
@click.argument("check")
@click.option(
    "--off", is_flag=True, help="The check is no longer served: its queues admit nothing."
)
@click.option(
    "-m", "--message", default="", metavar="WORDS", help="Message shown with the condition."
)
@click.pass_context
def serve_check(ctx: click.Context, check: str, off: bool, message: str) -> None:
    """Report that CHECK is served, as its controller does when it starts.

    Sets condition Active: queues that require a check admit nothing until it is active.
    """
    with client(ctx) as hub:
        hub.serve_check(check, on=not off, message=message)
    say(f"check {check} is {'no longer ' if off else ''}served")


@checks.command("set")
@click.argument("job")
@click.argument("check")
@click.argument("state", type=click.Choice(STATES, case_sensitive=False))
@click.option("-m", "--message", metavar="WORDS", help="Reason, shown to the job's owner.")
@click.option(
    "--requeue-after",
    type=click.IntRange(min=0),
    metavar="SECONDS",
    help="With Retry: requeue the job after this time.",
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

    When all its checks are Ready, the job starts; Retry releases its quota and requeues it; Rejected
    deactivates it. The last two also stop a running job.
    """
    with client(ctx) as hub:
        told = hub.set_check(job, check, state, message=message, requeue_after_s=requeue_after)
        show_one(told, output, lambda one: table(one.items, _OF_JOB))
