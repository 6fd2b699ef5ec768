"""`roadstead admin doctor`: health of a hub's database, and of the hub on it."""

import dataclasses
from typing import Any

import click

from roadstead.cli.admin.store import database_option
from roadstead.cli.output import answer_option, client, dump, moment
from roadstead.cli.tables import Column, table
from roadstead.cli.visible import say
from roadstead.errors import RoadsteadError
from roadstead.models.jobs import JobState

_AILING = ("Suspect", "Unhealthy")  # clusters that get no new work, without a cordon
CODES = {"ok": 0, "warn": 1, "fail": 3}
_FINDINGS = [
    Column("", lambda row: row["level"]),
    Column("LOOKED AT", lambda row: row["name"]),
    Column("IS", lambda row: row["message"], wraps=True),
]
_TABLES = [
    Column("TABLE", lambda row: row["name"]),
    Column("ROWS", lambda row: row["rows"]),
    Column("BYTES", lambda row: row["size"]),
    Column("OLDEST", lambda row: row["oldest"] or ""),
]


@click.command()
@database_option
@click.option("--tables", is_flag=True, help="Also show the contents of each table.")
@answer_option
@click.pass_context
def doctor(ctx: click.Context, database: str, tables: bool, output: str) -> int:
    """Check the health of the hub's database.

    Checks schema, clock, disk space, leader, members and their agents, and counters kept beside the rows;
    and the hub, if it answers. Exit code 0: healthy; 1: something needs attention; 3: something is broken.
    """
    from hub.admin import doctor as looking

    health = looking.examine(database)
    findings = [dataclasses.asdict(each) for each in health.findings]
    findings.append(_of_hub(ctx))
    worst = max((each["level"] for each in findings), key=lambda level: CODES[level])
    held = [
        {**each._asdict(), "oldest": moment(each.oldest) if each.oldest else None}
        for each in health.tables
    ]
    if output != "text":
        dump({"level": worst, "findings": findings, "tables": held}, output)
    else:
        say(table(findings, _FINDINGS))
        if tables:
            say("\n" + table(held, _TABLES))
    return CODES[worst]


def _of_hub(ctx: click.Context) -> dict[str, Any]:
    """Report the hub's own conditions, if it is reachable."""
    try:
        with client(ctx) as hub:
            told = hub.overview()
    except RoadsteadError as error:
        return {"name": "hub", "level": "warn", "message": f"not checked: {error}"}
    # Each needs an administrator's attention.
    bad = [f"{each.type}: {each.message}" for each in told.conditions]
    bad += [f"{n} clusters {s} (clusters ls)" for s in _AILING if (n := told.clusters.get(s))]
    if lost := told.jobs.get(JobState.UNKNOWN):
        bad.append(f"{lost} jobs {JobState.UNKNOWN} (jobs ls --state unknown)")
    words = "; ".join(bad)
    return {
        "name": "hub",
        "level": "warn" if bad else "ok",
        "message": words or f"{told.hub_id or 'it'} answers, at revision {told.revision}",
    }
