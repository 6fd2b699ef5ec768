"""Words that must not come out, and manifests that hold them."""

import base64

from shared.secrecy import LAST_APPLIED
from tests.api.serving import a_job

TO_NOBODY = "canary-of-a-secret"
NOT_TO_VIEWERS = "canary-of-an-environment"
ENV = [{"name": "TOKEN", "value": NOT_TO_VIEWERS}]


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def a_secret(name="s", **parts):
    content = parts or {
        "data": {"password": encoded(TO_NOBODY)},
        "stringData": {"plain": TO_NOBODY, "other": f"{TO_NOBODY}-2"},
    }
    metadata = {
        "name": name,
        "namespace": "team-a",
        "annotations": {LAST_APPLIED: f'{{"stringData":"{TO_NOBODY}"}}', "kept": "yes"},
    }
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, **content}


def a_job_with_env():
    job = a_job("with-env")
    pod = job["spec"]["template"]["spec"]
    pod["containers"][0]["env"] = ENV
    pod["initContainers"] = [{"name": "i", "image": "busybox:1.36", "env": ENV}]
    job["metadata"]["annotations"] = {LAST_APPLIED: NOT_TO_VIEWERS}
    return job
