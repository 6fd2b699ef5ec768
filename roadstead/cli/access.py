"""`roadstead access`, `auth`, `whoami` and `audit`: rights of users, and the record of changes."""

import datetime as dt
from typing import Any

import click

from roadstead.cli.names import default_namespace
from roadstead.cli.nouns import Decorator, list_verb
from roadstead.cli.output import age, answer_option, client, instant_before, show_one
from roadstead.cli.progress import hint
from roadstead.cli.run.amounts import seconds_of
from roadstead.cli.tables import Column
from roadstead.cli.visible import say
from roadstead.client import Client
from roadstead.models.access import Allowed, AuditEntry, BoundRole, WhoAmI

ROLES = ("viewer", "submitter", "batch-administrator", "cluster-administrator")
_BINDINGS = [
    Column("NAME", lambda b: b.name),
    Column("ROLE", lambda b: b.role),
    Column("USERS", lambda b: ",".join(b.users), shrinks=True),
    Column("GROUPS", lambda b: ",".join(b.groups), shrinks=True),
    Column("NAMESPACES", lambda b: _places(b.namespaces), shrinks=True),
    Column("QUEUES", lambda b: _places(b.queues), shrinks=True),
    Column("PRIORITIES", lambda b: _places(b.priority_classes), wide=True),
    Column("AGE", lambda b: age(b.created_at)),
    Column("BY", lambda b: b.created_by, wide=True),
]
_AUDIT = [
    Column("AGE", lambda a: age(a.at)),
    Column("WHO", lambda a: a.principal, shrinks=True),
    Column("VERB", lambda a: a.verb),
    Column("WHAT", lambda a: a.object, wraps=True),
    Column("OUTCOME", lambda a: a.outcome, shrinks=True),
    Column("ID", lambda a: a.id, wide=True),
]


@click.group()
def access() -> None:
    """Manage role bindings. Everything that no role allows is refused."""


access.add_command(
    list_verb(
        Client.role_bindings,
        _BINDINGS,
        does="List role bindings: roles with their users, groups and namespaces.",
        empty="No roles are bound. Bind one: roadstead access bind NAME --role ROLE --user NAME",
        may_watch=False,
    )
)


def _several(flag: str, name: str, text: str) -> Decorator:
    return click.option(flag, name, multiple=True, metavar=flag[2:].upper(), help=text)


@access.command("bind")
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), required=True, help="Which role.")
@_several("--user", "users", "User to bind; may be given several times.")
@_several("--group", "groups", "Group to bind; may be given several times.")
@click.option(
    "-n",
    "--namespace",
    "namespaces",
    multiple=True,
    metavar="NAME",
    help="Namespace; may be given several times [default: all].",
)
@_several("--queue", "queues", "Only for jobs of this LocalQueue; may be given several times.")
@_several(
    "--priority-class",
    "priority_classes",
    "Only for jobs of this WorkloadPriorityClass; may be given several times.",
)
@answer_option
@click.pass_context
def bind(
    ctx: click.Context,
    name: str,
    role: str,
    users: tuple[str, ...],
    groups: tuple[str, ...],
    namespaces: tuple[str, ...],
    queues: tuple[str, ...],
    priority_classes: tuple[str, ...],
    output: str,
) -> None:
    """Bind a role to users and groups.

    Replaces an existing binding of this NAME.

    A viewer reads; a submitter also submits jobs, and cancels their own; a batch administrator also cancels
    and changes all users' jobs and declares LocalQueues; a cluster administrator may do everything.
    """
    with client(ctx) as hub:
        made = hub.bind_role(
            name,
            role,
            users=users,
            groups=groups,
            namespaces=namespaces or None,
            queues=queues or None,
            priority_classes=priority_classes or None,
        )
    whom = ", ".join((*made.users, *(f"group {each}" for each in made.groups)))
    show_one(made, output, lambda m: f"{m.name}: {whom} is {_role(m)}")


@access.command("unbind")
@click.argument("name")
@click.pass_context
def unbind(ctx: click.Context, name: str) -> None:
    """Remove the role binding NAME."""
    with client(ctx) as hub:
        hub.unbind_role(name)
    say(f"{name} is removed")


