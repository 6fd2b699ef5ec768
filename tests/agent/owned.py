"""Live objects with the entries that say who owns which of their fields."""

import copy

MANAGER = "roadstead"


def owning(tree, manager=MANAGER, operation="Apply"):
    return {"manager": manager, "operation": operation, "fieldsType": "FieldsV1", "fieldsV1": tree}


def live_of(manifest, *entries, **changes):
    live = copy.deepcopy(manifest)
    live.update(changes)
    live["metadata"] = {**live["metadata"], "uid": "x", "managedFields": list(entries)}
    return live


def a_config_map(**data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data}
