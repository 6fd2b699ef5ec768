"""What people do by REST, and how the hub cluster shows it."""

import copy
from typing import Any

import yaml

from hub.services.jobs import cancel
from hub.services.objects import delete
from hub.services.objects.apply import Applied, apply_documents
from hub.services.questions import jobs as questions
from hub.services.reading.draft import draft
from shared import labels
from shared.groups import KUEUE
from shared.kinds import parse
from shared.kube import errors
from tests import manifests
from tests.bridge.hub_cluster import FIELDS, VERSIONS, World, until

QUEUES = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: main, labels: {team: blue}}
spec:
  namespaceSelector: {}
  resourceGroups:
    - coveredResources: [cpu]
      flavors: [{name: plain, resources: [{name: cpu, nominalQuota: 5}]}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {name: team, namespace: team-a}
spec: {clusterQueue: main}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: team-a, labels: {kueue.x-k8s.io/queue-name: team}}
spec:
  parallelism: 2
  completions: 2
  ttlSecondsAfterFinished: 5
  template:
    metadata: {labels: {app: train}}
    spec:
      restartPolicy: Never
      containers:
        - name: main
          image: busybox:1.36
          env: [{name: PASSWORD, value: hunter2}]
          resources: {requests: {cpu: "1000m"}}
"""


async def apply(it: World, text: str, by: str = "ann") -> list[Applied]:
    """As `roadstead apply` does; every document is taken."""
    applied = await try_to_apply(it, text, by)
    for each in applied:
        assert each.error is None, each.error
    return applied


async def try_to_apply(it: World, text: str, by: str = "ann") -> list[Applied]:
    """The same; some may be refused."""
    now = it.hub.hub.clock.now()
    drafts = [draft(parse(each), now, submitted_by=by) for each in manifests.documents(text)]
    found: list[Applied] = await it.hub.write(apply_documents, drafts, it.hub.hub.settings.intake)
    return found


async def submit(it: World, name: str = "train", **spec: Any) -> str:
    """A Job in the queue `team`; its uid."""
    (manifest,) = manifests.documents(JOB)
    manifest["metadata"]["name"] = name
    manifest["spec"] |= copy.deepcopy(spec)
    (applied,) = await apply(it, yaml.safe_dump(manifest))
    return applied.uid


async def remove(it: World, kind: str, name: str, namespace: str = "") -> None:
    """Delete an object of Kueue's kinds as REST does."""
    await it.hub.write(
        delete.delete_object, KUEUE, kind, namespace, name, origin="rest", principal="ann"
    )


async def remove_job(it: World, uid: str) -> None:
    """Delete a Job as REST does."""
    await it.hub.write(cancel.delete_job, uid, "ann")


async def mirror(it: World, kind: str, name: str, namespace: str = "") -> dict[str, Any]:
    """The mirror of an object, once it is there."""

    async def there() -> Any:
        found = await it.get(kind, name, namespace)
        return found if found and is_mirror(found) else None

    found: dict[str, Any] = await until(there)
    return found


def is_mirror(obj: dict[str, Any]) -> bool:
    return (obj["metadata"].get("labels") or {}).get(labels.ORIGIN) == "rest"


async def said(it: World, uid: str) -> list[tuple[str, str]]:
    """Reason and message of what was said of a job or an object."""
    found = await it.hub.hub.read(questions.job_events, uid, 100)
    return [(each["reason"], each["message"]) for each in found["items"]]


async def refusal(it: World, change: dict[str, Any], kind: str, name: str, namespace: str) -> str:
    """What the API server answers to a merge patch; "" where it takes it."""
    try:
        await it.kube.merge_patch(
            VERSIONS[kind], kind, namespace, name, change, field_manager=FIELDS
        )
    except errors.KubeError as refused:
        return refused.message
    return ""
