"""A member as its row and its last report have it; a report is parsed once, however many look at it."""

import datetime as dt
from typing import Any

import orjson

from hub.services.index.fleet import read_member
from hub.store.records.members import Member

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
POOL = {"name": "big", "maxNodes": 3, "labels": {"size": "big"}, "allocatable": {"cpu": "8"}}


def a_member(**given: Any) -> Member:
    return Member(name="north", object="", labels={}, taints=(), created_at=NOW)._replace(**given)


def a_report(free: int = 1) -> bytes:
    node = {"name": "n", "allocatable": [4], "free": [free]}
    pools = [{"labels": {}, "resources": ["cpu"], "nodes": [node]}]
    told = {"kubernetes_version": "1.36", "pools_revision": 5, "pools": pools}
    return orjson.dumps(told)


def test_an_equal_report_is_parsed_once():
    """Two readers of one report share its pools, and what is declared is each row's own."""
    one = read_member(a_member(), a_report())[1]
    other = read_member(a_member(cordoned=True), a_report())[1]
    assert one.pools[0] is other.pools[0]
    assert (one.cordoned, other.cordoned) == (False, True)


def test_another_report_is_read_anew():
    """The content of a report decides, not its time."""
    assert read_member(a_member(), a_report(free=1))[1].free == {"cpu": 1}
    assert read_member(a_member(), a_report(free=2))[1].free == {"cpu": 2}


def test_shared_amounts_can_not_be_changed():
    """The scheduler subtracts promises in a copy."""
    (pool,) = read_member(a_member(), a_report())[1].pools
    assert not pool.free.flags.writeable
    assert not pool.allocatable.flags.writeable


def test_declared_pools_and_their_revisions_are_looked_at():
    """Of one report, pools that may grow follow from what is declared and which keys are grouped."""
    member = a_member(pools=[POOL])
    assert read_member(member, a_report(), {"size": 6})[1].growing == ()
    (growing,) = read_member(member, a_report(), {"size": 5})[1].growing
    assert (growing.name, growing.nodes) == ("big", 3)
    assert read_member(a_member(), a_report(), {"size": 5})[1].growing == ()


def test_a_report_that_can_not_be_read_counts_as_none():
    """The member stands as declared, without a version, and the next report replaces it."""
    for broken in (None, b"{", b"null", b'{"pools": 1}'):
        version, cluster = read_member(a_member(cordoned=True), broken)
        assert (version, cluster.pools, cluster.cordoned) == (None, (), True)
    assert read_member(a_member(), a_report())[0] == "1.36"
