"""`roadstead context`: saved logins, the one in use, and its namespace."""

from dataclasses import replace

import click

from roadstead import contexts
from roadstead.cli.names import context_meant
from roadstead.cli.output import dump, is_data, output_option
from roadstead.cli.tables import Column, table
from roadstead.cli.visible import say
from roadstead.context import default_data_dir
from roadstead.sign_in import alone

_COLUMNS = [
    Column("IN USE", lambda c: "*" if c["inUse"] else " "),
    Column("NAME", lambda c: c["name"]),
    Column("SERVER", lambda c: c["server"], shrinks=True),
    Column("USER", lambda c: c["user"], shrinks=True),
    Column("NAMESPACE", lambda c: c["namespace"]),
    Column("TOKEN", lambda c: c["hasToken"]),
    Column("CA", lambda c: c["ca"], wide=True),
]


@click.group("context")
def context() -> None:
    """Manage saved logins (`roadstead login`).

    `local` is the hub of the data folder of `roadstead up`; it is used if no other is.
    """


@context.command("ls")
@output_option
def listed(output: str) -> None:
    """List contexts, without tokens."""
    kept = contexts.load()
    used = context_meant()
    kept.find(used)
    local = contexts.Stored(f"of {default_data_dir()}")
    local = replace(kept.named.get(contexts.LOCAL, local), server=local.server)
    rows = [
        {
            "name": name,
            "inUse": name == used,
            "server": each.server,
            "user": each.user,
            "namespace": each.namespace,
            "hasToken": bool(each.token) or (name == contexts.LOCAL and _is_there()),
            "ca": each.ca,
        }
        for name, each in {contexts.LOCAL: local, **_without_local(kept)}.items()
    ]
    if is_data(output):
        dump({"items": rows}, output)
        return
    shown = [column for column in _COLUMNS if output == "wide" or not column.wide]
    say(table(rows, shown))


@context.command("use")
@click.argument("name")
def use(name: str) -> None:
    """Use NAME from now on.

    `local` is the hub of the data folder.
    """
    name = context_meant(name)
    contexts.change(lambda kept: kept.using(name))
    say(f"context {name} is now in use")


@context.command("set-namespace")
@click.argument("namespace")
@click.option(
    "--context", "name", metavar="NAME", help="Context to change [default: the one in use]."
)
def set_namespace(namespace: str, name: str | None) -> None:
    """Set the default namespace of a context.

    It applies to new jobs, to names without a namespace, and to lists of jobs; '' means all again.
    """
    name = context_meant(name)

    def write(kept: contexts.Contexts) -> contexts.Contexts:
        stored = kept.find(name) or contexts.Stored("")
        return kept.having(name, replace(stored, namespace=namespace))

    contexts.change(write)
    say(f"context {name}: namespace {namespace or 'not set'}")


@context.command("rm")
@click.argument("name")
def rm(name: str) -> None:
    """Remove NAME and its token.

    The hub still accepts the token: revoke it with `roadstead tokens revoke`.
    """
    name = context_meant(name)
    with alone(name):
        contexts.change(lambda kept: kept.without(name))
    say(f"context {name} is removed")


def _is_there() -> bool:
    """Return whether the data folder holds a hub's credential."""
    return (default_data_dir() / "admin.token").is_file()


def _without_local(kept: contexts.Contexts) -> dict[str, contexts.Stored]:
    return {name: each for name, each in kept.named.items() if name != contexts.LOCAL}
