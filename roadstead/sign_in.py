"""Sign-in at an OpenID Connect provider with the device flow (RFC 8628), and token refresh.

The hub names the provider and its client for the command line. The tokens are stored in the context and
sent to the hub only; the hub verifies them, this module does not.
"""

import contextlib
import hashlib
import json
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlsplit

from roadstead import contexts
from roadstead.contexts import Stored
from roadstead.errors import NotAllowed, RoadsteadError, TimedOut, Unreachable

EARLY_S: Final = 30.0  # before a token ends it is refreshed
TIMEOUT_S: Final = 10.0
LARGEST: Final = 1 << 20
LONGEST_WAIT_S: Final = 1800.0  # for a person to type a code in, whatever the provider says
_INTERVAL_S: Final = (1.0, 5.0, 60.0)  # between two askings: least, what is usual, most
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_DEVICE: Final = "urn:ietf:params:oauth:grant-type:device_code"
_AGAIN: Final = "sign in again: roadstead login --oidc"
Json = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """The user's next step: enter `code` at `address`."""

    address: str
    code: str
    device_code: str
    interval_s: float
    kept_s: float


class ProviderClient:
    """A client of one provider; `ca`: a file with its CAs, or "". Raises RoadsteadError."""

    def __init__(self, issuer: str, client: str, ca: str = "") -> None:
        if not is_safe(issuer):
            raise RoadsteadError(f"the provider {issuer!r} has no https address")
        self.issuer, self.client, self.ca = issuer, client, ca
        self._known: Json = {}

    def begin(self, scopes: str) -> Asked:
        """Ask for a code. Raises NotAllowed, Unreachable."""
        address = self._address("device_authorization_endpoint")
        if not address:
            raise RoadsteadError(
                f"{self.issuer} does not support the command line (it has no device_authorization_endpoint)"
            )
        form = {"client_id": self.client, "scope": scopes}
        told = self._granted(*self._post(address, form))
        shown = str(told.get("verification_uri_complete") or told.get("verification_uri"))
        least, usual, most = _INTERVAL_S
        interval_s = min(max(least, _seconds(told.get("interval"), usual)), most)
        kept_s = min(_seconds(told.get("expires_in"), LONGEST_WAIT_S), LONGEST_WAIT_S)
        if not is_safe(shown):
            raise RoadsteadError(f"{self.issuer} has no https address for sign-in")
        return Asked(
            shown, str(told.get("user_code")), str(told.get("device_code")), interval_s, kept_s
        )

    def wait(self, asked: Asked, sleep: Callable[[float], None] = time.sleep) -> Json:
        """Poll for the tokens until the user has entered the code. Raises TimedOut, NotAllowed,
        Unreachable.
        """
        form = {
            "grant_type": _DEVICE,
            "device_code": asked.device_code,
            "client_id": self.client,
        }
        waited_s, interval_s = 0.0, asked.interval_s
        while waited_s < asked.kept_s:
            sleep(interval_s)
            waited_s += interval_s
            status, told = self._post(self._address("token_endpoint"), form)
            error = told.get("error")
            if error == "slow_down":
                interval_s += 5.0
            elif error != "authorization_pending":
                return self._granted(status, told)
        raise TimedOut("the code was not entered in time: try again")

    def refresh(self, token: str) -> Json:
        """Refresh expiring tokens. Raises NotAllowed, Unreachable."""
        form = {
            "grant_type": "refresh_token",
            "refresh_token": token,
            "client_id": self.client,
        }
        return self._granted(*self._post(self._address("token_endpoint"), form))

    def revoke(self, token: str) -> bool:
        """Revoke a refresh token; False if the provider cannot. Raises Unreachable, NotAllowed."""
        address = self._address("revocation_endpoint")
        if not address:
            return False
        form = {"token": token, "token_type_hint": "refresh_token", "client_id": self.client}
        status, told = self._post(address, form)
        if status >= 400:
            self._granted(status, told)
        return True

    def _address(self, name: str) -> str:
        if not self._known:
            place = f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"
            status, known = self._ask("GET", place, None)
            if status != 200 or known.get("issuer") != self.issuer:
                raise Unreachable(f"the server at {place} is not {self.issuer}", answered=True)
            self._known = known
        found = self._known.get(name)
        return found if isinstance(found, str) and is_safe(found) else ""

    def _granted(self, status: int, told: Json) -> Json:
        if status < 400 and not told.get("error"):
            return told
        why = str(told.get("error_description") or told.get("error") or f"it answered {status}")
        raise NotAllowed(f"{self.issuer} refused: {why[:300]}; {_AGAIN}")

    def _post(self, address: str, form: Mapping[str, str]) -> tuple[int, Json]:
        if not address:
            raise Unreachable(f"{self.issuer} has no https address for this", answered=True)
        status, told = self._ask("POST", address, form)
        if status >= 500:
            raise Unreachable(f"{self.issuer} answered {status}", answered=True)
        return status, told

    def _ask(self, method: str, address: str, form: Mapping[str, str] | None) -> tuple[int, Json]:
        import httpx  # noqa: PLC0415 - it takes a tenth of a second

        try:
            trust = ssl.create_default_context(cafile=self.ca or None)
            with (
                httpx.Client(verify=trust, trust_env=False, timeout=TIMEOUT_S) as http,
                http.stream(method, address, data=form) as answer,
            ):
                body = b""
                for chunk in answer.iter_bytes():
                    body += chunk
                    if len(body) > LARGEST:
                        raise Unreachable(f"{address} sent too large an answer", answered=True)
        except (httpx.HTTPError, OSError) as failure:
            why = str(failure) or type(failure).__name__
            raise Unreachable(
                f"the provider {self.issuer} does not answer: {why}", answered=True
            ) from failure
        try:
            told = json.loads(body) if body else {}
        except (ValueError, RecursionError):
            told = {}
        return answer.status_code, told if isinstance(told, dict) else {}


