"""`roadstead admin availability`: rules for when custom resources in members are available."""

from typing import Any, BinaryIO

import click

from roadstead.cli.output import answer_option, client, dump
from roadstead.cli.tables import Column, table
from roadstead.cli.visible import say
from roadstead.models.hub import AvailabilityRule, AvailabilityRules

_COLUMNS = [
    Column("KIND", lambda row: f"{row[1].kind}.{row[1].group}"),
    Column("FROM", lambda row: row[0]),
    Column("AVAILABLE", lambda row: row[1].available, wraps=True),
    Column("MESSAGE", lambda row: row[1].message, wide=True),
]


@click.command()
@click.option(
    "-f",
    "--filename",
    "given",
    type=click.File("rb"),
    metavar="FILE",
    help="Replace the declared rules with those in FILE (YAML or JSON, `rules: […]`).",
)
@answer_option
@click.pass_context
def availability(ctx: click.Context, given: BinaryIO | None, output: str) -> None:
    """Show or declare rules for when objects are available.

    Rules are CEL expressions, by API group and kind; agents of all members use them at once.
    """
    rules = None if given is None else _rules_in(given)
    with client(ctx) as hub:
        told = hub.availability_rules() if rules is None else hub.declare_availability(rules)
    if output != "text":
        dump(told.raw, output)
        return
    say(table(_rows(told), _COLUMNS))


def _rows(told: AvailabilityRules) -> list[tuple[str, AvailabilityRule]]:
    declared = {(each.group, each.kind) for each in told.rules}
    built_in = [each for each in told.built_in if (each.group, each.kind) not in declared]
    return [("declared", each) for each in told.rules] + [("built-in", each) for each in built_in]


def _rules_in(given: BinaryIO) -> list[dict[str, Any]]:
    import yaml

    try:
        document = yaml.safe_load(given)
    except yaml.YAMLError as fault:
        raise click.ClickException(f"{given.name} is not YAML: {fault}") from None
    rules = document.get("rules") if isinstance(document, dict) else None
    if not isinstance(rules, list):
        raise click.ClickException(f"{given.name} has no list `rules`")
    return rules
