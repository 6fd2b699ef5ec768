"""The description of the API in a real browser."""

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_the_reference_is_shown_and_asks_nobody_else(fleet, chromium):
    """Operations stand under their nouns; nothing is refused by the policy, nothing asked elsewhere."""
    faults, asked = [], []
    context = chromium.new_context()
    page = context.new_page()
    page.set_default_timeout(15_000)
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    page.on("console", lambda s: faults.append(s.text) if s.type == "error" else None)
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{fleet.server}/docs")
    page.get_by_text("Submit one Job, as JSON or YAML.", exact=False).first.wait_for()
    page.locator("#operations-jobs-listJobs").click()
    page.get_by_text("labelSelector").first.wait_for()
    context.close()
    assert faults == []
    assert [url for url in asked if not url.startswith((fleet.server, "data:"))] == []
