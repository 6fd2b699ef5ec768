"""KubeFleet's placement kinds in v1beta1: the stored version there, with v1's field names.

KubeFleet documents one set of fields for both versions, so both accept it; only the version differs.
"""

from shared.kinds.placement_v1 import GROUP, Placement

VERSION = "v1beta1"

__all__ = ["GROUP", "VERSION", "Placement"]
