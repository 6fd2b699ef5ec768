"""A played load as one HTML page: figures as tables, courses as inline SVG. It loads nothing else."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

from hub.domain.fleet.clusters import in_units
from hub.offline.inputs.scene import Scene
from hub.offline.loads.load import MICROSECONDS
from hub.offline.play.timeline import History
from hub.offline.reports.charts import Series, bars, lines
from shared.documents import JsonView

_STYLE: Final = """
body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:64rem;padding:0 1rem;color:#1c2630}
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}table{border-collapse:collapse;width:100%}
th,td{padding:.3rem .6rem;text-align:right;border-bottom:1px solid #d8dee4}
th:first-child,td:first-child{text-align:left}thead th{color:#57606a;font-weight:600}
svg{width:100%;height:auto}svg text{font:11px system-ui,sans-serif;fill:currentColor}
@media (prefers-color-scheme:dark){body{background:#12181f;color:#dde4ea}th,td{border-color:#2c3640}}
"""
_MOST_QUEUES: Final = 12  # lines of one chart; the rest are summed up


def page(title: str, told: JsonView, scene: Scene, history: History) -> str:
    """The page; `told` is what `measures.report` said."""
    counts = told["workloads"]
    summary = (
        f"{counts['total']} workloads, {counts['finished']} finished, {counts['pending']} waiting at the "
        f"end; {told['makespanSeconds']} s; {told['preemptions']['count']} preemptions."
    )
    lost = ", ".join(f"{amount} {escape(r)}-seconds" for r, amount in told["workLost"].items())
    parts = [
        f"<h1>{escape(title)}</h1><p>{summary} Work lost: {lost or 'none'}.</p>",
        "<h2>Time to admission, average (seconds)</h2>",
        bars(
            [(c["class"], (c["timeToAdmission"] or {}).get("average", 0)) for c in told["classes"]]
        ),
        "<h2>Classes</h2>",
        _class_table(told["classes"]),
        "<h2>Queues</h2>",
        _queue_table(told["queues"]),
    ]
    if told["clusters"]:
        parts += ["<h2>Clusters</h2>", _cluster_table(told["clusters"])]
    for resource in _resources(scene):
        parts += [
            f"<h2>Quota in use: {escape(resource)}</h2>",
            lines(
                _courses(history, lambda used, _, r=resource: _amount(r, used)), history.end / 1e6
            ),
        ]
    parts += [
        "<h2>Waiting workloads</h2>",
        lines(_courses(history, lambda _, waiting: float(waiting)), history.end / MICROSECONDS),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>"
        + "\n".join(parts)
        + "</body></html>\n"
    )


def _amount(resource: str, used: Mapping[str, int]) -> float:
    return float(in_units(resource, used.get(resource, 0)))


def _resources(scene: Scene) -> list[str]:
    return sorted({of.resource for queue in scene.queues.values() for of in queue.quotas})


def _courses(history: History, value: Any) -> list[Series]:
    """One line per queue; beyond `_MOST_QUEUES` the smallest are one line together."""
    found = []
    for name in sorted(history.points):
        points = [(at / MICROSECONDS, value(used, n)) for at, used, n in history.points[name]]
        found.append(Series(name, points))
    found.sort(key=lambda s: -max((y for _, y in s.points), default=0.0))
    if len(found) <= _MOST_QUEUES:
        return sorted(found, key=lambda s: s.name)
    kept, rest = found[: _MOST_QUEUES - 1], found[_MOST_QUEUES - 1 :]
    return [*kept, _sum(f"{len(rest)} others", rest)]


def _sum(name: str, several: Sequence[Series]) -> Series:
    changes = sorted(
        (at, number, y) for number, each in enumerate(several) for at, y in each.points
    )
    now: dict[int, float] = {}
    points: dict[float, float] = {}
    total = 0.0
    for at, number, y in changes:
        total += y - now.get(number, 0.0)
        now[number] = y
        points[at] = total
    return Series(name, list(points.items()))


def _class_table(classes: Sequence[JsonView]) -> str:
    head = [
        "class",
        "count",
        "finished",
        "admission avg",
        "p50",
        "p95",
        "max",
        "finish avg",
        "preempted",
    ]
    rows = []
    for each in classes:
        wait, end = each["timeToAdmission"] or {}, each["timeToFinish"] or {}
        times = [wait.get(k, "–") for k in ("average", "p50", "p95", "max")]
        rows.append(
            [each["class"], each["count"], each["finished"], *times, end.get("average", "–"),
             each["preemptions"]]
        )  # fmt: skip
    return _table(head, rows)


def _queue_table(queues: Sequence[JsonView]) -> str:
    rows = [
        [q["clusterQueue"], q["workloads"], q["finished"], q["preemptions"], _shares(q["trueUse"]),
         _shares(q["held"])]
        for q in queues
    ]  # fmt: skip
    return _table(["queue", "workloads", "finished", "preempted", "true use", "held"], rows)


def _cluster_table(clusters: Sequence[JsonView]) -> str:
    rows = [[c["cluster"], c["finished"], _shares(c["trueUse"])] for c in clusters]
    return _table(["cluster", "finished", "true use"], rows)


def _shares(by_resource: Mapping[str, float | None]) -> str:
    return ", ".join(
        f"{resource} {share:.0%}" for resource, share in by_resource.items() if share is not None
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    def row(cells: Sequence[Any], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(str(c))}</{tag}>" for c in cells) + "</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    return f"<table><thead>{row(head, 'th')}</thead><tbody>{body}</tbody></table>"
