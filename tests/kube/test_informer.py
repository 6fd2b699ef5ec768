"""An informer's cache stays level whatever the stream does: nothing is lost in a gap (invariant R-16)."""

import asyncio

import pytest

from shared.kube import errors
from shared.kube.client import KubeClient
from shared.kube.informer import _RESUMES as RESUMES, Informer, as_is
from tests import waiting
from tests.kube.stub import running, status

pytestmark = pytest.mark.anyio


class Following:
    """An informer on the stub, and what it told."""

    def __init__(self, stub, client, **options):
        self.stub = stub
        self.told: list[tuple[str, str]] = []
        self.informer = Informer(
            client,
            "v1",
            "ConfigMap",
            transform=as_is,
            on_event=lambda event, old, new: self.told.append((event, name_of(new or old))),
            **options,
        )
        self.task = asyncio.create_task(self.informer.run())

    async def until(self, holds):
        await waiting.eventually(holds, within_s=10)

    async def level(self):
        """Wait until the cache is what the server holds."""
        await self.until(lambda: self.values() == self.truth())

    def values(self):
        return {key[1]: obj["data"]["value"] for key, obj in self.informer.cache.items()}

    def truth(self):
        return {name: obj["data"]["value"] for name, obj in self.stub.objects.items()}


def name_of(obj):
    return obj["metadata"]["name"]


class Follow:
    """Starts informers on one stub."""

    def __init__(self, stub, client):
        self.stub, self._client = stub, client
        self.made: list[Following] = []

    def __call__(self, **options):
        self.made.append(Following(self.stub, self._client, **options))
        return self.made[-1]


@pytest.fixture
async def following(tmp_path):
    async with (
        running(tmp_path) as (stub, kubeconfig),
        await KubeClient.connect(kubeconfig) as client,
    ):
        follow = Follow(stub, client)
        yield follow
        for each in follow.made:
            each.task.cancel()
        await asyncio.gather(*(each.task for each in follow.made), return_exceptions=True)


async def test_it_lists_and_then_follows(following):
    """What is there is told as ADDED, then every change once."""
    following.stub.put("a")
    one = following()
    await one.informer.synced.wait()
    following.stub.put("b")
    following.stub.put("a", "2")
    following.stub.delete("b")
    await one.until(lambda: len(one.told) == 4)
    assert one.told == [("ADDED", "a"), ("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")]
    assert one.informer.relists == 1


async def test_a_long_list_comes_in_pages(following):
    """All pages are read before the cache counts as complete."""
    for number in range(1201):
        following.stub.put(f"c{number:04}")
    one = following()
    await one.informer.synced.wait()
    assert len(one.informer.cache) == 1201


async def test_deletions_in_a_gap_are_found(following):
    """After 410 the informer lists again and tells what vanished meanwhile, and nothing twice."""
    for name in ("a", "b", "c"):
        following.stub.put(name)
    one = following()
    await one.level()
    following.stub.silent = True
    following.stub.delete("b")
    following.stub.put("c", "2")
    following.stub.compact()
    following.stub.silent = False
    following.stub.cut()
    await one.level()
    assert one.told[3:] in (
        [("MODIFIED", "c"), ("DELETED", "b")],
        [("DELETED", "b"), ("MODIFIED", "c")],
    )


async def test_an_object_made_anew_in_a_gap_is_a_deletion_and_an_addition(following):
    """The same name with another uid is another object."""
    following.stub.put("a")
    one = following()
    await one.level()
    following.stub.silent = True
    following.stub.delete("a")
    following.stub.put("a", "new")
    following.stub.compact()
    following.stub.silent = False
    following.stub.cut()
    await one.level()
    assert one.told[1:] == [("DELETED", "a"), ("ADDED", "a")]


async def test_a_broken_stream_is_resumed_where_it_broke(following):
    """A cut connection costs no relist and loses no event."""
    following.stub.put("a")
    one = following()
    await one.level()
    for number in range(3):
        following.stub.cut()
        following.stub.put("a", str(number))
        await one.level()
    assert one.informer.relists == 1


async def test_a_silent_stream_is_left(following):
    """A watch without event or bookmark for too long is opened anew."""
    following.stub.put("a")
    one = following(stall_s=0.2)
    await one.level()
    following.stub.silent = True
    following.stub.put("a", "2")
    before = following.stub.watches
    await one.until(lambda: following.stub.watches > before)
    following.stub.silent = False
    following.stub.put("b")
    await one.level()


