"""The kubeconfig of a simulated cluster: address, CA and a bearer token."""

import base64
from typing import Any

import yaml


def kubeconfig(name: str, url: str, ca_pem: bytes, user: str, token: str) -> str:
    """A kubeconfig with one cluster, one user and one context, all named `name`."""
    cluster: dict[str, Any] = {"server": url}
    cluster["certificate-authority-data"] = base64.b64encode(ca_pem).decode()
    context = {"cluster": name, "user": f"{user}@{name}", "namespace": "default"}
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": f"{user}@{name}", "user": {"token": token}}],
            "contexts": [{"name": name, "context": context}],
            "current-context": name,
        },
        sort_keys=False,
    )
