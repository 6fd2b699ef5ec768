"""Who sees the page, and what a browser is told about it."""

import datetime as dt
import re

import httpx
import pytest
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

from hub.services.access import credentials
from hub.web import access, pages
from hub.web.access import hold_session
from tests.web.pages import served_page

pytestmark = pytest.mark.anyio


async def test_without_a_token_there_is_a_way_in_and_nothing_else(tmp_path):
    """No job, cluster or queue is named to a stranger, and no stream is opened."""
    async with served_page(tmp_path) as hub, hub.browser() as stranger:
        await hub.submit("secret-job")
        reply = await stranger.get("/")
        assert "Access token" in reply.text
        assert "secret-job" not in reply.text
        refused = await stranger.get("/live")
        assert (refused.status_code, refused.json()["code"]) == (401, "Unauthenticated")


async def test_no_page_tells_a_stranger_anything(tmp_path):
    """Every address of the page is walked, with what there is: each asks who is there before it looks."""
    async with served_page(tmp_path) as hub, hub.browser() as stranger:
        (uid,) = await hub.submit("secret-job")
        await hub.api.post("/v1/clusters", json={"name": "secret-member"})
        walked = 0
        for route in pages.router.routes:
            if not isinstance(route, APIRoute) or "GET" not in route.methods:
                continue
            for name in (uid, "secret-member", "default", "cancel"):
                path = re.sub(r"\{\w+(:path)?\}", name, route.path)
                told = await stranger.get(path)
                assert not told.is_server_error, path
                for secret in ("secret-job", "secret-member", "team-a"):
                    assert secret not in told.text.replace(name, ""), path
                walked += 1
        assert walked > 10


@pytest.mark.parametrize("role", ["administrator", "viewer"])
async def test_people_sign_in_with_their_token(tmp_path, role):
    """The token becomes a cookie out of the reach of scripts and other sites, never part of an address."""
    async with served_page(tmp_path) as hub, hub.browser() as http:
        await hub.submit("some-job")
        reply = await http.post("/login", data={"token": hub.tokens[role]})
        assert (reply.status_code, reply.headers["location"]) == (303, "/")
        cookie = reply.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        page = (await http.get("/")).text
        assert "some-job" in page
        shown = {"administrator": "cluster-administrator"}.get(role, role)
        assert f"a-{role} ({shown})" in page
        assert hub.tokens[role] not in page


def held(http):
    """The value of the one cookie."""
    (cookie,) = http.cookies.jar
    return cookie.value


async def test_a_browser_never_holds_the_token(tmp_path):
    """The cookie is worth nothing as a bearer, a token nothing as a cookie."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http, hub.browser() as other:
        token = hub.tokens["administrator"]
        assert token.split(".")[1] not in held(http)
        as_bearer = {"Authorization": f"Bearer {held(http)}"}
        assert (await other.get("/v1/jobs", headers=as_bearer)).status_code == 401
        other.cookies.set("roadstead", token)
        assert "Access token" in (await other.get("/")).text


async def test_a_session_ends_by_itself(tmp_path):
    """After its time the page asks for the token again, whatever the browser keeps."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        value = held(http)
        left_s = hub.hub.settings.api.session_kept.total_seconds() - 60
        while left_s > 0:  # somebody is there all the time
            step_s = min(left_s, 3600)
            hub.clock.advance(step_s)
            left_s -= step_s
            page = await http.get("/", headers={"Cookie": f"roadstead={value}"})
            assert "Sign out" in page.text
        hub.clock.advance(61)
        reply = await http.get("/", headers={"Cookie": f"roadstead={value}"})
        assert "Access token" in reply.text


