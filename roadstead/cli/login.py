"""`roadstead login`: saves a hub's address and a token for it."""

import contextlib
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import click

from roadstead import contexts
from roadstead.cli.examples import examples
from roadstead.cli.names import context_meant
from roadstead.cli.progress import hint
from roadstead.cli.visible import say, visible
from roadstead.client import Client
from roadstead.context import name_in_force
from roadstead.errors import NotAllowed, WrongContext
from roadstead.sign_in import LOOPBACK, alone

_LONGEST_NAME: Final = 253
_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._:/@-]{0,251}[A-Za-z0-9])?", re.ASCII)
_LONGEST_TOKEN: Final = 16_384


def named(_ctx: click.Context, _option: click.Parameter, given: str | None) -> str | None:
    """Validate the name of a context. Raises click.BadParameter."""
    if given is not None and (not _NAME.fullmatch(given) or given == contexts.LOCAL):
        raise click.BadParameter(f"{given!r}: letters, digits and . _ : / @ -, and not 'local'.")
    return given


@examples(
    "roadstead login --server https://example.com --token-file token --ca ca.pem",
    "pass show hub | roadstead login --server https://example.com --token-stdin",
    "roadstead login --server https://example.com --oidc",
)
@click.command("login")
@click.option("--server", metavar="URL", help="Address of the hub.")
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A file with your token.",
)
@click.option("--token-stdin", is_flag=True, help="Read your token from standard input.")
@click.option(
    "--oidc", is_flag=True, help="Sign in at the hub's provider, with a browser on any machine."
)
@click.option(
    "--oidc-ca",
    type=click.Path(exists=True, dir_okay=False, resolve_path=True),
    metavar="FILE",
    help="CA of the provider's certificate.",
)
@click.option(
    "--ca",
    type=click.Path(exists=True, dir_okay=False, resolve_path=True),
    metavar="FILE",
    help="CA of the hub's certificate.",
)
@click.option("-n", "--namespace", metavar="NAME", help="Default namespace.")
@click.option(
    "--name",
    callback=named,
    metavar="NAME",
    help="Name of the context [default: HOST:PORT/USER].",
)
@click.option(
    "--force", is_flag=True, help="Replace a context of another hub or person without asking."
)
@click.pass_context
def login(
    ctx: click.Context,
    server: str | None,
    token_file: Path | None,
    token_stdin: bool,
    oidc: bool,
    oidc_ca: str | None,
    ca: str | None,
    namespace: str | None,
    name: str | None,
    *,
    force: bool,
) -> None:
    """Save a hub's address and your token for it, once the hub has accepted it.

    With --oidc it prints an address and a code: open the address in any browser, and enter the code. It
    saves the provider's token, and refreshes it when it expires.

    The file is readable only for you (~/.config/roadstead/contexts.json). The login is used from then on
    unless an option or a variable overrides it. A token is never an argument, because other users could see
    it in the list of processes.

    Each login is one context. Logging in again as the same person at the same hub refreshes that context. A
    context of another hub or person is replaced only with --force, or after you confirm it.
    """
    given = ctx.find_root().obj or {}
    if given.get("token"):
        raise click.UsageError("Other users can see --token: use --token-file or --token-stdin.")
    if [bool(token_file), token_stdin, oidc].count(True) != 1:
        raise click.UsageError(
            "Provide your token with --token-file FILE or --token-stdin, or use --oidc."
        )
    if name or given.get("context"):
        name = named(ctx, ctx.command.params[0], context_meant(name))
    wanted = _wanted(name, server or given.get("server"), ca or given.get("ca"), oidc_ca)
    _warn_in_clear(wanted.server)
    if oidc:
        from roadstead.cli.by_device import by_device

        kept = by_device(wanted)
    else:
        kept = replace(wanted, token=_token(token_file))
    with Client(kept.server, kept.token, ca=kept.ca or None) as hub:
        kept = replace(kept, user=_person(hub))
    name = store_login(
        name, kept, namespace, may_replace=_may_replace(force=force, asks=not token_stdin)
    )
    say(f"logged in to {kept.server} as {visible(kept.user)}, context {name}")
    overriding = name_in_force()
    if overriding != name:
        say(f"note: the environment selects context {visible(overriding)}", err=True)
    hint("roadstead whoami", "roadstead jobs ls")


