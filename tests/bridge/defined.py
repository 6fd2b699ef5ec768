"""Simulated hub clusters on which the hub's kinds are defined before a bridge connects.

A bridge that finds none defines them, one request after the other: 0.2 CPU seconds a test. They are defined
once per process and restored into each cluster, as from a journal; each has objects of its own.
That a bridge defines them is a rule of test_followed_kinds.py and test_rights.py.
"""

import functools
from typing import Any

import orjson

from shared import labels
from shared.clock import SystemClock
from shared.kinds.crds import all_crds
from shared.kubesim.builtin.kinds import built_in_registry
from shared.kubesim.builtin.strategies import built_in_strategies
from shared.kubesim.cluster import SimCluster
from shared.kubesim.custom.definitions import CRDS, CrdController
from shared.kubesim.patches.managed_fields import ManagedFields
from shared.kubesim.schema.lookup import Schemas
from shared.kubesim.store.objects import ObjectStore


def without_hub_kinds(**options: Any) -> SimCluster:
    """A hub cluster, not started, that no hub has spoken to; `options` are those of `SimCluster`."""
    return SimCluster("hub", hub=True, **options)


def with_hub_kinds(**options: Any) -> SimCluster:
    """The same, with the definitions."""
    cluster = without_hub_kinds(**options)
    kept, version = _definitions()
    cluster.store.restore([(CRDS, each) for each in orjson.loads(kept)], version)
    cluster.watch_hub.restore([], version, version)
    return cluster


@functools.cache
def _definitions() -> tuple[bytes, int]:
    """The definitions as a cluster stores them that the bridge has written to, and its newest version."""
    clock, schemas = SystemClock(), Schemas()
    fields = ManagedFields(clock, schemas.of)
    store = ObjectStore(
        built_in_registry(), clock, strategies=built_in_strategies(), tracker=fields.track
    )
    CrdController(store, schemas)
    for crd in all_crds().values():
        store.create(CRDS, crd, manager=labels.BRIDGE_FIELD_MANAGER)
    return orjson.dumps(store.list(CRDS)), store.rv
