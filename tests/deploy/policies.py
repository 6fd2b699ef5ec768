"""Evaluates the shipped policies of the hub cluster by a CEL library on plain objects."""

import re
from pathlib import Path
from typing import Any, Final

from tests import manifests
from tests.deploy.expressions import value_of
from tests.house.sources import REPOSITORY

Json = dict[str, Any]
JOB_GUARD: Final = REPOSITORY / "deploy/hub-cluster/job-guard.yaml"
MIRROR_GUARD: Final = REPOSITORY / "deploy/hub-cluster/mirror-guard.yaml"
# The library has no sum: of labels their number counts here, and not their bytes.
# Nor does it know who may do what: the authorizer allows everything, or nothing.
_MAY: Final = re.compile(r"authorizer\..*?\.allowed\(\)")
_SUM: Final = re.compile(r"[\w.]+\.map\(k, size\(k\) \+ size\([\w.]+\[k\]\)\)\.sum\(\)")
HUB_ACCOUNT: Final = "system:serviceaccount:roadstead:hub"


def refusals(
    path: Path,
    name: str,
    new: Json | None,
    old: Json | None = None,
    *,
    user: str = "ana",
    namespace_labels: Json | None = None,
    may: bool = True,
) -> list[str]:
    """The messages of the rules that a write of a Job breaks; [] too where the policy does not apply.

    A write without `new` is a DELETE, one without `old` a CREATE. `may`: the user may update its owner.
    """
    spec = next(
        p["spec"]
        for p in manifests.kept(path)
        if p["metadata"]["name"] == name and p["kind"] == "ValidatingAdmissionPolicy"
    )
    known: Json = {
        "request": {
            "operation": "DELETE" if new is None else "UPDATE" if old else "CREATE",
            "kind": {"group": "batch", "version": "v1", "kind": "Job"},
            "resource": {"group": "batch", "version": "v1", "resource": "jobs"},
            "namespace": "team",
            "userInfo": {"username": user},
        },
        "object": new,
        "oldObject": old,
        "namespaceObject": {"metadata": {"name": "team", "labels": namespace_labels or {}}},
        "variables": {},
    }

    def value(expression: str) -> Any:
        given = _MAY.sub(str(may).lower(), _SUM.sub("0", expression))
        return value_of(given, known)

    if not all(value(each["expression"]) for each in spec.get("matchConditions", ())):
        return []
    for each in spec.get("variables", ()):
        known["variables"][each["name"]] = value(each["expression"])
    return [each["message"] for each in spec["validations"] if value(each["expression"]) is False]
