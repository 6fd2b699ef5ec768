"""Reasons with which an agent reports a withdrawn namespace that stays in the member."""

from typing import Final

NAMESPACE_NOT_EMPTY: Final = "NamespaceNotEmpty"  # it waits for work of the hub inside
NAMESPACE_KEPT: Final = "NamespaceKept"  # it stays for what else is inside
NAMESPACE_STAYS: Final = frozenset({NAMESPACE_NOT_EMPTY, NAMESPACE_KEPT})