async def test_errors_of_the_server_are_waited_out(following):
    """500, 503 and 429 while listing delay the cache and do not end it."""
    following.stub.put("a")
    following.stub.faults = [
        lambda request: status(500, "InternalError"),
        lambda request: status(503, "ServiceUnavailable"),
        lambda request: status(429, "TooManyRequests", headers={"Retry-After": "0"}),
    ]
    one = following()
    await one.level()


async def test_a_kind_that_is_not_served_is_an_empty_cache_until_it_is(following):
    """Its absence counts as synced; once it is served (and the informer woken) it is read."""
    following.stub.served = False
    one = following()
    await one.informer.synced.wait()
    assert one.informer.served is False
    following.stub.served = True
    following.stub.put("a")
    one.informer.wake()
    await one.level()
    assert one.informer.served is True


@pytest.mark.parametrize(("every", "least"), [(True, 6), (False, 2)])
async def test_every_state_of_a_burst_is_told_where_that_is_asked_for(following, every, least):
    """Pods: an exit code is in a state that the next one replaces. Else the last of each burst is enough."""
    following.stub.put("a", "0")
    one = following(every_state=every)
    await one.level()
    for value in range(1, 6):
        following.stub.put("a", str(value))
    await one.level()
    assert len(one.told) >= least
    assert (len(one.told) == 6) or not every


async def test_a_kind_that_comes_by_the_informers_own_retry_is_told(following):
    """Whoever looks at the list of kinds after that retry finds nothing new in it."""
    following.stub.served = False
    told: list[bool] = []
    one = following(not_served_s=0.05, on_served=lambda: told.append(True))
    await one.informer.synced.wait()
    following.stub.served = True
    await one.until(lambda: told)
    assert (one.informer.served, told) == (True, [True])


async def test_a_kind_that_may_not_be_read_says_so_and_is_tried_rarely(following):
    """403 is no outage: the reason is kept, and the next look waits as long as was asked for."""
    following.stub.put("a")
    following.stub.faults = [lambda request: status(403, "Forbidden")]
    one = following(forbidden_s=3600)
    await one.until(lambda: one.informer.refused)
    assert one.informer.cache == {}
    one.informer.wake()  # an hour has passed
    await one.level()
    assert one.informer.refused == ""


async def test_a_poison_object_loses_itself_alone(following):
    """A transform or callback that raises does not stop the others."""

    def picky(obj, previous):
        if obj["data"]["value"] == "bad":
            raise ValueError("poison")
        return obj

    following.stub.put("a", "bad")
    following.stub.put("b")
    one = following()
    one.informer._transform = picky
    await one.informer.synced.wait()
    following.stub.put("c", "bad")
    following.stub.put("d")
    await one.until(lambda: ("team", "d") in one.informer.cache)
    assert set(one.values()) == {"b", "d"}


async def test_streams_that_end_with_nothing_said_are_not_opened_in_a_tight_loop(following):
    """A server, or a proxy before it, that ends every watch at once is asked ever less often."""
    following.stub.brief = True
    one = following()
    await one.informer.synced.wait()
    await waiting.span(1.0, why="in which a tight loop opens hundreds of streams")
    assert following.stub.watches < 20
    following.stub.brief = False
    following.stub.put("a")
    await one.level()


@pytest.mark.parametrize(
    ("fault", "times", "resumes"),
    [
        (errors.Unavailable(0, "TimedOut", "no answer"), 1, True),
        (errors.Unavailable(0, "TimedOut", "no answer"), RESUMES, True),
        (errors.Unavailable(0, "TimedOut", "no answer"), RESUMES + 1, False),
        (errors.Gone(410, "Expired", "too old"), 1, False),
        (errors.Invalid(422, "Invalid", "no"), 1, False),
        (RuntimeError("odd"), 1, False),
    ],
    ids=["once", "at most", "once more", "gone", "refused", "odd"],
)
async def test_a_stream_is_resumed_a_few_times_before_all_is_listed_again(
    following, fault, times, resumes
):
    """A full list is expensive for the server: a short outage must not cause one."""
    f = following()
    await f.until(lambda: f.informer.resource_version)
    before = f.informer.resource_version
    f.informer._failed(times, fault, 0.0)
    assert f.informer.resource_version == (before if resumes else "")