def _wanted(
    name: str | None, server: str | None, ca: str | None, issuer_ca: str | None
) -> contexts.Stored:
    """The hub to log in to; missing options come from the context of that name, if it is for the same hub."""
    before = contexts.load().named.get(name or "") or contexts.Stored("")
    server = (server or before.server).rstrip("/")
    if not server:
        raise click.UsageError("Missing option '--server'.")
    if server != before.server:
        before = contexts.Stored(server)
    return contexts.Stored(server, ca=ca or before.ca, issuer_ca=issuer_ca or before.issuer_ca)


def store_login(
    name: str | None,
    login: contexts.Stored,
    namespace: str | None,
    *,
    may_replace: Callable[[str, contexts.Stored], bool],
) -> str:
    """Write the login to its context, and use it from now on; returns the name.

    Without a name: the context that the same person has for the same hub, else HOST:PORT/USER. The
    namespace stays unless one is given. Raises RoadsteadError if another login has the name and may not be
    replaced.
    """
    before = contexts.load()
    name = name or _own(before, login) or _default_name(login)
    there = before.named.get(name)
    same = there is not None and there.is_same_login(login)
    if there is not None and not same and not may_replace(name, there):
        raise WrongContext(
            f"context {name} is {_whose(there)}: choose another --name, or replace it with --force"
        )
    kept_namespace = there.namespace if there is not None and same else ""
    login = replace(login, namespace=kept_namespace if namespace is None else namespace)

    def write(kept: contexts.Contexts) -> contexts.Contexts:
        if _login_of(kept.named.get(name)) != _login_of(there):
            raise WrongContext(f"context {name} was changed meanwhile: log in again")
        return kept.having(name, login).using(name)

    with alone(name):
        contexts.change(write)
    return name


def _login_of(stored: contexts.Stored | None) -> tuple[str, str] | None:
    return None if stored is None else (stored.server, stored.user)


def _own(kept: contexts.Contexts, login: contexts.Stored) -> str | None:
    """Find the context of the same person at the same hub: the one in use, else the first by name."""
    same = [name for name, each in sorted(kept.named.items()) if each.is_same_login(login)]
    return kept.current if kept.current in same else next(iter(same), None)


def _whose(stored: contexts.Stored) -> str:
    return f"of {visible(stored.user or 'somebody')} at {visible(stored.server)}"


def _may_replace(*, force: bool, asks: bool) -> Callable[[str, contexts.Stored], bool]:
    def may(name: str, there: contexts.Stored) -> bool:
        if force or not (asks and sys.stdin.isatty()):
            return force
        return click.confirm(f"context {name} is {_whose(there)}; replace it?", err=True)

    return may


def _warn_in_clear(server: str) -> None:
    """Warn about an unencrypted connection, on which others can read the token."""
    parts = urlsplit(server)
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        said = f"warning: {server} is reached without encryption: others on the network can read your token"
        say(said, err=True)


def _person(hub: Client) -> str:
    """Ask the hub for the name of the token's holder. Raises NotAllowed for an unknown token."""
    try:
        who = hub.whoami()
    except NotAllowed as refused:
        said = (
            "the hub does not know this token, or it has expired: ask an administrator for another"
        )
        raise NotAllowed(f"{said} (roadstead tokens issue)", 403) from refused
    if who.role == "user" and not who.roles:
        say(
            "note: you have no role that shows jobs yet: ask an administrator to bind one",
            err=True,
        )
    return who.name


def _token(file: Path | None) -> str:
    """Read the token, without the end of its line. Raises click.UsageError."""
    try:
        with file.open() if file else contextlib.nullcontext(sys.stdin) as source:
            text = source.read(_LONGEST_TOKEN + 1).strip()
    except (OSError, ValueError) as failure:
        why = getattr(failure, "strerror", None) or "it is not text"
        raise click.UsageError(f"{file or 'standard input'} cannot be read: {why}.") from failure
    if not text or len(text) > _LONGEST_TOKEN or not text.isascii() or len(text.split()) != 1:
        raise click.UsageError(f"{file or 'standard input'} holds no token: one word is expected.")
    return text


def _default_name(login: contexts.Stored) -> str:
    """HOST:PORT/USER; HOST/USER if the address has no port."""
    parts = urlsplit(login.server)
    host = f"{parts.hostname or 'hub'}:{parts.port}" if parts.port else parts.hostname or "hub"
    made = re.sub(r"[^A-Za-z0-9._:/@-]+", "-", f"{host}/{login.user}")
    return made[:_LONGEST_NAME].strip("._:/@-")
