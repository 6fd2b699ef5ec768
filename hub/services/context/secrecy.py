"""Redaction of manifests: no user sees Secrets; environment values are visible to users who may change the
job, those of other objects to administrators.
"""

import hashlib
from collections.abc import Callable, Collection
from typing import Any, Concatenate, ParamSpec

from hub.domain.access import Area
from hub.services.access.credentials import ADMINISTRATOR
from hub.services.context import identity
from hub.store.transaction import Transaction
from shared import secrecy
from shared.documents import Json

P = ParamSpec("P")
_MARK_BYTES = 8


def seen_by(
    tx: Transaction,
    role: str,
    fn: Callable[Concatenate[Transaction, P], Any],
    *args: P.args,
    **kwargs: P.kwargs,
) -> Any:
    """The answer of `fn` for a caller of `role`."""
    answer = fn(tx, *args, **kwargs)
    return answer if role == ADMINISTRATOR else secrecy.without_env(answer)


def job_seen_by(
    tx: Transaction,
    shown: Collection[Area],
    fn: Callable[Concatenate[Transaction, P], Json],
    *args: P.args,
    **kwargs: P.kwargs,
) -> Json:
    """The answer of `fn` about one job; `shown`: the caller may read values of environment variables."""
    told = fn(tx, *args, **kwargs)
    where = (told["namespace"], told["queue"], told["owner"])
    if any(area.holds(*where) for area in shown):
        return told
    cut: Json = secrecy.without_env(told)
    return cut


def redacted(tx: Transaction, manifest: Json) -> Json:
    """A manifest as every reader may see it: a Secret's values are replaced by marks, equal for equal values.

    Marks are keyed by this hub, so that no reader can guess values by comparison elsewhere.
    """
    found = secrecy.without_secrets(manifest, _Marker(tx))
    assert isinstance(found, dict)
    return found


class _Marker:
    """Makes marks; the key is looked up when the first is wanted."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._key: bytes | None = None

    def __call__(self, content: bytes) -> str:
        if self._key is None:
            self._key = identity.mark_key(self._tx)
        mark = hashlib.blake2b(content, key=self._key, digest_size=_MARK_BYTES).hexdigest()
        return f"hidden:{mark}"
