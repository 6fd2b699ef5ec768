"""`roadstead login --oidc` and `logout`: sign in with a browser on any machine, and sign out."""

import contextlib

import click

from roadstead import contexts
from roadstead.cli.examples import examples
from roadstead.cli.names import context_meant
from roadstead.cli.visible import say, visible
from roadstead.client import TIMEOUT_S
from roadstead.errors import RoadsteadError
from roadstead.models.access import ProviderOfHub, WaysIn
from roadstead.responses import Address
from roadstead.sign_in import ProviderClient, alone, kept_of, now_s
from roadstead.steps import Request
from roadstead.transport import Transport


def by_device(wanted: contexts.Stored) -> contexts.Stored:
    """Sign in and return the context with the credential from the hub's provider."""
    oidc = _provider_of(wanted)
    if oidc is None:
        raise RoadsteadError(f"{wanted.server} has no sign-in provider: use a token")
    provider = ProviderClient(oidc.issuer, oidc.client_id, wanted.issuer_ca)
    asked = provider.begin(oidc.scopes)
    say(f"open {visible(asked.address)}\nand enter {visible(asked.code)}", err=True)
    given = provider.wait(asked)
    return kept_of(
        contexts.Stored(
            wanted.server,
            "",
            wanted.ca,
            wanted.namespace,
            oidc.issuer,
            oidc.client_id,
            wanted.issuer_ca,
        ),
        given,
        now_s(),
    )


def _provider_of(wanted: contexts.Stored) -> ProviderOfHub | None:
    """Read the hub's sign-in configuration without a token, because a stored one may have expired."""
    transport = Transport(Address(wanted.server, "", wanted.ca), TIMEOUT_S)
    with contextlib.closing(transport):
        return WaysIn.of(transport.answer(Request("GET", "/v1/sign-in"))).oidc


@examples("roadstead logout", "roadstead logout prod")
@click.command("logout")
@click.argument("name", required=False)
def logout(name: str | None) -> None:
    """Remove the context NAME [default: the one in use], and revoke its provider's refresh token.

    The provider revokes the refresh token, if it can. A token of the hub's own stays valid: revoke it with
    `roadstead tokens revoke`.
    """
    name = context_meant(name)
    with alone(name):  # no refresh is under way, so the refresh token revoked below is the latest
        before = contexts.change(lambda kept: _without(kept, name))
    held = before.find(name)
    say(f"logged out of {name}")
    if held is None or not held.refresh:
        return
    provider = ProviderClient(held.issuer, held.client, held.issuer_ca)
    if not provider.revoke(held.refresh):
        said = f"{held.issuer} cannot revoke tokens: its token is valid until it expires"
        say(said, err=True)


def _without(kept: contexts.Contexts, name: str) -> contexts.Contexts:
    """Return the login in use. Raises click.UsageError for the hub of the data folder, which has no login."""
    if name == contexts.LOCAL:
        raise click.UsageError("No login is in use: roadstead context ls lists the contexts.")
    return kept.without(name)
