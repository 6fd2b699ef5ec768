"""Actions on the page: what is shown before, what comes of it, and who is let through."""

import asyncio

import pytest
from fastapi.routing import APIRoute

from hub.services.access import credentials
from hub.services.works import accounted
from hub.services.works.restored import begin_recovery
from shared.wire.agent_v1 import Observed
from tests.api.serving import a_job
from tests.attack import routes
from tests.web.acting import bind, look, offers, signed_in, with_queues
from tests.web.pages import scheduled, served_page

pytestmark = pytest.mark.anyio


async def state_of(hub, uid):
    return (await hub.api.get(f"/v1/jobs/{uid}")).json()["state"]


async def audit_of(hub, verb):
    rows = (await hub.api.get("/v1/audit", params={"verb": verb})).json()["items"]
    return [(row["principal"], row["outcome"]) for row in rows]


async def test_a_job_is_cancelled_after_a_look_at_what_that_does(tmp_path):
    """The dialog says what would happen and changes nothing; its button does it, and the audit says who."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        (uid,) = await hub.submit("train")
        shown = await look(http, f"jobs/{uid}/cancel")
        assert "Cancel team-a/train?" in shown.words
        assert "nothing of it is on any cluster: it ends Cancelled at once" in shown.words
        assert "roadstead jobs cancel team-a/train" in shown.words
        assert await state_of(hub, uid) == "Pending"
        done = await shown.press(http)
        assert (done.status_code, done.json()["state"]) == (200, "Cancelled")
        assert await audit_of(hub, "cancel") == [("a-administrator", "ok (web)")]


async def test_what_came_of_a_job_meanwhile_is_said(tmp_path):
    """Held when it had ended since the look: the API's own sentence, and a second look offers it no more."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        (uid,) = await hub.submit("train")
        shown = await look(http, f"jobs/{uid}/hold")
        await hub.api.post(f"/v1/jobs/{uid}/cancel")
        late = await shown.press(http)
        assert (late.status_code, late.json()["code"]) == (409, "AlreadyEnded")
        assert "there is nothing to hold" in late.json()["detail"]
        again = await look(http, f"jobs/{uid}/hold")
        assert "is Cancelled by now" in again.words
        assert not again.may_be_confirmed


async def test_a_held_job_is_released(tmp_path):
    """What may be done follows its state."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        (uid,) = await hub.submit("train")
        assert await offers(http, f"jobs/{uid}") == [
            "cancel",
            "hold",
            "priority",
            "resubmit",
            "delete",
        ]
        await (await look(http, f"jobs/{uid}/hold")).press(http)
        assert await offers(http, f"jobs/{uid}") == [
            "cancel",
            "release",
            "priority",
            "resubmit",
            "delete",
        ]
        done = await (await look(http, f"jobs/{uid}/release")).press(http)
        assert done.json()["state"] == "Pending"
        gone = await (await look(http, f"jobs/{uid}/delete")).press(http)
        assert gone.status_code == 200
        assert await offers(http, f"jobs/{uid}") == ["resubmit"]


async def test_what_a_member_has_of_a_job_since_before_a_restore_is_said_before(tmp_path):
    """The dialog says what the API would: nothing is to be confirmed until that is decided."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        (uid,) = await hub.submit("train")
        await hub.alter("workloads", f"uid = '{uid}'", state="Held", reason="Restored")
        await hub.hub.write(begin_recovery, "yesterday", "ada", ())
        there = Observed(uid=uid, epoch=3, generation=1, seq=1, phase="Applied", object_uid="m-1")
        await hub.hub.write(accounted.note, "north", "s-1", [there])
        shown = await look(http, f"jobs/{uid}/release")
        assert "north still reports epoch 3" in shown.words
        assert not shown.may_be_confirmed


