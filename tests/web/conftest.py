"""A fleet and a real browser for the tests that need them."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)

from tests.e2e.running import RunningFleet, equal_members, running_fleet

# The distribution's Chromium: quiet, alone, and without reaching out for anything.
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
expect.set_options(timeout=15_000)
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningFleet]:
    """A hub with one member of four nodes with 16 cores each."""
    folder = tmp_path_factory.mktemp("fleet")
    with running_fleet(folder, equal_members(1), packed=True) as running:
        yield running


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The browser on PATH."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def opened(fleet: RunningFleet, chromium: Browser) -> Iterator[Open]:
    """Sign in as a person does and look at the page.

    Nothing it did may have failed or been refused, unless `may_fail`.
    """
    contexts: list[BrowserContext] = []
    faults: list[str] = []

    def look(*, may_fail: bool = False, **settings) -> Page:
        contexts.append(chromium.new_context(**settings))
        page = contexts[-1].new_page()
        page.set_default_timeout(15_000)
        if not may_fail:
            page.on("pageerror", lambda fault: faults.append(str(fault)))
            page.on("console", lambda s: faults.append(s.text) if is_fault(s) else None)
        page.goto(fleet.server)
        page.get_by_label("Access token").fill(token(fleet.folder))
        page.keyboard.press("Enter")
        page.get_by_text("live, as of").wait_for()
        page.evaluate("window.unchanged = true")  # gone after any reload
        return page

    yield look
    for context in contexts:
        context.close()
    assert faults == []


def is_fault(said: ConsoleMessage) -> bool:
    """An error, save that a job which has just been placed has no pods to tell of yet."""
    return said.type == "error" and "status of 409" not in said.text


def token(folder: Path) -> str:
    return (folder / "admin.token").read_text().strip()