@click.command()
@answer_option
@click.pass_context
def whoami(ctx: click.Context, output: str) -> None:
    """Show your name at the hub, and your roles."""
    with client(ctx) as hub:
        who = hub.whoami()
    show_one(who, output, _who)
    spaces = {each for role in who.roles for each in role.namespaces or ("",)}
    if len(spaces) == 1 and (space := spaces.pop()) and not default_namespace():
        hint(f"roadstead context set-namespace {space}")  # of all that names none


@click.group()
def auth() -> None:
    """Check your rights."""


@auth.command("can-i")
@click.argument("verb")
@click.argument("kind")
@click.option("-n", "--namespace", metavar="NAME", help="Namespace [default: any].")
@click.option("--queue", metavar="NAME", help="LocalQueue of the jobs.")
@answer_option
@click.pass_context
def can_i(
    ctx: click.Context,
    verb: str,
    kind: str,
    namespace: str | None,
    queue: str | None,
    output: str,
) -> int:
    """Check whether you may do VERB to KIND, such as `submit jobs`. Exits with 1 if not."""
    with client(ctx) as hub:
        told = hub.can_i(verb, kind, namespace=namespace, queue=queue)
    show_one(told, output, _allowed)
    return 0 if told.allowed else 1


def _since(_ctx: click.Context, _option: click.Parameter, given: str | None) -> dt.datetime | None:
    """`90s`, `2h`, `7d`, or an instant."""
    if not given:
        return None
    try:
        at = dt.datetime.fromisoformat(given)
    except ValueError:
        return instant_before(seconds_of(given))
    return at if at.tzinfo else at.astimezone()


def _rows(hub: Client, limit: int, place: str | None, **filters: Any) -> list[AuditEntry]:
    return list(hub.audit(limit=limit, namespace=place, **filters))


@click.group()
def audit() -> None:
    """Show the audit."""


audit.add_command(
    list_verb(
        _rows,
        _AUDIT,
        does="List recorded changes, newest first.",
        empty="No changes recorded yet.",
        no_match="Nothing matches. Without these options the list has all changes.",
        may_watch=False,
        options=[
            click.option("--user", "principal", metavar="NAME", help="Only changes by NAME."),
            click.option(
                "--verb", metavar="VERB", help="Only this verb, such as submit or cancel."
            ),
            click.option("--kind", metavar="KIND", help="Only changes to this kind, such as Job."),
            click.option(
                "-n",
                "--namespace",
                "place",  # which may be gone by now
                metavar="NAME",
                help="Only in this namespace.",
            ),
            click.option(
                "--since",
                callback=_since,
                metavar="TIME",
                help="Only since this time: 90s, 2h, 7d, or an instant.",
            ),
            click.option(
                "--limit",
                type=click.IntRange(1),
                default=100,
                show_default=True,
                metavar="N",
                help="Show the newest N.",
            ),
        ],
    )
)


def _places(names: tuple[str, ...] | None) -> str:
    return "all" if names is None else ",".join(names)


def _role(bound: BoundRole) -> str:
    where = "everywhere" if bound.namespaces is None else f"in {_places(bound.namespaces)}"
    of = "" if bound.queues is None else f", for jobs of {_places(bound.queues)}"
    classes = bound.priority_classes
    at = "" if classes is None else f", with priority classes {_places(classes)}"
    return f"{bound.role} {where}{of}{at}"


def _who(who: WhoAmI) -> str:
    everywhere = [each.role for each in who.roles if not each.namespaces and not each.queues]
    strongest = max(everywhere, key=ROLES.index, default=who.role)
    lines = [f"{who.name} ({strongest})"]
    if who.groups:
        lines.append(f"  groups  {', '.join(who.groups)}")
    lines += [f"  {_role(each)}" for each in who.roles]
    if not who.roles:
        lines.append("  no roles: a cluster administrator binds them (roadstead access bind)")
    return "\n".join(lines)


def _allowed(told: Allowed) -> str:
    return f"{'yes' if told.allowed else 'no'}: {told.reason}"
