"""Browsers that sign in at a provider: the way out and back, the session, and what others may try."""

import contextlib
import datetime as dt
import html
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import pytest
from starlette.responses import Response

from hub.api.app import create_app
from hub.services.access import sessions
from hub.services.access.credentials import SESSION
from hub.services.context.settings import Api
from hub.web import access, pages
from tests.api.people import bound
from tests.api.serving import START, Served, served
from tests.sign_in.provider import SECRET, LocalProvider, local_provider, terms

pytestmark = pytest.mark.anyio
ANA = "oidc:ana@example.org"


@pytest.fixture
def provider() -> Iterator[LocalProvider]:
    with local_provider() as found:
        found.now_s = START.timestamp()
        yield found


@contextlib.asynccontextmanager
async def paged(
    folder: Path, provider: LocalProvider, api: Api | None = None
) -> AsyncIterator[Served]:
    """A hub with its page, by TLS; ana looks at everything."""
    file = folder / "secret"
    file.write_text(f"{SECRET}\n")
    given = {"client_secret_file": str(file), "page_url": "https://hub/"}
    settings = terms(provider, **given)
    async with served(folder, replace(settings, api=api or settings.api)) as hub:
        hub.app = create_app(hub.hub, (pages.router,), pages.nothing_here, access.signed_in)
        await bound(hub, "a", "viewer", users=[ANA])
        yield hub


def browser(hub: Served) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(hub.app), base_url="https://hub")


async def went_out(http: httpx.AsyncClient, way: str = "/sign-in") -> str:
    """Where the provider sends the browser back to."""
    out = await http.get(way)
    assert out.status_code == 303, out.text
    async with httpx.AsyncClient() as outside:
        back = await outside.get(out.headers["location"])
    assert back.status_code == 302, back.text
    return str(back.headers["location"])


async def signed_in(http: httpx.AsyncClient) -> httpx.Response:
    return await http.get(await went_out(http))


def session(http: httpx.AsyncClient) -> str:
    (cookie,) = http.cookies.jar
    return str(cookie.value)


async def test_a_person_signs_in_by_the_page(tmp_path, provider):
    """PKCE, state and nonce; a session in a cookie of the hub's alone, and of tokens nothing."""
    async with paged(tmp_path, provider) as hub, browser(hub) as http:
        front = (await http.get("/")).text
        assert 'href="https://hub/sign-in"' in front
        reply = await signed_in(http)
        assert reply.status_code == 200, reply.text
        assert 'content="0; url=/"' in reply.text
        cookies = reply.headers.get_list("set-cookie")
        (kept,) = [each for each in cookies if "Max-Age=0" not in each]
        for word in ("__Host-", "HttpOnly", "SameSite=strict", "Secure", "Path=/"):
            assert word in kept
        page = (await http.get("/")).text
        assert f"{ANA} (viewer)" in page
        assert provider.said["redirect_uri"] == "https://hub/sign-in/back"
        told = (await hub.admin.get("/v1/audit?verb=sign-in")).json()["items"]
        assert [(each["principal"], each["kind"], each["name"]) for each in told] == [
            (ANA, "Session", ANA)
        ]
        as_bearer = {"Authorization": f"Bearer {session(http)}"}
        async with browser(hub) as other:
            assert (await other.get("/v1/jobs", headers=as_bearer)).status_code == 401
        await http.post("/logout")
        assert "Sign in with your organisation" in (await http.get("/")).text


async def test_who_came_for_a_page_arrives_there(tmp_path, provider):
    """The button carries it, and a cookie for the time at the provider; nothing of it is kept."""
    async with paged(tmp_path, provider) as hub, browser(hub) as http:
        asked = (await http.get("/queues?q=a%2Fb&x=y")).text
        found = re.search(r'class="button" href="https://hub(/sign-in[^"]*)"', asked)
        assert found is not None
        reply = await http.get(await went_out(http, html.unescape(found[1])))
        assert 'content="0; url=/queues?q=a%2Fb&amp;x=y"' in reply.text
        assert session(http)


