"""Bad input at the agent's door: who speaks, in which order, and how much.

What is said of jobs and room is in `test_rows_said`. What one might expect otherwise, and why it is so:

- A message has no field for the cluster: the credential alone says whose it is. A body that
  names another one is refused as a mismatch all the same; path and header have no such place.
- There is no second acceptance: an administrator makes the join token, for one name.
- Credentials are not rotated. Joining anew ends the one before, which is answered Revoked.
- The code is SessionSuperseded.
- What is missing is told by the digests, in the answer to the same request.
- Incarnations have no order. That the store went back is proved by marks (`test_timeline`).
- The cluster is not cordoned by who holds a copy of its credential: it is silent, and so suspect.
- No message has the agent's clock; what a member's API server stamps decides nothing. A wrong clock is
  no condition of the cluster: what it stamped is shown between the job's submission and now.
"""

import datetime as dt
from pathlib import Path

import pytest

from hub.api.agents import MAX_ENTRIES
from hub.services.access.credentials import issue_join
from hub.services.context.rendering import began_at
from hub.services.context.settings import Settings
from hub.services.questions.clusters import get_cluster
from shared.wire.agent_v1 import SYNC_PATH
from shared.wire.versions import NEWEST, OLDEST
from tests.services.members.hubs import Agent, noted, ran, running_hub, warnings_of

pytestmark = pytest.mark.anyio


async def refusal(agent: Agent, **more: object) -> tuple[int, str]:
    reply = await agent.post(agent.request() | more)
    return reply.status_code, reply.json().get("code", "")


async def test_row_91_a_join_token_again_and_too_late(tmp_path: Path):
    """Used: 401 TokenUsed. Too old: 401 TokenExpired."""
    async with running_hub(tmp_path) as hub:
        token = await hub.add_cluster("north")
        assert (await hub.register(token, "uid-north")).status_code == 200
        again = await hub.register(token, "uid-north")
        assert (again.status_code, again.json()["code"]) == (401, "TokenUsed")
        late = await hub.add_cluster("south")
        hub.clock.advance(15 * 60)
        reply = await hub.register(late, "uid-south")
        assert (reply.status_code, reply.json()["code"]) == (401, "TokenExpired")


async def test_row_91_a_join_token_of_another_name(tmp_path: Path):
    """403, and the token is not used up by it."""
    async with running_hub(tmp_path) as hub:
        token = await hub.add_cluster("north")
        reply = await hub.http.post(
            "/agent/v1/register",
            json={"cluster_uid": "uid-south", "cluster": "south"},
            headers={"Authorization": f"Bearer {token}"},
        )
        assert (reply.status_code, reply.json()["code"]) == (403, "IdentityMismatch")
        assert (await hub.register(token, "uid-north")).json()["cluster"] == "north"


@pytest.mark.parametrize("named", ["south", "North", "north-", "", None, {"name": "south"}])
async def test_row_92_speaking_for_another_cluster(tmp_path: Path, named: object):
    """403 by the body, whatever else it says, and one row of the audit however often it is tried."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await hub.join("south")
        for _ in range(3):
            assert await refusal(agent, cluster=named, nonsense=1) == (403, "IdentityMismatch")
        assert await noted(hub) == [("agent of north", "IdentityMismatch")]
        assert await warnings_of(hub, "north") == ["IdentityMismatch"]
        assert (await agent.sync())["session"] == agent.session


async def test_row_92_the_own_name_says_nothing(tmp_path: Path):
    """It may be said and changes nothing; and by path or header nobody can be named at all."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await hub.join("south")
        assert (await agent.post(agent.request() | {"cluster": "north"})).status_code == 200
        for path in (f"{SYNC_PATH}/south", "/agent/v1/clusters/south/sync"):
            reply = await hub.http.post(path, json=agent.request())
            assert reply.status_code == 404
        headers = {"Authorization": f"Bearer {agent.credential}", "X-Cluster": "south"}
        reply = await hub.http.post(SYNC_PATH, json=agent.request(), headers=headers)
        assert [work["uid"] for work in reply.json()["desired"]["works"]] == [uid]


async def test_row_93_a_join_token_is_no_credential(tmp_path: Path):
    """Nothing is heard, and no work given, before the agent has registered."""
    async with running_hub(tmp_path) as hub:
        agent = Agent(hub, "north", "uid-north", await hub.add_cluster("north"))
        assert await refusal(agent) == (401, "Unauthenticated")


async def test_rows_94_and_118_a_credential_that_was_taken_back(tmp_path: Path):
    """401 Revoked once the cluster has joined anew; its running jobs run on."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        await agent.sync(ran(uid, active=1, running_since="2026-05-01T00:00:00Z"))
        token, _ = await hub.write(issue_join, "north", dt.timedelta(minutes=15))
        assert (await hub.register(token, agent.uid)).status_code == 200
        assert await refusal(agent) == (401, "Revoked")
        agent.credential = agent.credential[:-1] + "_"  # not its secret: nothing is learnt
        assert await refusal(agent) == (401, "Unauthenticated")
        assert (await hub.job(uid)).state == "Running"


async def test_row_95_an_older_session(tmp_path: Path):
    """409, and what it says is not taken."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        agent.restart("session-north-2")
        await agent.sync()
        agent.restart("session-north-1")
        reply = await agent.post(agent.request(ran(uid)))
        assert (reply.status_code, reply.json()["code"]) == (409, "SessionSuperseded")
        assert (await hub.job(uid)).state == "Offered"


