"""Sign-in configuration for clients."""

from hub.api.models.base import Model


class ProviderDetail(Model):
    """A provider of OpenID Connect, and the client that the command line is there."""

    issuer: str
    client_id: str
    scopes: str


class WaysIn(Model):
    """How people sign in besides the hub's own tokens."""

    oidc: ProviderDetail | None
    """null: by the hub's own tokens alone."""