async def test_a_session_that_nobody_uses_ends(tmp_path):
    """A page that is opened keeps it; time alone ends it, on whichever hub."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        value = held(http)
        idle_s = hub.hub.settings.api.session_idle.total_seconds()
        for left_s, shown in ((1, "Sign out"), (1, "Sign out"), (-1, "Access token")):
            hub.clock.advance(idle_s - left_s)
            page = await http.get("/", headers={"Cookie": f"roadstead={value}"})
            assert shown in page.text


async def test_a_stream_that_goes_on_is_nobodys_use(tmp_path):
    """Logs that are followed ask again and again who reads them: that alone keeps no session."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        headers = [(b"host", b"hub"), (b"cookie", f"roadstead={held(http)}".encode())]
        scope = {
            "type": "http",
            "method": "GET",
            "scheme": "http",
            "path": "/",
            "headers": headers,
        }
        transport = hub.api._transport
        assert isinstance(transport, httpx.ASGITransport)
        asking = Request({**scope, "app": transport.app, "state": {}})
        headers.append((access.MARK.lower().encode(), access.mark_of(asking).encode()))
        reading = Request({**scope, "app": transport.app, "state": {}})
        reading.state.principal = await access.signed_in(reading)  # as the route's policy keeps it
        assert reading.state.principal is not None
        idle_s = hub.hub.settings.api.session_idle.total_seconds()
        hub.clock.advance(idle_s - 1)
        assert await access.signed_in(reading) is not None
        hub.clock.advance(2)
        assert await access.signed_in(reading) is None


async def test_signing_out_ends_that_session_alone(tmp_path):
    """A kept cookie opens nothing any more; the person's other browser goes on, as does the token."""
    async with served_page(tmp_path) as hub, hub.signed_in() as one, hub.signed_in() as two:
        value = held(one)
        await one.post("/logout")
        async with hub.browser() as thief:
            thief.cookies.set("roadstead", value)
            assert "Access token" in (await thief.get("/")).text
        assert "Sign out" in (await two.get("/")).text
        async with hub.signed_in() as again:
            assert "Sign out" in (await again.get("/")).text


@pytest.mark.parametrize("given", ["", "nonsense", "a.b", "agent"])
async def test_other_tokens_are_refused(tmp_path, given):
    """A token that is unknown, or an agent's, leads back to the way in, which says so."""
    async with served_page(tmp_path) as hub, hub.browser() as http:
        reply = await http.post("/login", data={"token": hub.tokens.get(given, given)})
        assert (reply.status_code, reply.headers["location"]) == (303, "/?wrong")
        assert "set-cookie" not in reply.headers
        assert "unknown here" in (await http.get("/?wrong")).text


@pytest.mark.parametrize(
    ("asked", "to"),
    [
        ("/jobs/01a2?x=1", "/jobs/01a2?x=1"),
        ("/queues/team-a/main", "/queues/team-a/main"),
        ("//elsewhere.example", "/"),
        ("/\\elsewhere.example", "/"),
        ("https://elsewhere.example", "/"),
        ("/a\r\nSet-Cookie: x", "/"),
        ("/" + "a" * 2001, "/"),
    ],
)
async def test_signing_in_leads_to_the_page_that_was_asked_for(tmp_path, asked, to):
    """An address that was sent is kept, also by a wrong token, and none leads away from the hub."""
    async with served_page(tmp_path) as hub, hub.browser() as http:
        reply = await http.post("/login", data={"token": "a.b", "to": asked})
        again = await http.get(reply.headers["location"])
        assert ('name="to"' in again.text) == (to != "/")
        token = hub.tokens["administrator"]
        reply = await http.post("/login", data={"token": token, "to": asked})
        assert reply.headers["location"] == to


async def test_the_way_in_names_the_page_it_stands_for(tmp_path):
    """What is signed in at keeps its whole address; of the front page there is nothing to keep."""
    async with served_page(tmp_path) as hub, hub.browser() as http:
        for path in ("/jobs/01a2", "/queues/team-a/main", "/?owner=ana"):
            assert f'name="to" value="{path}"' in (await http.get(path)).text
        assert 'name="to"' not in (await http.get("/")).text


async def test_signing_out_forgets_the_cookie(tmp_path):
    """Afterwards there is the way in again."""
    async with served_page(tmp_path) as hub, hub.signed_in("viewer") as http:
        assert "Sign out" in (await http.get("/")).text
        assert (await http.post("/logout")).headers["location"] == "/"
        assert "Access token" in (await http.get("/")).text


async def test_a_token_that_ended_shows_nothing_more(tmp_path):
    """Revoked while somebody is signed in with it: the next look is refused."""
    async with served_page(tmp_path) as hub, hub.signed_in("viewer") as http:
        await hub.hub.write(credentials.replace_bearer, "viewer", "a-viewer", "")
        assert "Access token" in (await http.get("/")).text
        assert (await http.get("/live")).status_code == 401


