"""Requests that share a commit are answered as if each had come alone."""

import pytest

from hub.domain.workloads.origin import Origin
from hub.services.context.settings import Intake
from hub.services.jobs.submit import Reply, Submission, submit
from hub.services.reading.draft import draft
from shared.errors import Rejected
from shared.kinds import parse_job
from tests.api.serving import a_job, served

pytestmark = pytest.mark.anyio
KEY = ("admin", "k")


async def test_two_bodies_under_one_key_in_one_commit_are_told_apart(tmp_path):
    """The first is taken; the second is refused, and no reply to another's body is given."""
    async with served(tmp_path) as hub:

        def both(tx):
            return submit(tx, [asked(tx, "one", "hash-1"), asked(tx, "two", "hash-2")])

        first, second = await hub.db.write(both)
        assert isinstance(first, Reply)
        assert isinstance(second, Rejected)
        assert second.code == "IdempotencyMismatch"
        names = [job["name"] for job in (await hub.admin.get("/v1/jobs")).json()["items"]]
        assert names == ["one"]


async def test_one_body_twice_in_one_commit_is_one_job(tmp_path):
    """The second request gets the first one's reply, marked as a replay."""
    async with served(tmp_path) as hub:

        def both(tx):
            return submit(tx, [asked(tx, "one", "hash-1"), asked(tx, "one", "hash-1")])

        first, second = await hub.db.write(both)
        assert (first.body, first.replayed) == (second.body, False)
        assert second.replayed


def asked(tx, name, request_hash):
    """A request to submit one Job under the key."""
    given = draft(parse_job(a_job(name)), tx.now, origin=Origin.REST)
    return Submission((given,), Intake(), single=True, key=KEY, request_hash=request_hash)


async def test_the_default_queue_covers_what_was_ever_asked_of_it(tmp_path):
    """A job that names a new resource takes no quota from those that named others."""
    async with served(tmp_path) as hub:
        for name in ("example.com/a", "example.com/b"):
            job = a_job(name.rpartition("/")[2])
            (container,) = job["spec"]["template"]["spec"]["containers"]
            container["resources"] = {"limits": {name: "1"}}
            assert (await hub.admin.post("/v1/jobs", json=job)).status_code == 201
        queue = (await hub.admin.get("/v1/queues/default")).json()
        covered = {quota["resource"] for quota in queue["quotas"]}
        assert covered == {"cpu", "memory", "example.com/a", "example.com/b"}