async def test_a_copy_is_submitted_once_however_often_it_is_pressed(tmp_path):
    """The copy is shown before; its dialog has one key, so twice at once is one job; a free name is found."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        uid, _ = await hub.submit("train", "train-r2")
        shown = await look(http, f"jobs/{uid}/resubmit")
        assert "name: train-r3" in shown.words
        one, two = await asyncio.gather(shown.press(http), shown.press(http))
        assert {one.status_code, two.status_code} == {201}
        assert one.json()["uid"] == two.json()["uid"]
        listed = (await hub.api.get("/v1/jobs")).json()["items"]
        assert sorted(job["name"] for job in listed) == ["train", "train-r2", "train-r3"]
        assert (await audit_of(hub, "submit"))[0] == ("a-administrator", "created (web)")


async def test_a_copy_with_what_is_hidden_is_not_offered_to_be_sent(tmp_path):
    """Who may not see environment variables would submit a job that runs without them."""
    async with served_page(tmp_path) as hub:
        job = a_job("train")
        job["spec"]["template"]["spec"]["containers"][0]["env"] = [
            {"name": "A", "value": "se3ret"}
        ]
        (made,) = (await hub.api.post("/v1/jobs:batch", json=[job])).json()["items"]
        await bind(hub, "b", "submitter", users=["sam"])
        async with await signed_in(hub, "sam") as sam:
            shown = await look(sam, f"jobs/{made['uid']}/resubmit")
            assert "hidden from you" in shown.words
            assert "se3ret" not in shown.page
            assert not shown.may_be_confirmed


async def test_the_priority_of_a_job_is_changed(tmp_path):
    """Of the classes that there are, with what it would be; another one asked for is looked at anew."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        await with_queues(hub)
        (uid,) = await hub.submit("train")
        shown = await look(http, f"jobs/{uid}/priority?class=urgent")
        assert "Its priority becomes 100; it is 0 now" in shown.words
        done = await shown.press(http)
        assert (done.json()["priority"], done.json()["priorityClass"]) == (100, "urgent")
        assert await audit_of(hub, "priority") == [("a-administrator", "urgent (web)")]
        wrong = await hub.api.post(f"/v1/jobs/{uid}/priority", json={"priorityClass": "no-such"})
        assert (wrong.status_code, wrong.json()["code"]) == (422, "PriorityClassNotFound")
        back = await hub.api.post(f"/v1/jobs/{uid}/priority", json={"priorityClass": ""})
        assert (back.json()["priority"], back.json()["priorityClass"]) == (0, "")


async def test_where_another_priority_would_put_a_job_is_said_of_that_priority(tmp_path):
    """Not of the one that it has: who stands before it now would stand behind it."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        await with_queues(hub)
        jobs = [a_job(name) for name in ("first", "second", "third")]
        for job in jobs:
            job["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "lq"}
        made = (await hub.api.post("/v1/jobs:batch", json=jobs)).json()["items"]
        await scheduled(hub)
        shown = {
            each: (await look(http, f"jobs/{made[2]['uid']}/priority?class={each}")).words
            for each in ("", "urgent")
        }
        assert "would be considered before it in its queue" in shown[""]
        assert "would be considered before it in its queue" not in shown["urgent"]


async def test_a_cluster_is_cordoned_drained_and_let_work_again(tmp_path):
    """Each says what stays, what moves and where new work goes."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        await hub.api.post("/v1/clusters", json={"name": "m1"})
        assert await offers(http, "clusters/m1") == ["cordon", "drain"]
        shown = await look(http, "clusters/m1/cordon")
        assert "No job is there" in shown.words
        assert "No other cluster takes new work now" in shown.words
        await shown.press(http)
        assert await offers(http, "clusters/m1") == ["uncordon", "drain"]
        drained = await (await look(http, "clusters/m1/drain")).press(http)
        assert (drained.json()["carriedOut"], drained.json()["jobCount"]) == (True, 0)
        back = await (await look(http, "clusters/m1/uncordon")).press(http)
        assert back.json()["cordoned"] is False
        assert await audit_of(hub, "uncordon") == [("a-administrator", "ok (web)")]


