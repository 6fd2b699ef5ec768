"""Quotes texts that other readers of YAML take for something else, in manifests that are printed.

PyYAML quotes what it would itself read as a bool or a number. kubectl (sigs.k8s.io/yaml) reads more so: `y`
and `n` as bools, `08`, `1e3` and `0o17` as numbers.
"""

import re
from typing import Any, Final

_BOOL: Final = re.compile(r"^(?:y|Y|n|N)$")
# As go-yaml has them: underscores count for nothing. PyYAML matches its own numbers before these.
_FLOAT: Final = re.compile(
    r"^[-+]?_*(?:\.[0-9_]*[0-9]|[0-9][0-9_]*(?:\.[0-9_]*)?)_*(?:[eE]_*[-+]?[0-9_]*[0-9])?_*$"
)
_INT: Final = re.compile(r"^[-+]?_*0_*(?:[xX][0-9a-fA-F_]+|[oO][0-7_]+|[bB][01_]+)$")
_STARTS: Final = list("-+.0123456789")


def quoting(dumper: type[Any]) -> type[Any]:
    """A dumper like `dumper`, one of PyYAML's, that quotes these texts too."""
    made: type[Any] = type("Quoting", (dumper,), {})
    made.add_implicit_resolver("tag:yaml.org,2002:bool", _BOOL, list("yYnN"))
    made.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, _STARTS)
    made.add_implicit_resolver("tag:yaml.org,2002:int", _INT, _STARTS)
    return made
