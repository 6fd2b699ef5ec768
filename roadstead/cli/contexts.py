"""`roadstead context`: hubs that somebody has logged in to, which one is used, and with which namespace."""

from dataclasses import replace

import click

from roadstead import contexts
from roadstead.cli.names import context_meant
from roadstead.cli.output import dump, is_data, output_option
from roadstead.cli.tables import Column, table
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
    """Hubs that you have logged in to (`roadstead login`).

    `local` is the hub of the data folder of `roadstead up`; it is used where no other is.
    """


@context.command("ls")
@output_option
def listed(output: str) -> None:
    """List them; tokens are never shown."""
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
    click.echo(table(rows, shown))


@context.command("use")
@click.argument("name")
def use(name: str) -> None:
    """Use NAME from now on.

    `local` is the hub of the data folder.
    """
    name = context_meant(name)
    contexts.change(lambda kept: kept.using(name))
    click.echo(f"context {name} is used from now on")


@context.command("set-namespace")
@click.argument("namespace")
@click.option("--context", "name", metavar="NAME", help="Of this one [default: the one in use].")
def set_namespace(namespace: str, name: str | None) -> None:
    """Make NAMESPACE that of what names none.

    Of jobs that are made, of names without a namespace, and of lists of jobs; '' for all of them again.
    """
    name = context_meant(name)

    def write(kept: contexts.Contexts) -> contexts.Contexts:
        stored = kept.find(name) or contexts.Stored("")
        return kept.having(name, replace(stored, namespace=namespace))

    contexts.change(write)
    click.echo(f"context {name}: namespace {namespace or 'not set'}")


@context.command("rm")
@click.argument("name")
def rm(name: str) -> None:
    """Forget NAME and its token.

    The hub still knows the token: `roadstead tokens revoke` ends it.
    """
    name = context_meant(name)
    with alone(name):
        contexts.change(lambda kept: kept.without(name))
    click.echo(f"context {name} is forgotten")


def _is_there() -> bool:
    """Whether the data folder holds the credential of a hub."""
    return (default_data_dir() / "admin.token").is_file()


def _without_local(kept: contexts.Contexts) -> dict[str, contexts.Stored]:
    return {name: each for name, each in kept.named.items() if name != contexts.LOCAL}
