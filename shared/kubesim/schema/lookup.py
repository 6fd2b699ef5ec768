"""Finds the schema of a resource: built-in kinds in the generated table, custom ones by their CRD."""

from shared.kubesim.apimachinery.registry import Resource
from shared.kubesim.schema import field_types
from shared.kubesim.schema.field_types import ANY, Schema


class Schemas:
    """The schemas of one cluster."""

    def __init__(self) -> None:
        self._custom: dict[tuple[str, str], Schema] = {}

    def of(self, resource: Resource) -> Schema:
        """The schema, or `ANY` if the kind has none."""
        if resource.custom:
            return self._custom.get((resource.key, resource.version), ANY)
        return field_types.built_in(resource.api_version, resource.kind) or ANY

    def add(self, key: str, version: str, custom: Schema) -> None:
        self._custom[key, version] = custom

    def remove(self, key: str) -> None:
        self._custom = {place: kept for place, kept in self._custom.items() if place[0] != key}