@pytest.mark.parametrize("path", ["/login", "/logout"])
@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://elsewhere"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}],
)
async def test_forms_of_other_sites_are_refused(tmp_path, path, headers):
    """Neither signed in nor out from elsewhere."""
    async with served_page(tmp_path) as hub, hub.browser() as http:
        given = {"token": hub.tokens["viewer"]}
        reply = await http.post(path, data=given, headers=headers)
        assert (reply.status_code, reply.json()["code"]) == (403, "Forbidden")


async def test_the_own_site_may_send_its_form(tmp_path):
    """With the origin that a browser states."""
    async with served_page(tmp_path) as hub, hub.browser() as http:
        given = {"token": hub.tokens["viewer"]}
        reply = await http.post("/login", data=given, headers={"Origin": "http://hub"})
        assert reply.headers["location"] == "/"


async def test_every_answer_of_the_page_is_fenced(tmp_path):
    """Nothing from elsewhere, nothing inline, no framing, no sniffing, no referrer to others."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        page = (await http.get("/")).text
        assert "style=" not in page
        assert "<script>" not in page
        for path in ("/", "/static/page.css", "/static/page.js", "/static/mark.svg"):
            headers = (await http.get(path)).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "same-origin"
            assert headers["cross-origin-opener-policy"] == "same-origin"
            assert headers["cross-origin-resource-policy"] == "same-origin"
            assert "geolocation=()" in headers["permissions-policy"]
            assert "strict-transport-security" not in headers  # nothing in clear may say so


async def test_every_answer_of_the_api_is_fenced(tmp_path):
    """Answers and refusals are no pages: they show nothing, in no frame, and no other site reads them."""
    async with served_page(tmp_path) as hub, hub.browser() as http:
        for path in ("/healthz", "/v1/jobs", "/openapi.json", "/nothing"):
            headers = (await http.get(path)).headers
            assert headers["content-security-policy"] == (
                "default-src 'none'; frame-ancestors 'none'"
            )
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["cross-origin-resource-policy"] == "same-origin"
            assert headers["referrer-policy"] == "no-referrer"


async def test_by_tls_the_cookie_is_for_tls_alone(tmp_path):
    """`Secure`, and a name that nothing in clear and no other host can set; HSTS for a year."""
    async with served_page(tmp_path) as hub:
        http = httpx.AsyncClient(transport=hub.api._transport, base_url="https://hub:8443")
        async with http:
            reply = await http.post("/login", data={"token": hub.tokens["viewer"]})
            cookie = reply.headers["set-cookie"]
            assert cookie.startswith("__Host-roadstead-8443=")
            assert "Secure" in cookie
            assert "Path=/" in cookie
            assert "Domain" not in cookie
            page = await http.get("/")
            assert "Sign out" in page.text
            assert page.headers["strict-transport-security"] == "max-age=31536000"
            await http.post("/logout")
            assert "Access token" in (await http.get("/")).text


async def test_static_files_are_kept_by_version(tmp_path):
    """A browser keeps a file for good under the page's address of it, and only there."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        page = (await http.get("/")).text
        versioned = page.split('rel="stylesheet" href="')[1].split('"')[0]
        assert "immutable" in (await http.get(versioned)).headers["cache-control"]
        assert (await http.get("/static/page.css")).headers["cache-control"] == "no-store"
        assert (await http.get("/static/..%2fpages.py")).status_code == 404
        assert (await http.get("/static/none.js")).status_code == 404


@pytest.mark.parametrize(
    "kept", [dt.timedelta(hours=12), dt.timedelta(days=1), dt.timedelta(days=7)]
)
def test_a_cookie_is_kept_as_long_as_its_session(kept):
    """Max-Age counts whole days too: with the seconds of a day alone the cookie would expire at once."""
    scope = {"type": "http", "scheme": "http", "headers": [(b"host", b"hub:8080")]}
    reply = Response()
    hold_session(Request(scope), reply, "id.secret", kept)
    said = reply.headers["set-cookie"].split("; ")
    assert f"Max-Age={int(kept.total_seconds())}" in said
    assert said[0] == "roadstead-8080=id.secret"