async def test_who_is_refused_may_try_again_for_the_same_page(tmp_path, provider):
    """The second button knows what the first one knew."""
    async with paged(tmp_path, provider) as hub, browser(hub) as http:
        await went_out(http, "/sign-in?to=/queues")
        again = await http.get("/sign-in/back?state=other")
        assert again.status_code == 400
        assert 'href="https://hub/sign-in?to=%2Fqueues"' in again.text


@pytest.mark.parametrize("to", ["https://evil.example/", "//evil.example/", "/\\evil.example"])
async def test_nobody_is_led_elsewhere(tmp_path, provider, to):
    """Neither by the way out nor by a cookie."""
    async with paged(tmp_path, provider) as hub, browser(hub) as http:
        back = await went_out(http, f"/sign-in?to={quote(to, safe='')}")
        assert len(http.cookies.jar) == 1
        http.cookies.set("__Host-roadstead-goal", quote(to, safe=""), domain="hub", path="/")
        reply = await http.get(back)
        assert reply.status_code == 200
        assert "evil" not in reply.text


async def test_who_has_no_role_is_told_so(tmp_path, provider):
    """No session is made for them."""
    provider.person["email"] = "bo@example.org"
    async with paged(tmp_path, provider) as hub, browser(hub) as http:
        reply = await signed_in(http)
        assert (reply.status_code, list(http.cookies.jar)) == (400, [])
        assert "have no role here yet" in reply.text


async def test_a_way_back_that_is_not_ones_own_leads_nowhere(tmp_path, provider):
    """Another's state, none, a used code, another verifier, another nonce: no session."""
    async with paged(tmp_path, provider) as hub, browser(hub) as http, browser(hub) as other:
        back = await went_out(http)
        for path in (back, "/sign-in/back", "/sign-in/back?state=&code=x", f"{back}x"):
            reply = await other.get(path)
            assert (reply.status_code, list(other.cookies.jar)) == (400, []), path
        assert provider.asked.count("/token") == 0
        theirs = await went_out(other)
        code = parse_qs(urlsplit(theirs).query)["code"][0]
        back = await went_out(http)
        state = parse_qs(urlsplit(back).query)["state"][0]
        reply = await http.get(f"/sign-in/back?state={state}&code={code}")
        assert "gave no ID token" in reply.text  # PKCE: their code with our verifier
        for claims, words in (
            ({"nonce": "another"}, "another attempt"),
            ({"aud": "another"}, "another service"),
            ({"iss": "https://example.org"}, "not issued by"),
        ):
            provider.extra = claims
            reply = await signed_in(http)
            assert reply.status_code == 400, claims
            assert words in reply.text
        provider.extra = {}
        done = await went_out(http)
        assert (await http.get(done)).status_code == 200
        again = await http.get(done)
        assert again.status_code == 400
        refused = await http.get("/sign-in/back?error=<script>&state=1")
        assert "<script>" not in refused.text


async def test_codes_that_are_refused_are_counted(tmp_path, provider):
    """Whoever tries codes is not listened to for a moment, and the provider is asked for none of them."""
    async with (
        paged(tmp_path, provider, Api(failures_per_s=1, failures_burst=3)) as hub,
        browser(hub) as http,
    ):
        tried = []
        for _ in range(5):
            state = parse_qs(urlsplit(await went_out(http)).query)["state"][0]
            reply = await http.get(f"/sign-in/back?state={state}&code=guessed")
            tried.append(reply.status_code)
        assert tried == [400, 400, 400, 429, 429]
        assert provider.asked.count("/token") == 3


