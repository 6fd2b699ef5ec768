"""A member's API server hangs with a create in it: whatever becomes of that, the job runs once.

job Offered to m1 ──► m1 hangs, the create is held on its way ──► the job is taken back
                 ──► perhaps it runs in m2 ──► m1 wakes, the create lands ──► never two
"""

from collections.abc import Iterator

import pytest

from tests.e2e.running import until
from tests.e2e.stories import Story, told

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

# So long the job has time to start elsewhere, while its create hangs.
_LOOKED_AT_S = 8


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    """Two members, for all tests of this module."""
    with told(tmp_path_factory.mktemp("hanging"), members=2) as story:
        yield story


@pytest.fixture
def story(fleet: Story) -> Iterator[Story]:
    """The same; no link is broken afterwards."""
    yield fleet
    fleet.fleet.links.heal()


def test_a_job_held_and_released_does_not_run_beside_a_create_in_flight(story: Story) -> None:
    """Held while its create hangs, then released: the create that lands late starts nothing."""
    uid = _offered_to_hanging(story, "taken-back", run_s=12)
    story.only("m2")
    story.ask("hold", uid)
    story.ask("release", uid)
    _starts_on(story, uid, "m2")
    story.fleet.links.heal()
    assert story.violations() == []
    assert story.job(uid)["state"] == "Succeeded"
    _nothing_is_left_in(story, "m1", uid)


def test_a_preempted_job_does_not_run_beside_a_create_in_flight(story: Story) -> None:
    """Preempted while its create hangs: the create that lands late starts nothing."""
    low = _offered_to_hanging(story, "low", run_s=12, tight=True, priority="low")
    story.only("m2")
    high = story.submit("high", run_s=0.5, tight=True, priority="high")
    story.until_state(low, "Withdrawing", "Pending")
    _starts_on(story, low, "m2")
    story.fleet.links.heal()
    assert story.violations() == []
    assert {story.job(uid)["state"] for uid in (low, high)} == {"Succeeded"}
    _nothing_is_left_in(story, "m1", low)


def test_a_job_offered_to_a_hanging_member_runs_there_once_it_wakes(story: Story) -> None:
    """Nobody takes it back: the held create lands, and the job runs once, where it was offered."""
    uid = _offered_to_hanging(story, "patient", run_s=1)
    story.only("m2")
    assert not _starts_on(story, uid, "m2")
    story.fleet.links.heal()
    assert story.violations() == []
    ended = story.job(uid)
    assert (ended["state"], ended["cluster"]) == ("Succeeded", "m1")


def _offered_to_hanging(story: Story, name: str, **given) -> str:
    """A job offered to m1, whose agent's create is held on its way to the API server."""
    story.only("m1")
    story.fleet.links.set("api-m1", "hang")
    idle = story.fleet.links.held("api-m1")
    uid = story.submit(name, **given)
    story.until_state(uid, "Offered")
    until(lambda: story.fleet.links.held("api-m1") > idle, 20, "the create is on its way")
    return uid


def _nothing_is_left_in(story: Story, member: str, uid: str) -> None:
    """What landed late goes away by itself: its name is free again."""

    def gone() -> bool:
        return not any(copy.member == member for copy in story.copies(uid))

    until(gone, 60, f"nothing of it is left in {member}")


def _starts_on(story: Story, uid: str, member: str) -> bool:
    """Whether a Job of it appears in a member within the time that is looked at."""

    def started() -> bool:
        return any(copy.member == member for copy in story.copies(uid))

    try:
        until(started, _LOOKED_AT_S, "started", patience=1)
    except AssertionError:
        return False
    return True
