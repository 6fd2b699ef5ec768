"""Renders decisions: scored clusters, excluded ones, and why a class waits. Pure."""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from hub.domain.placement import because
from hub.domain.placement.cluster_search import Survey
from hub.domain.plan import (
    Refusal,
    Score,
    Verdict,
)
from shared import quantity
from shared.documents import Json

SURVEYED: Final = 20  # clusters that a survey lists of those that fit, and of those that do not


def score_view(score: Score, best: Score) -> Json:
    """One cluster of a decision in favour of `best`, as `workloads.scores` keeps it."""
    selected = score is best
    growth = f"; needs {told_growth(score.new_nodes)}" if score.new_nodes else ""
    message = because.chosen(score) + growth if selected else because.not_chosen(score, best)
    view: Json = {
        "cluster": score.cluster,
        "selected": selected,
        "score": score.score,
        "topologyScore": score.topology,
        "reason": "Scheduled" if selected else "ScoreNotHighEnough",
        "message": message,
        "terms": [
            {"name": t.name, "weight": t.weight, "score": t.score, "value": t.value}
            for t in score.terms
        ],
    }
    return view if score.running is None else view | {"running": score.running}


def told_growth(new_nodes: Sequence[tuple[str, int]]) -> str:
    """The nodes that pools must add first, in words: `2 new nodes of pool x`."""
    return " and ".join(
        f"{count} new node{'s' if count > 1 else ''} of pool {pool}" for pool, count in new_nodes
    )


def verdict_view(verdict: Verdict) -> Json:
    """A cluster that did not compete, in the same shape."""
    rule, reason, message, _hold_until = verdict.rejection
    return {
        "cluster": verdict.cluster,
        "selected": False,
        "score": 0,
        "topologyScore": 0,
        "rule": rule,
        "reason": reason,
        "message": message,
        "terms": [],
    }


def survey_view(survey: Survey) -> Json:
    """The state of every cluster, in the shape of a decision, with all rejections counted: "refused" is
    [{"rule", "reason", "count"}].
    """
    scores = survey.scores[:SURVEYED]
    counted = Counter(each.rejection[:2] for each in survey.refused)
    listed = [
        each
        for _, alike in itertools.groupby(survey.refused, lambda each: each.rejection[:2])
        for each in itertools.islice(alike, SURVEYED)
    ]
    return {
        "profile": "",
        "others": len(survey.scores) - len(scores),
        "clusters": [score_view(each, survey.scores[0]) for each in scores]
        + [verdict_view(each) for each in listed[: 2 * SURVEYED]],
        "refused": [
            {"rule": rule, "reason": reason, "count": count}
            for (rule, reason), count in counted.items()
        ],
    }


def refusal_view(refusal: Refusal) -> Json:
    """The reason why a class waits, as `explanations` keeps it; quantities as canonical texts."""
    nearest = refusal.nearest
    return {
        "queue": refusal.queue,
        "reason": str(refusal.reason),
        "message": refusal.message,
        "head": refusal.head,
        "quota": [
            {
                "flavor": s.of.flavor,
                "resource": s.of.resource,
                "asked": quantity.canonical(s.of.resource, s.asked),
                "used": quantity.canonical(s.of.resource, s.used),
                "limit": quantity.canonical(s.of.resource, s.limit),
                "missing": quantity.canonical(
                    s.of.resource, s.asked - s.limit if s.is_beyond else s.missing
                ),
                "cohort": s.cohort,
                "message": str(s),
            }
            for s in refusal.shortages
        ],
        "clusters": [verdict_view(v) for v in refusal.clusters],
        "nearest": None
        if nearest is None
        else {
            "cluster": nearest.cluster,
            "podSet": nearest.pod_set,
            "missing": _texts(nearest.missing),
            "pods": nearest.pods,
            "count": nearest.count,
            "message": str(nearest),
        },
        "never": refusal.never,
        "retryAt": None if refusal.retry_at is None else refusal.retry_at.isoformat(),
    }


def _texts(amounts: Mapping[str, int]) -> dict[str, str]:
    return {name: quantity.canonical(name, amount) for name, amount in sorted(amounts.items())}
