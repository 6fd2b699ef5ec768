"""Parameters of the query: each with its bounds, and the code with which it is refused.

    async def list_jobs(request: Request, asked: Annotated[JobFilters, Query()]) -> Response: ...

An empty text counts as not given; an invalid number or state is refused.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
)
from pydantic.alias_generators import to_camel

from hub.api.models.base import refused_as
from hub.domain.workloads.states import State
from hub.services.questions import visibility
from shared.errors import Rejected
from shared.reject_codes import RejectCode

MAX_LIMIT: Final = 500
DEFAULT_LIMIT: Final = 100
_DIGITS: Final = 18  # no number that is longer is kept by the store


def _digits(value: object, inner: ValidatorFunctionWrapHandler) -> Any:
    """A whole number is digits: no sign, no exponent, no other script's."""
    if isinstance(value, str) and not (
        value.isascii() and value.isdecimal() and len(value) <= _DIGITS
    ):
        value = None
    return inner(value)


def _true_or_false(value: object, inner: ValidatorFunctionWrapHandler) -> Any:
    """`true` or `false`, as JSON has it: no `yes`, no `1`."""
    return inner(None if isinstance(value, str) and value not in {"true", "false"} else value)


def _instant(value: object, inner: ValidatorFunctionWrapHandler) -> object:
    """An instant with its offset, no number of seconds."""
    if value is None:
        return None
    if not isinstance(value, str) or "T" not in value:
        value = "-"
    return inner(value)


def _limit(most: int) -> Any:
    """The maximum number, up to `most`."""
    text = f"must be a whole number from 1 to {most}"
    return Annotated[
        int,
        Field(ge=1, le=most),
        WrapValidator(_digits),
        refused_as(RejectCode.INVALID_LIMIT, text),
    ]


Number = Annotated[
    int,
    Field(ge=0, lt=10**_DIGITS),
    WrapValidator(_digits),
    refused_as(RejectCode.INVALID_NUMBER, "must be a whole number"),
]
StateName = Annotated[
    State, refused_as(RejectCode.INVALID_STATE, f"must be one of {', '.join(State)}")
]
# Where a parameter may be left out: in a query there is no null to be described.
AnyState = Annotated[StateName | None, WithJsonSchema({"$ref": "#/components/schemas/State"})]
AnyInstant = Annotated[
    Annotated[
        AwareDatetime | None,
        WrapValidator(_instant),
        refused_as(RejectCode.INVALID_VALUE, "must be an instant, such as 2026-11-26T08:00:00Z"),
    ],
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
Amount = Annotated[
    int,
    Field(ge=0, lt=2**31),
    WrapValidator(_digits),
    refused_as(RejectCode.INVALID_NUMBER, "must be a whole number below 2147483648"),
]
AnyAmount = Annotated[Amount | None, WithJsonSchema({"type": "integer", "minimum": 0})]
AnyNumber = Annotated[Number | None, WithJsonSchema({"type": "integer", "minimum": 0})]
# A Kubernetes kind: a DNS label, of which letters may be large (apiextensions: names.kind).
KindName = Annotated[
    str,
    Field(pattern=r"^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$", max_length=63),
    refused_as(RejectCode.INVALID_NAME, "must be the name of a kind, such as ConfigMap"),
]
# An API group: a DNS subdomain, or `core`, which has none.
GroupName = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
        max_length=253,
    ),
    refused_as(RejectCode.INVALID_NAME, "must be an API group, such as apps, or core"),
]
# Where logs go on: POD/CONTAINER=INSTANT, with commas between.
_AFTER: Final = r"[-a-z0-9.]{1,253}/[-a-z0-9]{1,63}=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z"
LogPlaces = Annotated[
    str,
    Field(pattern=rf"^({_AFTER}(,{_AFTER})*)?$", max_length=16 << 10),
    refused_as(RejectCode.INVALID_VALUE, "must be POD/CONTAINER=INSTANT, with commas between"),
]
Flag = Annotated[
    bool,
    WrapValidator(_true_or_false),
    refused_as(RejectCode.INVALID_VALUE, "expected true or false"),
]


def number_of(text: str | None, name: str) -> int | None:
    """A whole number, of a route that reads its query itself. Raises Rejected: InvalidNumber."""
    if not text:
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > _DIGITS:
        raise Rejected(RejectCode.INVALID_NUMBER, "must be a whole number", name)
    return int(text)


class Filters(BaseModel):
    """Parameters that filter a list."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", use_attribute_docstrings=True
    )

    def given(self) -> dict[str, str]:
        """Those that ask for something, by name."""
        told = self.model_dump(by_alias=True, exclude={"limit", "continue_", "revision"})
        return {name: str(value) for name, value in told.items() if value}


class Paged(Filters):
    """Of a list that comes in parts."""

    limit: _limit(MAX_LIMIT) = DEFAULT_LIMIT  # type: ignore[valid-type]  # bounds made by a function
    """At most this many."""
    continue_: Annotated[str, Field(alias="continue")] = ""
    """`continue` of the page before."""


class JobFilters(Paged):
    """Filters of jobs."""

    namespace: str = ""
    queue: str = ""
    state: AnyState = None
    cluster: str = ""
    owner: str = ""
    """Who submitted them; `unknown`: jobs without a known owner."""
    name: str = ""
    """How the name begins."""
    label_selector: Annotated[str, Field(examples=["team=blue"])] = ""
    """As kubectl writes one: `team=blue,tier in (a, b)`."""


class WorkloadFilters(Paged):
    """Filters of Workloads."""

    namespace: str = ""
    queue: str = ""
    cluster_queue: str = ""
    state: AnyState = None
    condition: Annotated[str, Field(examples=["Admitted=False"])] = ""
    """A type, or `type=status`: `Admitted`, `Admitted=False`."""


class CheckFilters(Paged):
    """Of which check, or of which controller's checks."""

    check: str = ""
    controller: str = ""


