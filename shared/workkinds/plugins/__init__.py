"""Code for the few kinds that are not data alone: their built-in definitions name it. Pure.

A plug-in makes the pod sets of an object; all else of the kind stays in its definition.
"""

from collections.abc import Mapping
from typing import Final

from shared.workkinds.plugins.appwrapper import appwrapper
from shared.workkinds.plugins.call import Plugin
from shared.workkinds.plugins.spark import spark
from shared.workkinds.plugins.trainjob import trainjob

PLUGINS: Final[Mapping[str, Plugin]] = {
    "appwrapper": appwrapper,
    "spark": spark,
    "trainjob": trainjob,
}
