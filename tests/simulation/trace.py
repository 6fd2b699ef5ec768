"""A Job in the words of a trace."""

from typing import Any

from shared import labels

Object = dict[str, Any]


def job_text(job: Object) -> str:
    """Its uid and epoch, whether it is suspended, its conditions and finalizers."""
    metadata = job["metadata"]
    epoch = (metadata.get("labels") or {}).get(labels.EPOCH, "-")
    said = [metadata["uid"], f"epoch {epoch}"]
    said.append("suspended" if job["spec"].get("suspend") else "unsuspended")
    said += [c["type"] for c in job["status"].get("conditions") or ()]
    if metadata.get("deletionTimestamp"):
        said.append("deleting")
    said += metadata.get("finalizers") or ()
    return f"[{' '.join(said)}]"
