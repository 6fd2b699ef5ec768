"""Who is who: names that look alike, credentials at the wrong door, one join token used by many at once."""

import asyncio
import itertools

import httpx
import orjson
import pytest

from hub.api.agents import read_sync
from hub.api.policy import PUBLIC
from hub.services.access import credentials
from hub.services.context.settings import Api, Settings
from shared.errors import Rejected
from tests.api.serving import served
from tests.attack import routes
from tests.services.members.hubs import running_hub

pytestmark = pytest.mark.anyio
# Prefixes of each other, with hyphens and digits, and what looks alike in many a typeface.
NAMES = [
    *("a", "ab", "abc", "a-b", "a--b", "a-b-c", "a1", "a-1", "a11", "a-11"),
    *("prod", "prod-eu", "prod-eu-1", "prod-eu-10", "prod-eu-2", "produ", "prods", "pro", "p"),
    *("prod1", "cluster", "cluster-1", "cluster-10", "cluster-11", "cluster-100", "cluster1"),
    *("clusters", "eu", "eu-prod", "eu-west", "eu-west-1", "eu-west-1a", "eu-west-1b"),
    *("l", "1", "0", "o", "rn", "m", "xn--e1afmkfd"),
]
SPELLINGS = ["Prod", "PROD", "prod ", " prod", "prod\u200b", "рrod", "prod:x", "prod/../eu", ""]
MESSAGE = {"session": "f1b2c3d4e5", "seq": 1, "cluster_uid": "u", "observed": {"full": True}}
WIDE = Settings(api=Api(failures_per_s=0))


async def test_names_that_look_alike_are_strangers(tmp_path):
    """Of 40 names that begin like one another each agent is given its own works, and no other's."""
    assert len(set(NAMES)) == 40
    async with running_hub(tmp_path) as hub:
        members = {name: await hub.join(name) for name in NAMES}
        uids = {name: await hub.placed(name, f"job-of-{name}") for name in NAMES}
        for name, agent in members.items():
            works = (await agent.sync())["desired"]["works"]
            assert [work["uid"] for work in works] == [uids[name]], name


def test_an_agent_names_itself_or_nobody():
    """Each of 1,560 pairs of names, and every other spelling of one's own, is refused."""
    pairs = [*itertools.permutations(NAMES, 2), *(("prod", said) for said in SPELLINGS)]
    assert len(pairs) == 1560 + len(SPELLINGS)
    for own, said in pairs:
        body = orjson.dumps(MESSAGE | {"cluster": said})
        with pytest.raises(Rejected) as refusal:
            read_sync(body, own)
        assert refusal.value.code == "IdentityMismatch", (own, said)


async def test_who_may_call_what_is_written_down(tmp_path):
    """All routes with their callers, in routes.txt: nobody widens one without its being seen."""
    async with served(tmp_path) as hub:
        assert routes.FILE.read_text() == routes.told(routes.app_of(hub.hub))


async def test_a_credential_is_good_at_its_own_door_alone(tmp_path):
    """Every route by each kind of caller: 401 where it is not the audience, 403 where it is not the role."""
    async with served(tmp_path, WIDE) as hub:
        app = routes.app_of(hub.hub)
        join, _ = await hub.db.write(
            lambda tx: credentials.issue_join(tx, "c2", hub.hub.settings.api.join_token_kept)
        )
        bearer = hub.admin.headers["Authorization"].removeprefix("Bearer ")
        session = await hub.db.write(
            lambda tx: credentials.issue_session(tx, bearer, hub.hub.settings.api.session_kept)
        )
        callers = {
            "nobody": "",
            "join token": f"Bearer {join}",
            "session": f"Bearer {session}",
            "agent": hub.agent.headers["Authorization"],
            "viewer": hub.viewer.headers["Authorization"],
            "administrator": hub.admin.headers["Authorization"],
        }
        tried = 0
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://hub") as anybody:
            for (path, method, who), caller in itertools.product(routes.routes_of(app), callers):
                if who == PUBLIC or caller in who.split():
                    continue
                headers = {"Authorization": callers[caller]} if callers[caller] else {}
                reply = await anybody.request(method, _filled(path), headers=headers)
                expected = 403 if caller == "viewer" and who not in {"agent", "peer"} else 401
                assert reply.status_code == expected, (caller, method, path)
                tried += 1
        assert tried > 200


def _filled(path):
    return "/".join("x" if part.startswith("{") else part for part in path.split("/"))


async def test_one_join_token_makes_one_agent(tmp_path):
    """A hundred that use it at once: exactly one is let in."""
    async with running_hub(tmp_path) as hub:
        token = await hub.add_cluster("north")
        replies = await asyncio.gather(
            *(hub.register(token, f"uid-{number}") for number in range(100))
        )
        told = sorted(reply.status_code for reply in replies)
        assert told == [200] + [401] * 99
