"""Pages on a phone: what a wide page shows in columns stands in lines, and no text is cut off."""

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.e2e.running import RunningFleet, a_job

pytestmark = [pytest.mark.browser, pytest.mark.slow]
# What is broader than its own frame, and hides or scrolls that; logs and manifests may be.
CROPPED = """() => [...document.querySelectorAll('main *')]
  .filter((e) => !e.closest('.unseen, pre, .lines, thead, select, svg, dialog'))
  .filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== 'visible')
  .map((e) => `${e.tagName}.${e.className}: ${e.textContent.trim().slice(0, 90)}`)"""
PHONE = {"width": 390, "height": 800}


def submitted(fleet: RunningFleet, *jobs: dict[str, Any]) -> list[str]:
    """Their uids."""
    with fleet.client() as hub:
        return [hub.submit(job).uid for job in jobs]


def test_nothing_is_cropped(fleet, opened):
    """The front page, queues, one with who waits, clusters, one of them, and jobs with attempts and pods."""
    failing = a_job("narrow-fails", run_s=1)
    failing["spec"]["template"]["metadata"]["annotations"]["sim.roadstead.dev/exit-code"] = "3"
    waits, failed = submitted(fleet, a_job("narrow-waits", cpu="200"), failing)
    page = opened(viewport=PHONE)
    base = page.url.rstrip("/")
    with fleet.client() as hub:
        cluster = hub.clusters()[0].name
    for path, shows in (
        ("/", "narrow-waits"),
        ("/queues", "default"),
        ("/queues/default", "narrow-waits"),
        ("/clusters", cluster),
        (f"/clusters/{cluster}", cluster),
        (f"/jobs/{waits}", "narrow-waits"),
        (f"/jobs/{failed}", "Ended by"),
    ):
        page.goto(f"{base}{path}")
        expect(page.locator("main")).to_contain_text(shows)
        if path.endswith(failed):
            pods = page.get_by_role("region", name="Pods", exact=True)
            expect(pods.locator("tbody tr").first).to_contain_text("Failed")
        assert page.evaluate(CROPPED) == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path
