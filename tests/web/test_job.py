"""The page of one job: why it waits, what would change it, and when it is expected to start."""

import orjson
import pytest

from tests.api.serving import a_job
from tests.web.pages import Read, scheduled, served_page

pytestmark = pytest.mark.anyio
HOSTILE = "<script>alert(1)</script>"
# Elements that a page with more to show has.
SAFE = {
    "details",
    "summary",
    "pre",
    "table",
    "caption",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "title",
    "h3",
}
SAFE |= {"svg", "rect", "time", "wbr"}


async def test_a_waiting_job_has_a_page_that_says_what_would_change_it(tmp_path):
    """Linked from its row; the sentences are those of REST."""
    async with served_page(tmp_path) as look:
        (uid,) = await look.submit("wide")
        await scheduled(look)
        assert f"/jobs/{uid}" in (await look.see()).values("href")
        told = (await look.api.get(f"/v1/jobs/{uid}/explain")).json()
        page = (await look.see(f"/jobs/{uid}")).words
        assert "Expected start" in page
        assert told["forecast"]["message"] in page
        assert all(remedy["message"] in page for remedy in told["remedies"])


async def test_without_scheduler_it_says_what_the_store_knows(tmp_path):
    """A hub that does not schedule shows the row's own reason."""
    async with served_page(tmp_path) as look:
        (uid,) = await look.submit("plain")
        await look.alter("workloads", f"uid = '{uid}'", reason="Somehow", message=HOSTILE)
        page = await look.see(f"/jobs/{uid}")
        assert f"Somehow : {HOSTILE}" in page.words


async def test_every_job_has_a_page_that_says_what_happened(tmp_path):
    """Linked from its row, however it stands."""
    async with served_page(tmp_path) as look:
        (uid,) = await look.submit("done")
        await look.finish(uid)
        await look.hub.write(_say, uid)
        assert f"/jobs/{uid}" in (await look.see()).values("href")
        page = await look.see(f"/jobs/{uid}")
        assert f"Told {HOSTILE}" in page.words


def _say(tx, uid, reason="Told", message=HOSTILE):
    tx.event(uid=uid, kind="Job", namespace="n", name="j", reason=reason, message=message)


async def test_a_job_that_is_not_there_is_told_on_a_page(tmp_path):
    """With the way back, for it is people who come by such an address."""
    async with served_page(tmp_path) as look, look.signed_in() as http:
        reply = await http.get("/jobs/nope")
        assert (reply.status_code, reply.headers["content-type"]) == (
            404,
            "text/html; charset=utf-8",
        )
        assert "There is no job nope" in reply.text


async def test_it_is_shown_to_those_who_are_signed_in(tmp_path):
    """Anybody else gets the way in, and learns nothing of the job."""
    async with served_page(tmp_path) as look:
        (uid,) = await look.submit("secret")
        async with look.browser() as http:
            reply = await http.get(f"/jobs/{uid}")
        assert "secret" not in reply.text
        assert "token" in reply.text


NAME = "<img src=x onerror=alert(1)>\"'{{7*7}}"


async def test_hostile_texts_stay_texts_everywhere_on_it(tmp_path):
    """Names, messages, clusters, scores, events, log lines and commands: shown, in no element or address."""
    async with served_page(tmp_path) as look:
        (uid,) = await look.submit("good")
        plain = await look.see(f"/jobs/{uid}")
        columns = ("name", "namespace", "queue", "cluster", "owner", "reason", "message")
        texts = dict.fromkeys((*columns, "priority_class", "cluster_queue"), NAME)
        evicted = {"reason": NAME, "message": NAME, "at": "2026-03-01T12:00:00+00:00"}
        chosen = {"cluster": NAME, "selected": True, "score": 7, "message": NAME}
        chosen["terms"] = [{"name": NAME, "weight": 9, "score": 7, "value": None}]
        refused = {"cluster": f"{NAME}2", "rule": NAME, "reason": NAME, "message": NAME}
        scores = orjson.dumps({"clusters": [chosen, refused]})
        row = {**texts, "scores": scores, "state": "Running", "epoch": 1}
        await look.alter("workloads", f"uid = '{uid}'", evicted=orjson.dumps(evicted), **row)
        for reason, message in (
            ("Placed", f"placed on {NAME}, epoch 1"),
            (NAME, NAME),
            ("PodFailed", f"{NAME}\n{NAME}\n\x1b[2J"),
        ):
            await look.hub.write(_say, uid, reason, message)
        page = await look.see(f"/jobs/{uid}")
        assert "could not be read" not in page.words
        assert page.tags <= plain.tags | SAFE
        assert [name for name, _ in page.attributes if name.startswith("on")] == []
        assert set(page.values("src")) == set(plain.values("src"))
        assert all(each.startswith(("/", "#")) for each in page.values("href"))
        assert page.words.count("<img src=x onerror=alert(1)>") >= 20
        assert "^[[2J" in page.words
        assert "49" not in page.words.replace("7*7", "")


async def test_one_part_that_can_not_be_shown_leaves_the_others(tmp_path):
    """It says so in its place."""
    async with served_page(tmp_path) as look:
        (uid,) = await look.submit("good")
        odd = {"scores": b'{"clusters":[7]}', "cluster": "c1", "epoch": 1, "state": "Running"}
        await look.alter("workloads", f"uid = '{uid}'", **odd)
        words = (await look.see(f"/jobs/{uid}")).words
        assert "Why it is in this state could not be read" in words
        assert "roadstead jobs show team-a/good" in words
        assert "What happened" in words


async def test_viewers_do_not_read_values_of_variables(tmp_path):
    """The manifest is the one that REST gives to the same reader."""
    async with served_page(tmp_path) as look:
        job = a_job("talks")
        container = job["spec"]["template"]["spec"]["containers"][0]
        container["env"] = [{"name": "KEY", "value": "s3cret-value"}]
        uid = (await look.api.post("/v1/jobs", json=job)).json()["uid"]
        for role, seen in (("administrator", True), ("viewer", False)):
            async with look.signed_in(role) as http:
                page = (await http.get(f"/jobs/{uid}")).text
                assert ("s3cret-value" in page) == seen
                assert "name: KEY" in page


async def test_the_page_reads_pods_and_logs_by_the_session_it_was_given_to(tmp_path):
    """With the mark of this page alone: the cookie by itself opens nothing of the API."""
    async with served_page(tmp_path) as look, look.signed_in("viewer") as http:
        (uid,) = await look.submit("one")
        (mark,) = Read((await http.get(f"/jobs/{uid}")).text).values("data-mark")
        for what in ("pods", "logs"):
            path = f"/v1/jobs/{uid}/{what}"
            mine = {"X-Roadstead-Page": mark}
            assert (await http.get(path, headers=mine)).json()["code"] == "JobWaits"
            assert (await http.get(path)).status_code == 401
            assert (await http.get(path, headers={"X-Roadstead-Page": "x"})).status_code == 403
            foreign = {**mine, "Origin": "https://elsewhere"}
            assert (await http.get(path, headers=foreign)).status_code == 403


async def test_the_stream_of_a_job_that_goes_ends(tmp_path):
    """The page is asked for anew, and says that there is none."""
    async with served_page(tmp_path) as look, look.signed_in() as http:
        reply = await http.get("/live/jobs/nope")
        assert (reply.status_code, reply.text) == (200, "event: ended\ndata: {}\n\n")
        async with look.browser() as stranger:
            assert (await stranger.get("/live/jobs/nope")).status_code == 401
