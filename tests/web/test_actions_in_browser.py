"""Actions in a real browser: a look before each, one call however often it is pressed, refusals in place."""

import pytest
from playwright.sync_api import expect

from tests.e2e.running import a_job, until
from tests.web.contrast import FAINT

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def submit(fleet, name, **given):
    with fleet.client() as hub:
        return hub.submit(a_job(name, **given)).uid


def state(fleet, uid):
    with fleet.client() as hub:
        return hub.job(uid).state


@pytest.fixture
def at(fleet, opened):
    """Open a page and note what it sends besides reading."""

    def look(path, **settings):
        page = opened(**settings)
        page.sent = []
        page.on("request", lambda r: page.sent.append(r.url) if r.method != "GET" else None)
        page.goto(fleet.server + path)
        return page

    return look


def test_a_running_job_is_cancelled_after_a_look(fleet, at):
    """By keyboard alone: the dialog says what would happen, Escape does nothing, Enter on its button does."""
    uid = submit(fleet, "cancelled", run_s=600)
    until(lambda: state(fleet, uid) == "Running", 30, "it runs")
    page = at(f"/jobs/{uid}")
    button = page.get_by_role("button", name="Cancel…")
    button.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Cancel team-a/cancelled?")
    expect(dialog).to_contain_text("It is Running on m1")
    expect(dialog).to_contain_text("That frees 1 cpu")
    expect(dialog.get_by_role("button", name="Close")).to_be_focused()  # the one that does nothing
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(button).to_be_focused()
    assert (page.sent, state(fleet, uid)) == ([], "Running")
    page.keyboard.press("Enter")
    dialog.get_by_role("button", name="Cancel the job").focus()
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("status")).to_contain_text(
        "is being withdrawn from m1; then it is Cancelled"
    )
    until(lambda: state(fleet, uid) == "Cancelled", 30, "it is cancelled")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Cancel…")).to_have_count(0)


def test_a_double_click_submits_one_copy(fleet, at):
    """Pressed twice at once it is sent once; the new job is a click away."""
    uid = submit(fleet, "copied")
    page = at(f"/jobs/{uid}")
    page.get_by_role("button", name="Resubmit…").click()
    page.get_by_label("Name of the copy").fill("copied-again")
    page.get_by_role("button", name="Submit the copy").dblclick()
    expect(page.get_by_role("dialog").get_by_role("status")).to_contain_text(
        "copied-again is submitted"
    )
    assert len(page.sent) == 1
    with fleet.client() as hub:
        assert len(list(hub.jobs(name="copied"))) == 2
    page.get_by_role("link", name="Look at it").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("copied-again")


def test_what_is_refused_is_said_in_place(fleet, at):
    """The job ended while somebody looked: the API's own sentence, and the page goes on."""
    uid = submit(fleet, "too-late", run_s=600)
    until(lambda: state(fleet, uid) == "Running", 30, "it runs")
    page = at(f"/jobs/{uid}", may_fail=True)
    page.get_by_role("button", name="Hold…").click()
    confirm = page.get_by_role("button", name="Hold the job")
    expect(confirm).to_be_enabled()
    with fleet.client() as hub:
        hub.cancel(uid)
    until(lambda: state(fleet, uid) == "Cancelled", 30, "it is cancelled")
    confirm.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("status")).to_contain_text("there is nothing to hold")
    expect(confirm).to_be_enabled()


def test_what_was_not_answered_is_looked_at_again(fleet, at):
    """The answer was lost: pressed once more it does nothing, and shows what would happen now."""
    uid = submit(fleet, "unanswered", run_s=600)
    until(lambda: state(fleet, uid) == "Running", 30, "it runs")
    page = at(f"/jobs/{uid}", may_fail=True)

    def lose(route):
        route.fetch()
        route.abort()

    page.route("**/v1/jobs/*/hold", lose)
    page.get_by_role("button", name="Hold…").click()
    page.get_by_role("button", name="Hold the job").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("status")).to_contain_text("did not answer")
    until(lambda: state(fleet, uid) == "Held", 30, "it is held")
    dialog.get_by_role("button", name="Look again").click()
    expect(dialog.get_by_role("button", name="Look again")).to_have_count(0)
    assert len(page.sent) == 1


def test_a_queue_and_a_cluster_are_reached_by_their_names_and_stay_live(fleet, at):
    """From the front page to a cluster, cordoned there; its state follows without loading the page again."""
    page = at("/")
    page.get_by_role("region", name="Clusters").get_by_role("link", name="m1").click()
    page.get_by_text("live, as of").wait_for()
    page.evaluate("window.unchanged = true")
    page.get_by_role("button", name="Cordon…").click()
    page.get_by_role("button", name="Cordon the cluster").click()
    expect(page.get_by_role("dialog").get_by_role("status")).to_contain_text("m1 is Cordoned")
    page.keyboard.press("Escape")
    expect(page.get_by_text("It is cordoned: new work goes elsewhere")).to_be_visible()
    page.get_by_role("button", name="Uncordon…").click()
    page.get_by_role("button", name="Uncordon the cluster").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Cordon…", exact=True)).to_be_visible()
    assert page.evaluate("window.unchanged === true")
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Queues").click()
    page.get_by_role("link", name="default", exact=True).first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("default")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_these_pages_are_readable_on_a_small_screen(fleet, at, scheme):
    """No sideways scrolling, every text stands out 4.5 to 1, headings in order; dialogs as well."""

    for path, verb in (
        ("/queues", ""),
        ("/queues/default", "Stop…"),
        ("/clusters", ""),
        ("/clusters/m1", "Drain…"),
    ):
        page = at(path, color_scheme=scheme, viewport={"width": 400, "height": 800})
        page.get_by_text("live, as of").wait_for()
        if verb:
            page.get_by_role("button", name=verb).click()
            expect(page.get_by_role("dialog").get_by_role("button", name="Close")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, path
        assert page.evaluate(FAINT) == [], path
        assert page.locator("h1").count() == 1
