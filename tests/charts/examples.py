"""Values that people install with, by name: what the tests render, check and send to an API server."""

from collections.abc import Mapping
from typing import Final

from tests.charts.helm import AGENT, HUB, Release

_POSTGRES: Final = {
    "replicas": 2,
    "database": {"secret": {"name": "database"}, "passwordSecret": {"name": "database-password"}},
    "adminToken": {"secret": {"name": "admin-token"}},
}
_URL: Final = {"hub": {"url": "https://roadstead.example.com:8443"}}
_POD: Final = {
    "image": {"repository": "registry.example.com/x", "digest": f"sha256:{'a' * 64}"},
    "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy.example.com:3128"}],
    "extraVolumes": [{"name": "more", "emptyDir": {}}],
    "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
    "podAnnotations": {"example.com/a": "b"},
    "podLabels": {"example.com/team": "platform"},
    "priorityClassName": "system-cluster-critical",
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [{"key": "infra", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
    "logLevel": "debug",
}
_PEERS: Final = [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}]

EXAMPLES: Final[Mapping[str, Release]] = {
    "hub: defaults": Release(HUB),
    "hub: in its hub cluster": Release(
        HUB,
        {
            "hubCluster": {
                "mode": "inCluster",
                "objects": True,
                "showJobs": True,
                "tokenAudience": "hub",
            }
        },
    ),
    "hub: PostgreSQL": Release(HUB, _POSTGRES),
    "hub: only the rights": Release(HUB, {"install": "access", "hubCluster": {"token": True}}),
    "hub: no marks, elsewhere": Release(
        HUB,
        {"hubCluster": {"mode": "inCluster", "jobPolicy": "guard", "mirrorPolicy": False}},
        namespace="batch",
    ),
    "hub: everything": Release(
        HUB,
        {
            **_POSTGRES,
            **_POD,
            "secretsKey": {"secret": {"name": "secrets-key"}},
            "oidc": {
                "issuer": "https://login.example.com/realms/lab",
                "clientId": "roadstead",
                "cliClientId": "roadstead-cli",
                "usernameClaim": "email",
                "pageUrl": "https://roadstead.example.com",
                "clientSecret": {"secret": {"name": "oidc-client"}},
                "ca": {"secret": {"name": "oidc-ca"}},
                "cidrs": ["198.51.100.0/24"],
            },
            "tls": {
                "secret": "hub-tls",
                "clientCA": {"secret": "client-ca"},
                "ca": {"secret": "public-ca"},
                "certificate": {
                    "create": True,
                    "issuer": {"kind": "Issuer", "name": "own"},
                    "dnsNames": ["roadstead.example.com"],
                },
            },
            "hubCluster": {
                "mode": "kubeconfig",
                "kubeconfig": {"secret": {"name": "hub-cluster"}},
                "tokenAudience": "roadstead",
                "apiCidrs": ["10.0.0.0/8"],
            },
            "service": {"port": 443, "type": "LoadBalancer", "annotations": {"a": "b"}},
            "ingress": {
                "enabled": True,
                "className": "nginx",
                "host": "roadstead.example.com",
                "tlsSecret": "public-tls",
                "annotations": {"nginx.ingress.kubernetes.io/proxy-buffering": "off"},
            },
            "networkPolicy": {"from": _PEERS, "egress": [{"ports": [{"port": 3128}]}]},
            "serviceMonitor": {
                "enabled": True,
                "labels": {"release": "prometheus"},
                "tokenSecret": {"name": "prometheus-token"},
            },
            "prometheusRule": {"enabled": True, "labels": {"release": "prometheus"}},
            "settings": {"ROADSTEAD_RETENTION_JOBS_S": "86400"},
        },
        name="fleet",
        namespace="batch",
    ),
    "agent: defaults": Release(AGENT, _URL),
    "agent: objects": Release(AGENT, {**_URL, "profile": "objects", "kinds": {"install": True}}),
    "agent: pinned": Release(
        AGENT,
        {
            "hub": {"url": "https://192.0.2.1:8443", "caPins": ["b" * 43, "c" * 43]},
            "joinToken": {"secret": {"name": ""}},
        },
    ),
    "agent: everything": Release(
        AGENT,
        {
            **_POD,
            "hub": {
                "url": "https://roadstead.example.com",
                "ca": {"configMap": "hub-ca"},
                "clientCertificate": {"secret": "agent-tls"},
            },
            "profile": "objects",
            "objects": {
                "rules": [
                    {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list"]}
                ]
            },
            "policy": {"podSecurity": "restricted", "podSecurityLevels": "a=baseline,b=baseline"},
            "metrics": {"from": _PEERS},
            "podMonitor": {"enabled": True},
            "kubeQPS": 20,
            "networkPolicy": {"hubCidrs": ["192.0.2.0/24"], "apiCidrs": ["10.0.0.1/32"]},
        },
        name="fleet-agent",
        namespace="batch",
    ),
}
