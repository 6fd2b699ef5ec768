"""`roadstead tokens`: who may come in."""

import click

from roadstead.cli.nouns import list_verb
from roadstead.cli.output import age, answer_option, client, dump
from roadstead.cli.progress import say
from roadstead.cli.tables import Column
from roadstead.cli.visible import visible
from roadstead.client import Client
from roadstead.models.hub import IssuedToken

COLUMNS = [
    Column("ROLE", lambda t: t.role),
    Column("NAME", lambda t: t.name, shrinks=True),
    Column("GROUPS", lambda t: ",".join(t.groups), wide=True),
    Column("AGE", lambda t: age(t.created_at)),
]
_ROLES = ("viewer", "administrator", "user")
_role = click.option(
    "--role",
    type=click.Choice(_ROLES),
    default="viewer",
    show_default=True,
    help="Viewers look, administrators do everything, users what `roadstead access` lets them.",
)


@click.group()
def tokens() -> None:
    """Tokens of people. Agents get theirs by joining."""


tokens.add_command(
    list_verb(
        Client.tokens,
        COLUMNS,
        does="List who holds a token; the tokens themselves are not kept.",
        empty="No tokens.",
        may_watch=False,
    )
)


@tokens.command("issue")
@click.argument("name")
@_role
@click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="GROUP",
    help="A group that a user is in; may be given several times.",
)
@answer_option
@click.pass_context
def issue(ctx: click.Context, name: str, role: str, groups: tuple[str, ...], output: str) -> None:
    """Print a new token for NAME, once.

    An earlier one of the same role and name ends.

    The token alone goes to standard output, so that it can be redirected to a file.
    """
    with client(ctx) as hub:
        made = hub.issue_token(name, role, groups)
    _show(made, output)
    if role == "user":
        say(
            f"What {visible(name)} may do: roadstead access bind … --user {visible(name)}",
            err=True,
        )


@tokens.command("revoke")
@click.argument("name")
@click.option("--role", type=click.Choice(_ROLES), help="Where NAME has tokens of several roles.")
@click.pass_context
def revoke(ctx: click.Context, name: str, role: str | None) -> None:
    """End the token of NAME."""
    with client(ctx) as hub:
        role = role or _role_of(hub, name)
        hub.revoke_token(name, role)
    click.echo(f"{role} {name} has no token any more")


def _role_of(hub: Client, name: str) -> str:
    """The role that NAME has a token of. Raises click.UsageError where there are several."""
    roles = [each.role for each in hub.tokens() if each.name == name]
    if len(roles) > 1:
        raise click.UsageError(
            f"{visible(name)} has tokens as {' and '.join(roles)}: say which, by --role."
        )
    return roles[0] if roles else "viewer"


def _show(made: IssuedToken, output: str) -> None:
    if output != "text":
        dump(made.raw, output)
        return
    click.echo(f"Token of {made.role} {made.name}, shown this once:", err=True)
    click.echo(made.token)
