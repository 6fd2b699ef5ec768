"""Limits of rate through HTTP: whose budget is spent, what is said, and who is never kept out."""

import httpx
import pytest

from hub.api import agents
from hub.services.access import credentials
from hub.services.context.settings import Api, Settings
from tests.api.serving import a_job, served

pytestmark = pytest.mark.anyio
FEW = Settings(api=Api(reads_per_s=1, reads_burst=3, writes_per_s=1, writes_burst=2))
DOORS = Settings(api=Api(failures_per_s=1, failures_burst=3))
STRANGER = {"Authorization": f"Bearer {'a' * 32}.{'b' * 43}"}


async def statuses(client, path, count, **kwargs):
    return [(await client.get(path, **kwargs)).status_code for _ in range(count)]


async def test_too_many_reads_are_asked_to_come_later(tmp_path):
    """429 TooManyRequests with Retry-After, until that long has passed."""
    async with served(tmp_path, FEW) as hub:
        assert await statuses(hub.viewer, "/v1/jobs", 4) == [200, 200, 200, 429]
        reply = await hub.viewer.get("/v1/jobs")
        assert reply.headers["content-type"] == "application/problem+json"
        assert (reply.json()["code"], reply.headers["retry-after"]) == ("TooManyRequests", "1")
        assert "reads" in reply.json()["detail"]
        hub.clock.advance(1)
        assert await statuses(hub.viewer, "/v1/jobs", 2) == [200, 429]


async def test_reads_and_writes_have_budgets_of_their_own(tmp_path):
    """Whoever has asked too much may still submit, and the reverse."""
    async with served(tmp_path, FEW) as hub:
        assert (await statuses(hub.admin, "/v1/jobs", 4))[-1] == 429
        sent = [await hub.admin.post("/v1/jobs", json=a_job(f"j{n}")) for n in range(3)]
        assert [each.status_code for each in sent] == [201, 201, 429]
        assert "writes" in sent[-1].json()["detail"]


async def test_one_callers_flood_is_no_others(tmp_path):
    """A budget is a principal's: another one's requests go through."""
    async with served(tmp_path, FEW) as hub:
        assert (await statuses(hub.viewer, "/v1/jobs", 4))[-1] == 429
        assert await statuses(hub.admin, "/v1/jobs", 1) == [200]


async def test_a_second_token_is_the_same_caller(tmp_path):
    """The budget is the person's, not the token's."""
    async with served(tmp_path, FEW) as hub:
        assert (await statuses(hub.viewer, "/v1/jobs", 4))[-1] == 429
        again = await hub.db.write(lambda tx: credentials.issue_bearer(tx, "viewer", "the-viewer"))
        other = {"Authorization": f"Bearer {again}"}
        assert await statuses(hub.nobody, "/v1/jobs", 1, headers=other) == [429]


async def test_streams_are_paid_for_when_they_are_opened(tmp_path):
    """A stream costs no read; opened too often it is refused."""
    limits = Settings(api=Api(reads_per_s=1, reads_burst=1, streams_per_s=1, streams_burst=0))
    async with served(tmp_path, limits) as hub:
        hub.hub.closing.set()  # streams end at once
        assert await statuses(hub.viewer, "/v1/changes", 1) == [200]
        reply = await hub.viewer.get("/v1/workloads:watch")
        assert (reply.status_code, reply.json()["code"]) == (429, "TooManyRequests")
        assert "streams" in reply.json()["detail"]
        assert await statuses(hub.viewer, "/v1/jobs", 1) == [200]


async def test_health_is_always_told(tmp_path):
    """Probes and descriptions are nobody's budget."""
    async with served(tmp_path, FEW) as hub:
        assert set(await statuses(hub.nobody, "/healthz", 20)) == {200}
        assert set(await statuses(hub.nobody, "/readyz", 20)) == {200}


async def test_who_fails_too_often_is_not_looked_up_any_more(tmp_path):
    """401 at first, then 429 for every credential from there that is not remembered."""
    async with served(tmp_path, DOORS) as hub:
        assert await statuses(hub.viewer, "/v1/jobs", 1) == [200]
        tried = await statuses(hub.nobody, "/v1/jobs", 5, headers=STRANGER)
        assert tried == [401, 401, 401, 429, 429]
        assert await statuses(hub.viewer, "/v1/jobs", 3) == [200] * 3, "is remembered"
        other = await hub.nobody.get("/v1/jobs", headers=STRANGER)
        assert (other.status_code, other.headers["retry-after"]) == (429, "1")
        assert await statuses(hub.admin, "/v1/jobs", 3) == [200] * 3, "was made a moment ago"
        hub.clock.advance(2)
        assert await statuses(hub.nobody, "/v1/jobs", 1, headers=STRANGER) == [401]


async def test_another_address_is_listened_to(tmp_path):
    """What fails is counted by address; of IPv6 by network."""
    async with served(tmp_path, DOORS) as hub:
        await statuses(hub.nobody, "/v1/jobs", 5, headers=STRANGER)
        token = hub.admin.headers["Authorization"]
        elsewhere = httpx.ASGITransport(hub.app, client=("2001:db8::1", 1))
        async with httpx.AsyncClient(transport=elsewhere, base_url="http://hub") as other:
            mine = {"Authorization": token}
            assert await statuses(other, "/v1/jobs", 1, headers=mine) == [200]


async def test_agents_are_kept_out_by_nobody(tmp_path):
    """An agent pays from no budget of people's, and who knocks at people's doors closes none of theirs."""
    limits = Settings(api=Api(reads_per_s=1, reads_burst=1, writes_per_s=1, writes_burst=1,
                              failures_per_s=1, failures_burst=1))  # fmt: skip
    async with served(tmp_path, limits) as hub:
        hub.app.include_router(agents.router)
        assert (await statuses(hub.nobody, "/v1/jobs", 5, headers=STRANGER))[-1] == 429
        sent = [(await hub.agent.post("/agent/v1/sync", json={})).json()["code"] for _ in range(5)]
        assert sent == ["InvalidMessage"] * 5


async def test_a_wrong_join_token_is_counted_too(tmp_path):
    """Guessing join tokens ends in 429 before the store is asked."""
    async with served(tmp_path, DOORS) as hub:
        hub.app.include_router(agents.router)
        told = [
            (await hub.nobody.post("/agent/v1/register", headers=STRANGER, json={})).status_code
            for _ in range(5)
        ]
        assert told == [401, 401, 401, 429, 429]


async def test_what_was_limited_is_measured(tmp_path):
    """`roadstead_http_limited_total` by budget."""
    async with served(tmp_path, FEW) as hub:
        before = _limited((await hub.admin.get("/metrics")).text)
        await statuses(hub.viewer, "/v1/jobs", 5)
        after = _limited((await hub.admin.get("/metrics")).text)
        assert after - before == 2


def _limited(text):
    lines = [line for line in text.splitlines() if line.startswith("roadstead_http_limited_total")]
    return sum(float(line.rpartition(" ")[2]) for line in lines if 'budget="reads"' in line)
