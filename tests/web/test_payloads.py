"""Each payload in each text of a job that others may have written, on each page and dialog that shows it."""

import html

import pytest

from tests.api.serving import a_job
from tests.web.pages import Read, ServedPage, served_page

pytestmark = pytest.mark.anyio
PAYLOADS = {
    "element": "<script>alert(1)</script><img src=x onerror=alert(2)>",
    "attribute": "\" autofocus onfocus=alert(1) x='` onload=alert(2) y=",
    "address": "javascript:alert(1)//\nhttps://evil.example/",
    "end of a text": "</pre></textarea></title></style></script><svg onload=alert(1)>",
    "template": "{{ 7*7 }}{% raw %}${7*7}<%= 7*7 %>",
    "directions": "\u202e\u2066gnp.exe\x00\x1b[2J\r\nSet-Cookie: a=b",
}
# Columns of its row, however they came to be so.
COLUMNS = ("name", "namespace", "owner", "queue", "cluster", "cluster_queue", "reason", "message")


def marked(name: str, value: str) -> dict[str, object]:
    """A job whose own texts are the payload: an annotation, an argument, a variable, a label's note."""
    job = a_job(name)
    job["metadata"]["annotations"] = {"example.com/note": value.replace("\x00", "")}
    container = job["spec"]["template"]["spec"]["containers"][0]
    container["args"] = [value.replace("\x00", "")]
    container["env"] = [{"name": "NOTE", "value": value.replace("\x00", "")}]
    return job


def say(tx, uid: str, value: str) -> None:
    tx.event(uid=uid, kind="Job", namespace="team-a", name="j", reason="PodFailed",
             message=f"pod p failed\n{value}")  # fmt: skip


def judged(page: Read, plain: Read, path: str) -> None:
    """Nothing in `page` is more than text that was not in `plain` already."""
    assert page.tags <= plain.tags | {"p", "code", "span", "details", "summary", "li", "ul"}, path
    names = {name for name, _ in page.attributes}
    assert not [name for name in names if name.startswith("on")], path
    assert not {"autofocus", "x", "y", "src", "srcdoc"} & (
        names - {n for n, _ in plain.attributes}
    ), path
    for name in ("href", "src", "action", "formaction", "data-stream", "data-acts"):
        for value in page.values(name):
            assert not html.unescape(value).strip().lower().startswith("javascript:"), path
            assert "://" not in value.split("?")[0], path


async def seen(hub: ServedPage, uid: str) -> dict[str, Read]:
    hub.clock.advance(6)
    async with hub.signed_in() as http:
        paths = [
            "/",
            f"/jobs/{uid}",
            *(f"/actions/jobs/{uid}/{verb}" for verb in ("cancel", "resubmit")),
        ]
        return {path: Read((await http.get(path)).text) for path in paths}


@pytest.mark.parametrize("payload", PAYLOADS)
async def test_it_stays_a_text_wherever_it_is(tmp_path, payload):
    """In every column of the row, in events with log lines, and in the manifest: no element, no address."""
    value = PAYLOADS[payload]
    async with served_page(tmp_path) as hub:
        (uid,) = await hub.submit("plain")
        await hub.hub.write(say, uid, "nothing")
        plain = await seen(hub, uid)
        (made,) = (await hub.api.post("/v1/jobs:batch", json=[marked("marked", value)])).json()[
            "items"
        ]
        await hub.hub.write(say, made["uid"], value)
        told = await seen(hub, made["uid"])
        for now, before in zip(told.values(), plain.values(), strict=True):
            judged(now, before, payload)
        shown = told[f"/jobs/{made['uid']}"].words
        assert value.split()[0] in shown or payload == "directions", "it is not shown at all"
        for column in COLUMNS:
            await hub.alter("workloads", f"uid = '{uid}'", **{column: value})
            for (path, now), before in zip(
                (await seen(hub, uid)).items(), plain.values(), strict=True
            ):
                judged(now, before, f"{column} on {path}")
