"""May this be taken in? Pod Security levels per namespace, and what pods may ask of a cluster.

The level is that of label pod-security.kubernetes.io/enforce of the hub's Namespace, else the hub's own.
Asked when a manifest is new or has changed; what runs already is left alone, as Kubernetes does.
"""

from collections.abc import Iterator

from hub.services.reading.draft import Draft
from hub.store import objects
from hub.store.transaction import Transaction
from shared import podsecurity
from shared.documents import JsonView
from shared.errors import Rejected
from shared.kinds.kueue_v1beta2 import GROUP as KUEUE
from shared.podsecurity import LEVELS, Level, Rules
from shared.podsecurity.rules import ENFORCE
from shared.reject_codes import RejectCode


class Gatekeeper:
    """Judges what comes in within one transaction; a namespace is looked up once."""

    def __init__(self, tx: Transaction, rules: Rules) -> None:
        self._tx = tx
        self._rules = rules
        self._levels: dict[str, Level] = {}

    def refuse(self, given: Draft) -> Rejected | None:
        """The reason why a manifest is refused, or None. Codes: NamespaceNotAllowed, PolicyViolation,
        ServiceAccountNotAllowed, PlacementFieldForbidden, PriorityNotAllowed; UnsupportedValue for a
        Namespace that names no level.

        Pods of Kueue's Workloads are not checked: their creator runs them, not the hub.
        """
        parsed = given.parsed
        namespace = parsed.namespace
        if not namespace:
            return _refuse_label(given)
        level = self._levels.get(namespace)
        if level is None:
            level = self._levels[namespace] = self._level(namespace)
        found = podsecurity.check_target(namespace, self._rules)
        if not found and parsed.group != KUEUE:
            found = podsecurity.check_pods(parsed.raw, namespace, level, self._rules)
            for form in _written_forms(given):
                found = found or podsecurity.check_pods(form, namespace, level, self._rules)
        return podsecurity.refused(found, namespace, level) if found else None

    def require(self, given: Draft) -> None:
        """Raise what `refuse` says."""
        refusal = self.refuse(given)
        if refusal is not None:
            raise refusal

    def _level(self, namespace: str) -> Level:
        """The level of a namespace; that of the rules if it has no label."""

        def read() -> str:
            row = objects.find(self._tx, "", "Namespace", "", namespace)
            return str((row.labels or {}).get(ENFORCE) or "") if row is not None else ""

        named = self._tx.remembered("objects", ("pod security", namespace), read)
        return podsecurity.level_named(named) if named else self._rules.level_of(namespace)


def _written_forms(given: Draft) -> Iterator[JsonView]:
    """The object as it is held and as it runs, where an administrator's definition says what is written."""
    if given.form is not None and given.form.kind_version:
        yield from given.form.as_written(given.parsed.raw)


def _refuse_label(given: Draft) -> Rejected | None:
    named = given.parsed.labels.get(ENFORCE)
    if named is None or named in LEVELS or given.parsed.kind != "Namespace":
        return None
    field = f"metadata.labels[{ENFORCE}]"
    return Rejected(
        RejectCode.UNSUPPORTED_VALUE, f"{field}: must be one of {', '.join(LEVELS)}", field
    )
