"""`roadstead login --oidc` and `logout`: a person signs in with a browser, anywhere, and out again."""

import contextlib

import click

from roadstead import contexts
from roadstead.cli.examples import examples
from roadstead.cli.names import context_meant
from roadstead.cli.visible import visible
from roadstead.client import TIMEOUT_S
from roadstead.errors import RoadsteadError
from roadstead.models.access import ProviderOfHub, WaysIn
from roadstead.responses import Address
from roadstead.sign_in import ProviderClient, alone, kept_of, now_s
from roadstead.steps import Request
from roadstead.transport import Transport


def by_device(wanted: contexts.Stored) -> contexts.Stored:
    """The context with the credential that the hub's provider gave to the person."""
    oidc = _provider_of(wanted)
    if oidc is None:
        raise RoadsteadError(f"{wanted.server} has no provider to sign in at: give a token")
    provider = ProviderClient(oidc.issuer, oidc.client_id, wanted.issuer_ca)
    asked = provider.begin(oidc.scopes)
    click.echo(f"open {visible(asked.address)}\nand type in {visible(asked.code)}", err=True)
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
    """What the hub says, asked without a token: one that is kept may have ended, which is why one is here."""
    transport = Transport(Address(wanted.server, "", wanted.ca), TIMEOUT_S)
    with contextlib.closing(transport):
        return WaysIn.of(transport.answer(Request("GET", "/v1/sign-in"))).oidc


@examples("roadstead logout", "roadstead logout prod")
@click.command("logout")
@click.argument("name", required=False)
def logout(name: str | None) -> None:
    """Forget the context NAME [default: the one in use], and end what a provider gave for it.

    The provider is asked to take the refresh token back, if it can. A token of the hub's own goes on being
    good: `roadstead tokens revoke` ends it.
    """
    name = context_meant(name)
    with alone(name):  # no refresh is under way, so the refresh token revoked below is the latest
        before = contexts.change(lambda kept: _without(kept, name))
    held = before.find(name)
    click.echo(f"logged out of {name}")
    if held is None or not held.refresh:
        return
    provider = ProviderClient(held.issuer, held.client, held.issuer_ca)
    if not provider.revoke(held.refresh):
        said = f"{held.issuer} takes no tokens back: what it gave ends by itself"
        click.echo(said, err=True)


def _without(kept: contexts.Contexts, name: str) -> contexts.Contexts:
    """Raises click.UsageError for the hub of the data folder, which has no login."""
    if name == contexts.LOCAL:
        raise click.UsageError("No login is in use: roadstead context ls lists them.")
    return kept.without(name)
