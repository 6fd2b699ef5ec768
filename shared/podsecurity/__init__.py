"""May these pods be run? The Pod Security Standards, and what a tenant may ask of a cluster. Pure.

The hub asks at submission and the agent before it writes, each by its own `Rules`: the checks give every
field that breaks one, `refused` the refusal that says so.
"""

from shared.podsecurity.job_fields import check_job_fields
from shared.podsecurity.removal import check_metadata
from shared.podsecurity.rule_writes import check_writes
from shared.podsecurity.rules import LEVELS, Level, Rules, level_named, listed
from shared.podsecurity.verdict import check_pods, check_target, refused

__all__ = [
    "LEVELS",
    "Level",
    "Rules",
    "check_job_fields",
    "check_metadata",
    "check_pods",
    "check_target",
    "check_writes",
    "level_named",
    "listed",
    "refused",
]
