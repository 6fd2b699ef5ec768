"""`roadstead events`: ordered history."""

from typing import Any

import click

from roadstead.cli.absent import refuse_absent
from roadstead.cli.output import Column, age, client, output_option, show_list, watch_option

COLUMNS = [
    Column("AGE", lambda e: age(e["at"])),
    Column("TYPE", lambda e: e["type"], wide=True),
    Column("REASON", lambda e: e["reason"]),
    Column(
        "OBJECT",
        lambda e: f"{e['kind']} " + "/".join(p for p in (e["namespace"], e["name"]) if p),
        wraps=True,
    ),
    Column("MESSAGE", lambda e: e["message"], wraps=True),
]


@click.command()
@click.argument("job", required=False)
@click.option(
    "-n", "--namespace", metavar="NAME", help="Only events of this namespace; not with JOB."
)
@click.option(
    "--limit",
    type=click.IntRange(1, 500),
    default=50,
    show_default=True,
    metavar="N",
    help="The newest N, from 1 to 500.",
)
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
    """What happened lately in the whole fleet, or to JOB (its uid, or namespace/name)."""
    if job and namespace:
        raise click.UsageError("give JOB or --namespace, not both.")
    with client(ctx) as hub:

        def rows() -> list[dict[str, Any]]:
            if job:
                return hub.job_events(job, limit=limit)
            found = hub.events(namespace=namespace, limit=limit)
            if not found and not watch:
                refuse_absent(hub, {"namespace": namespace})
            return found

        show_list(
            rows,
            COLUMNS,
            output,
            watch=watch,
            empty="No events.",
        )
