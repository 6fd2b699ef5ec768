"""Signing in at a provider of another site, in a real browser: out, back, in, and out again."""

import socket

import pytest
from playwright.sync_api import expect

from tests.api.process import admin, running
from tests.sign_in.provider import CLIENT, SECRET, local_provider

pytestmark = [pytest.mark.browser, pytest.mark.slow]
ANA = "oidc:ana@example.org"


def test_a_person_signs_in_at_their_organisation(tmp_path, monkeypatch, chromium):
    """One click; the cookie that only the hub's own pages send opens the fleet; scripts see no cookie."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    with local_provider() as provider:
        for name, value in {
            "ISSUER": provider.issuer,
            "CLIENT_ID": CLIENT,
            "CLIENT_SECRET_FILE": str(secret),
            "USERNAME_CLAIM": "email",
            "PAGE_URL": f"http://localhost:{port}",
        }.items():
            monkeypatch.setenv(f"ROADSTEAD_OIDC_{name}", value)
        folder = tmp_path / "hub"
        with (
            running(folder, "--listen", f"127.0.0.1:{port}") as (_, address),
            admin(folder, address) as root,
            chromium.new_context() as context,
        ):
            page = context.new_page()
            page.goto(f"http://localhost:{port}/queues?q=a")
            page.get_by_role("link", name="Sign in with your organisation").click()
            expect(page.get_by_role("alert")).to_contain_text("have no role here yet")
            root.put("/v1/access/bindings/a", json={"role": "viewer", "users": [ANA]})
            page.get_by_role("link", name="Sign in with your organisation").click()
            expect(page.get_by_text(f"{ANA} (viewer)")).to_be_visible()
            assert page.url == f"http://localhost:{port}/queues?q=a"
            assert page.evaluate("document.cookie") == ""
            page.get_by_role("button", name="Sign out").click()
            expect(page.get_by_label("Access token")).to_be_visible()
