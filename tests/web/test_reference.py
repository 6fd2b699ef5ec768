"""The description of the API to read: `/docs` without a network; and the page for an unknown address."""

import re

import pytest

from tests.api.listening import listening
from tests.web.pages import Read, served_page

pytestmark = pytest.mark.anyio
PAGE = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


async def test_the_reference_needs_nothing_from_elsewhere(tmp_path):
    """Every address on the page is the hub's own and is served; the policy lets the browser ask no other."""
    async with served_page(tmp_path) as hub, hub.browser() as http:
        reply = await http.get("/docs")
        assert reply.status_code == 200
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self'" in policy
        asked = re.search("script-src ([^;]*);", policy)[1]
        assert "unsafe" not in asked
        addresses = [
            value for name, value in Read(reply.text).attributes if name in {"src", "href"}
        ]
        assert len(addresses) >= 4
        for address in addresses:
            assert address.startswith("/")
            assert (await http.get(address)).status_code == 200
        script = (await http.get("/docs/reference.js")).text
        assert 'url: "/openapi.json"' in script
        assert (
            "validatorUrl: null" in script
        )  # else the hub's address would be sent to a validator


async def test_no_other_file_is_served_beside_the_reference(tmp_path):
    """Names are looked up in a list, not on the disk."""
    async with served_page(tmp_path) as hub, hub.browser() as http:
        for name in ("redoc.standalone.js", "..%2f__init__.py", "core.py"):
            assert (await http.get(f"/docs/{name}")).status_code == 404


async def test_an_unknown_address_is_a_page_for_a_browser(tmp_path):
    """404 with a way back; what was asked for is shown as text only, and it runs nothing."""
    async with served_page(tmp_path) as hub, hub.browser() as http:
        reply = await http.get("/jbos/<script>x", headers=PAGE)
        assert (reply.status_code, reply.headers["content-type"]) == (
            404,
            "text/html; charset=utf-8",
        )
        assert "script-src 'self'" in reply.headers["content-security-policy"]
        assert "<script>" not in reply.text
        assert "/jbos/" in reply.text
        assert ("href", "/docs") in Read(reply.text).attributes


async def test_an_unknown_address_is_a_problem_for_a_program(tmp_path):
    """Without a wish for a page, and for whatever is no reading, it stays problem+json."""
    async with listening(tmp_path) as hub:
        for head in (
            hub.head("GET", "/nowhere"),
            hub.head("POST", "/nowhere", "Accept: text/html"),
        ):
            heard = await hub.ask(head)
            assert (heard.status, heard.problem["code"]) == (404, "NotFound")
