"""What Kueue's release installs into a cluster, as its kustomization composes it, for a Kueue beside it.

Two things differ. The program runs outside, so that its webhooks are called by address
(`clientConfig.url`) instead of through a Service; its certificates are in the Secret where it keeps them
already, for it would make some without that address. And of its integrations only Jobs are on: webhooks
that ask about other kinds are left out.
"""

import base64
import dataclasses
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests import certificates

NAMESPACE: Final = "kueue-system"
ACCOUNT: Final = "kueue-controller-manager"
SECRET: Final = "kueue-webhook-server-cert"
_LONG: Final = (-1.0, 365.0)  # days
_PREFIX: Final = "kueue-"
_RIGHTS: Final = (
    "service_account.yaml",
    "role.yaml",
    "role_binding.yaml",
    "manager_secrets_role.yaml",
    "manager_secrets_role_binding.yaml",
)
_ANSWERED: Final = ("kueue-x-k8s-io", "batch-v1-job")  # in the paths of webhooks
Json = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Installation:
    """The objects, from a folder of manifests (`building.Kueue`), for webhooks served at a loopback port.

    It writes the authority of its webhooks into them itself.
    """

    manifests: Path
    webhook_port: int

    def definitions(self) -> list[Json]:
        """The kinds; five of them are converted between their versions by Kueue."""
        converted = {
            each["metadata"]["name"]: each["spec"]["conversion"]
            for each in self._of("crd", self._listed("crd", "patches"))
        }
        made = list(self._of("crd", self._listed("crd", "resources")))
        for each in made:
            if conversion := converted.get(each["metadata"]["name"]):
                conversion["webhook"]["clientConfig"] = self._called("/convert")
                each["spec"]["conversion"] = conversion
        return made

    def rights(self) -> list[Json]:
        """Its namespace, its certificates, and its account with what the release allows it."""
        made: list[Json] = [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
        ]
        for each in self._of("rbac", _RIGHTS):
            for named in (each["metadata"], each.get("roleRef", {}), *each.get("subjects", ())):
                if "name" in named:
                    named["name"] = _PREFIX + named["name"]
                if "namespace" in named:
                    named["namespace"] = NAMESPACE
            made.append(each)
        return [*made, _certificates()]

    def webhooks(self) -> list[Json]:
        """Whom the API server asks before it takes a Job, or an object of Kueue's."""
        made = list(self._of("webhook", ["manifests.yaml"]))
        for each in made:
            each["metadata"]["name"] = _PREFIX + each["metadata"]["name"]
            each["webhooks"] = [
                {**webhook, "clientConfig": self._called(path)}
                for webhook in each["webhooks"]
                if any(part in (path := _path(webhook)) for part in _ANSWERED)
            ]
        return made

    def _called(self, path: str) -> Json:
        return {"url": f"https://127.0.0.1:{self.webhook_port}{path}"}

    def _listed(self, component: str, part: str) -> list[str]:
        """The files that a component's kustomization names."""
        (kustomization,) = self._of(component, ["kustomization.yaml"])
        named = [each["path"] if isinstance(each, dict) else each for each in kustomization[part]]
        return [Path(each).name for each in named]

    def _of(self, component: str, names: Iterable[str]) -> Iterator[Json]:
        for name in names:
            text = (self.manifests / component / name).read_text()
            yield from (each for each in yaml.safe_load_all(text) if each)


def _certificates() -> Json:
    """The Secret of its certificates, as it would fill it itself: valid for long, and for its own names.

    What is not, it makes anew. The authority's key it reads as PKCS #1, which is RSA's alone.
    """
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    authority = certificates.CA("kueue-ca", key, names=["kueue-ca"], days=_LONG)
    service = f"kueue-webhook-service.{NAMESPACE}.svc"
    pair = authority.sign([service, *certificates.LOOPBACK], days=_LONG)
    files = {
        "ca.crt": authority.pem,
        "ca.key": key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        ),
        "tls.crt": pair.pem,
        "tls.key": pair.key_pem,
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": SECRET, "namespace": NAMESPACE},
        "data": {name: base64.b64encode(text).decode() for name, text in files.items()},
    }


def _path(webhook: Json) -> str:
    return str(webhook["clientConfig"]["service"]["path"])
