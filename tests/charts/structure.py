"""What the charts render of kinds that no API server here knows: fields by hand, from their published APIs.

ServiceMonitor, PodMonitor and PrometheusRule are the Prometheus operator's (monitoring.coreos.com/v1),
Certificate is cert-manager's (cert-manager.io/v1).
"""

from typing import Any, Final

import jsonschema_rs

_TEXT: Final = {"type": "string", "minLength": 1}
_TEXTS: Final = {"type": "object", "additionalProperties": _TEXT}


def _closed(required: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": required.split(),
        "properties": properties,
    }


_KEY: Final = _closed("name key", name=_TEXT, key=_TEXT)
_SELECTOR: Final = _closed("matchLabels", matchLabels=_TEXTS)
_INTERVAL: Final = {"type": "string", "pattern": "^([0-9]+(ms|s|m|h))+$"}
_PATH: Final = {"const": "/metrics"}
_ENDPOINT: Final = _closed(
    "port path interval",
    port=_TEXT,
    scheme={"enum": ["http", "https"]},
    path=_PATH,
    interval=_INTERVAL,
    authorization=_closed("credentials", type=_TEXT, credentials=_KEY),
    tlsConfig=_closed("", serverName=_TEXT, ca=_closed("secret", secret=_KEY)),
)
_RULES: Final = _closed(
    "name rules",
    name=_TEXT,
    rules={
        "type": "array",
        "minItems": 1,
        "items": _closed(
            "alert expr labels annotations",
            **{
                "alert": _TEXT,
                "expr": _TEXT,
                "for": _INTERVAL,
                "labels": _TEXTS,
                "annotations": _TEXTS,
            },
        ),
    },
)
_SPECS: Final = {
    "ServiceMonitor": (
        "monitoring.coreos.com/v1",
        _closed(
            "selector endpoints",
            selector=_SELECTOR,
            endpoints={"type": "array", "minItems": 1, "items": _ENDPOINT},
        ),
    ),
    "PrometheusRule": (
        "monitoring.coreos.com/v1",
        _closed("groups", groups={"type": "array", "minItems": 1, "items": _RULES}),
    ),
    "PodMonitor": (
        "monitoring.coreos.com/v1",
        _closed(
            "selector podMetricsEndpoints",
            selector=_SELECTOR,
            podMetricsEndpoints={"type": "array", "minItems": 1, "items": _ENDPOINT},
        ),
    ),
    "Certificate": (
        "cert-manager.io/v1",
        _closed(
            "secretName issuerRef dnsNames",
            secretName=_TEXT,
            duration=_INTERVAL,
            renewBefore=_INTERVAL,
            privateKey=_closed(
                "algorithm",
                algorithm={"enum": ["RSA", "ECDSA", "Ed25519"]},
                size={"type": "integer"},
                rotationPolicy={"enum": ["Always", "Never"]},
            ),
            usages={"type": "array", "items": _TEXT},
            dnsNames={"type": "array", "minItems": 1, "items": _TEXT},
            issuerRef=_closed("name kind", name=_TEXT, kind={"enum": ["Issuer", "ClusterIssuer"]}),
        ),
    ),
}
FOREIGN: Final = frozenset(_SPECS)


def check(manifest: dict[str, Any]) -> None:
    """Raises ValueError where a field is unknown, missing or of another type."""
    version, spec = _SPECS[manifest["kind"]]
    schema = _closed(
        "apiVersion kind metadata spec",
        apiVersion={"const": version},
        kind={"const": manifest["kind"]},
        metadata=_closed("name namespace", name=_TEXT, namespace=_TEXT, labels=_TEXTS),
        spec=spec,
    )
    jsonschema_rs.validate(schema, manifest)
