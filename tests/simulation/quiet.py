"""Facts of a scenario in which little goes wrong."""

from typing import Any

QUIET: dict[str, Any] = {
    "jobs": 1,
    "limit": 1,
    "trouble": 0.0,
    "failing": 0.0,
    "foreign": False,
    "retries": 1,
    "ttl_s": None,
    "copied_at": 0.0,
    "rights": False,
    "retry_on": False,
}
