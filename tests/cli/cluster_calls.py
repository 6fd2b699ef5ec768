"""What the methods of a client about member clusters and kinds of work ask, and give."""

from typing import Any

from roadstead.models.clusters import (
    Cluster,
    CordonPreview,
    DeclaredCluster,
    Drained,
    JoinToken,
    MemberNamespace,
)
from roadstead.models.hub import CheckedKinds, KindVersions
from roadstead.models.objects import Deleted

CLUSTERS: list[tuple[str, tuple[Any, ...], dict[str, Any], str, Any, Any]] = [
    ("clusters", (), {}, "GET /v1/clusters", None, [Cluster]),
    ("cluster", ("c",), {}, "GET /v1/clusters/c", None, Cluster),
    (
        "cluster_namespaces",
        ("c",),
        {},
        "GET /v1/clusters/c/namespaces",
        None,
        [MemberNamespace],
    ),
    (
        "add_cluster",
        ("c",),
        {},
        "POST /v1/clusters",
        {"name": "c", "labels": {}, "taints": []},
        DeclaredCluster,
    ),
    (
        "add_cluster",
        ("c", {"l": "v"}, [{"key": "t"}], [{"name": "p"}]),
        {},
        "POST /v1/clusters",
        {"name": "c", "labels": {"l": "v"}, "taints": [{"key": "t"}], "pools": [{"name": "p"}]},
        DeclaredCluster,
    ),
    ("join_token", ("c",), {}, "POST /v1/clusters/c/join-token", None, JoinToken),
    ("cordon", ("c",), {}, "POST /v1/clusters/c/cordon", None, Cluster),
    ("cordon", ("c",), {"on": False}, "POST /v1/clusters/c/uncordon", None, Cluster),
    ("preview_cordon", ("c",), {}, "POST /v1/clusters/c/cordon?dryRun=true", None, CordonPreview),
    (
        "preview_cordon",
        ("c",),
        {"on": False},
        "POST /v1/clusters/c/uncordon?dryRun=true",
        None,
        CordonPreview,
    ),
    ("remove_cluster", ("c",), {}, "DELETE /v1/clusters/c", None, Deleted),
    (
        "remove_cluster",
        ("c",),
        {"objects": "Delete", "dry_run": True},
        "DELETE /v1/clusters/c?propagationPolicy=Delete&dryRun=true",
        None,
        Deleted,
    ),
    ("drain", ("c",), {}, "POST /v1/clusters/c/drain", {}, Drained),
    ("drain", ("c",), {"dry_run": True}, "POST /v1/clusters/c/drain", {"dryRun": True}, Drained),
    ("kind_versions", (), {}, "GET /v1/kinds", None, KindVersions),
    ("check_kinds", ("{}",), {}, "POST /v1/kinds:check", {}, CheckedKinds),
]
