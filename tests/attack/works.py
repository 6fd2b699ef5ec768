"""Works as a hub would compose them, of manifests that it ought to have refused."""

from typing import Any

from shared.wire.agent_v1 import Work
from tests.agent.scripted_hub import a_job


def work_of(manifest: dict[str, Any], uid: str) -> Work:
    """The work of a Job of this manifest, with Roadstead's marks put on."""
    metadata = manifest["metadata"]
    work: Work = a_job(uid, metadata["name"], namespace=metadata["namespace"])
    marked = work.manifest["metadata"]
    work.manifest["metadata"] = {**metadata, **marked}
    work.manifest["spec"] = {"suspend": False, **manifest["spec"]}
    return work