class ObjectFilters(Paged):
    """Of which namespace."""

    namespace: str = ""


class EventFilters(Paged):
    """Events of what."""

    uid: str = ""
    namespace: str = ""
    kind: str = ""
    name: str = ""


class AuditFilters(Paged):
    """Filters of the audit."""

    principal: str = ""
    verb: str = ""
    kind: Annotated[str, Field(examples=["Job"])] = ""
    namespace: str = ""
    since: AnyInstant = None
    """Not before then, as RFC 3339 has it: `2026-11-26T08:00:00Z`."""


class Question(Filters):
    """The verb and kind in question."""

    verb: Annotated[str, Field(examples=["create"])]
    """`get`, `create` or `change`, or what kubectl calls them."""
    kind: Annotated[str, Field(examples=["jobs"])]
    namespace: str = ""
    """Empty: anywhere."""
    queue: str = ""


class BindingFilters(Paged):
    """Decisions of which placement, for which cluster."""

    placement: Annotated[str, Field(examples=["team-a/settings"])] = ""
    """`name` of a ClusterResourcePlacement, `namespace/name` of a ResourcePlacement."""
    cluster: str = ""


class WorkFilters(BindingFilters):
    """Filters of works: by cluster and placement."""

    failed: Flag = False
    """Only what could not be applied, or is not available."""


class RevisionFilters(Filters):
    """Revisions of which placement."""

    placement: Annotated[str, Field(examples=["team-a/settings"])]
    """`name` of a ClusterResourcePlacement, `namespace/name` of a ResourcePlacement."""
    limit: _limit(100) = 20  # type: ignore[valid-type]  # bounds made by a function
    """At most this many, the newest."""


class ObjectPages(Paged):
    """Of a list whose pages are counted by object."""

    limit: _limit(MAX_LIMIT) = MAX_LIMIT  # type: ignore[valid-type]  # bounds made by a function
    """At most this many objects."""


class Newest(Filters):
    """The newest ones."""

    limit: _limit(MAX_LIMIT) = DEFAULT_LIMIT  # type: ignore[valid-type]  # bounds made by a function
    """At most this many."""


class Window(Filters):
    """Part of a line."""

    offset: Number = 0
    """Skips so many."""
    limit: _limit(visibility.MAX_LIMIT) = visibility.DEFAULT_LIMIT  # type: ignore[valid-type]  # bounds made by a function
    """At most this many."""


class Revision(Filters):
    """The beginning of a stream."""

    revision: AnyNumber = None
    """Tells what came after it; by default what comes from now on."""


class WatchFilters(Revision):
    """Filters of workloads; each parameter may hold several values, with commas."""

    namespace: str = ""
    queue: str = ""
    kind: str = ""
    state: str = ""


class LogFilters(Filters):
    """Filters of lines and pods."""

    pod: Annotated[str, Field(max_length=253)] = ""
    """Of this pod alone."""
    container: Annotated[str, Field(max_length=253)] = ""
    """Of this container alone; by default of all."""
    follow: Flag = False
    """Continues with new lines, and with pods that start, until the job ends."""
    previous: Flag = False
    """Of the run before a container's last restart."""
    timestamps: Flag = False
    """When each line was written."""
    since: AnyAmount = None
    """Of the last seconds."""
    tail: AnyAmount = None
    """The last lines of each container."""
    after: Annotated[LogPlaces, Field(examples=["train-0-x7k2p/main=2026-03-01T12:00:01.5Z"])] = ""
    """Resumes an interrupted log: the instant of the last line that was read of a container,
    `POD/CONTAINER=INSTANT`, with commas between. It is sent again from that second on.
    """

    def places(self) -> dict[str, str]:
        """`after`, by POD/CONTAINER."""
        return dict(each.split("=", 1) for each in self.after.split(",") if each)


class Look(Filters):
    """Shows a change without making it."""

    dry_run: Flag = False
    """Changes nothing: the answer says what the change would do."""


class DryRun(Filters):
    """Shows a deletion without doing it."""

    dry_run: Flag = False
    """Deletes nothing: the answer says what the deletion would do in members."""


class Removal(DryRun):
    """Options of a deletion."""

    drain: Flag = False
    """Takes back first what a ClusterQueue has admitted; else it is refused while it is used."""


class Leaving(DryRun):
    """What happens to the objects of a deleted member."""

    propagation_policy: Literal["", "Delete", "Abandon"] = ""
    """Delete: they are withdrawn first; Abandon: they stay. Empty: as its `spec.deleteOptions` says."""
