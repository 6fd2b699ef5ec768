"""The list of verbs in docs/reference/cli.md, from the parser itself.

`python -m tests.cli.reference` writes it anew; a test holds the page to it.
"""

from collections.abc import Iterator
from pathlib import Path

import click

from roadstead.cli.root import cli

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
BEGIN, END = "<!-- verbs: begin -->\n", "<!-- verbs: end -->"


def commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, with the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def listing() -> str:
    """The verbs as a table: how to call each, what it does, its options."""
    lines = ["| command | does | options |", "|---|---|---|"]
    for path, command in commands(cli, "roadstead"):
        words = [path, *(_argument(p) for p in command.params if isinstance(p, click.Argument))]
        options = [_option(p) for p in command.params if isinstance(p, click.Option)]
        does = (command.help or "").split("\n\n")[0].replace("\n", " ").strip()
        lines.append(f"| `{' '.join(words)}` | {does} | {', '.join(options)} |")
    return "\n".join(lines).replace("||", "|") + "\n"


def _argument(argument: click.Argument) -> str:
    name = argument.metavar or (argument.name or "").upper()
    return name if argument.required or argument.metavar else f"[{name}]"


def _option(option: click.Option) -> str:
    names = "/".join(f"`{name}`" for name in option.opts)
    if option.is_flag:
        return names
    given = option.metavar
    if not given and isinstance(option.type, click.Choice):
        given = "/".join(option.type.choices)
    if not given:
        given = option.type.name.upper()
    return f"{names} {given}".replace("|", "\\|")


def page_with(verbs: str) -> str:
    """The page with this list of verbs."""
    head, _, rest = PAGE.read_text().partition(BEGIN)
    return head + BEGIN + verbs + END + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page_with(listing()))
