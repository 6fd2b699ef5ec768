"""Jobs with a queue, and what a plan of documents answers."""

import json
from typing import Any

from tests.api.serving import Served, a_job


def a_batch(
    name: str = "j", queue: str = "open", cpu: str = "1", namespace: str = "team-a"
) -> dict[str, Any]:
    job = a_job(name, namespace, queue=queue)
    (container,) = job["spec"]["template"]["spec"]["containers"]
    container["resources"] = {"requests": {"cpu": cpu}}
    return job


async def planned(hub: Served, *documents: dict[str, Any]) -> dict[str, Any]:
    text = "\n---\n".join(json.dumps(each) for each in documents)
    reply = await hub.admin.post(
        "/v1/plan", content=text, headers={"content-type": "application/yaml"}
    )
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found
