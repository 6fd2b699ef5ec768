"""A trace as a load: CSV with a header, one row per workload.

Columns: `at` (seconds after the start), `runtime` (seconds or a duration), `namespace`; and as wished
`queue` (the LocalQueue, `default`), `class` (`workload`), `name`, `priority` (0), `pods` (1), `min_pods`.
Every other column is a resource, with what one pod requests of it.
"""

import csv
import io
import itertools
from pathlib import Path
from typing import Final

from hub.offline.inputs.documents import Unreadable, read_bytes
from hub.offline.inputs.settings import seconds
from hub.offline.loads.load import MICROSECONDS, MOST, Arrival, Kind, Load, pod_set
from shared import quantity
from shared.errors import Rejected

_NEEDED: Final = ("at", "runtime", "namespace")
_OTHERS: Final = ("queue", "class", "name", "priority", "pods", "min_pods")


def read_trace(path: Path) -> Load:
    """The load of a trace; raises `Unreadable` with the row (the header is row 1) and the column."""
    try:
        text = io.StringIO(read_bytes(path).decode("utf-8-sig"), newline="")
        rows = list(itertools.islice(csv.DictReader(text, strict=True), MOST + 1))
    except (UnicodeDecodeError, csv.Error) as cause:
        raise Unreadable(str(path), 0, "", f"not readable as CSV: {cause}") from None
    if not rows:
        raise Unreadable(str(path), 0, "", "a trace has a header and at least one row")
    if len(rows) > MOST:
        raise Unreadable(str(path), 0, "", f"a load has at most {MOST} workloads")
    missing = [name for name in _NEEDED if name not in rows[0]]
    if missing:
        raise Unreadable(str(path), 0, missing[0], "the column is missing")
    load = Load()
    kinds: dict[Kind, Kind] = {}
    names: dict[str, int] = {}
    for number, row in enumerate(rows, start=2):
        arrival = _Row(str(path), number, row).arrival()
        other = names.setdefault(arrival.name, number)
        if other != number:
            place = f"row {number}, column name"
            raise Unreadable(str(path), 0, place, f"row {other} has the name {arrival.name} too")
        kind = kinds.setdefault(arrival.kind, arrival.kind)  # equals are one object
        load.arrivals.append(
            Arrival(arrival.at, arrival.name, arrival.namespace, arrival.local_queue, kind)
        )
    load.sort()
    return load


class _Row:
    def __init__(self, file: str, number: int, row: dict[str | None, str | None]) -> None:
        self._file = file
        self._number = number
        self._row = {str(k): (v or "").strip() for k, v in row.items() if isinstance(v, str)}
        if None in row:
            raise self._fault("", "more values than the header has columns")

    def arrival(self) -> Arrival:
        kind = Kind(
            name=self._row.get("class") or "workload",
            priority=self._whole("priority", 0),
            runtime=self._time("runtime"),
            pod_sets=(pod_set(self._requests(), self._whole("pods", 1), self._least()),),
        )
        name = self._row.get("name") or f"{kind.name}-{self._number - 2}"
        namespace = self._row.get("namespace") or ""
        if not namespace:
            raise self._fault("namespace", "must not be empty")
        queue = self._row.get("queue") or "default"
        return Arrival(self._time("at"), name, namespace, queue, kind)

    def _requests(self) -> dict[str, int]:
        asked = {}
        for column, text in self._row.items():
            if column in _NEEDED or column in _OTHERS or not text:
                continue
            try:
                asked[column] = quantity.parse(column, text)
            except Rejected as refusal:
                raise self._fault(column, f"{refusal.code}: {refusal.detail}") from None
        return asked

    def _least(self) -> int | None:
        return self._whole("min_pods", 0) if self._row.get("min_pods") else None

    def _time(self, column: str) -> int:
        text = self._row.get(column, "")
        try:
            value = seconds(float(text)) if _is_number(text) else seconds(text)
        except ValueError:
            detail = f"{text!r} is neither a number of seconds nor a duration"
            raise self._fault(column, detail) from None
        return round(value * MICROSECONDS)

    def _whole(self, column: str, default: int) -> int:
        text = self._row.get(column) or str(default)
        try:
            value = int(text)
        except ValueError:
            raise self._fault(column, f"{text!r} is no whole number") from None
        if column != "priority" and not 0 <= value <= 1 << 31:
            raise self._fault(column, "must be 0 or more")
        return value

    def _fault(self, column: str, detail: str) -> Unreadable:
        return Unreadable(self._file, 0, f"row {self._number}, column {column}", detail)


def _is_number(text: str) -> bool:
    try:
        return 0 <= float(text) < 1e12
    except ValueError:
        return False
