"""The naming rules of Kubernetes: DNS labels and subdomains, qualified names, label values."""

import functools
import re
from typing import Final

from shared.properties import LONGEST_NAME, USAGE_PREFIX, USAGE_VIEWS

_LABEL: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(
    r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*"
)
_QUALIFIED: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")

_DATA_KEY: Final = re.compile(r"(?!\.\.|\.\Z)[-._A-Za-z0-9]{1,253}")
_ENVIRONMENT: Final = re.compile(r"[ -<>-~]+")

DNS_LABEL: Final = (
    "lower-case letters, digits and '-', beginning and ending with a letter or digit"
)
LABEL_RULE: Final = f"must consist of {DNS_LABEL}, at most 63 characters"
SUBDOMAIN_RULE: Final = f"must consist of parts joined by '.', each {DNS_LABEL}; at most 253"


def is_dns_label(text: object) -> bool:
    """RFC 1123 label: what namespaces, containers and Jobs are called."""
    return isinstance(text, str) and _LABEL.fullmatch(text) is not None


def is_dns_subdomain(text: object) -> bool:
    """RFC 1123 subdomain: what most objects are called."""
    return (
        isinstance(text, str) and 0 < len(text) <= 253 and _SUBDOMAIN.fullmatch(text) is not None
    )


def is_path_segment(text: object) -> bool:
    """What RBAC objects are called: anything that can stand between two slashes of a URL."""
    return (
        isinstance(text, str)
        and 0 < len(text) <= 253
        and text not in {".", ".."}
        and text.isprintable()
        and not {"/", "%"} & set(text)
    )


@functools.lru_cache(maxsize=4096)
def is_qualified_name(text: str) -> bool:
    """The key of a label or annotation: an optional DNS prefix and a name of at most 63."""
    prefix, slash, name = text.rpartition("/")
    if slash and not is_dns_subdomain(prefix):
        return False
    return _QUALIFIED.fullmatch(name) is not None


def is_label_value(text: object) -> bool:
    """The value of a label: empty, or at most 63 of letters, digits, '-', '_' and '.'."""
    return isinstance(text, str) and (not text or _QUALIFIED.fullmatch(text) is not None)


def is_data_key(text: object) -> bool:
    """The key of a ConfigMap or Secret, as of apimachinery's `IsConfigMapKey`: a file name, `.env` too."""
    return isinstance(text, str) and _DATA_KEY.fullmatch(text) is not None


def is_environment_name(text: object) -> bool:
    """The name of an environment variable: printable ASCII without '='."""
    return isinstance(text, str) and _ENVIRONMENT.fullmatch(text) is not None


def is_quota_resource(text: object) -> bool:
    """A resource that a quota may name: any qualified one, such as `cpu`, `gpu` or `nvidia.com/gpu`."""
    return isinstance(text, str) and is_qualified_name(text)


def is_resource_name(text: object) -> bool:
    """A resource that a container may ask for: one of Kubernetes' own, or one with a prefix."""
    if not isinstance(text, str) or not is_qualified_name(text):
        return False
    return "/" in text or text in _STANDARD_RESOURCES or text.startswith("hugepages-")


def is_property_name(name: str) -> bool:
    """A label key; one with more names behind it (`example.com/racks/a/count`); or a resource's.

    A resource (`resources.kubernetes-fleet.io/available-<resource>` and its like) may itself be qualified
    (`…/available-nvidia.com/gpu`), as KubeFleet's may not.
    """
    if len(name) > LONGEST_NAME:
        return False
    if name.startswith(USAGE_PREFIX):
        view = name.removeprefix(USAGE_PREFIX)
        for prefix in USAGE_VIEWS:
            if view.startswith(prefix):
                return is_resource_name(view.removeprefix(prefix))
    first, _, rest = name.partition("/")
    if "/" not in rest:
        return is_qualified_name(name)
    return is_dns_subdomain(first) and all(_QUALIFIED.fullmatch(each) for each in rest.split("/"))


def is_extended_resource(name: str) -> bool:
    """A resource outside Kubernetes' own namespace, such as `nvidia.com/gpu`: whole units only."""
    if "/" not in name or name.startswith("requests."):
        return False
    domain = name.partition("/")[0]
    return domain != "kubernetes.io" and not domain.endswith(".kubernetes.io")


_STANDARD_RESOURCES: Final = frozenset({"cpu", "memory", "ephemeral-storage", "storage", "pods"})
