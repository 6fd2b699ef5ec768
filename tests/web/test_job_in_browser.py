"""The page of a job in a real browser: it renews itself under a reader, shows pods and logs, and copies."""

import json
from itertools import pairwise

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.running import RunningFleet, a_job
from tests.web.conftest import Open, token

pytestmark = [pytest.mark.browser, pytest.mark.slow]
HOSTILE = "<img src=x onerror='window.ran=1'><script>window.ran=2</script> \x1b[31mred\x1b[0m \u202eturned"
SHOWN = HOSTILE.replace("\x1b", "^[").replace("\u202e", "\\u202e")
HIDE = """Object.defineProperty(document, 'hidden', {value: %s, configurable: true});
document.dispatchEvent(new Event('visibilitychange'))"""


def submit(fleet: RunningFleet, job) -> str:
    with fleet.client() as hub:
        uid: str = hub.submit(job).uid
        return uid


def talking(name: str, lines: str, run_s: float = 600):
    job = a_job(name, run_s=run_s)
    annotations = job["spec"]["template"]["metadata"]["annotations"]
    annotations["sim.roadstead.dev/log-lines"] = lines
    return job


def look_at(opened: Open, fleet: RunningFleet, uid: str, **settings) -> Page:
    page = opened(**settings)
    page.goto(f"{fleet.server}/jobs/{uid}")
    page.get_by_text("live, as of").wait_for()
    page.evaluate("window.unchanged = true")  # gone after any reload
    return page


def test_a_job_is_watched_without_a_jump(fleet, opened):
    """From its row to its page; it waits, runs and ends there; what is open and focused stays so."""
    page = opened()
    uid = submit(fleet, a_job("followed", run_s=6))
    page.get_by_role("link", name="followed", exact=True).click()
    page.get_by_text("live, as of").wait_for()
    assert page.url.endswith(f"/jobs/{uid}")
    page.evaluate("window.unchanged = true")
    manifest = page.get_by_text("as it was submitted")
    manifest.focus()
    page.keyboard.press("Enter")
    page.evaluate("getSelection().selectAllChildren(document.getElementById('name'))")
    page.evaluate("scrollTo(0, 300)")
    expect(page.locator("#stands")).to_contain_text("Succeeded")
    expect(page.locator("#part-course")).to_contain_text("running")
    expect(page.get_by_role("region", name="Pods", exact=True)).to_contain_text("Succeeded")
    expect(page.get_by_role("region", name="Why here")).to_contain_text("chosen")
    expect(manifest).to_be_focused()
    assert page.locator("#manifest-shown").get_attribute("open") is not None
    assert page.evaluate("String(getSelection())") == "team-a/followed"
    assert page.evaluate("[window.unchanged, scrollY > 200]") == [True, True]  # anchored, not kept
    assert page.title() == "team-a/followed: Succeeded: Roadstead"


def test_logs_are_followed_and_run_nothing(fleet, opened):
    """Lines as the pod writes them, as text; found, paused, and picked up after a break without doubles."""
    lines = "\n".join([HOSTILE, *(f"epoch {n} done" for n in range(1200))])
    page = look_at(opened, fleet, submit(fleet, talking("talks", lines)))
    page.get_by_role("button", name="Show logs").click()
    log = page.get_by_role("log")
    expect(log).to_contain_text("epoch 2 done")
    expect(log.locator(".text").first).to_have_text(SHOWN)
    assert (
        log.evaluate("e => [...e.querySelectorAll('*')].map((x) => x.nodeName)").count("SPAN") > 3
    )
    assert log.locator("img, script").count() == 0
    assert page.evaluate("window.ran") is None
    expect(page.locator("#logs-pod option")).to_have_count(2)
    page.get_by_label("find").fill("EPOCH 1 D")
    expect(page.locator("#logs-hits")).to_have_text("1 line")
    expect(log.locator("mark")).to_have_text("epoch 1 d")
    with page.expect_response(lambda reply: "/logs?" in reply.url) as again:
        page.evaluate(HIDE % "true")
        page.evaluate(HIDE % "false")
    assert "after=" in again.value.url
    count = log.locator(".line").count()
    expect(log.locator(".line").nth(count + 2)).to_be_visible()
    said = [text for text in log.locator(".text").all_text_contents() if "epoch" in text]
    assert said == [f"epoch {n} done" for n in range(len(said))]
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#logs-state")).to_have_text("stopped")


