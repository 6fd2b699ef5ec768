"""Objects as records: a manifest of any kind the hub knows, except Jobs, and the part that decides."""

import datetime as dt
from collections.abc import Mapping
from typing import NamedTuple, TypedDict

from shared.documents import Json


class StoredObject(NamedTuple):
    """One object: a field for each column of the table `objects`, in its order. Times are UTC."""

    uid: str
    api_group: str
    api_version: str  # as received: group/version
    kind: str
    namespace: str  # "" for cluster-scoped
    name: str
    origin: str
    generation: int
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: Json | None  # typed kinds: normalised to one internal shape; others: None
    manifest: Json  # as received
    hash: str  # of the manifest
    status: Json | None
    created_at: dt.datetime
    updated_at: dt.datetime
    deleted_at: dt.datetime | None  # being deleted: its effects are being withdrawn
    hub_cluster_uid: str | None = None  # Namespaces: which one of the hub cluster it is, once seen

    @property
    def is_scheduled(self) -> bool:
        """True if the hub keeps its schedule: a CronJob that was taken in with a queue.

        CronJobs that earlier releases stored have no `spec`: they stay placed as they are.
        """
        return (self.api_group, self.kind) == ("batch", "CronJob") and self.spec is not None


class RuleObject(NamedTuple):
    """Scheduling's fields of one object. `status`: of an AdmissionCheck, None of all others."""

    uid: str
    api_group: str
    kind: str
    namespace: str
    name: str
    labels: Mapping[str, str]
    spec: Json | None
    deleted_at: dt.datetime | None
    status: Json | None


class ObjectColumns(TypedDict, total=False):
    """Columns of an object that may be set."""

    api_version: str
    origin: str
    generation: int
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: Json | None
    manifest: Json
    hash: str
    status: Json | None
    updated_at: dt.datetime
    deleted_at: dt.datetime | None
    hub_cluster_uid: str | None
