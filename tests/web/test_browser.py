"""The page in a real browser: what a person sees, while it changes, without reloading."""

from itertools import pairwise

import pytest
from playwright.sync_api import expect

from roadstead.errors import Unreachable
from tests.e2e.running import a_job, until
from tests.web.contrast import FAINT

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module", autouse=True)
def too_big(fleet):
    """A job that no member can ever hold."""
    submit(fleet, a_job("too-big", cpu="200"))


def row(page, name):
    return page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=f"/{name}"))


def submit(fleet, job):
    with fleet.client() as hub:
        return hub.submit(job)


def is_taken(fleet, job):
    try:
        return submit(fleet, job)
    except Unreachable:
        return False


def is_unchanged(page):
    return page.evaluate("window.unchanged === true")


def test_a_wrong_token_is_told(fleet, chromium):
    """The way in stays, with the reason, and the token is in no address and no script's reach."""
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto(fleet.server)
        page.get_by_label("Access token").fill("not.known")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("unknown here")
        assert "not.known" not in page.url


def test_a_job_appears_runs_and_ends_before_ones_eyes(fleet, opened):
    """Its row comes, its state changes, the counts follow; the page was never loaded again."""
    page = opened()
    submit(fleet, a_job("watched", run_s=8))
    expect(row(page, "watched")).to_contain_text("Running")
    expect(row(page, "watched")).to_contain_text("m1")
    expect(row(page, "watched")).to_contain_text("the only cluster")
    expect(row(page, "watched")).to_contain_text("Succeeded")
    expect(page.get_by_role("navigation", name="Jobs by state")).to_contain_text("1 Succeeded")
    expect(page.get_by_role("region", name="Recent events")).to_contain_text("watched")
    assert is_unchanged(page)


def test_why_a_job_waits_can_be_read(opened):
    """The rule, the numbers, the nearest miss, the position; each cluster, by keyboard."""
    page = opened()
    waiting = row(page, "too-big")
    expect(waiting).to_contain_text("NoClusterFits")
    expect(waiting).to_contain_text("no node of any member is large enough")
    expect(waiting).to_contain_text("cluster m1 misses 184 cpu on one node")
    expect(waiting).to_contain_text("position 1 of 1 in default")
    waiting.locator("summary").focus()
    page.keyboard.press("Enter")
    choices = page.get_by_role("table", name="Clusters considered for team-a/too-big")
    expect(choices).to_contain_text("misses 184 cpu")


def test_what_is_open_stays_open(fleet, opened):
    """A row that somebody opened, and the focus, outlast news."""
    page = opened()
    summary = row(page, "too-big").locator("summary")
    summary.focus()
    page.keyboard.press("Enter")
    submit(fleet, a_job("meanwhile"))
    expect(row(page, "meanwhile")).to_contain_text("Succeeded")
    expect(row(page, "too-big").locator("details")).to_have_attribute("open", "")
    expect(summary).to_be_focused()


def test_the_page_can_be_paused(fleet, opened):
    """Nothing moves until it is resumed; then everything is there."""
    page = opened()
    page.get_by_role("button", name="Pause").click()
    submit(fleet, a_job("unseen"))
    other = opened()
    expect(row(other, "unseen")).to_contain_text("Succeeded")
    expect(row(page, "unseen")).to_have_count(0)
    expect(page.get_by_text("paused, as of")).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(row(page, "unseen")).to_contain_text("Succeeded")


def test_a_search_stays_while_the_page_lives(fleet, opened):
    """Only what is looked for is shown, now and when more comes."""
    page = opened()
    page.get_by_role("searchbox").fill("wanted")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No job is shown by this")).to_be_visible()
    submit(fleet, a_job("other-one"))
    submit(fleet, a_job("wanted-one"))
    expect(row(page, "wanted-one")).to_contain_text("Succeeded")
    expect(row(page, "other-one")).to_have_count(0)
    assert page.url.endswith("/?q=wanted")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_it_is_readable_everywhere(opened, scheme, width):
    """No sideways scrolling, and every text stands out at least 4.5 to 1, at any width, light or dark."""
    page = opened(color_scheme=scheme, viewport={"width": width, "height": 800})
    expect(row(page, "too-big")).to_contain_text("NoClusterFits")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(FAINT) == []


def test_it_can_be_used_without_seeing_it(opened):
    """One main heading, headings in order, a caption for each table, a name for each control."""
    page = opened()
    levels = page.eval_on_selector_all("h1,h2,h3", "all => all.map((e) => Number(e.tagName[1]))")
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.locator("table:not(:has(> caption))").count() == 0
    for role in ("button", "link", "searchbox"):
        for control in page.get_by_role(role).all():
            name = control.evaluate("e => e.textContent.trim() || e.labels?.[0]?.textContent")
            assert name, control
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the jobs")).to_be_focused()


def test_nothing_moves_for_those_who_do_not_want_it(opened):
    """With reduced motion a change of state is not animated."""
    page = opened(reduced_motion="reduce")
    page.locator("td.what").first.evaluate("e => e.setAttribute('data-new', '')")
    shown = "e => getComputedStyle(e).animationName"
    assert page.locator("td.what").first.evaluate(shown) == "none"


def test_a_script_that_got_in_would_not_run(opened):
    """The policy refuses inline scripts, and the token is out of their reach."""
    page = opened(may_fail=True)
    page.evaluate(
        """() => {
        addEventListener("securitypolicyviolation", (e) => { window.refused = e.effectiveDirective; });
        document.body.insertAdjacentHTML("beforeend", "<img src='/nothing' onerror='window.ran = 1'>");
        }"""
    )
    until(lambda: page.evaluate("window.refused"), 15, "the policy refused it")
    assert page.evaluate("[window.ran, window.refused, document.cookie]") == [
        None,
        "script-src-attr",
        "",
    ]


def test_the_page_outlives_the_hub(fleet, opened):
    """After kill -9 of the hub it goes on by itself."""
    page = opened(may_fail=True)
    fleet.kill("hub")
    page.get_by_text("live, as of").wait_for()
    until(lambda: is_taken(fleet, a_job("after")), 30, "the hub answers again")
    expect(row(page, "after")).to_contain_text("Succeeded", timeout=30_000)
    assert is_unchanged(page)


def test_signing_out_ends_it(opened):
    """The way in again, and going back shows nothing."""
    page = opened()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Access token")).to_be_visible()
    page.go_back()
    expect(page.get_by_label("Access token")).to_be_visible()
