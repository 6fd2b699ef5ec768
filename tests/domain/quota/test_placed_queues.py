"""Which ClusterQueues a placement selects."""

import pytest

from hub.domain.quota.placed_queues import SELECTING_KIND, QueueSelection, read_queue_selection

QUEUE = {"group": "kueue.x-k8s.io", "version": "v1beta2", "kind": "ClusterQueue"}


def selection_of(*selectors, kind=SELECTING_KIND):
    return read_queue_selection(kind, {"resourceSelectors": list(selectors)})


@pytest.mark.parametrize(
    ("selector", "selects"),
    [
        (QUEUE | {"name": "gold"}, True),
        (QUEUE | {"name": "silver"}, False),
        (QUEUE | {"labelSelector": {"matchLabels": {"tier": "one"}}}, True),
        (QUEUE | {"labelSelector": {"matchLabels": {"tier": "two"}}}, False),
        (QUEUE, True),
        (QUEUE | {"group": "", "name": "gold"}, False),
        (QUEUE | {"kind": "LocalQueue", "name": "gold"}, False),
    ],
)
def test_a_queue_is_selected_by_name_or_by_labels(selector, selects):
    """Without either, a selector means every ClusterQueue; other kinds select none."""
    assert selection_of(selector).selects("gold", {"tier": "one"}) is selects


def test_a_placement_of_a_namespace_selects_no_cluster_queue():
    """A ClusterQueue has no namespace."""
    assert selection_of(QUEUE | {"name": "gold"}, kind="ResourcePlacement").is_empty


def test_a_placement_without_selectors_selects_no_cluster_queue():
    """Neither an empty list nor a missing one."""
    assert selection_of() == read_queue_selection(SELECTING_KIND, {}) == QueueSelection()
