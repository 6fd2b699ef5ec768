"""Every failpoint of the product, with the part that dies there and the story that comes to it."""

from dataclasses import dataclass
from typing import Final

from tests.failpoints import stories
from tests.failpoints.stories import Story


@dataclass(frozen=True)
class Point:
    """`at`: the name, with `:N` where the part dies as it comes there for the Nth time."""

    at: str
    part: str
    story: Story

    @property
    def name(self) -> str:
        return self.at.partition(":")[0]


def _points(part: str, **told: Story) -> tuple[Point, ...]:
    return tuple(Point(at.replace("_", ":"), part, story) for at, story in told.items())


# In transactions of the store, or right before or after one.
HUB: Final = _points(
    "hub",
    H01=stories.jobs_run,
    H02=stories.jobs_run,
    H03=stories.jobs_run,
    H04=stories.one_waits_for_its_check,
    H05=stories.one_waits_for_its_check,
    H06=stories.jobs_run,
    H07=stories.jobs_run,
    H08=stories.jobs_run,
    H09=stories.jobs_run,
    H10=stories.jobs_run,
    H11=stories.jobs_run,
    H12=stories.jobs_run,
    H13=stories.jobs_run,
    H14=stories.one_is_cancelled,
    H15=stories.one_is_preempted,
    H16=stories.one_is_preempted,
    H17=stories.a_member_falls_silent,
    H18=stories.nothing,
    H29=stories.one_outlives_its_time,
)
AGENT: Final = _points(
    "agent-m1",
    A01=stories.jobs_run,
    A02=stories.jobs_run,
    A03=stories.jobs_run,
    A04=stories.an_answer_is_lost,
    A05_3=stories.jobs_run,
    A06=stories.one_is_cancelled,
    A07=stories.one_is_preempted,
    A08=stories.jobs_run,
    A09=stories.jobs_run,
)
JOINING: Final = _points("agent-m1", A10=stories.it_joins_anew, A11=stories.it_joins_anew)
ROTATING: Final = _points(
    "agent-m1", A10=stories.its_credential_is_replaced, A11=stories.its_credential_is_replaced
)
# With a hub cluster beside it.
BRIDGE: Final = _points(
    "hub",
    H21=stories.kubectl_makes_one,
    H22=stories.kubectl_makes_one,
    H23=stories.kubectl_deletes_one,
    H24=stories.what_came_by_rest_is_shown,
    H25=stories.what_came_by_rest_is_shown,
    H26=stories.what_came_by_rest_is_shown,
    H27=stories.what_came_by_rest_is_shown,
    H28=stories.it_changes_hands,
)
# tests/failpoints/test_migrations.py
MIGRATIONS: Final = frozenset({"H20"})
EVERY: Final = MIGRATIONS | {point.name for point in (*HUB, *AGENT, *JOINING, *ROTATING, *BRIDGE)}
