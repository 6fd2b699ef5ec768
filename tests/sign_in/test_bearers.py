"""Tokens of a provider as bearers: who gets in, as whom, until when; and everything that does not."""

import base64
import hmac
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from joserfc import jwk, jwt
from starlette.responses import JSONResponse, Response

from hub.services.access.sign_in.keys import meant, read_keys, read_token
from hub.services.access.sign_in.provider import KEPT_S
from hub.services.access.sign_in.terms import Oidc
from tests.api.people import bound
from tests.api.serving import START, Served, a_job, served
from tests.sign_in.provider import (
    CLI_CLIENT,
    CLIENT,
    LocalProvider,
    local_provider,
    terms,
    unsigned,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def provider() -> Iterator[LocalProvider]:
    with local_provider() as found:
        found.now_s = START.timestamp()
        yield found


async def asked(hub: Served, token: str, path: str = "/v1/whoami") -> Any:
    return await hub.nobody.get(path, headers={"Authorization": f"Bearer {token}"})


async def refused(hub: Served, token: str, words: str = "") -> None:
    reply = await asked(hub, token)
    told = reply.json()
    assert (reply.status_code, told["code"]) == (401, "TokenNotAccepted"), told
    assert words in told["detail"], told


async def test_a_person_comes_in_by_name_and_groups(tmp_path, provider):
    """With prefixes; what they may do, bindings say; a token with other groups means those at once."""
    async with served(tmp_path, terms(provider)) as hub:
        await bound(hub, "p", "submitter", groups=["oidc:physics"], namespaces=["team-a"])
        ana = provider.token(groups=["physics", "physics", "\x1b[2J", "x" * 300, 7])
        told = (await asked(hub, ana)).json()
        assert (told["name"], told["role"]) == ("oidc:ana@example.org", "user")
        assert told["groups"] == ["oidc:physics"]
        bearer = {"Authorization": f"Bearer {ana}"}
        made = await hub.nobody.post("/v1/jobs", json=a_job("one"), headers=bearer)
        assert (made.status_code, made.json()["owner"]) == (201, "oidc:ana@example.org")
        moved = provider.token(groups=["chemistry"], aud=["other", CLI_CLIENT], azp=CLI_CLIENT)
        assert (await asked(hub, moved, "/v1/jobs")).status_code == 403


async def test_the_first_administrator_may_be_one_of_the_providers(tmp_path, provider):
    """Bound by the static administrator; the binding ends it."""
    async with served(tmp_path, terms(provider)) as hub:
        ana = provider.token()
        assert (await asked(hub, ana, "/v1/tokens")).status_code == 403
        await bound(hub, "first", "cluster-administrator", users=["oidc:ana@example.org"])
        assert (await asked(hub, ana, "/v1/tokens")).status_code == 200
        await hub.admin.delete("/v1/access/bindings/first")
        assert (await asked(hub, ana, "/v1/tokens")).status_code == 403


async def test_every_algorithm_of_the_list(tmp_path, provider):
    """RS256, ES256 and EdDSA by both of its names, each with a key of its own kind."""
    provider.keys = {
        "rsa": jwk.generate_key("RSA", 2048, {"kid": "rsa"}),
        "ed": jwk.generate_key("OKP", "Ed25519", {"kid": "ed"}),
        "ec": jwk.generate_key("EC", "P-256", {"kid": "ec"}),
    }
    async with served(tmp_path, terms(provider)) as hub:
        every = provider.keys
        for kid in every:
            provider.keys = {**every, kid: every[kid]}
            provider.keys.pop(kid)
            provider.keys[kid] = every[kid]
            assert (await asked(hub, provider.token())).status_code == 200, kid


async def test_what_is_not_signed_by_the_provider_is_refused(tmp_path, provider):
    """No algorithm, a shared secret made of the public key, another key, another type, edited claims."""
    rsa = jwk.generate_key("RSA", 2048, {"kid": "rsa"})
    provider.keys["rsa"] = rsa
    async with served(tmp_path, terms(provider)) as hub:
        claims: dict[str, Any] = provider.claims()
        for alg in ("none", "None", "HS256", "RS512", 5, None):
            await refused(hub, unsigned({"alg": alg, "kid": "rsa"}, claims), "signed")
        public = rsa.as_pem(private=False)
        signing = unsigned({"alg": "HS256", "kid": "rsa"}, claims).rpartition(".")[0]
        mac = hmac.digest(public, signing.encode(), "sha256")
        await refused(hub, unsigned({"alg": "HS256", "kid": "rsa"}, claims, mac), "signed")
        good = provider.token()
        assert (await asked(hub, good)).status_code == 200
        header, _, signature = good.split(".")
        other = unsigned({}, provider.claims(email="eve@example.org")).split(".")[1]
        await refused(hub, f"{header}.{other}.{signature}", "no key")
        await refused(hub, f"{good[:-4]}AAAA", "no key")
        await refused(hub, provider.token(header={"kid": "first"}), "no key")
        await refused(hub, provider.token(header={"typ": "logout+jwt"}), "another type")
        stranger = jwk.generate_key("RSA", 2048, {"kid": "rsa"})
        provider.keys = {"rsa": stranger}
        own = {"jwk": stranger.as_dict(private=False), "jku": f"{provider.issuer}/keys"}
        await refused(hub, provider.token(header=own), "no key")
        for text in ("a.b.c", "..", "e30.e30.e30", unsigned({"alg": "ES256"}, {})):
            await refused(hub, text)
        deep = b"[" * 9000
        await refused(hub, unsigned({"alg": "ES256"}, {}).replace(".e30.", f".{deep.hex()}."))


async def test_claims_that_are_not_meant_for_this_hub(tmp_path, provider):
    """Issuer and audience exactly; times; a verified address; a name that can be kept and shown."""
    async with served(tmp_path, terms(provider)) as hub:
        now = provider.now_s
        for given, words in (
            ({"iss": f"{provider.issuer}/"}, "not issued by"),
            ({"iss": None}, "not issued by"),
            ({"aud": "roadstead-eu"}, "another service"),
            ({"aud": ["a", "b"]}, "another service"),
            ({"aud": None}, "aud"),
            ({"aud": [["roadstead"]]}, "aud"),
            ({"aud": ["grafana", CLI_CLIENT], "azp": "grafana"}, "another client"),
            ({"aud": CLI_CLIENT, "azp": "grafana"}, "another client"),
            ({"aud": CLI_CLIENT, "client_id": "grafana"}, "another client"),
            ({"aud": CLI_CLIENT, "azp": [CLI_CLIENT]}, "another client"),
            ({"aud": CLI_CLIENT, "azp": ""}, "another client"),
            ({"aud": ["grafana", CLI_CLIENT]}, "azp"),
            ({"exp": None}, "exp"),
            ({"exp": "tomorrow"}, "exp"),
            ({"exp": True}, "exp"),
            ({"nbf": now + 60}, "not valid yet"),
            ({"email_verified": None}, "not verified"),
            ({"email_verified": "true"}, "not verified"),
            ({"email": None}, "no email"),
            ({"email": ["ana"]}, "no email"),
            ({"email": "ana\x1b[2J"}, "no name"),
            ({"email": "a\u202egro"}, "no name"),
            ({"email": "ana "}, "no name"),
            ({"email": "e\u0301va"}, "no name"),
            ({"email": "a" * 250}, "no name"),
            ({"groups": {"physics": True}}, "no list"),
            ({"groups": [f"g{n}" for n in range(501)]}, "at most 500"),
        ):
            await refused(hub, provider.token(**given), words)
        assert (await asked(hub, provider.token(nbf=now + 20))).status_code == 200
        late = await asked(hub, provider.token(exp=now - 31))
        assert (late.status_code, late.json()["code"]) == (401, "TokenExpired")


async def test_the_clients_whose_tokens_are_accepted(tmp_path, provider):
    """Those of the hub, and those that ROADSTEAD_OIDC_AUDIENCES names; one audience needs no azp."""
    audiences = f"{CLIENT},batch-api"
    async with served(tmp_path, terms(provider, audiences=audiences)) as hub:
        for given in (
            {"aud": CLIENT, "azp": CLI_CLIENT},
            {"aud": ["batch-api", "account"], "azp": CLIENT},
            {"aud": ["batch-api", CLIENT]},
            {"aud": "batch-api", "azp": "batch-api"},
        ):
            assert (await asked(hub, provider.token(**given))).status_code == 200
        await refused(hub, provider.token(aud="batch-api", azp="grafana"), "another client")


async def test_no_provider_gives_the_names_of_others(tmp_path, provider):
    """A group of the cluster's own is none of a provider's, and no static token has one of a provider."""
    async with served(tmp_path, terms(provider, groups_prefix="")) as hub:
        told = (await asked(hub, provider.token(groups=["system:masters", "a"]))).json()
        assert told["groups"] == ["a"]
        for given in ({"name": "oidc:ana"}, {"name": "system:x"}):
            reply = await hub.admin.post("/v1/tokens", json={"role": "user", **given})
            assert reply.json()["errors"][0]["code"] == "InvalidName"
        for group in ("oidc:physics", "system:masters"):
            wanted = {"role": "user", "name": "bo", "groups": ["own", group]}
            reply = await hub.admin.post("/v1/tokens", json=wanted)
            assert reply.json()["errors"][0]["code"] == "InvalidValue"


async def test_a_token_ends_and_its_streams_with_it(tmp_path, provider):
    """A stream that is open when its token expires is cut at the next look."""
    async with served(tmp_path, terms(provider)) as hub:
        await bound(hub, "v", "viewer", users=["oidc:ana@example.org"])
        ana = provider.token()
        assert (await asked(hub, ana)).status_code == 200
        from starlette.requests import Request

        from hub.api.policy import authorize

        scope = {
            "type": "http",
            "headers": [(b"authorization", f"Bearer {ana}".encode())],
            "app": hub.app,
            "state": {},
        }
        looking = Request(scope)
        assert (await authorize(looking, frozenset({"viewer"}))).name == "oidc:ana@example.org"
        hub.clock.advance(331)
        reply = await asked(hub, ana)
        assert (reply.status_code, reply.json()["code"]) == (401, "TokenExpired")
        with pytest.raises(Exception, match="expired"):
            await authorize(looking, frozenset({"viewer"}))


async def test_keys_are_rotated(tmp_path, provider):
    """A new key is fetched for; what the old one signed ends once it is told no more."""
    async with served(tmp_path, terms(provider)) as hub:
        old = provider.token()
        assert (await asked(hub, old)).status_code == 200
        provider.rotate("second")
        hub.clock.advance(11)
        assert (await asked(hub, provider.token())).status_code == 200
        await refused(hub, old, "no key")


async def test_keys_that_nobody_has_cost_the_provider_nothing(tmp_path, provider):
    """However many kids come, it is asked once in ten seconds, and who is known stays in."""
    async with served(tmp_path, terms(provider)) as hub:
        ana = provider.token()
        assert (await asked(hub, ana)).status_code == 200
        provider.asked.clear()
        flood = [provider.token(header={"kid": f"k{n}"}) for n in range(300)]
        hub.clock.advance(11)
        codes = [(await asked(hub, each)).status_code for each in flood]
        assert set(codes) == {401, 429}
        assert provider.asked.count("/keys") == 1
        assert (await asked(hub, ana)).status_code == 200


async def test_a_provider_that_is_down(tmp_path, provider):
    """What is known goes on, what would have to be asked for is 503; static tokens are as ever."""
    async with served(tmp_path, terms(provider)) as hub:
        ana = provider.token()
        down = Response("down", 500)
        provider.answers = {"/keys": down}
        reply = await asked(hub, ana)
        assert (reply.status_code, reply.json()["code"]) == (503, "SignInUnavailable")
        assert reply.headers["retry-after"] == "10"
        assert (await hub.admin.get("/v1/whoami")).status_code == 200
        hub.clock.advance(11)
        provider.answers = {}
        assert (await asked(hub, ana)).status_code == 200
        provider.answers = {"/keys": down, "/.well-known/openid-configuration": down}
        hub.clock.advance(3600)
        provider.now_s += 3611
        assert (await asked(hub, provider.token())).status_code == 200
        strange = await asked(hub, provider.token(header={"kid": "new"}))
        assert strange.status_code == 503


async def test_keys_are_good_for_a_day_without_their_provider(tmp_path, provider):
    """Whatever they sign: one that was taken back there would be known by then."""
    async with served(tmp_path, terms(provider)) as hub:
        assert (await asked(hub, provider.token())).status_code == 200
        provider.answers = {"/.well-known/openid-configuration": Response("down", 500)}
        for after_s, status in ((KEPT_S, 200), (1, 503)):
            hub.clock.advance(after_s)
            provider.now_s += after_s
            assert (await asked(hub, provider.token())).status_code == status


@pytest.mark.parametrize(
    "answer",
    [
        JSONResponse({"issuer": "https://elsewhere.example.org", "jwks_uri": "http://127.0.0.1/"}),
        JSONResponse([]),
        Response("x" * (2 << 20), media_type="application/json"),
        Response(status_code=302, headers={"Location": "http://127.0.0.1:1/"}),
    ],
)
async def test_a_description_of_somebody_else(tmp_path, provider, answer):
    """Another issuer, no object, too much, another address: nobody is believed."""
    provider.answers = {"/.well-known/openid-configuration": answer}
    async with served(tmp_path, terms(provider)) as hub:
        assert (await asked(hub, provider.token())).status_code == 503


@pytest.mark.parametrize("issuer", ["{}.example.org", "{}/", "", None])
async def test_a_description_says_whose_it_is_to_the_letter(tmp_path, provider, issuer):
    """One of an issuer that only begins like ours, or of none, is not believed."""
    told = {"jwks_uri": f"{provider.issuer}/keys"}
    if issuer is not None:
        told["issuer"] = issuer.format(provider.issuer)
    provider.answers = {"/.well-known/openid-configuration": JSONResponse(told)}
    async with served(tmp_path, terms(provider)) as hub:
        assert (await asked(hub, provider.token())).status_code == 503


async def test_keys_are_not_looked_for_where_a_redirect_leads(tmp_path, provider):
    """Its description alone says where they are: another address is not asked, good keys there or not."""
    keys = [each.as_dict(private=False) for each in provider.keys.values()]
    provider.answers = {
        "/keys": Response(status_code=302, headers={"Location": f"{provider.issuer}/device"}),
        "/device": JSONResponse({"keys": keys}),
    }
    async with served(tmp_path, terms(provider)) as hub:
        assert (await asked(hub, provider.token())).status_code == 503
        assert "/device" not in provider.asked


def test_a_key_is_good_for_the_algorithm_alone_that_its_owner_says():
    """Of several that its kind could be used with; one that says none is good for all of them."""
    key = jwk.generate_key("RSA", 2048, {"kid": "k"})
    token = read_token(jwt.encode({"alg": "RS256", "kid": "k"}, {"sub": "ana"}, key))
    for said, good in (({}, True), ({"alg": "RS256"}, True), ({"alg": "PS256"}, False)):
        (kept,) = read_keys({"keys": [{**key.as_dict(private=False), **said}]})
        assert meant([kept], token) == ([kept] if good else []), said


@pytest.mark.filterwarnings("ignore:Key size")  # by the library, which takes them
@pytest.mark.parametrize(("bits", "good"), [(1024, False), (2047, False), (2048, True)])
def test_a_weak_key_signs_nothing(bits, good):
    """An attacker who factors such a key could sign any token, so the hub ignores it."""
    numbers = generate_private_key(65537, bits).public_key().public_numbers()
    told = {"kty": "RSA", "kid": "k", "n": _number(numbers.n), "e": _number(numbers.e)}
    assert len(read_keys({"keys": [told]})) == good


def _number(value: int) -> str:
    octets = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


async def test_keys_are_read_from_safe_addresses_alone(tmp_path, provider):
    """A description that names keys in clear on another machine is not followed."""
    told = {"issuer": provider.issuer, "jwks_uri": "http://keys.example.org/"}
    provider.answers = {"/.well-known/openid-configuration": JSONResponse(told)}
    async with served(tmp_path, terms(provider)) as hub:
        reply = await asked(hub, provider.token())
        assert "no address with https" in reply.json()["detail"]


async def test_tokens_are_good_at_peoples_doors_alone(tmp_path, provider):
    """An agent's route takes none, and a hub without a provider knows of none."""
    async with served(tmp_path / "a", terms(provider)) as hub:
        await bound(hub, "a", "cluster-administrator", users=["oidc:ana@example.org"])
        reply = await asked(hub, provider.token(), "/agent/v1/streams")
        assert reply.status_code in {401, 404}
    async with served(tmp_path / "b") as hub:
        reply = await asked(hub, provider.token())
        assert (reply.status_code, reply.json()["code"]) == (401, "Unauthenticated")


@pytest.mark.parametrize(
    "given",
    [
        {"issuer": "http://example.org", "client_id": "c"},
        {"issuer": "https://example.org#f", "client_id": "c"},
        {"issuer": "https://example.org"},
        {"issuer": "https://example.org", "client_id": "c", "username_prefix": ""},
        {"issuer": "https://example.org", "client_id": "c", "username_prefix": "oidc"},
        {"issuer": "https://example.org", "client_id": "c", "username_prefix": "system:a:"},
        {"issuer": "https://example.org", "client_id": "c", "groups_prefix": "system:"},
        {"issuer": "https://example.org", "client_id": "c", "scopes": "email"},
        {"issuer": "https://example.org", "client_id": "c", "page_url": "http://example.org"},
    ],
)
def test_what_can_not_be_meant_is_not_taken(given):
    """In clear, without a client, or with names that somebody else may have: the hub does not start."""
    with pytest.raises(ValueError, match=r"expected|client|begin|scopes"):
        Oidc(**given)


def test_a_hub_without_a_provider_loads_nothing_for_one():
    """What verifies tokens is imported where one is set."""
    program = "import sys, hub.main; print(sorted({'joserfc'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[]\n"