@pytest.mark.parametrize(
    ("address", "kind"), [("queues/all", "ClusterQueue"), ("localqueues/team-a/lq", "LocalQueue")]
)
async def test_a_queue_is_stopped_and_goes_on(tmp_path, address, kind):
    """Stopped or drained, after a look at whom that concerns; resumed; nothing changes when done again."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        await with_queues(hub)
        assert await offers(http, address) == ["stop"]
        shown = await look(http, f"{address}/stop")
        assert "Nothing more is admitted: no job waits now" in shown.words
        stopped = await shown.press(http)
        assert (stopped.status_code, stopped.json()["kind"]) == (200, kind)
        assert await offers(http, address) == ["resume", "stop"]
        assert "stopped already (Hold)" in (await look(http, f"{address}/stop")).words
        await (await look(http, f"{address}/stop?drain=on")).press(http)
        assert await offers(http, address) == ["resume"]
        await (await look(http, f"{address}/resume")).press(http)
        assert await offers(http, address) == ["stop"]
        assert (await hub.api.post(f"{stopped.request.url.path[:-5]}/resume")).status_code == 200
        assert [outcome for _, outcome in await audit_of(hub, "stop")] == [
            "Hold -> HoldAndDrain (web)",
            "None -> Hold (web)",
        ]
        assert len(await audit_of(hub, "resume")) == 1


# --- who may --------------------------------------------------------------------------------------

ON_A_JOB = {"cancel", "hold", "priority", "resubmit", "delete"}
# Role → what is offered on sue's job of team-a, on cluster m1, on ClusterQueue all, on LocalQueue team-a/lq.
OFFERED = {
    "viewer": (set(), set(), set(), set()),
    "submitter": ({"resubmit"}, set(), set(), set()),
    "sue": (ON_A_JOB, set(), set(), set()),
    "batch-administrator": (ON_A_JOB, set(), set(), {"stop"}),
    "batch-administrator everywhere": (ON_A_JOB, set(), {"stop"}, {"stop"}),
    "cluster-administrator": (ON_A_JOB, {"cordon", "drain"}, {"stop"}, {"stop"}),
}


@pytest.mark.parametrize("person", list(OFFERED))
async def test_only_what_somebody_may_do_is_offered_and_the_rest_is_refused(tmp_path, person):
    """Role by role and action by action: no button for who may not, and the API refuses them regardless."""
    async with served_page(tmp_path) as hub, hub.signed_in() as admin:
        await with_queues(hub)
        await hub.api.post("/v1/clusters", json={"name": "m1"})
        await bind(hub, "sue", "submitter", users=["sue"], namespaces=["team-a"])
        everywhere = person in {"cluster-administrator", "batch-administrator everywhere"}
        if person != "sue":
            given = {} if everywhere else {"namespaces": ["team-a"]}
            await bind(hub, "one", person.split()[0], users=[person.split()[0]], **given)
        async with await signed_in(hub, person.split()[0]) as http:
            uid = await job_of(hub, "sue")
            on_job, on_cluster, on_queue, on_local = OFFERED[person]
            assert set(await offers(http, f"jobs/{uid}")) == on_job
            assert set(await offers(http, "queues/all")) == on_queue
            assert set(await offers(http, "localqueues/team-a/lq")) == on_local
            assert set(await offers(http, "clusters/m1") if everywhere else []) == on_cluster
            mark = (await look(http, f"jobs/{uid}/resubmit")).mark
            forbidden = {
                **{f"jobs/{uid}/{verb}": verb in on_job for verb in sorted(ON_A_JOB)},
                **{f"clusters/m1/{verb}": verb in on_cluster for verb in ("cordon", "drain")},
                "queues/all/stop": bool(on_queue),
                "localqueues/team-a/lq/stop": bool(on_local),
            }
            for address, may in forbidden.items():
                if may:
                    continue
                call = await look(admin, address)
                call.mark = mark
                refused = await call.press(http)
                assert refused.status_code == 403, (address, refused.text)
            if not on_job:
                assert await state_of(hub, uid) == "Pending"


async def job_of(hub, owner):
    """A job of team-a, handed in by somebody's token."""
    token = await hub.hub.write(credentials.issue_bearer, "user", owner)
    sent = await hub.api.post(
        "/v1/jobs", json=a_job("theirs"), headers={"Authorization": f"Bearer {token}"}
    )
    assert sent.status_code == 201, sent.text
    return sent.json()["uid"]


async def test_what_of_others_is_not_seen_is_absent(tmp_path):
    """Jobs, queues and clusters of others: the same answer as for what is not there."""
    async with served_page(tmp_path) as hub:
        await with_queues(hub)
        (uid,) = await hub.submit("train")
        await bind(hub, "one", "batch-administrator", users=["bob"], namespaces=["team-b"])
        async with await signed_in(hub, "bob") as bob:
            for address in (f"jobs/{uid}", f"jobs/{uid}/cancel", "queues/all", "queues/all/stop",
                            "localqueues/team-a/lq", "localqueues/team-a/lq/stop"):  # fmt: skip
                assert (await bob.get(f"/actions/{address}")).status_code == 404, address
            assert (await bob.get("/actions/clusters/m1/drain")).status_code == 403


# --- other sites ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"Origin": "https://elsewhere"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": ""}, 403),
        ({"X_Roadstead_Page": "0" * 64}, 403),
        ({"X_Roadstead_Page": ""}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Content_Type": "text/plain"}, 403),
        ({"Content_Type": "application/x-www-form-urlencoded"}, 403),
    ],
)
async def test_what_another_site_sends_is_refused(tmp_path, changed, status):
    """Another origin or none, no mark of this session, or what a form can send: nothing is done."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        (uid,) = await hub.submit("train")
        shown = await look(http, f"jobs/{uid}/cancel")
        reply = await http.post(shown.path, headers=shown.headers(**changed))
        assert (reply.status_code, reply.json()["code"]) == (status, "Forbidden")
        assert await state_of(hub, uid) == "Pending"


async def test_what_does_not_say_where_it_comes_from_changes_nothing(tmp_path):
    """Browsers say it of whatever changes something; what only reads goes without."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        (uid,) = await hub.submit("train")
        shown = await look(http, f"jobs/{uid}/cancel")
        silent = {name: each for name, each in shown.headers().items() if name != "Origin"}
        reply = await http.post(shown.path, headers=silent)
        assert (reply.status_code, reply.json()["code"]) == (403, "Forbidden")
        assert await state_of(hub, uid) == "Pending"
        pods = await http.get(f"/v1/jobs/{uid}/pods", headers=silent)
        assert (pods.status_code, pods.json()["code"]) == (409, "JobWaits")


