"""Objects that can not be read: what they said before counts no more, and others count as ever."""

import pytest

from hub.services.index.catalog import Routes
from hub.store.records.objects import RuleObject
from tests.store.build import START

KUEUE = "kueue.x-k8s.io"


def a_rule(kind: str, name: str, **spec: object) -> RuleObject:
    """An object that sets rules, by its own name."""
    namespace = "team-a" if kind == "LocalQueue" else ""
    return RuleObject(f"{kind}/{name}", KUEUE, kind, namespace, name, {}, spec, None, None)


@pytest.mark.parametrize("gone", [False, True])
@pytest.mark.parametrize("field", ["resourceGroups", "preemption"])
def test_what_can_not_be_read_any_more_is_as_if_it_were_not_there(field: str, gone: bool):
    """It is named with its fault until it can be read again, or is gone; no part of it is kept."""
    routes = Routes()
    good, bad = a_rule("ClusterQueue", "q"), a_rule("ClusterQueue", "q", **{field: 5})
    other = a_rule("ClusterQueue", "other")
    assert [routes.put(row) for row in (good, other, good)] == [True, True, False]
    assert [routes.put(bad), routes.put(bad)] == [True, False]
    assert (set(routes.queues), set(routes.queue_policies)) == ({"other"}, {"other"})
    assert set(routes.unreadable) == {"ClusterQueue/q"}
    assert routes.drop(bad.uid) if gone else routes.put(good)
    assert set(routes.queues) == ({"other"} if gone else {"q", "other"})
    assert routes.unreadable == {}
    assert routes.drop("never") is False


def test_one_that_is_being_deleted_counts_as_gone():
    """Once; told again it is no news."""
    routes = Routes()
    row = a_rule("LocalQueue", "lq", clusterQueue="q")
    assert routes.put(row)
    going = row._replace(deleted_at=START)
    assert [routes.put(going), routes.put(going)] == [True, False]
    assert routes.local == {}


def test_a_queue_is_idle_as_its_rules_say_now():
    """Stopped, started again, and without the flavor that it needs."""
    routes = Routes()
    resource = {"name": "cpu", "nominalQuota": "1"}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [resource]}]}
    queue = {"resourceGroups": [group]}
    seen = []
    for row in (
        a_rule("ClusterQueue", "q", **queue),
        a_rule("ResourceFlavor", "f"),
        a_rule("ClusterQueue", "q", **queue, stopPolicy="Hold"),
        a_rule("ClusterQueue", "q", **queue, stopPolicy="None"),
    ):
        routes.put(row)
        seen.append(bool(routes.idle_queues()))
    routes.drop("ResourceFlavor/f")
    assert [*seen, bool(routes.idle_queues())] == [True, False, True, False, True]