async def test_row_97_a_jump_of_the_sequence(tmp_path: Path):
    """A thousand requests that never came: taken, and the whole set asked for if one said something."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        agent.seq += 1000
        assert (await agent.sync())["need_full"] is False
        agent.request(ran(uid))  # never comes
        agent.seq += 1000
        assert (await agent.sync())["need_full"] is True
        await agent.sync()
        assert (await hub.job(uid)).state == "Applied"


async def test_row_98_an_incarnation_proves_nothing(tmp_path: Path):
    """Any agent could claim one; it is answered, with the hub's own."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        reply = (await agent.post(agent.request() | {"incarnation_seen": "f" * 16})).json()
        assert reply["incarnation"] == hub.sync.incarnation


async def test_row_99_another_cluster_behind_the_credential(tmp_path: Path):
    """409, written down; its work is withheld, and the true cluster goes on undisturbed."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        for _ in range(2):
            reply = await refusal(agent, cluster_uid="uid-of-another")
            assert reply == (409, "ClusterIdentityChanged")
        assert await noted(hub) == [("agent of north", "ClusterIdentityChanged")]
        assert (await hub.job(uid)).state == "Placed"
        await agent.sync()
        assert list(agent.works) == [uid]


async def test_row_99_a_cluster_that_became_another_gets_nothing_new(tmp_path: Path):
    """What it says counts as silence."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        await agent.sync()
        for _ in range(5):
            hub.clock.advance(10)
            await refusal(agent, cluster_uid="uid-of-another")
        seen_now = await hub.hub.read(lambda unit: get_cluster(unit, "north", Settings()))
        assert seen_now["state"] == "Suspect"


async def test_row_107_an_inventory_that_was_not_paged(tmp_path: Path):
    """413 for more entries than a request may have, and for 8 MiB and a byte; nothing of it is taken."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        body = agent.request(ran(uid))
        (entry,) = body["observed"]["entries"]
        many = [entry, *({**entry, "uid": f"u{i}"} for i in range(MAX_ENTRIES))]
        body["observed"]["entries"] = many
        reply = await agent.post(body)
        assert (reply.status_code, reply.json()["code"]) == (413, "BodyTooLarge")
        body["observed"]["entries"] = [entry | {"message": "x" * (8 << 20)}]
        reply = await agent.post(body)
        assert (reply.status_code, reply.json()["code"]) == (413, "BodyTooLarge")
        assert (await hub.job(uid)).state == "Offered"


async def test_row_108_a_base_that_is_not_the_hubs(tmp_path: Path):
    """The whole set is sent with the answer."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        body = agent.request()
        body["desired"]["digest"] = "0000"
        desired = (await agent.post(body)).json()["desired"]
        assert (desired["full"], [work["uid"] for work in desired["works"]]) == (True, [uid])


@pytest.mark.parametrize("year", [1970, 2100])
async def test_row_111_clocks_of_a_member(tmp_path: Path, year: int):
    """Times that its API server stamped are shown, from the job's submission to now; the hub's own decide."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        await agent.sync()
        at = f"{year}-01-01T00:00:00Z"
        await agent.sync(ran(uid, active=1, running_since=at, start_time=at))
        job = await hub.job(uid)
        assert (job.state, job.started_at) == ("Running", hub.clock.now())
        assert began_at(job) == (job.created_at if year == 1970 else hub.clock.now())
        now = await hub.hub.read(lambda unit: get_cluster(unit, "north", Settings()))
        assert now["state"] == "Ready"


@pytest.mark.parametrize("proto", [OLDEST - 1, NEWEST + 1, 10**18, "one", None])
async def test_row_112_another_version(tmp_path: Path, proto: object):
    """426 with the version that is spoken."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        reply = await agent.post(agent.request() | {"proto": proto})
        assert (reply.status_code, reply.json()["code"]) == (426, "UpgradeRequired")
        assert f"protocol {OLDEST} to {NEWEST}" in reply.json()["detail"]


async def test_row_116_one_that_asks_without_pause(tmp_path: Path):
    """429 after 20 at once, with when to come again; others are answered."""
    async with running_hub(tmp_path) as hub:
        north, south = await hub.join("north"), await hub.join("south")
        replies = [await north.post(north.request()) for _ in range(40)]
        assert [reply.status_code for reply in replies] == [200] * 20 + [429] * 20
        assert replies[-1].headers["retry-after"] == "1"
        assert (await south.post(south.request())).status_code == 200


async def test_row_117_a_lost_reply_and_a_hub_that_restarted(tmp_path: Path):
    """The next process answers the same, recomputed from the store."""
    async with running_hub(tmp_path) as hub:
        agent = await hub.join("north")
        uid = await hub.placed("north")
        lost = (await agent.post(agent.request())).json()["desired"]["works"]
    async with running_hub(tmp_path) as hub:
        agent.running = hub
        (work,) = (await agent.sync())["desired"]["works"]
        assert (work["uid"], work["epoch"]) == (uid, lost[0]["epoch"])
        assert work["manifest"]["spec"] == lost[0]["manifest"]["spec"]
