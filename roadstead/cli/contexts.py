"""`roadstead context`: hubs that somebody has logged in to, which one is used, and with which namespace."""

from dataclasses import replace

import click

from roadstead import contexts
from roadstead.cli.output import dump, is_data, output_option
from roadstead.cli.tables import Column, table
from roadstead.context import default_data_dir

_COLUMNS = [
    Column("IN USE", lambda c: "*" if c["inUse"] else " "),
    Column("NAME", lambda c: c["name"]),
    Column("SERVER", lambda c: c["server"], shrinks=True),
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
    local = contexts.Stored(f"of {default_data_dir()}")
    local = replace(kept.named.get(contexts.LOCAL, local), server=local.server)
    rows = [
        {
            "name": name,
            "inUse": name == (kept.current or contexts.LOCAL),
            "server": each.server,
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
    contexts.save(contexts.load().using(name))
    click.echo(f"context {name} is used from now on")


@context.command("set-namespace")
@click.argument("namespace")
@click.option("--context", "name", metavar="NAME", help="Of this one [default: the one in use].")
def set_namespace(namespace: str, name: str | None) -> None:
    """Make NAMESPACE that of what names none.

    Of jobs that are made, of names without a namespace, and of lists of jobs; '' for all of them again.
    """
    kept = contexts.load()
    name = name or kept.current or contexts.LOCAL
    stored = kept.find(name) or contexts.Stored("")
    contexts.save(kept.having(name, replace(stored, namespace=namespace)))
    click.echo(f"context {name}: namespace {namespace or 'not set'}")


@context.command("rm")
@click.argument("name")
def rm(name: str) -> None:
    """Forget NAME and its token.

    The hub still knows the token: `roadstead tokens revoke` ends it.
    """
    contexts.save(contexts.load().without(name))
    click.echo(f"context {name} is forgotten")


def _is_there() -> bool:
    """Whether the data folder holds the credential of a hub."""
    return (default_data_dir() / "admin.token").is_file()


def _without_local(kept: contexts.Contexts) -> dict[str, contexts.Stored]:
    return {name: each for name, each in kept.named.items() if name != contexts.LOCAL}
