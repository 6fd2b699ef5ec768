"""Typed manifests: parsed, validated, and normalised to one internal shape.

`parse` reads any manifest, `parse_job` one that must be a Job. Each group and version has a module
that holds its models and rules; `shared.kinds.crds` generates the CustomResourceDefinitions.
"""

from shared.kinds.parsed import Parsed
from shared.kinds.registry import KNOWN, Origin, identify, is_typed, parse, parse_job

__all__ = ["KNOWN", "Origin", "Parsed", "identify", "is_typed", "parse", "parse_job"]