def test_a_flood_of_lines_is_bounded(fleet, opened):
    """5,000 are kept, how many are dropped is said; what is held back comes at once; the end is told."""
    page = look_at(opened, fleet, submit(fleet, talking("floods", "quiet")))
    expect(page.locator("#stands")).to_contain_text("Running")
    records: list[object] = [
        {"pod": "p", "container": "c", "line": f"line {n}"} for n in range(12_000)
    ]
    records += [{"pod": "p", "container": "c", "note": "waits"}]
    records += [
        {"pod": pod, "container": "c", "line": pod, "time": f"2026-03-01T12:00:0{second}Z"}
        for pod, second in (("later", 2), ("sooner", 1))
    ]
    records += [{"end": {"code": "RefusedByMember", "message": "the member says no"}}]
    body = "".join(json.dumps(each) + "\n" for each in records)
    page.route("**/logs?*", lambda route: route.fulfill(body=body, content_type="text/plain"))
    page.get_by_role("button", name="Show logs").click()
    log = page.get_by_role("log")
    expect(log.locator(".line")).to_have_count(5000)
    expect(log.locator(".line").nth(4996)).to_contain_text("line 11999")
    assert log.locator(".text").all_text_contents()[-2:] == ["sooner", "later"]
    expect(page.locator("#logs-dropped")).to_contain_text("7,003 older lines are not kept")
    expect(page.locator("#logs-state")).to_have_text("RefusedByMember: the member says no")
    assert log.evaluate("e => e.scrollTop + e.clientHeight >= e.scrollHeight - 8")


def test_a_command_is_copied(fleet, opened):
    """As it stands, and the button says so."""
    page = look_at(opened, fleet, submit(fleet, a_job("copied", cpu="200")))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy: roadstead explain team-a/copied").click()
    expect(page.locator("#command-2 button")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "roadstead explain team-a/copied"
    expect(page.get_by_role("region", name="Why it waits")).to_contain_text("has the room now")
    expect(page.get_by_role("region", name="Pods", exact=True)).to_contain_text(
        "No cluster holds pods of it"
    )


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 400)])
def test_it_can_be_read_everywhere(fleet, opened, scheme, width):
    """No sideways scrolling, every text stands out, headings in order, every control named."""
    from tests.web.contrast import FAINT

    job = talking(f"readable-{width}", "some lines", run_s=1)
    job["spec"]["template"]["metadata"]["annotations"]["sim.roadstead.dev/exit-code"] = "3"
    uid = submit(fleet, job)
    page = look_at(
        opened, fleet, uid, color_scheme=scheme, viewport={"width": width, "height": 800}
    )
    expect(page.get_by_role("region", name="Last lines")).to_contain_text("some lines")
    expect(page.get_by_role("region", name="Pods", exact=True)).to_contain_text("Failed")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(FAINT) == []
    levels = page.eval_on_selector_all("h1,h2,h3", "all => all.map((e) => Number(e.tagName[1]))")
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    unnamed = """all => all.filter((e) => !(e.textContent.trim() || e.ariaLabel || e.labels?.length))
      .map((e) => e.outerHTML)"""
    assert page.eval_on_selector_all("main button, main a, main input, main select", unnamed) == []
    pictures = page.eval_on_selector_all("svg[role=img]", "all => all.map((e) => e.ariaLabel)")
    assert all(pictures), json.dumps(pictures)


def test_the_place_in_a_page_is_kept_through_signing_in(fleet, chromium):
    """What stands behind # is sent to no server: the way in takes it along, and logs are shown at once."""
    uid = submit(fleet, talking("linked", "some lines"))
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto(f"{fleet.server}/jobs/{uid}#logs")
        page.get_by_label("Access token").fill(token(fleet.folder))
        page.keyboard.press("Enter")
        page.get_by_text("live, as of").wait_for()
        assert page.url == f"{fleet.server}/jobs/{uid}#logs"
