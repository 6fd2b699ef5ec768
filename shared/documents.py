"""JSON as it is: manifests, statuses and parts of them, of kinds that may be anything.

What the hub itself keeps is no document but a record with fields (`hub.store.records`).
"""

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]  # a JSON object that its holder may change
JsonView = Mapping[str, Any]  # one that is only looked at
