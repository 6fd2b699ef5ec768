"""Fields that keep a pod from being removed, or give it to another owner. Pure.

A pod with a finalizer or a long grace period outlives its Job: the Job stays Withdrawing and its quota
charged. A pod with the label of another job counts as that job's. Judged at every level and in every kind
that has pods.
"""

from collections.abc import Set as AbstractSet
from typing import Final

from shared import labels
from shared.errors import FieldError
from shared.generated import is_generated
from shared.podsecurity.pods import Found, Json, mapping
from shared.quantity import shown
from shared.reject_codes import RejectCode

LONGEST_GRACE_S: Final = 3600
GRACE: Final = "terminationGracePeriodSeconds"
_FORBIDDEN: Final = {
    "finalizers": "a finalizer keeps the pods from being removed; leave it out",
    "ownerReferences": "the controller that creates the pods owns them; leave it out",
}


def check_metadata(metadata: Json, field: str, found: Found) -> None:
    """Add the finalizers and owners that a pod template's metadata names to `found`."""
    for name, text in _FORBIDDEN.items():
        if metadata.get(name):
            found.append(FieldError(f"{field}.{name}", RejectCode.FORBIDDEN_FIELD, text))


def check_marks(metadata: Json, written: AbstractSet[str], field: str, found: Found) -> None:
    """Add labels and annotations of Roadstead that a template must not have to `found`.

    `written`: labels that Roadstead itself writes there.
    """
    text = f"the prefix {labels.PREFIX} is Roadstead's own: a pod with such a {{}} would count as a job's"
    for part, code, allowed in (
        ("labels", RejectCode.RESERVED_LABEL, written),
        ("annotations", RejectCode.UNKNOWN_ANNOTATION, labels.USER_ANNOTATIONS),
    ):
        for key in mapping(metadata.get(part)):
            if key.startswith(labels.PREFIX) and key not in allowed:
                why = f"{text.format(part[:-1])}; leave it out"
                found.append(FieldError(f"{field}.{part}[{key[:317]}]", code, why))


def check_map(name: str, marks: Json, field: str, found: Found) -> None:
    """Add keys of a map outside the templates that an operator copies to pods: `podLabels` and the like.

    It would take a job's marks off its pods, or give them to another Job.
    """
    of_labels = name.lower().endswith("labels") and name != "matchLabels"
    if not of_labels and not name.lower().endswith("annotations"):
        return
    allowed = frozenset() if of_labels else labels.USER_ANNOTATIONS
    code = RejectCode.RESERVED_LABEL if of_labels else RejectCode.UNKNOWN_ANNOTATION
    for key in marks:
        if (key.startswith(labels.PREFIX) and key not in allowed) or (
            of_labels and is_generated(key)
        ):
            text = (
                "an operator copies it to pods, which would count as another job's; leave it out"
            )
            found.append(FieldError(f"{field}[{key[:317]}]", code, text))


def check_namespace(metadata: Json, namespace: str, field: str, found: Found) -> None:
    """Add the namespace of a template to `found` where it is not that of its object."""
    named = metadata.get("namespace")
    if named and named != namespace:
        text = f"{shown(named)}: pods are created in the namespace of their object; leave it out"
        found.append(FieldError(f"{field}.namespace", RejectCode.FORBIDDEN_FIELD, text))


def check_grace(spec: Json, fields: frozenset[str], field: str, found: Found) -> None:
    """Add a grace period that is too long to `found`, unless an administrator opened the field."""
    seconds = spec.get(GRACE)
    if GRACE in fields or not isinstance(seconds, int | float) or seconds <= LONGEST_GRACE_S:
        return
    text = f"must not be above {LONGEST_GRACE_S}: a deleted Job holds its quota until its pods have ended"
    found.append(FieldError(f"{field}.{GRACE}", RejectCode.OUT_OF_RANGE, text))