async def test_of_one_person_so_many_sessions_are_kept(tmp_path, provider):
    """One more ends the oldest of theirs, and none of anybody else's."""
    async with paged(tmp_path, provider) as hub:

        async def begun(name: str) -> str:
            day = dt.timedelta(days=1)
            hub.clock.advance(1)
            return await hub.hub.write(sessions.begin_session, name, (), day, f"id-of-{name}")

        other = await begun("oidc:bo@example.org")
        held = [await begun(ANA) for _ in range(sessions.MOST_SESSIONS + 1)]
        holders = [await hub.hub.authenticator.authenticate(each, SESSION) for each in held]
        assert [each is not None for each in holders] == [False, *[True] * sessions.MOST_SESSIONS]
        assert await hub.hub.authenticator.authenticate(other, SESSION) is not None


async def test_no_address_is_taken_from_the_browser(tmp_path, provider):
    """Whatever Host and query say, the provider sends it back to the hub, which leads nowhere else."""
    async with paged(tmp_path, provider) as hub, browser(hub) as http:
        evil = {"Host": "evil.example", "X-Forwarded-Host": "evil.example"}
        out = await http.get("/sign-in?next=https://evil.example/", headers=evil)
        assert out.headers["location"].startswith(f"{provider.issuer}/authorize?")
        assert "evil" not in out.headers["location"]
        assert "evil" not in (await signed_in(http)).text


async def test_a_session_ends(tmp_path, provider):
    """By its longest life, when nobody uses it, and with the person; groups are those of the last time."""
    async with paged(tmp_path, provider) as hub, browser(hub) as http:
        idle_s = hub.hub.settings.api.session_idle.total_seconds()
        kept_s = hub.hub.settings.oidc.session_kept.total_seconds()

        async def is_in() -> bool:
            return "Sign out" in (await http.get("/", headers={"Cookie": held})).text

        async def renewed() -> str:
            provider.now_s = hub.clock.now().timestamp()
            http.cookies.clear()
            assert (await signed_in(http)).status_code == 200
            value = session(http)
            http.cookies.clear()
            return f"__Host-roadstead={value}"

        held = await renewed()
        hub.clock.advance(idle_s - 1)
        assert await is_in()
        hub.clock.advance(idle_s + 1)
        assert not await is_in()
        held = await renewed()
        for _ in range(int(kept_s // (idle_s / 2))):
            hub.clock.advance(idle_s / 2)
            await is_in()
        assert not await is_in()
        held = await renewed()
        assert await is_in()
        provider.person["groups"] = ["physics"]
        other = await renewed()
        people = (await hub.admin.get("/v1/tokens")).json()["items"]
        assert [each["groups"] for each in people if each["name"] == ANA] == [["oidc:physics"]]
        assert (await hub.admin.delete(f"/v1/tokens/user/{ANA}")).status_code == 200
        assert not await is_in()
        held = other
        assert not await is_in()


async def test_a_token_with_groups_without_end_is_refused(tmp_path, provider):
    """Half a megabyte of them, and answers of more than one: in words, and no session."""
    async with paged(tmp_path, provider) as hub, browser(hub) as http:
        for names, words in ((10_000, "longer than"), (30_000, "more than"), (600, "at most 500")):
            provider.extra = {"groups": [f"{'g' * 30}{number}" for number in range(names)]}
            reply = await signed_in(http)
            assert (reply.status_code, list(http.cookies.jar)) == (400, [])
            assert words in reply.text


async def test_a_provider_that_is_down_leaves_the_token(tmp_path, provider):
    """The way out says so, and the form for a token of the hub's own is there."""
    async with paged(tmp_path, provider) as hub, browser(hub) as http:
        provider.answers = {"/.well-known/openid-configuration": Response("down", 500)}
        reply = await http.get("/sign-in")
        assert reply.status_code == 400
        assert "can not be asked" in reply.text
        assert "Access token" in reply.text


async def test_without_a_provider_there_is_no_way(tmp_path):
    """Neither out nor back, and the page offers none."""
    async with served(tmp_path) as hub:
        hub.app = create_app(hub.hub, (pages.router,), pages.nothing_here, access.signed_in)
        async with browser(hub) as http:
            assert "organisation" not in (await http.get("/")).text
            for path in ("/sign-in", "/sign-in/back"):
                assert (await http.get(path)).status_code == 404
