"""A day at work of four people on the page, each signed in with a token of their own: what they see, and do.

The same people as in tests/e2e/test_days.py, who are at a terminal there.
"""

import os
import signal
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from roadstead import Client
from tests.e2e.running import RunningFleet, a_job, equal_members, running_fleet, until

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SignIn = Callable[..., Page]
IMPATIENT = {
    "ROADSTEAD_SCHEDULING_SUSPECT_AFTER_S": "6",
    "ROADSTEAD_SCHEDULING_UNREACHABLE_AFTER_S": "7",
}
QUEUES = b"""
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: physics}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: plain
      resources:
      - {name: cpu, nominalQuota: 4}
      - {name: memory, nominalQuota: 64Gi}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: day, namespace: physics}
spec: {clusterQueue: physics}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: night}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: plain
      resources:
      - {name: cpu, nominalQuota: 4}
      - {name: memory, nominalQuota: 64Gi}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: night, namespace: physics}
spec: {clusterQueue: night}
"""
ROLES = {
    "iris": ("submitter", ["physics"]),
    "noor": ("submitter", ["physics"]),
    "bea": ("batch-administrator", None),
    "pia": ("cluster-administrator", None),
}


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningFleet]:
    """Two members, a queue of four cores, and what each of the four may do."""
    folder = tmp_path_factory.mktemp("days")
    with running_fleet(folder, equal_members(2, nodes=1), packed=True, env=IMPATIENT) as running:
        with running.client() as first:
            first.apply(QUEUES)
            for name, (role, namespaces) in ROLES.items():
                first.bind_role(name, role, users=[name], namespaces=namespaces)
        yield running


@pytest.fixture
def signed_in(fleet: RunningFleet, chromium: Browser) -> Iterator[SignIn]:
    """Somebody at the front page, in a browser of their own, in which nothing may fail."""
    contexts: list[BrowserContext] = []
    faults: list[str] = []

    def come(name: str) -> Page:
        with fleet.client() as first:
            token = first.issue_token(name, "user").token
        contexts.append(chromium.new_context())
        page = contexts[-1].new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda fault: faults.append(str(fault)))
        page.goto(fleet.server)
        page.get_by_label("Access token").fill(token)
        page.keyboard.press("Enter")
        page.get_by_text("live, as of").wait_for()
        return page

    yield come
    for context in contexts:
        context.close()
    assert faults == []


def submitted(
    fleet: RunningFleet, owner: str, name: str, *, queue: str = "day", log: str = ""
) -> str:
    """A job of four cores, as `owner` would submit it by themselves; its uid."""
    job = a_job(name, namespace="physics", run_s=600, cpu="4", memory="1Gi")
    job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": queue}
    job["spec"]["template"]["metadata"]["annotations"]["sim.roadstead.dev/log-lines"] = log
    with fleet.client() as first:
        token = first.issue_token(owner, "user").token
    with Client(fleet.server, token) as theirs:
        return str(theirs.submit(job).uid)


def row(page: Page, name: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("rowheader", name=f"/{name}"))


def act(page: Page, button: str, confirm: str, *preview: str) -> Locator:
    """Press a button, read what would happen, and have it happen; the dialog, which says what came of it."""
    page.get_by_role("button", name=button).first.click()
    dialog = page.get_by_role("dialog")
    for words in preview:
        expect(dialog).to_contain_text(words)
    dialog.get_by_role("button", name=confirm).click()
    return dialog.get_by_role("status")


def closed(page: Page) -> None:
    page.get_by_role("dialog").get_by_role("button", name="Close").click()


