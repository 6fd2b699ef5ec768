"""Signing in with a browser: the authorization code flow with PKCE, by the hub as the provider's client.

What must be remembered between the way out and the way back is derived from one random text, which a cookie
of the browser holds: state, nonce and PKCE's verifier. So nothing is kept of who has not signed in, and any
hub of several takes a browser back.
"""

import asyncio
import base64
import hashlib
import hmac
import secrets
from pathlib import Path
from typing import Final
from urllib.parse import quote_plus, urlencode, urlsplit

from hub.services.access.sign_in.claims import Verified, not_accepted
from hub.services.access.sign_in.provider import Provider, ProviderUnavailable
from hub.services.access.sign_in.verifier import Verifier
from hub.services.access.sign_in.web import ProviderFailed
from shared.errors import Rejected
from shared.reject_codes import RejectCode

_AT_ONCE: Final = 8  # codes that are being redeemed
_LONGEST_SECRET: Final = 4096
_LONGEST_CODE: Final = 4096


class _Attempt:
    """One attempt to sign in, as the text in the browser's cookie says."""

    def __init__(self, text: str) -> None:
        self._key = text.encode(errors="replace")
        self.state = self._derived("state")
        self.nonce = self._derived("nonce")
        self.verifier = self._derived("verifier")

    @property
    def challenge(self) -> str:
        """The provider's challenge for the verifier (S256)."""
        return _text(hashlib.sha256(self.verifier.encode()).digest())

    def is_answered_by(self, state: str) -> bool:
        """True if a returning browser belongs to this attempt."""
        return hmac.compare_digest(state.encode(errors="replace"), self.state.encode())

    def _derived(self, purpose: str) -> str:
        return _text(hmac.digest(self._key, purpose.encode(), "sha256"))


class CodeFlow:
    """The hub as a client of its provider."""

    def __init__(self, provider: Provider, verifier: Verifier) -> None:
        self._provider, self._verifier = provider, verifier
        self._terms = provider.terms
        self._redeeming = asyncio.Semaphore(_AT_ONCE)

    async def begin(self) -> tuple[str, str]:
        """The browser's cookie, and the address where it signs in. Raises ProviderUnavailable."""
        held = secrets.token_urlsafe(32)
        attempt = _Attempt(held)
        address = await self._address("authorization_endpoint")
        asked = {
            "response_type": "code",
            "client_id": self._terms.client_id,
            "redirect_uri": self._terms.back,
            "scope": self._terms.scopes,
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": attempt.challenge,
            "code_challenge_method": "S256",
        }
        return held, f"{address}{'&' if urlsplit(address).query else '?'}{urlencode(asked)}"

    @staticmethod
    def is_answer(held: str, state: str) -> bool:
        """True if a browser that returns with this state belongs to the attempt in its cookie."""
        return bool(held) and _Attempt(held).is_answered_by(state)

    async def redeem(self, code: str, held: str) -> Verified:
        """The signed-in identity. Raises Rejected: TokenNotAccepted, SignInUnavailable, TokenExpired."""
        if not 0 < len(code) <= _LONGEST_CODE:
            raise not_accepted("the provider gave no code")
        attempt = _Attempt(held)
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._terms.back,
            "code_verifier": attempt.verifier,
        }
        client = await asyncio.to_thread(self._client)
        if client is None:
            form["client_id"] = self._terms.client_id
        address = await self._address("token_endpoint")
        try:
            async with self._redeeming:
                status, told = await self._provider.web.post(address, form, client)
        except ProviderFailed as failure:
            raise ProviderUnavailable(str(failure)) from failure
        token = told.get("id_token")
        if status >= 500:
            raise ProviderUnavailable(f"it answered {status}")
        if status != 200 or not isinstance(token, str):
            raise not_accepted("the provider gave no ID token for the code")
        return await self._verifier.verified(token, attempt.nonce)

    async def _address(self, name: str) -> str:
        found = await self._provider.address(name)
        if not found:
            raise ProviderUnavailable(f"its description has no {name} with https")
        return found

    def _client(self) -> tuple[str, str] | None:
        """Id and secret as RFC 6749 (2.3.1) has them in Basic; None: a public client."""
        file = self._terms.client_secret_file
        if not file:
            return None
        try:
            with Path(file).open() as opened:
                secret = opened.read(_LONGEST_SECRET).strip()
        except (OSError, ValueError) as failure:
            raise Rejected(
                RejectCode.SIGN_IN_UNAVAILABLE,
                "the secret of the provider's client can not be read",
            ) from failure
        return quote_plus(self._terms.client_id), quote_plus(secret)


def _text(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
