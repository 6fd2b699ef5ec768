"""Kinds of work on the wire (protocol 7): how a work that is no Job is held, started and read.

The definitions are those of `shared.workkinds` (ADR 21); the rule of a work follows from its object's one.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict


class FieldValue(BaseModel):
    """JSON pointer into the object, and the value that is written there; None: the field is removed."""

    model_config = ConfigDict(extra="ignore")

    path: str
    value: Any = None


class KindRule(BaseModel):
    """How one work of a kind that is no Job is held, started and read."""

    model_config = ConfigDict(extra="ignore")

    definition: str  # name of its definition, of KindDefinitions
    held: list[FieldValue]  # creates it so that nothing runs
    run: list[FieldValue]  # the start patch sets these
    # JSON pointers of its pod templates (objects with metadata and spec): each has our labels and variables
    templates: list[str]
    pods: int = 0  # that run at once, by its pod sets: ready when as many are ready
    scale: str = (
        ""  # JSON pointer of one of `run` that multiplies all pods, and may change once it runs
    )


class KindDefinition(BaseModel):
    """The documents as an administrator wrote them, or as they are built in."""

    model_config = ConfigDict(extra="ignore")

    name: str
    hash: str  # of both documents
    karta: dict[str, Any]
    extension: dict[str, Any] | None = None


class KindDefinitions(BaseModel):
    """All that works of a member may need; `revision` changes with any of them."""

    model_config = ConfigDict(extra="ignore")

    revision: int
    definitions: list[KindDefinition]
