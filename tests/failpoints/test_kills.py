"""kill -9 at every named point, on each kind of store: it is come to, and everything ends exactly once.

A fleet serves many points, one after the other; which tests share one says the name of their group. Every
change comes by the group `few`, with a point of each story; the others are marked `soak` (`make soak`).
"""

import itertools
from collections.abc import Iterator

import pytest

from tests import databases
from tests.failpoints import points
from tests.failpoints.killing import Killing, killing
from tests.failpoints.points import Point

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
_NO_POSTGRES = databases.postgres_is_missing()
# Between a write and its commit, after it, and while an answer is under way.
_FEW = {"H04", "H09", "H14", "H16", "A03", "A04", "A05:3", "A08"}
# More than one fleet for the many: so that they take turns on several workers.
_FLEETS = {
    "few": tuple(point for point in (*points.HUB, *points.AGENT) if point.at in _FEW),
    "hub-1": points.HUB[:7],
    "hub-2": points.HUB[7:13],
    "hub-3": points.HUB[13:],
    "agent": (*points.AGENT, *points.JOINING),
    "rotation": points.ROTATING,
    "bridge": points.BRIDGE,
}
_ENVS = {
    # Replaced after two thirds of that; a successor that is lost is given again ten seconds later.
    "rotation": {"ROADSTEAD_API_AGENT_CREDENTIAL_KEPT": "60"},
}
_OFTEN = (databases.SQLITE, "few")


def _cases() -> Iterator[object]:
    for store, (fleet, told) in itertools.product(
        (databases.SQLITE, databases.POSTGRES), _FLEETS.items()
    ):
        shared = (store, fleet)  # the very object: pytest goes by identity
        marks = [pytest.mark.xdist_group(f"failpoints-{store}-{fleet}")]
        if store == databases.POSTGRES:
            marks.append(pytest.mark.skipif(bool(_NO_POSTGRES), reason=_NO_POSTGRES or ""))
        if (store, fleet) != _OFTEN:
            marks.append(pytest.mark.soak)
        for point in told:
            yield pytest.param(shared, point, marks=marks, id=f"{store}-{fleet}-{point.at}")


@pytest.fixture(scope="module")
def fleet(request: pytest.FixtureRequest, tmp_path_factory) -> Iterator[Killing]:
    """The fleet that this and the tests beside it use."""
    store, name = request.param
    with killing(
        tmp_path_factory.mktemp(name), store, cluster=name == "bridge", **_ENVS.get(name, {})
    ) as started:
        yield started


# The scope of the fixture: without it pytest takes that of a test, and starts a fleet for each point.
@pytest.mark.parametrize(("fleet", "point"), list(_cases()), indirect=["fleet"], scope="module")
def test_killed_there_every_job_ends_exactly_once(fleet: Killing, point: Point):
    """The part dies at the point, once, and is started again; no job is lost, none runs twice."""
    fleet.only("m1" if point.part == "agent-m1" else "")
    fleet.arm(point.part, point.at)
    point.story(fleet)
    fleet.until_killed(point.part)
    assert fleet.violations() == []
    fleet.clear()
