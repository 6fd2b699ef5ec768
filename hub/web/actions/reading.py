"""Data of a preview, read for its viewer: the services' own dry runs, all bounded."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import orjson
import yaml
from starlette.requests import Request

from hub.api.policy import find_index_of, hub_of
from hub.domain.access import Noun, Rights, Verb
from hub.domain.workloads.chains import LinkState
from hub.services.access.credentials import Principal
from hub.services.context import secrecy
from hub.services.context.hub import Hub
from hub.services.explain.plan import plan
from hub.services.explain.plan_jobs import PlannedFacts, plan_jobs
from hub.services.index.index import FindIndex
from hub.services.questions import jobs
from hub.services.questions.pages.previews import names_taken
from hub.services.reading.draft import Draft, draft
from shared.documents import Json
from shared.errors import Rejected
from shared.kinds.parsed import Parsed
from shared.kinds.registry import parse_job, parse_own_job
from shared.resubmitted import copy_of, next_name, waits_for
from shared.yaml_quoting import quoting

_TRIES: Final = 20  # names of copies
_DUMPER: Final = quoting(yaml.SafeDumper)
_MOST_YAML: Final = 32_000  # bytes of a manifest that is printed as YAML
_MOST_SHOWN: Final = 64_000  # characters of a manifest


@dataclass(frozen=True, slots=True)
class Looker:
    """The reader of a preview: the rights, and the visible part of the hub."""

    who: Principal
    hub: Hub
    find_index: FindIndex

    @property
    def rights(self) -> Rights:
        return self.who.rights

    def within(self, verb: Verb, noun: Noun) -> Hub:
        """The hub for what does `verb` to `noun`."""
        return self.hub.within(self.rights.scope(verb, noun))


def looker(request: Request, who: Principal) -> Looker:
    """The person, on this application."""
    return Looker(who, hub_of(request), find_index_of(request))


async def read_job(by: Looker, uid: str, verb: Verb = Verb.GET) -> Json:
    """One job as they may see it, to do `verb` to it. Raises Rejected: NotFound, Forbidden."""
    hub = by.within(verb, Noun.JOBS)
    found: Json = await hub.read(secrecy.job_seen_by, by.rights.values, jobs.get_job, uid)
    return found


async def planned(by: Looker, job: Json, priority: int | None = None) -> Json | None:
    """The engine's answer for this job, if it were in line now; None if it can not be called."""
    try:
        given = await by.hub.beside(_drafted, job["manifest"], by.hub, parse_own_job)
    except (Rejected, TypeError, KeyError):
        return None
    facts = PlannedFacts(job["priority"] if priority is None else priority, None, "")
    (told,), _ = await plan_jobs(by.hub, [given], [facts], by.find_index())
    return told


async def planned_copy(by: Looker, copy: Json) -> Json | None:
    """The engine's answer for a Job that does not exist yet."""
    try:
        given = await by.hub.beside(_drafted, copy, by.hub, parse_job)
    except Rejected as refusal:
        return {"message": f"it would be refused: {refusal.detail}", "waitingBefore": 0}
    found = await plan(by.hub, [given], by.find_index)
    told: list[Json] = found["jobs"]
    return told[0] if told else None


def _drafted(manifest: Json, hub: Hub, read: Callable[..., Parsed]) -> Draft:
    """A draft of a job's manifest; kinds other than Job are read by jq, which takes its time."""
    parsed = read(manifest, declared=hub.kinds)
    return draft(parsed, hub.clock.now(), kinds=hub.kinds)


async def free_copy(by: Looker, job: Json) -> Json:
    """The Job under the next free name, as far as visible.

    It waits for those that the first one still waits for: what has ended is of the past.
    """
    names = [next_name(job["name"])]
    while len(names) < _TRIES:
        names.append(next_name(names[-1]))
    taken = await by.hub.read(names_taken, job["namespace"], names)
    name = next((each for each in names if each not in taken), names[-1])
    open_ = [each for each in job["after"] if each["state"] == LinkState.WAITING]
    after = [f"{each['name']}:{each['condition']}" for each in open_]
    return waits_for(copy_of(job["manifest"], name), after)


async def printed(by: Looker, manifest: Json) -> str:
    """A manifest to be read, bounded."""
    return await by.hub.beside(_printed, manifest)


def _printed(manifest: Json) -> str:
    text = orjson.dumps(manifest, option=orjson.OPT_INDENT_2).decode()
    if len(text) <= _MOST_YAML:
        text = str(
            yaml.dump(manifest, Dumper=_DUMPER, sort_keys=False, allow_unicode=True, width=100)
        )
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "\n…"
