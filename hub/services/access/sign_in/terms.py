"""The administrator's settings for sign-in: an OpenID Connect provider, the hub cluster."""

import datetime as dt
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

RESERVED: Final = ("oidc:", "system:")  # how names and groups begin that no token of the hub has
SERVICE_ACCOUNTS: Final = "system:serviceaccount:"
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Oidc:
    """Sign-in by a provider of OpenID Connect; without an issuer it is off."""

    issuer: str = ""
    """Address of the provider, exactly as in `iss` of its tokens; https, except on this machine."""
    client_id: str = ""
    """Client id of the hub's page at the provider, and of the command line."""
    client_secret_file: str = ""
    """File with that client's secret; empty: a public client. The command line never gets it."""
    cli_client_id: str = ""
    """Client id of the command line, if it differs; a public client."""
    audiences: str = ""
    """Accepted values of `aud` and `azp`, by comma; empty: the ids of both clients."""
    username_claim: str = "sub"
    """The claim that names a person; `email` counts if `email_verified` is true."""
    username_prefix: str = "oidc:"
    """Prefix of these people's names; ends with a colon, which no other name has."""
    groups_claim: str = "groups"
    """The claim with a person's groups: a list of texts."""
    groups_prefix: str = "oidc:"
    """Prefix of these groups' names."""
    scopes: str = "openid profile email"
    """Scopes requested at sign-in; some providers have a separate scope for groups."""
    ca: str = ""
    """File with the CA of the provider's certificate (PEM); empty: the machine's CAs."""
    page_url: str = ""
    """The hub's address for browsers; if set, the page offers to sign in at the provider."""
    session_kept: dt.timedelta = dt.timedelta(hours=12)
    """How long a browser stays signed in; changes at the provider apply from the next sign-in."""

    def __post_init__(self) -> None:
        """Raises ValueError for invalid terms."""
        if not self.issuer:
            return
        if not is_safe(self.issuer):
            raise ValueError(f"the issuer {self.issuer}: expected https://… without a query")
        if not self.client_id:
            raise ValueError("an issuer needs a client id: ROADSTEAD_OIDC_CLIENT_ID")
        prefix = self.username_prefix
        if not prefix.endswith(":") or not prefix.isprintable() or prefix.startswith("system:"):
            raise ValueError(
                f"names can not begin with {prefix!r}: the prefix ends with a colon and is not system:, "
                "so that no two users share a name"
            )
        if self.groups_prefix.startswith("system:"):
            raise ValueError("groups can not begin with system:")
        if "openid" not in self.scopes.split():
            raise ValueError("scopes without openid give no token that names anybody")
        if self.page_url and not is_safe(self.page_url):
            raise ValueError(f"the page's address {self.page_url}: expected https://…")

    @property
    def of_cli(self) -> str:
        """The client that the command line is."""
        return self.cli_client_id or self.client_id

    @property
    def accepted(self) -> frozenset[str]:
        """Values of `aud` of which a token has to have one."""
        given = frozenset(each.strip() for each in self.audiences.split(",") if each.strip())
        return given or frozenset({self.client_id, self.of_cli})

    @property
    def clients(self) -> frozenset[str]:
        """Values of `azp` that a token may have: the clients of this hub, and its audiences."""
        return self.accepted | {self.client_id, self.of_cli}

    @property
    def back(self) -> str:
        """The address to which the provider returns a browser; "": the page offers no sign-in."""
        return f"{self.page_url.rstrip('/')}/sign-in/back" if self.page_url else ""


@dataclass(frozen=True, slots=True)
class TokenReviews:
    """Tokens of the hub cluster's service accounts as bearers, which that cluster reviews."""

    audience: str = ""
    """Audience of service account tokens of the hub cluster; empty: none is accepted."""

    def do_without_cluster(self) -> None:
        """Raises ValueError if tokens are to be reviewed without a hub cluster."""
        if self.audience:
            raise ValueError("ROADSTEAD_TOKEN_REVIEWS_AUDIENCE needs a hub cluster")


def is_safe(address: str) -> bool:
    """True if the connection is private: https, or this machine."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return False
    if not address.isascii() or not parts.hostname or parts.fragment or "@" in parts.netloc:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
