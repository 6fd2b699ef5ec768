"""Objects that are read together: their owners, and the objects that they refer to. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from shared.workkinds import pod_groups
from shared.workkinds.definition import KindName
from shared.workkinds.plugins.call import mapping, mappings

Json = Mapping[str, Any]
_MOST_OWNERS: Final = 10  # steps up
_DEFAULT_NAMESPACE: Final = "default"


def kind_name(document: Json) -> KindName:
    """Group, version and kind, as far as they are said."""
    said = document.get("apiVersion")
    group, _, version = (said if isinstance(said, str) else "").rpartition("/")
    kind = document.get("kind")
    return KindName(group, version, kind if isinstance(kind, str) else "")


def metadata_of(document: Json) -> Json:
    return mapping(dict(document), "metadata")


def name_of(document: Json) -> str:
    """The name, else the prefix of one."""
    metadata = metadata_of(document)
    return str(metadata.get("name") or metadata.get("generateName") or "")


def namespace_of(document: Json) -> str:
    return str(metadata_of(document).get("namespace") or _DEFAULT_NAMESPACE)


class GivenObjects:
    """The objects of one reading."""

    def __init__(self, documents: Sequence[Json]) -> None:
        self._by_uid: dict[str, Json] = {}
        self._by_name: dict[tuple[str, str, str], Json] = {}
        self._groups: dict[tuple[str, str], list[Json]] = {}
        for each in documents:
            kind, namespace = kind_name(each).kind, namespace_of(each)
            self._by_name[kind, namespace, name_of(each)] = each
            uid = metadata_of(each).get("uid")
            if isinstance(uid, str) and uid:
                self._by_uid[uid] = each
            group = pod_groups.group_of(each) if kind == "Pod" else ""
            if group:
                self._groups.setdefault((namespace, group), []).append(each)

    def find(self, kind: str, namespace: str, name: str) -> Json | None:
        """By kind and name; of a cluster-scoped kind with namespace ""."""
        return self._by_name.get((kind, namespace or _DEFAULT_NAMESPACE, name))

    def pods_of(self, namespace: str, group: str) -> Sequence[Json]:
        return self._groups.get((namespace, group), [])

    def owners(self, document: Json) -> Iterator[Json]:
        """Controller owners upwards, as far as they are given, each known by its uid."""
        at = document
        for _ in range(_MOST_OWNERS):
            controllers = [
                each
                for each in mappings(at, "metadata", "ownerReferences")
                if each.get("controller")
            ]
            owner = self._by_uid.get(str(controllers[0].get("uid"))) if controllers else None
            if owner is None:
                return
            yield owner
            at = owner