def kept_of(stored: Stored, told: Json, now_s: float) -> Stored:
    """Store the provider's tokens in a context, with their expiry by this machine's clock."""
    token = told.get("id_token") or told.get("access_token")
    if not isinstance(token, str) or not token.isascii():
        raise NotAllowed("the provider returned no token")
    refresh = told.get("refresh_token")
    return replace(
        stored,
        token=token,
        refresh=refresh if isinstance(refresh, str) else stored.refresh,
        ends=f"{now_s + _life_s(token, told):.0f}",
    )


def alone(name: str) -> contextlib.AbstractContextManager[None]:
    """Lock the credential of the context `name`, because a refresh token may be valid only once."""
    digest = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:16]
    return contexts.locked(f"refresh-{digest}.lock")


class Renewal:
    """The token of one login, refreshed in its own context on expiry: once, for all running commands."""

    def __init__(self, name: str, stored: Stored) -> None:
        self._name, self._stored = name, stored

    def token(self) -> str:
        """Return a valid token. Raises NotAllowed, Unreachable."""
        stored = self._stored
        if self._is_fresh(stored):
            return stored.token
        with alone(self._name):
            held = self._held(contexts.load())
            if not self._is_fresh(held):  # no other process has refreshed it meanwhile
                held = self._refreshed(held)
        self._stored = held
        return held.token

    def _held(self, kept: contexts.Contexts) -> Stored:
        """Read the login from its context again. Raises NotAllowed if it holds another login."""
        held = kept.named.get(self._name)
        if held is None:
            raise NotAllowed(f"context {self._name} was removed meanwhile; {_AGAIN}")
        ours = self._stored
        if (held.issuer, held.client) != (ours.issuer, ours.client) or not held.is_same_login(
            ours
        ):
            raise NotAllowed(f"context {self._name} holds another login now; {_AGAIN}")
        return held

    def _refreshed(self, held: Stored) -> Stored:
        provider = ProviderClient(held.issuer, held.client, held.issuer_ca)
        fresh = kept_of(held, provider.refresh(held.refresh), now_s())
        before, after = contexts.subject_of(held.token), contexts.subject_of(fresh.token)
        if before and after and before != after:
            raise NotAllowed(f"{held.issuer} returned the token of another person; {_AGAIN}")

        def write(kept: contexts.Contexts) -> contexts.Contexts:
            now = self._held(
                kept
            )  # its namespace may have changed, and a login may have replaced it
            if now.refresh != held.refresh:
                return kept
            return kept.having(
                self._name,
                replace(now, token=fresh.token, refresh=fresh.refresh, ends=fresh.ends),
            )

        contexts.change(write)
        return fresh

    @staticmethod
    def _is_fresh(stored: Stored) -> bool:
        try:
            return float(stored.ends) - EARLY_S > now_s()
        except ValueError:
            return False


def is_safe(address: str) -> bool:
    """Whether the connection is private: https, or this machine."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return False
    if not address.isascii() or not address.isprintable() or not parts.hostname:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)


def _life_s(token: str, told: Json) -> float:
    """Lifetime of a token, from the token or the provider; uses only the pace of this machine's clock."""
    lives = [_seconds(told.get("expires_in"), 300.0)]
    with contextlib.suppress(ValueError, KeyError, TypeError):
        claims = contexts.claims_of(token)
        lives.append(float(claims["exp"]) - float(claims["iat"]))
    return max(0.0, min(lives))


def _seconds(value: object, usual: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e9:
        return usual
    return float(value)


def now_s() -> float:
    """Seconds since 1970: the expiry of a token is stored across runs."""
    return time.time()  # noqa: TID251 - see above
