"""`roadstead explain`: where a job is, why it waits or runs there, and what would change it."""

from collections.abc import Sequence

import click

from roadstead.cli import chains, lost_clusters
from roadstead.cli.names import full_name
from roadstead.cli.output import answer_option, client, moment, moment_of, show_one
from roadstead.cli.tables import Column, indented, wrapped
from roadstead.cli.visible import visible
from roadstead.models.checks import CheckState
from roadstead.models.explanation import Explanation
from roadstead.models.record import Json

_DECIDED = [
    Column("CLUSTER", lambda c: c["cluster"]),
    Column("SCORE", lambda c: None if c.get("rule") else c.get("score")),
    Column("CHOSEN", lambda c: "yes" if c.get("selected") else ""),
    Column("BECAUSE", lambda c: c.get("message") or c.get("reason") or _terms(c), wraps=True),
]
_VERDICTS = [
    Column("CLUSTER", lambda c: c["cluster"]),
    Column("RULE", lambda c: c.get("reason") or c.get("rule")),
    Column("BECAUSE", lambda c: c.get("message") or c.get("reason"), wraps=True),
]
_CHECKS = [
    Column("CHECK", lambda c: c.name),
    Column("STATE", lambda c: c.state, coloured=True),
    Column("CONTROLLER", lambda c: c.controller_name),
    Column("SAYS", lambda c: c.message, wraps=True),
]
_QUOTAS = [
    Column("FLAVOR", lambda q: q["flavor"]),
    Column("RESOURCE", lambda q: q["resource"]),
    Column("NOMINAL", lambda q: q["nominal"] or "unlimited"),
    Column("USED", lambda q: q["used"]),
    Column("BORROWED", lambda q: q["borrowed"]),
    Column("AVAILABLE", lambda q: q["available"] or "unlimited"),
]
_NOWHERE = {"Held", "Pending", "Reserved"}  # no cluster has it: what was decided is past
_ENDS = 5  # ends that a forecast rests on, shown
_FLAVORS = [
    Column("FLAVOR", lambda f: f.flavor),
    Column("OUTCOME", lambda f: f.outcome),
    Column("PREEMPTS", lambda f: f.preempts or ""),
    Column("BECAUSE", lambda f: f.message, wraps=True),
]
_FLEET = [
    Column("CLUSTER", lambda c: c.cluster),
    Column("ROOM NOW", lambda c: c.fits),
    Column("BECAUSE", lambda c: c.message, wraps=True),
]


@click.command()
@click.argument("job")
@click.option("-n", "--namespace", metavar="NAME", help="Namespace of a name without one.")
@answer_option
@click.pass_context
def explain(ctx: click.Context, job: str, namespace: str | None, output: str) -> None:
    """Explain where JOB is and why (its uid, or namespace/name)."""
    with client(ctx) as hub:
        show_one(hub.explain(full_name(job, namespace)), output, as_text)


def as_text(told: Explanation) -> str:
    """Format the explanation as text."""
    where = f" on {told.cluster}" if told.cluster else ""
    reason = f" ({visible(told.reason)})" if told.reason else ""
    lines = [
        f"{told.namespace}/{told.name} is {told.state}{where}{reason}",
        *wrapped(told.message, "  "),
        *([f"  submitted by {visible(told.owner)}"] if told.owner else []),
        *chains.lines(told.after, told.before),
        *lost_clusters.lines(told.cluster_loss, told.earlier_epochs),
    ]
    lines += _position(told)
    lines += _waiting(told.waiting or {}, told.message)
    lines += _queue(told)
    lines += _preemption(told.preemption or {})
    lines += _otherwise(told)
    lines += _checks(told.checks)
    if nomination := told.nomination:
        text = f"{len(nomination['victims'])} jobs are preempted to make room for it on"
        lines += wrapped(f"{text} {nomination['cluster'] or 'no cluster in particular'}", "  ")
    lines += _decision(told)
    if told.set_aside:
        avoided = ", ".join(
            f"{name} until {moment(until) if until else 'a user releases the job'}"
            for name, until in told.set_aside.items()
        )
        lines += ["", *wrapped(f"Avoided clusters: {avoided}", "")]
    if told.timeline:
        lines += ["", "What happened"]
        for event in told.timeline:
            said, *more = event.message.splitlines() or [""]
            lines += wrapped(f"{moment(event.at)}  {event.reason}: {said}", "  ")
            lines += [f"    | {visible(line)}" for line in more]  # a pod's last ones
    return "\n".join(lines)


