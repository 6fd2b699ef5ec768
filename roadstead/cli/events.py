"""`roadstead events`: the ordered event history."""

from typing import Any

import click

from roadstead.cli.names import full_name
from roadstead.cli.nouns import list_verb
from roadstead.cli.output import age
from roadstead.cli.tables import Column
from roadstead.client import Client
from roadstead.models.jobs import Event

COLUMNS = [
    Column("AGE", lambda e: age(e.at)),
    Column("TYPE", lambda e: e.type, wide=True, coloured=True),
    Column("REASON", lambda e: e.reason),
    Column(
        "OBJECT",
        lambda e: f"{e.kind} " + "/".join(p for p in (e.namespace, e.name) if p),
        wraps=True,
    ),
    Column("MESSAGE", lambda e: e.message.partition("\n")[0], wraps=True),
]


def _rows(hub: Client, job: str | None, namespace: str | None, limit: int) -> list[Event]:
    if job:
        return hub.job_events(full_name(job, namespace), limit=limit)
    return hub.events(namespace=namespace, limit=limit)


_limit: Any = click.option(
    "--limit",
    type=click.IntRange(1, 500),
    default=50,
    show_default=True,
    metavar="N",
    help="The newest N, from 1 to 500.",
)
events = list_verb(
    _rows,
    COLUMNS,
    name="events",
    does="Show recent events of the whole fleet, or of JOB (its uid, or namespace/name).",
    empty="No events.",
    options=[
        click.argument("job", required=False),
        click.option(
            "-n",
            "--namespace",
            metavar="NAME",
            help="Only events of this namespace; with JOB, the namespace of a name without one.",
        ),
        _limit,
    ],
)
