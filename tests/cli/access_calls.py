"""What the methods about people ask, and give: part of the table of `client_calls`."""

import datetime as dt
from typing import Any

from roadstead.models.access import Allowed, AuditEntry, RoleBinding, WaysIn, WhoAmI
from roadstead.models.hub import IssuedToken, Person

BINDINGS = "/v1/access/bindings"
ACCESS: list[tuple[str, tuple[Any, ...], dict[str, Any], str, Any, Any]] = [
    ("tokens", (), {}, "GET /v1/tokens", None, [Person]),
    ("issue_token", ("a",), {}, "POST /v1/tokens", {"role": "viewer", "name": "a"}, IssuedToken),
    ("issue_token", ("a", "r"), {}, "POST /v1/tokens", {"role": "r", "name": "a"}, IssuedToken),
    (
        "issue_token",
        ("a", "user", ["g"]),
        {},
        "POST /v1/tokens",
        {"role": "user", "name": "a", "groups": ["g"]},
        IssuedToken,
    ),
    ("revoke_token", ("a",), {}, "DELETE /v1/tokens/viewer/a", None, Person),
    ("revoke_token", ("a", "r"), {}, "DELETE /v1/tokens/r/a", None, Person),
    ("ways_in", (), {}, "GET /v1/sign-in", None, WaysIn),
    ("whoami", (), {}, "GET /v1/whoami", None, WhoAmI),
    (
        "can_i",
        ("get", "jobs"),
        {"namespace": "n", "queue": "q"},
        "GET /v1/can-i?verb=get&kind=jobs&namespace=n&queue=q",
        None,
        Allowed,
    ),
    ("role_bindings", (), {}, f"GET {BINDINGS}", None, [RoleBinding]),
    (
        "bind_role",
        ("b", "viewer"),
        {
            "users": ["u"],
            "groups": ["g"],
            "namespaces": ["n"],
            "queues": ["q"],
            "priority_classes": ["low"],
        },
        f"PUT {BINDINGS}/b",
        {
            "role": "viewer",
            "users": ["u"],
            "groups": ["g"],
            "namespaces": ["n"],
            "queues": ["q"],
            "priorityClasses": ["low"],
        },
        RoleBinding,
    ),
    (
        "bind_role",
        ("b", "viewer"),
        {"users": ["u"]},
        f"PUT {BINDINGS}/b",
        {"role": "viewer", "users": ["u"], "groups": []},
        RoleBinding,
    ),
    ("unbind_role", ("b",), {}, f"DELETE {BINDINGS}/b", None, RoleBinding),
    (
        "audit",
        (),
        {
            "principal": "p",
            "verb": "v",
            "kind": "k",
            "namespace": "n",
            "since": dt.datetime(2026, 3, 1, tzinfo=dt.UTC),
            "limit": 7,
        },
        "GET /v1/audit?principal=p&verb=v&kind=k&namespace=n&since=2026-03-01T00%3A00%3A00%2B00%3A00&limit=7",
        None,
        [AuditEntry],
    ),
]