def test_a_scientist_finds_reads_stops_and_repeats_her_job(fleet, signed_in):
    """One runs, one waits: why, its log as it comes, and what she may do; not to her colleague's."""
    runs = submitted(fleet, "iris", "train", log="\n".join(f"epoch {n}" for n in range(200)))
    submitted(fleet, "iris", "waits")
    hers = submitted(fleet, "noor", "colleagues")
    page = signed_in("iris")
    expect(row(page, "train")).to_contain_text("Running")
    expect(row(page, "waits")).to_contain_text("cpu of flavor plain: 4 asked, 4 of 4 used")
    row(page, "waits").get_by_role("link", name="waits", exact=True).click()
    expect(page.get_by_role("region", name="Why it waits")).to_contain_text("4 of 4 used")
    page.goto(f"{fleet.server}/jobs/{runs}")
    page.get_by_role("button", name="Show logs").click()
    expect(page.get_by_role("log")).to_contain_text("epoch 1")
    said = act(page, "Cancel…", "Cancel the job", "Cancel physics/train?", "physics/waits")
    expect(said).to_contain_text("physics/train")
    closed(page)
    expect(page.locator("#stands")).to_contain_text("Cancelled")
    said = act(page, "Resubmit…", "Submit", "train-r2")
    expect(said).to_contain_text("physics/train-r2 is submitted")
    said.get_by_role("link", name="Look at it").click()
    expect(page.locator("#stands")).to_contain_text("Pending")
    page.goto(f"{fleet.server}/jobs/{hers}")
    expect(page.get_by_role("button", name="Resubmit…")).to_be_visible()  # as a job of her own
    expect(page.get_by_role("button", name="Cancel…")).to_have_count(0)
    page.goto(f"{fleet.server}/clusters")
    expect(page.get_by_role("heading", name="Nothing here")).to_be_visible()


def test_a_batch_administrator_stops_a_queue(fleet, signed_in):
    """From the queue's page, having seen what that means; those who wait say so; and it goes on."""
    waiting = submitted(fleet, "iris", "later")
    page = signed_in("bea")
    page.goto(f"{fleet.server}/queues/physics")
    said = act(page, "Stop…", "Stop the queue", "physics")
    expect(said).to_contain_text("physics has")
    closed(page)
    with fleet.client() as first:
        until(
            lambda: first.job(waiting).reason == "QueueStopped", 20, "it says that it is stopped"
        )
    page.goto(f"{fleet.server}/jobs/{waiting}")
    why = page.get_by_role("region", name="Why it waits")
    expect(why).to_contain_text("roadstead queues resume physics")
    expect(page.locator("main")).to_contain_text("ClusterQueue physics is stopped")
    page.goto(f"{fleet.server}/queues/physics")
    expect(act(page, "Resume…", "Resume")).to_contain_text("physics has")
    closed(page)
    expect(page.get_by_role("button", name="Stop…")).to_be_visible()


def test_a_platform_engineer_cordons_a_cluster(fleet, signed_in):
    """Seen before and after, on its page and on the front page; undone again."""
    page = signed_in("pia")
    page.goto(f"{fleet.server}/clusters")
    page.get_by_role("link", name="m2", exact=True).first.click()
    said = act(page, "Cordon…", "Cordon", "m2")
    expect(said).to_contain_text("m2 is Cordoned")
    closed(page)
    expect(page.locator("main")).to_contain_text("Cordoned")
    expect(act(page, "Uncordon…", "Uncordon")).to_contain_text("m2 is Ready")


def test_who_is_on_call_sees_what_needs_attention(fleet, signed_in):
    """Members fall silent: named on the front page, with their jobs, and each job says what may be done."""
    page = signed_in("pia")
    uid = submitted(fleet, "iris", "night", queue="night")
    with fleet.client() as first:
        until(lambda: first.job(uid).state == "Running", 30, "it runs")
    pack = fleet.pid("pack")
    os.kill(pack, signal.SIGSTOP)
    try:
        attention = page.locator("#part-attention")
        expect(attention).to_contain_text("roadstead clusters show m1", timeout=30_000)
        expect(attention).to_contain_text("on clusters that do not answer")
        page.goto(f"{fleet.server}/jobs/{uid}")
        expect(page.locator("main")).to_contain_text("been silent since")
        expect(page.locator("main")).to_contain_text("roadstead explain physics/night")
    finally:
        os.kill(pack, signal.SIGCONT)
    expect(page.locator("main")).not_to_contain_text("been silent since", timeout=30_000)
    page.goto(fleet.server)
    expect(attention).not_to_contain_text("m1", timeout=30_000)
