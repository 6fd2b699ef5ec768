"""The product's services over the store in memory: a second instance of each module."""

import importlib.util
from types import ModuleType
from typing import Any

from tests.simulation import memory


def bound(name: str, **names: Any) -> ModuleType:
    """A second instance of one of the product's modules, in which `names` mean something else."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    used = module.__dict__
    used.update({name: value for name, value in names.items() if name in used})
    return module


_STORE = {
    "works": memory.WORKS,
    "workloads": memory.WORKLOADS,
    "clusters": memory.CLUSTERS,
    "objects": memory.OBJECTS,
    "on_members": memory.ON_MEMBERS,
    "settings": memory.SETTINGS,
    "compose": memory.COMPOSE,
    "deadlines": memory.SILENT,
    "note_fault": memory.nobody,
    "counters": memory.SILENT,
    "leftovers": memory.LEFTOVERS,
    "doubts": memory.DOUBTS,
    "audit": memory.SILENT,
    "credentials": memory.SILENT,
}
withdraw = bound("hub.services.works.withdraw", **_STORE)
forgotten = bound("hub.services.members.forgotten", **_STORE)
report_order = bound("hub.services.members.report_order", **_STORE)
accounted = bound("hub.services.works.accounted", **_STORE)
timeline = bound("hub.services.context.timeline", **_STORE, changes=memory.CHANGES)
restored = bound(
    "hub.services.works.restored",
    timeline=timeline,
    **_STORE,
    accounted=accounted,
    withdraw_jobs=withdraw.withdraw_jobs,
)
observe_service = bound(
    "hub.services.members.observe",
    **_STORE,
    ReportOrder=report_order.ReportOrder,
    ReportPlace=report_order.ReportPlace,
    purge_deleted=withdraw.purge_deleted,
    accounted=accounted,
    forgotten=forgotten,
    restored=restored,
)
offers = bound(
    "hub.services.works.offer", **_STORE, timeline=timeline, namespaces=memory.NAMESPACE_IDS
)
evict = bound("hub.services.works.evict", **_STORE, withdraw_jobs=withdraw.withdraw_jobs)
_LOSS = {"evict": evict.evict, "restored": restored}
cluster_loss = bound("hub.services.works.cluster_loss", **_STORE, **_LOSS)
fence = bound(
    "hub.services.objects.fence",
    **_STORE,
    accounted=accounted,
    forgotten=forgotten,
    restored=restored,
    cluster_loss=cluster_loss,
    left_behind=memory.SILENT,  # objects that are no Jobs
    left_objects=memory.SILENT,
    withdraw_jobs=withdraw.withdraw_jobs,
)
_HELD = {"accounted": accounted, "restored": restored}
holding = bound("hub.services.jobs.hold", **_STORE, **_HELD, evict=evict.evict)
sessions = bound("hub.services.members.sessions", **_STORE, left_objects=memory.SILENT)
awaited = bound("hub.services.context.awaited", **_STORE)
desired_sets = bound("hub.services.members.desired", **_STORE)
sync = bound(
    "hub.services.members.sync",
    **_STORE,
    offer=offers,
    accounted=accounted,
    left_cron_jobs=memory.SILENT,
    sessions=sessions,
    awaited=awaited,
    desired_sets=desired_sets,
    timeline=timeline,
    take_reports=observe_service.take_reports,
)
