"""A plan is checked before it is written: with nothing changed from outside, nothing of it lapses."""

from dataclasses import replace

from hypothesis import example, given, strategies as st

from hub.domain.admission.nomination import Rules
from hub.domain.cycle.profile import Profile
from hub.domain.cycle.recheck import Moved, Recheck
from hub.domain.cycle.snapshot import Snapshot
from hub.domain.plan import Lapse, Plan
from tests.domain.build import NOW, decide
from tests.examples import Contents, examples, sample
from tests.properties import crowds, rooms
from tests.properties.strategies import snapshots

PROFILES = {
    "Kueue's": Profile(rules=Rules(preemptors_first=False)),
    "preemptors first": Profile(),
    "fair": Profile(rules=Rules(fair=True)),
    "partial": Profile(rules=Rules(partial=True)),
}
profiles = st.sampled_from(list(PROFILES.values()))


def lapses(
    snapshot: Snapshot, plan: Plan, profile: Profile, *, roomy: bool = False
) -> dict[str, Lapse]:
    """The check of a plan against its own picture, as if every record had been touched.

    `roomy`: the commit has compared the nodes, and none has less room.
    """
    demands = {lane.demand.key: lane.demand for _, lanes in snapshot.queues for lane in lanes}
    standing = {p.uid: demands[p.demand] for p in plan.placements}
    standing |= {n.uid: n.who.demand for n in plan.nominated if n.who and n.who.demand}
    present = replace(snapshot, queues=[(queue, ()) for queue, _ in snapshot.queues])
    trees = frozenset({"q", "r", "all"})
    clusters = frozenset(snapshot.clusters)
    moved = Moved(
        None, frozenset({"any"}), clusters, trees, roomy=clusters if roomy else frozenset()
    )
    return Recheck(plan, present, moved, standing, profile, NOW).lapsed()


def test_enough_of_what_is_drawn_preempts_beside_placements() -> None:
    """The rule below has something to say: in one of fifty scenes both stand in one plan."""
    contents = Contents()

    @sample(200)
    @given(crowds.crowded(), crowds.waiting)
    def play(crowd: crowds.Crowd, ask: dict[str, crowds.Gang]) -> None:
        plan = decide(crowds.a_scene(crowd, ask))
        contents.note(plan.evictions and plan.placements)

    play()
    assert contents.are_in(0.02), contents.seen


@examples(250)
@given(crowds.crowded(), crowds.waiting, profiles)
# The first round places w1, the second preempts it for w0.
@example(
    crowds.Crowd([3, 3], (2, 3), {f"h{n}": (1, ("r", 1, 1, 0)) for n in range(2)}),
    {"w0": ("q", 1, 3, 1), "w1": ("r", 1, 2, 1)},
    Profile(),
)
def test_preemption_for_quota_beside_placements(
    crowd: crowds.Crowd, ask: dict[str, crowds.Gang], profile: Profile
) -> None:
    """Victims may be placed by the same plan, in a round before."""
    scene = crowds.a_scene(crowd, ask)
    plan = decide(scene, profile)
    assert lapses(scene, plan, profile) == {}


@examples(150)
@given(rooms.crowded(), rooms.heads)
def test_preemption_for_room_beside_placements(
    fleet: rooms.Fleet, ask: dict[str, tuple[int, int]]
) -> None:
    """The room that placements of the plan take is taken where victims are searched for."""
    scene = rooms.a_scene(*fleet, ask)
    plan = decide(scene, rooms.PROFILE)
    assert lapses(scene, plan, rooms.PROFILE) == {}


@given(snapshots())
def test_placements_alone(snapshot: Snapshot) -> None:
    """Whatever waits and whatever the fleet is, if no node has less room.

    Where one has, the check lays the pods out anew, and may find no room for a gang that would fit.
    """
    assert lapses(snapshot, decide(snapshot), Profile(), roomy=True) == {}
