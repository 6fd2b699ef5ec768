"""A Job of a member as its user may have written it: what hub, agent and servers added is not in it."""

import copy
from typing import Any

from agent.objects.manifests import as_written
from shared import labels

WRITTEN: Any = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {
        "name": "train",
        "namespace": "team-a",
        "labels": {"team": "a"},
        "annotations": {"roadstead.dev/retry": "3"},
    },
    "spec": {
        "parallelism": 2,
        "template": {
            "metadata": {"labels": {"app": "x"}, "annotations": {}},
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "env": [{"name": "MINE", "value": "1"}]}],
            },
        },
    },
}


def test_what_others_added_is_taken_off():
    """Marks, finalizers, generated labels and selectors, the fence, the status; a user's own stays."""
    live = copy.deepcopy(WRITTEN)
    marks = {labels.JOB_UID: "u", labels.EPOCH: "3", "batch.kubernetes.io/job-name": "train"}
    live["metadata"] |= {"uid": "m", "resourceVersion": "7", "finalizers": ["x"]}
    live["metadata"]["labels"] |= {**marks, labels.MANAGED_BY: "h", labels.QUEUE_NAME: "there"}
    live["metadata"]["annotations"] |= {labels.INCARNATION: "i", labels.SPEC_HASH: "s"}
    live["spec"] |= {"suspend": False, "selector": {"matchLabels": marks}}
    live["spec"]["template"]["metadata"]["labels"] |= marks
    (container,) = live["spec"]["template"]["spec"]["containers"]
    container["env"] = [{"name": name, "value": "1"} for name in sorted(labels.FENCE)] + container[
        "env"
    ]
    live["status"] = {"active": 1}
    before = copy.deepcopy(live)
    assert as_written(live) == WRITTEN
    assert live == before
