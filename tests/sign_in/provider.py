"""A provider of OpenID Connect on loopback, small and strict: keys, codes with PKCE, devices, refreshing.

It runs in a thread of its own, so that hubs in this process, command lines and browsers can all ask it.
"""

import base64
import contextlib
import hashlib
import hmac
import secrets
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

import orjson
import uvicorn
from joserfc import jwk, jwt
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from hub.services.access.sign_in.terms import Oidc
from hub.services.context.settings import Settings
from shared.clock import SystemClock

CLIENT, CLI_CLIENT, SECRET = "roadstead", "roadstead-cli", "of the page & nobody's: %"
LIFE_S = 300


@dataclass
class LocalProvider:
    """What a test changes of it, and what was asked."""

    issuer: str
    keys: dict[str, Any] = field(default_factory=dict)  # kid → private key; the last one signs
    person: dict[str, Any] = field(default_factory=dict)  # claims of who sits before the browser
    now_s: float = field(default_factory=lambda: SystemClock().now().timestamp())
    life_s: float = LIFE_S
    asked: list[str] = field(default_factory=list)  # paths
    answers: dict[str, Response] = field(default_factory=dict)  # by path: instead of its own
    approved: bool = False  # the device's code was typed in
    slow_downs: int = 0  # how often it is still asked to be asked less
    said: dict[str, str] = field(default_factory=dict)  # parameters of the last authorization
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    refreshes: set[str] = field(default_factory=set)
    whose: dict[str, dict[str, Any]] = field(default_factory=dict)  # refresh token → claims
    extra: dict[str, Any] = field(
        default_factory=dict
    )  # claims of tokens of codes, in their place

    def rotate(self, kid: str) -> None:
        """From now on this key signs; earlier ones are told no more."""
        self.keys = {kid: jwk.generate_key("EC", "P-256", {"kid": kid})}

    def claims(self, **given: Any) -> dict[str, Any]:
        """What a token says; given None: does not."""
        now = self.now_s
        told = {
            "iss": self.issuer,
            "aud": CLIENT,
            "iat": int(now),
            "exp": int(now + self.life_s),
            **self.person,
            **given,
        }
        return {name: value for name, value in told.items() if value is not None}

    def token(self, *, header: dict[str, Any] | None = None, **given: Any) -> str:
        """A token, signed with the last key."""
        kid, key = list(self.keys.items())[-1]
        alg = {"EC": "ES256", "RSA": "RS256", "OKP": "Ed25519"}[key.key_type]
        told = {"alg": alg, "kid": kid, **(header or {})}
        return jwt.encode(told, self.claims(**given), key, algorithms=[told["alg"]])

    def app(self) -> Starlette:
        routes = {
            "/.well-known/openid-configuration": self._describe,
            "/keys": self._tell_keys,
            "/authorize": self._authorize,
            "/token": self._give,
            "/device": self._device,
            "/revoke": self._revoke,
        }
        return Starlette(routes=[self._route(path, end) for path, end in routes.items()])

    def _route(self, path: str, end: Any) -> Route:
        async def answer(request: Request) -> Response:
            self.asked.append(path)
            return self.answers.get(path) or await end(request)

        return Route(path, answer, methods=["GET", "POST"])

    async def _describe(self, _: Request) -> Response:
        return JSONResponse(
            {
                "issuer": self.issuer,
                "jwks_uri": f"{self.issuer}/keys",
                "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token",
                "device_authorization_endpoint": f"{self.issuer}/device",
                "revocation_endpoint": f"{self.issuer}/revoke",
            }
        )

    async def _tell_keys(self, _: Request) -> Response:
        told = [{**key.as_dict(private=False), "use": "sig"} for key in self.keys.values()]
        return JSONResponse({"keys": told})

    async def _authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        self.said = asked
        needed = {"state", "nonce", "code_challenge", "redirect_uri"}
        if needed - asked.keys() or asked.get("client_id") != CLIENT:
            return JSONResponse({"error": "invalid_request"}, 400)
        if asked["response_type"] != "code" or asked["code_challenge_method"] != "S256":
            return JSONResponse({"error": "invalid_request"}, 400)
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        back = urlencode({"code": code, "state": asked["state"]})
        return RedirectResponse(f"{asked['redirect_uri']}?{back}", 302)

    async def _give(self, request: Request) -> Response:
        form = await _form(request)
        grant = form.get("grant_type")
        if grant == "authorization_code":
            return self._for_code(request, form)
        if form.get("client_id") != CLI_CLIENT:
            return JSONResponse({"error": "invalid_client"}, 401)
        if grant == "refresh_token":
            if form["refresh_token"] not in self.refreshes:
                return JSONResponse({"error": "invalid_grant"}, 400)
            self.refreshes.discard(form["refresh_token"])  # each is good once
            return self._tokens(self.whose[form["refresh_token"]], aud=CLI_CLIENT)
        if self.slow_downs:
            self.slow_downs -= 1
            return JSONResponse({"error": "slow_down"}, 400)
        if not self.approved:
            return JSONResponse({"error": "authorization_pending"}, 400)
        return self._tokens(aud=CLI_CLIENT)

    def _for_code(self, request: Request, form: dict[str, str]) -> Response:
        asked = self.codes.pop(form["code"], None)
        told = base64.b64encode(f"{CLIENT}:{_quoted(SECRET)}".encode()).decode()
        if not hmac.compare_digest(request.headers.get("authorization", ""), f"Basic {told}"):
            return JSONResponse({"error": "invalid_client"}, 401)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if (
            asked is None
            or challenge != asked["code_challenge"]
            or form["redirect_uri"] != asked["redirect_uri"]
        ):
            return JSONResponse({"error": "invalid_grant"}, 400)
        return self._tokens(**{"nonce": asked["nonce"], **self.extra})

    def _tokens(self, person: dict[str, Any] | None = None, **claims: Any) -> Response:
        """Tokens of a person, else of who sits before the browser; a refresh keeps the person."""
        person = self.person if person is None else person
        refresh = secrets.token_urlsafe(16)
        self.refreshes.add(refresh)
        self.whose[refresh] = person
        told = {
            "access_token": "opaque",
            "token_type": "Bearer",
            "expires_in": int(self.life_s),
            "id_token": self.token(**person, **claims),
            "refresh_token": refresh,
        }
        return JSONResponse(told)

    async def _device(self, request: Request) -> Response:
        form = await _form(request)
        if form.get("client_id") != CLI_CLIENT:
            return JSONResponse({"error": "invalid_client"}, 401)
        return JSONResponse(
            {
                "device_code": "d",
                "user_code": "WDJB-MJHT",
                "verification_uri": f"{self.issuer}/type-it-here",
                "expires_in": 600,
                "interval": 1,
            }
        )

    async def _revoke(self, request: Request) -> Response:
        self.refreshes.discard((await _form(request))["token"])
        return Response(status_code=200)


