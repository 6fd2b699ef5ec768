"""Consent of namespaces on the wire: the names that the hub asks about, and their states."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from shared.consent import MOST_NAMES

NamespaceState = Literal[
    "Absent", "Created", "Labelled", "Named", "Continued", "Replaced", "NotAccepted"
]
_Revision = Annotated[int, Field(ge=0, le=2**63 - 1)]
_Name = Annotated[str, Field(max_length=63)]


class NamedNamespaces(BaseModel):
    """Namespaces in which the hub has work, in place of those it named before."""

    model_config = ConfigDict(extra="ignore")

    revision: _Revision
    names: list[_Name] = Field(max_length=MOST_NAMES)
    ids: dict[_Name, Annotated[str, Field(max_length=64)]] | None = Field(
        default=None, max_length=MOST_NAMES
    )
    """Ids of the hub's namespaces; None: a hub that does not tell them, and knows no state of theirs."""


class ConsentReport(BaseModel):
    """The state of each namespace that the hub named under `revision`."""

    model_config = ConfigDict(extra="ignore")

    revision: _Revision
    states: dict[_Name, NamespaceState] = Field(max_length=MOST_NAMES)