async def test_a_session_alone_opens_nothing_of_the_api(tmp_path):
    """Without the mark a cookie is no credential; with it, it is one for the page's actions alone."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http, hub.signed_in() as other:
        (uid,) = await hub.submit("train")
        shown = await look(http, f"jobs/{uid}/cancel")
        bare = await http.post(shown.path, headers={"Origin": "http://hub"})
        assert bare.status_code == 401
        for method, path in (
            ("GET", "/v1/jobs"),
            ("GET", f"/v1/jobs/{uid}"),
            ("POST", "/v1/apply"),
            ("POST", "/v1/tokens"),
            ("PUT", "/v1/access/bindings/mine"),
            ("POST", "/v1/clusters/m1/join-token"),
            ("POST", "/v1/clusters/m1/fence"),
        ):
            reply = await http.request(method, path, headers=shown.headers())
            assert reply.status_code == 401, (method, path)
        assert (await other.post(shown.path, headers=shown.headers())).status_code == 403
        await http.post("/logout")
        assert (await http.get(f"/actions/jobs/{uid}/cancel")).status_code == 401
        assert (await shown.press(http)).status_code == 401
        assert await state_of(hub, uid) == "Pending"


async def test_hostile_texts_in_a_dialog_are_texts(tmp_path):
    """What somebody wrote into a manifest is shown as they wrote it, never as part of the page."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        job = a_job("train")
        job["metadata"]["annotations"] = {"note": '</pre><script>alert(1)</script>" onload="x'}
        (made,) = (await hub.api.post("/v1/jobs:batch", json=[job])).json()["items"]
        shown = await look(http, f"jobs/{made['uid']}/resubmit")
        assert "<script" not in shown.page
        assert 'onload="x' not in shown.page
        assert "</pre><script>alert(1)</script>" in shown.words


async def test_the_session_of_a_browser_opens_these_routes_and_no_others(tmp_path):
    """What the page's actions call, logs and pods; whoever adds a route to them says so here."""
    async with served_page(tmp_path) as hub:
        served = [r for r in routes.app_of(hub.hub).routes if isinstance(r, APIRoute)]
        found = {
            f"{method} {route.path}"
            for route in served
            if getattr(getattr(route, "endpoint", None), "from_page", False)
            for method in route.methods
        }
        assert found == {
            "POST /v1/jobs",
            "DELETE /v1/jobs/{uid}",
            *(
                f"POST /v1/jobs/{{uid}}/{verb}"
                for verb in ("cancel", "hold", "release", "priority")
            ),
            *(f"POST /v1/clusters/{{name}}/{verb}" for verb in ("cordon", "uncordon", "drain")),
            *(f"POST /v1/queues/{{name}}/{verb}" for verb in ("stop", "resume")),
            *(f"POST /v1/queues/{{namespace}}/{{name}}/{verb}" for verb in ("stop", "resume")),
            "GET /v1/jobs/{uid}/logs",
            "GET /v1/jobs/{uid}/pods",
        }
        changing = {r.path: r.methods for r in served if r.path.startswith("/actions/")}
        assert set().union(*changing.values()) <= {"GET", "HEAD"}


async def test_what_came_from_the_hub_cluster_is_changed_there(tmp_path):
    """Its priority and its end are kubectl's: no such button, and the API says where."""
    async with served_page(tmp_path) as hub, hub.signed_in() as http:
        await with_queues(hub)
        (uid,) = await hub.submit("train")
        await hub.alter("workloads", f"uid = '{uid}'", origin="hub-cluster")
        await hub.alter("objects", "kind = 'ClusterQueue'", origin="hub-cluster")
        assert await offers(http, f"jobs/{uid}") == ["cancel", "hold", "resubmit"]
        refused = await hub.api.post(f"/v1/jobs/{uid}/priority", json={"priorityClass": "urgent"})
        assert (refused.status_code, refused.json()["code"]) == (409, "OwnedElsewhere")
        shown = await look(http, "queues/all/stop")
        assert "kubectl patch clusterqueue all --type merge" in shown.words
        assert not shown.may_be_confirmed
        stopped = await shown.press(http)
        assert (stopped.status_code, stopped.json()["code"]) == (409, "OwnedElsewhere")