def _position(told: Explanation) -> list[str]:
    position = told.position
    if position is None:
        return []
    text = (
        f"position {position.in_queue} of {position.of_queue} in queue "
        f"{told.cluster_queue or told.queue}, {position.overall} of {position.of_overall} overall"
    )
    return wrapped(text, "  ")


def _checks(checks: Sequence[CheckState]) -> list[str]:
    """Format the admission checks and the open ones."""
    return ["", "Admission checks", *indented(checks, _CHECKS)] if checks else []


def _waiting(waiting: Json, headline: str) -> list[str]:
    short = waiting.get("quota") or []
    lines = [
        line
        for quota in short
        if (quota.get("message") or "\n") not in headline
        for line in _quota(quota)
    ]
    nearest = waiting.get("nearest")
    if nearest:
        lines += wrapped(f"nearest: {nearest['message']}", "  ")
    if waiting.get("clusters"):
        lines += ["", "Clusters", *indented(waiting["clusters"], _VERDICTS)]
    return lines


def _quota(quota: Json) -> list[str]:
    if said := quota.get("message"):
        return wrapped(f"quota: {said}", "  ")
    text = (
        f"quota: {quota['resource']} of flavor {quota['flavor']}: {quota['asked']} asked, "
        f"{quota['used']} of {quota['limit']} used{_whose(quota)}, {quota['missing']} more needed"
    )
    return wrapped(text, "  ")


def _whose(quota: Json) -> str:
    """Name the quota that is counted: a cohort's, or (empty) the queue's own."""
    return f" in cohort {quota['cohort']}" if quota.get("cohort") else ""


def _queue(told: Explanation) -> list[str]:
    """Format the queue's own quota: shortage, usage, and borrowing limit."""
    lacking = (told.waiting or {}).get("quota") or []
    short = {(each["flavor"], each["resource"]) for each in lacking}
    rows = [
        q
        for q in told.quota
        if (q["flavor"], q["resource"]) in short
        or q["used"] != "0"
        or q["potential"] != q["nominal"]
    ]
    return ["", "Its queue's own quota", *indented(rows, _QUOTAS)] if rows else []


def _preemption(outlook: Json) -> list[str]:
    """Format the preemption candidates, and the rules that protect others."""
    if not outlook:
        return []
    named = ", ".join(
        f"{c['namespace']}/{c['name']} (priority {c['priority']})" for c in outlook["candidates"]
    )
    more = outlook["candidatesTotal"] - len(outlook["candidates"])
    if more:
        named += f" and {more} more"
    lines = ["", "Preemption", *wrapped(f"preemption candidates: {named or 'nobody'}", "  ")]
    for spared in outlook["spared"]:
        text = f"{spared['count']} protected: {spared['reason']}"
        if some := [f"{e['namespace']}/{e['name']}" for e in spared.get("examples") or []]:
            more = spared["count"] - len(some)
            text += f" ({', '.join(some)}{f' and {more} more' if more else ''})"
        lines += wrapped(text, "  ")
    return lines


def _otherwise(told: Explanation) -> list[str]:
    """Format flavors, remedies and the expected start."""
    lines: list[str] = []
    if len(told.flavors) > 1:
        lines += ["", "Flavor by flavor", *indented(told.flavors, _FLAVORS)]
    listed = (told.waiting or {}).get("clusters")
    if told.fleet and not listed:
        lines += ["", "Clusters, regardless of quota", *indented(told.fleet, _FLEET)]
    if told.remedies:
        lines += ["", "What would change it"]
        for remedy in told.remedies:
            first, *others = wrapped(remedy.message, "    ")
            lines += [f"  - {first.strip()}", *others]
    if forecast := told.forecast:
        if forecast.at:
            text = f"expected to start at {moment(forecast.at)}: {forecast.message}"
        else:
            text = forecast.message
        lines += ["", "Expected start", *wrapped(text, "  ")]
        lines += [
            f"    {job['namespace']}/{job['name']} ends at {moment_of(job['endsAt'])}"
            for job in forecast.rests_on[-_ENDS:]
            if job["endsAt"] and forecast.at
        ]
    return lines


def _decision(told: Explanation) -> list[str]:
    clusters = (told.decision or {}).get("clusters")
    if not clusters:
        return []
    past = " of its last placement" if told.state in _NOWHERE else ""
    return ["", f"Decision{past}", *indented(clusters, _DECIDED)]


def _terms(cluster: Json) -> str:
    return ", ".join(
        f"{t['name'].rpartition('/')[2]} {t['score']} of {t['weight']}"
        for t in cluster.get("terms") or []
    )