async def _form(request: Request) -> dict[str, str]:
    return dict(parse_qsl((await request.body()).decode(), strict_parsing=True))


def _quoted(text: str) -> str:
    return urlencode({"": text})[1:]


@contextlib.contextmanager
def local_provider(kid: str = "first") -> Iterator[LocalProvider]:
    """A provider that answers for the length of the block."""
    listener = socket.create_server(("127.0.0.1", 0))
    provider = LocalProvider(f"http://127.0.0.1:{listener.getsockname()[1]}")
    provider.rotate(kid)
    provider.person = {"sub": "1", "email": "ana@example.org", "email_verified": True}
    config = uvicorn.Config(provider.app(), log_config=None, lifespan="off", http="h11")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: server.run(sockets=[listener]), daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.should_exit = True
        thread.join(timeout=10)


def unsigned(header: dict[str, Any], claims: dict[str, Any], signature: bytes = b"") -> str:
    """A token by hand."""
    parts = (orjson.dumps(header), orjson.dumps(claims), signature)
    return ".".join(base64.urlsafe_b64encode(each).rstrip(b"=").decode() for each in parts)


def terms(provider: LocalProvider, **given: Any) -> Settings:
    """Settings of a hub whose people sign in there, by their addresses."""
    known = Oidc(provider.issuer, CLIENT, cli_client_id=CLI_CLIENT, username_claim="email")
    return Settings(oidc=replace(known, **given))
