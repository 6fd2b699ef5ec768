"""`roadstead tokens`: tokens of people."""

import click

from roadstead.cli.nouns import list_verb
from roadstead.cli.output import age, answer_option, client, dump
from roadstead.cli.tables import Column
from roadstead.cli.visible import say, visible
from roadstead.client import Client
from roadstead.errors import NotFound
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
    help="Viewers read, administrators may do everything, users have the rights that `roadstead "
    "access` grants.",
)


@click.group()
def tokens() -> None:
    """Manage tokens of people. Agents get theirs by joining."""


tokens.add_command(
    list_verb(
        Client.tokens,
        COLUMNS,
        does="List holders of tokens, without the tokens.",
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
    help="Group of the user; may be given several times.",
)
@answer_option
@click.pass_context
def issue(ctx: click.Context, name: str, role: str, groups: tuple[str, ...], output: str) -> None:
    """Print a new token for NAME, once.

    Revokes an earlier token of the same role and name.

    Only the token goes to standard output, so you can redirect it to a file.
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
@click.option("--role", type=click.Choice(_ROLES), help="The role, if NAME has tokens of several.")
@click.pass_context
def revoke(ctx: click.Context, name: str, role: str | None) -> None:
    """Revoke the token of NAME."""
    with client(ctx) as hub:
        role = role or _role_of(hub, name)
        hub.revoke_token(name, role)
    say(f"{role} {name} has no token now")


def _role_of(hub: Client, name: str) -> str:
    """The role of NAME's token. Raises click.UsageError if there are several, NotFound without one."""
    roles = [each.role for each in hub.tokens() if each.name == name]
    if len(roles) > 1:
        raise click.UsageError(
            f"{visible(name)} has tokens as {' and '.join(roles)}: choose one with --role."
        )
    if not roles:
        detail = f"{visible(name)} has no token: roadstead tokens ls lists them"
        raise NotFound(404, {"code": "NotFound", "detail": detail})
    return roles[0]


def _show(made: IssuedToken, output: str) -> None:
    if output != "text":
        dump(made.raw, output)
        return
    say(f"Token of {made.role} {made.name}, shown only once:", err=True)
    say(made.token)
