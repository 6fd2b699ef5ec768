"""Finds ended ones among objects that run as jobs, by the definitions that Roadstead brings."""

import datetime as dt
from collections.abc import Iterable
from typing import Final

from agent.objects.facts import Object
from agent.objects.readings import read
from shared.workkinds.catalog import builtin_catalog
from shared.workkinds.definition import KindName
from shared.workkinds.jq_language import JqLanguage

_UNTIMED: Final = dt.datetime.min.replace(tzinfo=dt.UTC)  # when each ended does not matter


def ended_of(objects: Iterable[Object]) -> frozenset[str]:
    """Uids of those that have ended, by the built-in definitions of their kinds. It may take long."""
    language, catalog = JqLanguage(), builtin_catalog()
    ended = set()
    for each in objects:
        group, _, version = each["apiVersion"].rpartition("/")
        definition = catalog.find(KindName(group, version, each["kind"]))
        if read(definition, each, language, None, _UNTIMED).result is not None:
            ended.add(str(each["metadata"]["uid"]))
    return frozenset(ended)
