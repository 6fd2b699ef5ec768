"""Loads from files.

Two forms are read. A *generator* is the file of Kueue's test/performance/scheduler: cohorts of queues
with streams of workloads; or `streams` for queues that the manifests describe. A *trace* is CSV, a row
per workload. Each stream waits its interval, then creates each listed workload, `count` times.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from hub.offline.inputs.documents import Unreadable, read_content
from hub.offline.inputs.settings import seconds
from hub.offline.loads.load import MICROSECONDS, MOST, Arrival, Kind, Load, pod_set
from hub.offline.loads.trace import read_trace
from shared import quantity
from shared.documents import Json, JsonView
from shared.errors import Rejected

_GROUP: Final = "kueue.x-k8s.io/v1beta2"
_FLAVOR: Final = "default"
_QUEUE: Final = "default"  # LocalQueue of each generated namespace


def read_load(path: Path) -> Load:
    """A generator (YAML, JSON) or a trace (`.csv`); raises `Unreadable`."""
    if path.suffix.lower() == ".csv":
        return read_trace(path)
    documents = [d for d in read_content(path) if d is not None]
    if len(documents) != 1:
        raise Unreadable(str(path), 0, "", "a generator is one document")
    return generated(documents[0], str(path))


def generated(given: Any, file: str = "generator") -> Load:
    """The load of a generator; raises `Unreadable`."""
    load = Load()
    reader = _GeneratorReader(file)
    whole = {"cohorts": given} if isinstance(given, list) else reader.mapping(given, "")
    unknown = sorted(map(str, set(whole) - {"cohorts", "streams"}))
    if unknown:
        raise reader.fault(unknown[0], "unknown; a generator has cohorts and streams")
    if not whole:
        raise reader.fault("cohorts", "missing: neither cohorts nor streams are given")
    for place, cohort in reader.listed(whole, "cohorts", ""):
        _cohorts(reader, load, cohort, place)
    if load.manifests:
        flavor = {"apiVersion": _GROUP, "kind": "ResourceFlavor", "metadata": {"name": _FLAVOR}}
        load.manifests.insert(0, {**flavor, "spec": {}})
    for place, stream in reader.listed(whole, "streams", ""):
        namespace = reader.text(stream, "namespace", place)
        queue = reader.text(stream, "queue", place, _QUEUE)
        start = reader.number(stream, "startMs", place, 0)
        _stream(reader, load, stream, place, (namespace, queue), start)
    load.sort()
    return load


def _cohorts(reader: "_GeneratorReader", load: Load, cohort: JsonView, place: str) -> None:
    name = reader.text(cohort, "className", place)
    for number in range(reader.number(cohort, "count", place, 1)):
        for below, queues in reader.listed(cohort, "queuesSets", place):
            for each in range(reader.number(queues, "count", below, 1)):
                queue = f"{name}-{number}-{reader.text(queues, 'className', below)}-{each}"
                load.manifests += _queue(reader, queues, below, queue, f"{name}-{number}")
                for stream_place, stream in reader.listed(queues, "workloadsSets", below):
                    _stream(reader, load, stream, stream_place, (queue, _QUEUE), 0)


def _queue(
    reader: "_GeneratorReader", given: JsonView, place: str, name: str, cohort: str
) -> list[Json]:
    """One ClusterQueue of CPU alone, with its own namespace and LocalQueue."""
    quota: Json = {
        "name": "cpu", "nominalQuota": reader.amount(given, "nominalQuota", place)
    }  # fmt: skip
    if given.get("borrowingLimit") is not None:
        quota["borrowingLimit"] = reader.amount(given, "borrowingLimit", place)
    preemption = {
        key: reader.text(given, key, place, "Never")
        for key in ("reclaimWithinCohort", "withinClusterQueue")
    }
    spec = {
        "cohortName": cohort,
        "namespaceSelector": {},
        "preemption": preemption,
        "resourceGroups": [
            {"coveredResources": ["cpu"], "flavors": [{"name": _FLAVOR, "resources": [quota]}]}
        ],
    }
    return [
        {"apiVersion": _GROUP, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec},
        {
            "apiVersion": _GROUP, "kind": "LocalQueue",
            "metadata": {"name": _QUEUE, "namespace": name}, "spec": {"clusterQueue": name},
        },
    ]  # fmt: skip


def _stream(
    reader: "_GeneratorReader",
    load: Load,
    given: JsonView,
    place: str,
    door: tuple[str, str],
    start: int,
) -> None:
    interval = reader.number(given, "creationIntervalMs", place, 0) * 1000
    count = reader.number(given, "count", place, 1)
    kinds = [_kind(reader, each, at) for at, each in reader.listed(given, "workloads", place)]
    if not kinds:
        raise reader.fault(f"{place}.workloads", "a stream creates at least one workload")
    if len(load.arrivals) + count * len(kinds) > MOST:
        raise reader.fault(f"{place}.count", f"a load has at most {MOST} workloads")
    for number in range(count):
        at = start * 1000 + interval * (number + 1)
        for kind in kinds:
            name = f"{kind.name}-{len(load.arrivals)}"
            load.arrivals.append(Arrival(at, name, *door, kind))


def _kind(reader: "_GeneratorReader", given: JsonView, place: str) -> Kind:
    request = given.get("request", {})
    amounts = request if isinstance(request, dict) else {"cpu": request}
    count = reader.number(given, "podCount", place, 1)
    least = given.get("minPodCount")
    return Kind(
        name=reader.text(given, "className", place),
        priority=reader.number(given, "priority", place, 0, least=-(2**31)),
        runtime=runtime_of(reader, given, place),
        pod_sets=(
            pod_set(
                {r: reader.parse(r, a, f"{place}.request.{r}") for r, a in amounts.items()},
                count,
                None if least is None else reader.number(given, "minPodCount", place, 0),
            ),
        ),
    )


def runtime_of(reader: "_GeneratorReader", given: JsonView, place: str) -> int:
    """`runtimeMs`, or `runtime` as a duration (`2h30m`), in microseconds."""
    if "runtime" not in given:
        return reader.number(given, "runtimeMs", place, None) * 1000
    try:
        return round(seconds(given["runtime"]) * MICROSECONDS)
    except ValueError:
        detail = f"{given['runtime']!r} is no duration; 5m, 1h30m and 90s are"
        raise reader.fault(f"{place}.runtime", detail) from None


class _GeneratorReader:
    """Values of a generator; whatever can not be used is refused with its place."""

    def __init__(self, file: str) -> None:
        self._file = file

    def fault(self, place: str, detail: str) -> Unreadable:
        return Unreadable(self._file, 1, place, detail)

    def mapping(self, given: Any, place: str) -> JsonView:
        if not isinstance(given, dict):
            raise self.fault(place, "must be an object")
        return given

    def listed(self, given: JsonView, key: str, place: str) -> Iterator[tuple[str, JsonView]]:
        """Each object of a list, with its place."""
        path = f"{place}.{key}" if place else key
        value = given.get(key)
        if value is not None and not isinstance(value, list):
            raise self.fault(path, "must be a list")
        for number, each in enumerate(value or ()):
            yield f"{path}[{number}]", self.mapping(each, f"{path}[{number}]")

    def text(self, given: JsonView, key: str, place: str, default: str | None = None) -> str:
        value = given.get(key, default)
        if not isinstance(value, str) or not value:
            raise self.fault(f"{place}.{key}", "must be a text")
        return value

    def number(
        self, given: JsonView, key: str, place: str, default: int | None, least: int = 0
    ) -> int:
        value = given.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 1 << 53:
            raise self.fault(f"{place}.{key}", f"must be a whole number, {least} or more")
        return value

    def amount(self, given: JsonView, key: str, place: str) -> str:
        self.parse("cpu", given.get(key), f"{place}.{key}")
        return str(given[key])

    def parse(self, resource: str, value: Any, place: str) -> int:
        try:
            return quantity.parse(resource, value)
        except Rejected as refusal:
            raise self.fault(place, f"{refusal.code}: {refusal.detail}") from None
