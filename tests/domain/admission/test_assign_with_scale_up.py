"""Real room under any flavor goes before growth, growth before preemption."""

from dataclasses import replace

import pytest

from hub.domain.admission.assign_with_scale_up import growing, search, there
from hub.domain.admission.flavor_assigner import CanHold, Mode, Outlook, Request
from hub.domain.admission.flavors import FlavorCatalog
from hub.domain.fleet.free_capacity import NodeAsk
from hub.domain.quota.declared import Flavor
from hub.domain.quota.ledger import Ledger
from hub.domain.quota.queue_policy import QueuePolicy
from tests.domain.build import a_demand, a_pod_set, a_queue

FLAVORS = {name: Flavor(name, (("kind", name),)) for name in "ab"}


def a_request(can_hold: CanHold | None, *, cpu: int = 9) -> Request:
    """One cpu, of flavors a and b."""
    queue = a_queue(flavors=("a", "b"), cpu=cpu)
    tree = Ledger([queue]).tree
    return Request(
        a_demand().pod_sets, queue, QueuePolicy(), FlavorCatalog(FLAVORS, {}), tree,
        tree.queues["q"], oracle=lambda of, amount: Outlook(Mode.NO_CANDIDATES, 0),
        can_hold=can_hold,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("real", "may_come", "flavor", "grows"),
    [
        ("ab", "", "a", False),
        ("b", "a", "b", False),
        ("", "ab", "a", True),
        ("", "b", "b", True),
        ("", "", None, True),
    ],
)
def test_growth_is_looked_at_once_no_flavor_has_real_room(
    real: str, may_come: str, flavor: str | None, *, grows: bool
) -> None:
    """`real` and `may_come`: the flavors whose nodes hold it now, and by growing."""
    asked: list[bool] = []

    def can_hold(asks: tuple[NodeAsk, ...]) -> bool:
        ((kind,),) = (ask.labels for ask in asks)
        asked.append(asks[0].growing)
        return kind[1] in (may_come if asks[0].growing else real)

    found = search(a_request(can_hold), grows=True)
    chosen = found.assignment and dict(found.assignment.pod_sets[0].flavors)["cpu"]
    assert chosen == flavor
    asks = found.assignment.asks if found.assignment else found.asks
    assert asks is not None
    assert [ask.growing for ask in asks] == [grows]
    assert asked == sorted(asked)
    if not grows:
        assert not any(asked)


def test_one_flavor_without_room_is_enough_to_look_at_growth() -> None:
    """The first pod set went to b for lack of room in a, where the second can not follow: a grows."""
    sets = a_pod_set(name="x"), a_pod_set(name="y", node_selector=(("kind", "b"),))

    def can_hold(asks: tuple[NodeAsk, ...]) -> bool:
        return asks[0].growing or asks[0].labels != (("kind", "a"),)

    request = replace(a_request(can_hold, cpu=1), pod_sets=sets)
    found = search(request, grows=True)
    assert found.assignment is not None
    assert [dict(p.flavors)["cpu"] for p in found.assignment.pod_sets] == ["a", "b"]


def test_where_quota_is_short_growth_is_not_asked_about() -> None:
    """No cluster was closed to it; who preempts may still use nodes to come."""
    asked: list[bool] = []

    def can_hold(asks: tuple[NodeAsk, ...]) -> bool:
        asked.append(asks[0].growing)
        return True

    found = search(a_request(can_hold, cpu=0), grows=True)
    assert (found.mode, asked) == (Mode.NO_FIT, [])


@pytest.mark.parametrize("grows", [False, True])
def test_without_growth_or_clusters_it_is_the_plain_search(*, grows: bool) -> None:
    """Nothing may grow where no cluster is looked at."""
    found = search(a_request(None if grows else lambda asks: True), grows=grows)
    assert found.assignment is not None
    assert not found.assignment.asks[0].growing
    asks = found.assignment.asks
    assert there(growing(asks)) == asks
