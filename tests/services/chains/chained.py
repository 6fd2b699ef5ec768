"""A hub whose chains of jobs are driven by hand."""

import contextlib
from dataclasses import replace

from hub.controllers.chains import Chains
from hub.domain.access import EVERYTHING
from hub.domain.workloads.states import Transition
from hub.services.jobs.accept import submit_jobs
from hub.services.objects.apply import apply_documents
from hub.services.reading.draft import draft
from hub.store import workloads
from hub.store.records.workloads import move_of
from shared.errors import Rejected
from shared.kinds.registry import parse
from tests.services.hubs import a_job, a_queue, running

AFTER = "roadstead.dev/after"


def a_chained(name, after, queue="q"):
    return a_job(name, queue=queue, annotations={AFTER: after} if after else {})


class Chained:
    """A hub with a queue, whose controller of chains is driven by hand."""

    def __init__(self, hub):
        self.hub = hub
        self.restart()

    def restart(self):
        """Another hub leads: it knows what is in the store."""
        self.controller = Chains(self.hub.hub, lambda: 1)
        self.controller.follow()

    async def submit(self, **after):
        """Jobs by REST, all in one request: name=annotation; by name the uid, or the refusal's code."""
        return await self.hub.hub.write(self.submitted, after)

    def submitted(self, tx, after, sees=EVERYTHING, queue="q"):
        drafts = [
            replace(draft(parse(a_chained(name, text, queue)), tx.now), sees=sees)
            for name, text in after.items()
        ]
        answers = submit_jobs(tx, drafts, self.hub.hub.settings.intake, strict=True)
        return {
            given.name: answer.code if isinstance(answer, Rejected) else answer.uid
            for given, answer in zip(drafts, answers, strict=True)
        }

    async def apply(self, name, after=""):
        """One Job as kubectl applies it; its uid, or the refusal's code."""

        def run(tx):
            given = draft(parse(a_chained(name, after)), tx.now)
            (applied,) = apply_documents(tx, [given], self.hub.hub.settings.intake)
            return applied.error.code if applied.error else applied.uid

        return await self.hub.hub.write(run)

    async def ends(self, how, *uids):
        """Jobs end as if their agents had reported it."""

        def run(tx):
            rows = workloads.get_many(tx, uids)
            for name in (Transition.PLACE, Transition.OFFER, Transition.START, how):
                moves = [
                    move_of(uid, row.epoch + (name is not Transition.PLACE), {})
                    for uid, row in rows.items()
                ]
                assert len(workloads.transition(tx, name, moves)) == len(moves)

        await self.hub.hub.write(run)
        await self.turn()

    async def turn(self):
        while await self.controller.tick() == 0.0:
            pass

    async def stands(self, uid):
        row = await self.hub.job(uid)
        return row.state, row.reason


@contextlib.asynccontextmanager
async def chained(folder):
    async with running(folder) as hub:
        await hub.apply(*a_queue("q"))
        yield Chained(hub)
