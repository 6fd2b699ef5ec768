"""21 objects that a hub might be made to send to a member besides Jobs; no member takes them by default."""

import base64
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.attack.hostile import TENANT

RBAC = "rbac.authorization.k8s.io/v1"
ADMISSION = "admissionregistration.k8s.io/v1"
_ENFORCE = "pod-security.kubernetes.io/enforce"
_TO_ADMIN = {
    "apiGroup": "rbac.authorization.k8s.io",
    "kind": "ClusterRole",
    "name": "cluster-admin",
}
_EVERYTHING = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
_KIND, _SPACE, _PODS = "UnsupportedKind", "NamespaceNotAllowed", "PolicyViolation"


@dataclass(frozen=True)
class HostileObject:
    """One of them: what is sent, and what the agent must say."""

    name: str
    manifest: dict[str, Any]
    code: str
    field: str

    @property
    def is_beyond_policies(self) -> bool:
        """Kubernetes lets no policy judge policies and reviews: there it is rights alone that deny."""
        return "AdmissionPolicy" in self.manifest["kind"] or self.manifest["kind"] == "TokenReview"


def _object(
    name: str, api_version: str, kind: str, namespace: str = "", *, code: str = _KIND,
    field: str = "kind", named: str = "x", labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None, **rest: Any,
) -> HostileObject:  # fmt: skip
    metadata: dict[str, Any] = {"name": named}
    if namespace:
        metadata["namespace"] = namespace
    if labels:
        metadata["labels"] = labels
    if annotations:
        metadata["annotations"] = annotations
    manifest = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}
    return HostileObject(name, manifest, code, field)


def hostile_objects() -> list[HostileObject]:
    """All 21."""
    return [*_rights(), *_places(), *_secrets(), *_services(), *_pods()]


def _rights() -> list[HostileObject]:
    account = {"kind": "ServiceAccount", "name": "agent", "namespace": "roadstead"}
    return [
        _object("cluster-role", RBAC, "ClusterRole", rules=_EVERYTHING),
        _object(
            "aggregated-to-the-agent", RBAC, "ClusterRole", rules=_EVERYTHING,
            labels={"rbac.roadstead.dev/aggregate-to-agent": "true"},
        ),
        _object(
            "cluster-role-binding", RBAC, "ClusterRoleBinding", roleRef=_TO_ADMIN,
            subjects=[account],
        ),
        _object("role", RBAC, "Role", TENANT, rules=_EVERYTHING),
        _object("role-binding", RBAC, "RoleBinding", TENANT, roleRef=_TO_ADMIN, subjects=[account]),
        _object("webhook", ADMISSION, "ValidatingWebhookConfiguration", webhooks=[]),
        _object("policy", ADMISSION, "ValidatingAdmissionPolicyBinding", spec={"policyName": "x"}),
        _object(
            "api-service", "apiregistration.k8s.io/v1", "APIService", named="v1.x.example.com",
            spec={"group": "x.example.com", "version": "v1", "groupPriorityMinimum": 1,
                  "versionPriority": 1},
        ),
        _object(
            "certificate", "certificates.k8s.io/v1", "CertificateSigningRequest",
            spec={"request": _request(), "signerName": "kubernetes.io/kube-apiserver-client",
                  "usages": ["client auth"]},
        ),
        _object(
            "token-review", "authentication.k8s.io/v1", "TokenReview", spec={"token": "x"},
        ),
    ]  # fmt: skip


def _places() -> list[HostileObject]:
    beyond: dict[str, Any] = {"code": _SPACE, "field": "metadata.namespace"}
    return [
        _object("into-kube-system", "v1", "ConfigMap", "kube-system", data={}, **beyond),
        _object("into-the-agents-own", "v1", "ConfigMap", "roadstead", data={}, **beyond),
        _object("namespace-of-the-cluster", "v1", "Namespace", named="kube-public", **beyond),
        _object(
            "namespace-weakened", "v1", "Namespace", named="weak", code=_PODS,
            field=f"metadata.labels[{_ENFORCE}]", labels={_ENFORCE: "privileged"},
        ),
    ]  # fmt: skip


def _secrets() -> list[HostileObject]:
    return [
        _object(
            "secret-token", "v1", "Secret", TENANT, type="kubernetes.io/service-account-token",
            code=_PODS, field="type", annotations={"kubernetes.io/service-account.name": "default"},
        ),
        _object(
            "secret-elsewhere", "v1", "Secret", "kube-system", code=_SPACE,
            field="metadata.namespace",
        ),
        _object(
            "bootstrap-token", "v1", "Secret", TENANT, type="bootstrap.kubernetes.io/token",
            code=_PODS, field="type",
        ),
    ]  # fmt: skip


def _services() -> list[HostileObject]:
    ports = [{"port": 443}]
    return [
        _object(
            "service-of-other-addresses", "v1", "Service", TENANT, code=_PODS,
            field="spec.externalIPs", spec={"ports": ports, "externalIPs": ["192.0.2.1"]},
        ),
    ]  # fmt: skip


def _pods() -> list[HostileObject]:
    container = {"name": "main", "image": "busybox:1.36"}
    spec = {"hostPID": True, "restartPolicy": "Always", "containers": [container]}
    template = {"metadata": {"labels": {"app": "x"}}, "spec": spec}
    batch = {**template, "spec": {**spec, "restartPolicy": "Never"}}
    selector = {"matchLabels": {"app": "x"}}
    return [
        _object(
            "deployment", "apps/v1", "Deployment", TENANT, code=_PODS,
            field="spec.template.spec.hostPID", spec={"selector": selector, "template": template},
        ),
        _object(
            "cron-job", "batch/v1", "CronJob", TENANT, code=_PODS,
            field="spec.jobTemplate.spec.template.spec.hostPID",
            spec={"schedule": "* * * * *", "jobTemplate": {"spec": {"template": batch}}},
        ),
        _object("pod", "v1", "Pod", TENANT, code=_PODS, field="spec.hostPID", spec=spec),
    ]  # fmt: skip


def _request() -> str:
    """A request for a certificate of the cluster's administrators."""
    key = ec.generate_private_key(ec.SECP256R1())
    masters = x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, "example:masters")
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([masters]))
    pem = request.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    return base64.b64encode(pem).decode()
