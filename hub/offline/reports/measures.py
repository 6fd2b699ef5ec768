"""Figures of a played load: waiting and finishing per class, true use per queue and cluster, waste.

*True use* is work that was finished, request times runtime, over quota (or capacity) times the span from
the start to the last event. *Held* counts all the time that quota was charged, work in vain included.
Times are seconds; amounts of work are resource-seconds in Kubernetes' units (core-seconds, GPU-seconds).
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from hub.domain.fleet.clusters import in_units
from hub.offline.inputs.scene import Scene
from hub.offline.loads.load import MICROSECONDS
from hub.offline.play.timeline import History, Life
from shared.documents import Json


def report(scene: Scene, history: History) -> Json:
    """Everything that `simulate run -o json` says."""
    lives = list(history.lives.values())
    finished = [life for life in lives if life.finished is not None]
    span = history.end / MICROSECONDS
    return {
        "makespanSeconds": _seconds(history.end),
        "workloads": {
            "total": len(lives),
            "admitted": sum(life.first_admitted is not None for life in lives),
            "finished": len(finished),
            "running": sum(life.holder is not None for life in lives),
            "pending": sum(life.holder is None and life.finished is None for life in lives),
        },
        "rounds": history.rounds,
        "admissions": sum(life.epoch for life in lives) - len(history.preemptions),
        "classes": _classes(lives),
        "queues": _queues(scene, lives, history, span),
        "clusters": _clusters(scene, lives, history, span),
        "preemptions": {
            "count": len(history.preemptions),
            "workloads": len({p.uid for p in history.preemptions}),
            "byReason": dict(sorted(Counter(p.reason for p in history.preemptions).items())),
        },
        "workLost": _in_units(_work((life, life.lost) for life in lives)),
        "waiting": dict(
            sorted(Counter(x.reason for x in lives if not x.holder and x.finished is None).items())
        ),
    }


def _classes(lives: Sequence[Life]) -> list[Json]:
    by_class: dict[str, list[Life]] = {}
    for life in lives:
        by_class.setdefault(life.class_name, []).append(life)
    return [
        {
            "class": name,
            "count": len(those),
            "admitted": sum(x.first_admitted is not None for x in those),
            "finished": sum(x.finished is not None for x in those),
            "timeToAdmission": _spread(
                [x.first_admitted - x.arrived for x in those if x.first_admitted is not None]
            ),
            "timeToFinish": _spread(
                [x.finished - x.arrived for x in those if x.finished is not None]
            ),
            "preemptions": sum(x.preemptions for x in those),
            "workLost": _in_units(_work((x, x.lost) for x in those)),
        }
        for name, those in sorted(by_class.items())
    ]


def _queues(scene: Scene, lives: Sequence[Life], history: History, span: float) -> list[Json]:
    told = []
    for name, queue in sorted(scene.queues.items()):
        those = [life for life in lives if life.who.queue == name]
        quota: dict[str, int] = {}
        for of, each in queue.quotas.items():
            quota[of.resource] = quota.get(of.resource, 0) + each.nominal
        done = _work((x, x.runtime) for x in those if x.finished is not None)
        held = _held(history, name)
        told.append(
            {
                "clusterQueue": name,
                "workloads": len(those),
                "finished": sum(x.finished is not None for x in those),
                "preemptions": sum(x.preemptions for x in those),
                "timeToAdmission": _spread(
                    [x.first_admitted - x.arrived for x in those if x.first_admitted is not None]
                ),
                "trueUse": {r: _share(done.get(r, 0), q, span) for r, q in sorted(quota.items())},
                "held": {r: _share(held.get(r, 0), q, span) for r, q in sorted(quota.items())},
                "workDone": _in_units(done),
                "workLost": _in_units(_work((x, x.lost) for x in those)),
            }
        )
    return told


def _clusters(scene: Scene, lives: Sequence[Life], history: History, span: float) -> list[Json]:
    told = []
    for name, cluster in sorted((scene.clusters or {}).items()):
        done = _work((x, x.runtime) for x in lives if x.finished is not None and x.cluster == name)
        limited = {r: a for r, a in cluster.allocatable.items() if a < 1 << 59}
        told.append(
            {
                "cluster": name,
                "finished": sum(x.finished is not None and x.cluster == name for x in lives),
                "trueUse": {
                    r: _share(done.get(r, 0), a, span) for r, a in sorted(limited.items())
                },
                "workDone": _in_units(done),
            }
        )
    return told


def _work(ran: Iterable[tuple[Life, int]]) -> dict[str, float]:
    """Request times microseconds, by resource, in base amounts."""
    total: dict[str, float] = {}
    for life, time in ran:
        if time:
            for pod_set in life.who.pod_sets:
                count = life.counts.get(pod_set.name, pod_set.count)
                for resource, amount in pod_set.requests.items():
                    total[resource] = total.get(resource, 0) + amount * count * time
    return total


def _held(history: History, queue: str) -> dict[str, float]:
    points = history.points.get(queue, [])
    total: dict[str, float] = {}
    ends = [p[0] for p in points[1:]] + [history.end]
    for (at, used, _), end in zip(points, ends, strict=False):
        for resource, amount in used.items():
            total[resource] = total.get(resource, 0) + amount * max(0, end - at)
    return total


def _share(work: float, amount: int, span: float) -> float | None:
    """Work over what there was; None where there was nothing, or no limit."""
    if not amount or not span or amount >= 1 << 62:
        return None
    return round(work / (amount * span * MICROSECONDS), 4)


def _in_units(work: dict[str, float]) -> dict[str, float]:
    return {
        r: round(float(in_units(r, round(a))) / MICROSECONDS, 3) for r, a in sorted(work.items())
    }


def _spread(times: Sequence[int]) -> Json | None:
    """Average and the values that half, 95 in 100 and all stay below; None of nothing."""
    if not times:
        return None
    ordered = sorted(times)
    return {
        "average": _seconds(sum(ordered) / len(ordered)),
        "p50": _seconds(_percentile(ordered, 0.5)),
        "p95": _seconds(_percentile(ordered, 0.95)),
        "max": _seconds(ordered[-1]),
    }


def _percentile(ordered: Sequence[int], share: float) -> int:
    """The nearest-rank percentile."""
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)]


def _seconds(microseconds: float) -> float:
    return round(microseconds / MICROSECONDS, 3)
