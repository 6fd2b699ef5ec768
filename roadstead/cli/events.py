"""`roadstead events`: ordered history."""

import click

from roadstead.cli.output import Column, age, client, output_option, show_list, watch_option

COLUMNS = [
    Column("AGE", lambda e: age(e["at"])),
    Column("TYPE", lambda e: e["type"], wide=True),
    Column("REASON", lambda e: e["reason"]),
    Column(
        "OBJECT",
        lambda e: f"{e['kind']} " + "/".join(p for p in (e["namespace"], e["name"]) if p),
    ),
    Column("MESSAGE", lambda e: e["message"], shrinks=True),
]


@click.command()
@click.argument("job", required=False)
@click.option("-n", "--namespace", help="Only events of this namespace.")
@click.option("--limit", type=click.IntRange(1, 500), default=50, show_default=True)
@output_option
@watch_option
@click.pass_context
def events(
    ctx: click.Context,
    job: str | None,
    namespace: str | None,
    limit: int,
    output: str,
    watch: bool,
) -> None:
    """What happened lately, or what happened to JOB."""
    with client(ctx) as hub:
        show_list(
            lambda: hub.job_events(job) if job else hub.events(namespace=namespace, limit=limit),
            COLUMNS,
            output,
            watch=watch,
            empty="No events.",
        )
