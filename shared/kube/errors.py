"""Refusals and failures of an API server, as exceptions.

`metav1.Status` carries HTTP code, machine-readable reason, text and details; the tree below follows
the reasons that callers tell apart. Timeouts, broken connections and other 5xx are `Unavailable`: whether
the server acted on such a request is unknown, so a caller that wrote must read back.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class OwnedField:
    """One conflict of a server-side apply: `manager` owns `field` (as `.spec.replicas`)."""

    manager: str
    field: str


class NotConfigured(ValueError):
    """No cluster can be reached with this configuration; the message names file and fault."""


class KubeError(Exception):
    """A request that did not succeed: HTTP `status` (0: no answer), `reason`, `message`, `details`."""

    def __init__(
        self, status: int, reason: str, message: str, details: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.details = dict(details or {})


class NotFound(KubeError):
    """No such object, or no such path."""

    @property
    def of_namespace(self) -> bool:
        """True if the namespace is missing, not the object."""
        return self.details.get("kind") == "namespaces"


class NotServed(KubeError):
    """The API server does not serve this kind in this version."""


class KindNotServed(NotServed, NotFound):
    """Nor in any other version of its group, as a read of them has shown: there is no object of it."""


class VersionNotServed(NotServed):
    """It serves the kind in another version, or has not told all of its group: objects may be there."""

    @property
    def served(self) -> list[str]:
        """The group versions in which the kind is served, as far as is known."""
        return list(self.details.get("served") or ())


class AlreadyExists(KubeError):
    """An object of this name exists."""


class Conflict(KubeError):
    """A stale resourceVersion, a uid that is not the object's, or fields owned by others."""

    @property
    def owned(self) -> list[OwnedField]:
        """The fields that a server-side apply was refused for, with their managers."""
        causes = self.details.get("causes") or []
        return [
            OwnedField(_quoted(cause.get("message") or ""), cause.get("field") or "")
            for cause in causes
            if cause.get("reason") == "FieldManagerConflict"
        ]


class Gone(KubeError):
    """The resourceVersion or continue token is too old: list again."""


class Forbidden(KubeError):
    """Not allowed by RBAC, quota or admission."""


class Unauthorized(KubeError):
    """The credential is not accepted."""


class Invalid(KubeError):
    """The object fails validation (400, 422, and the 500 of an apply whose body has another type)."""


class TooManyRequests(KubeError):
    """Throttled; the request was not carried out. `retry_after_s` is the server's advice."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        retry_after_s: float = 1.0,
    ) -> None:
        super().__init__(status, reason, message, details)
        self.retry_after_s = retry_after_s


class Unavailable(KubeError):
    """No answer, or 5xx: whether a write took place is unknown."""


class NotSent(Unavailable):
    """No connection could be made: the request certainly did not take place."""


# What a server-side apply answers to a body that does not fit the kind's schema, before it writes anything.
_UNTYPED = "failed to create typed patch object"

_BY_STATUS: dict[int, type[KubeError]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
}


def from_status(status: int, body: Mapping[str, Any], retry_after: str | None = None) -> KubeError:
    """The exception for an HTTP answer whose body is a `metav1.Status` (or nothing readable)."""
    reason = str(body.get("reason") or "")
    message = str(body.get("message") or f"HTTP {status}")
    details = body.get("details") if isinstance(body.get("details"), Mapping) else None
    if status == 409 and reason == "AlreadyExists":
        return AlreadyExists(status, reason, message, details)
    if status == 422 and _is_about_uid(details):
        return Conflict(status, reason, message, details)
    if status == 429:
        return TooManyRequests(status, reason, message, details, _seconds(retry_after, details))
    if status == 500 and message.startswith(_UNTYPED):
        return Invalid(status, reason, message, details)
    if status >= 500:
        return Unavailable(status, reason, message, details)
    return _BY_STATUS.get(status, KubeError)(status, reason, message, details)


def _is_about_uid(details: Mapping[str, Any] | None) -> bool:
    """True if a patch or apply named another uid: the server calls that an immutable field."""
    causes = (details or {}).get("causes") or ()
    return any(cause.get("field") == "metadata.uid" for cause in causes)


def _seconds(header: str | None, details: Mapping[str, Any] | None) -> float:
    text = header or str((details or {}).get("retryAfterSeconds") or "")
    try:
        return max(0.0, float(text))
    except ValueError:
        return 1.0


def _quoted(message: str) -> str:
    """The manager in `conflict with "kubectl" using apps/v1`; the whole text if it reads otherwise."""
    parts = message.split('"')
    return parts[1] if len(parts) >= 3 else message
