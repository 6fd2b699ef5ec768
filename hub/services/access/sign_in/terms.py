"""By whom people sign in, as an administrator sets it: a provider of OpenID Connect, the hub cluster."""

import datetime as dt
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

RESERVED: Final = ("oidc:", "system:")  # how names and groups begin that no token of the hub has
SERVICE_ACCOUNTS: Final = "system:serviceaccount:"
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Oidc:
    """Signing in by a provider of OpenID Connect; without an issuer nobody does."""

    issuer: str = ""
    """Address of the provider, exactly as its tokens have it in `iss`; https, but on this machine."""
    client_id: str = ""
    """The client that the hub's page is at the provider, and the command line too."""
    client_secret_file: str = ""
    """A file with that client's secret; none: a public client. The command line never has it."""
    cli_client_id: str = ""
    """The client that the command line is, where it is another one; a public one."""
    audiences: str = ""
    """Values of `aud`, by comma, of which a token has one, and of `azp`; none: the ids of both clients."""
    username_claim: str = "sub"
    """The claim that names a person; `email` counts where `email_verified` is true."""
    username_prefix: str = "oidc:"
    """How names of such people begin; ends with a colon, which no other name has."""
    groups_claim: str = "groups"
    """The claim with a person's groups: a list of texts."""
    groups_prefix: str = "oidc:"
    """How such groups begin here."""
    scopes: str = "openid profile email"
    """What is asked of the provider when somebody signs in; some give groups by a scope of their own."""
    ca: str = ""
    """A file with the authorities of the provider's certificate (PEM); none: those of the machine."""
    page_url: str = ""
    """The hub's address as browsers have it; with it the page offers to sign in by the provider."""
    session_kept: dt.timedelta = dt.timedelta(hours=12)
    """How long a browser stays signed in by the provider; what is changed there holds from the next time."""

    def __post_init__(self) -> None:
        """Raises ValueError for what can not be meant."""
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
                "so that nobody has the name of somebody who signs in another way"
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
        """Where the provider sends a browser back to; "": the page offers nothing."""
        return f"{self.page_url.rstrip('/')}/sign-in/back" if self.page_url else ""


@dataclass(frozen=True, slots=True)
class TokenReviews:
    """Tokens of the hub cluster's service accounts as bearers, which that cluster reviews."""

    audience: str = ""
    """Audience that such tokens are for; empty: none is taken."""

    def do_without_cluster(self) -> None:
        """Raises ValueError where tokens are to be reviewed, for there is nobody who does."""
        if self.audience:
            raise ValueError("ROADSTEAD_TOKEN_REVIEWS_AUDIENCE needs a hub cluster")


def is_safe(address: str) -> bool:
    """Whether nobody on the way reads or changes what is asked there: https, or this machine."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return False
    if not address.isascii() or not parts.hostname or parts.fragment or "@" in parts.netloc:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
