"""Pods in a namespace of the member's people get no token of a ServiceAccount. Pure.

Its people grant rights to the ServiceAccounts of that namespace; a hub's tenants must not get these rights
(docs/explain/ownership.md). Namespaces that the agent created are not affected: no account there has rights.
"""

import copy
from typing import Final

from agent.objects.facts import Object
from shared.podsecurity.templates import templates_of

_FIELD: Final = "automountServiceAccountToken"


def without_tokens(manifest: Object) -> Object:
    """A copy of a manifest in which no pod gets a token by default."""
    bounded = copy.deepcopy(manifest)
    for each in templates_of(bounded):
        if isinstance(each.body.get("spec"), dict) and not each.is_part:
            each.body["spec"][_FIELD] = False
    return bounded


def asked_at(manifest: Object) -> str:
    """The path at which a manifest asks for a token; "" if it does not."""
    for each in templates_of(manifest):
        if (each.body.get("spec") or {}).get(_FIELD) is True:
            return f"{each.at}.{_FIELD}"
    return ""
