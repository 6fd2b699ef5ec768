"""Versions of one kind: what a conversion webhook does, at every read and at every write.

Objects are stored in one version. `AS_IT_IS` is strategy None of a CRD: versions differ in `apiVersion`
alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from shared.kubesim.apimachinery.strategies import Object


@dataclass(frozen=True, slots=True)
class Conversion:
    """How objects of the resources `keys` are kept, and how they are shown in another version.

    `keep`: (resource key, object as written, what is stored of it) -> the object in stored names.
    `show`: (stored object, apiVersion) -> the object in that version's names.
    """

    keys: frozenset[str]
    keep: Callable[[str, Object, Object | None], Object]
    show: Callable[[Object, str], Object]

    def converts(self, key: str) -> bool:
        return key in self.keys

    def kept(self, key: str, new: Object, old: Object | None) -> Object:
        """What was written of resource `key`, in the names of the stored version."""
        return self.keep(key, new, old) if key in self.keys else new

    def shown(self, obj: Object, api_version: str) -> Object:
        """A stored object as it is served in `api_version`; the same one if it is stored so."""
        if obj["apiVersion"] == api_version:
            return obj
        return {**self.show(obj, api_version), "apiVersion": api_version}


AS_IT_IS: Final = Conversion(frozenset(), lambda key, new, old: new, lambda obj, version: obj)
