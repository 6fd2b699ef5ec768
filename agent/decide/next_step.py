"""The next step for one work: by the rules for jobs or those for plain objects.

Level-based: it may be asked any number of times with the same moment and answers the same.
"""

from agent.decide.decision import Decision, Moment, Seen
from agent.decide.jobs import decide_job
from agent.decide.plain_objects import decide_object
from agent.objects.holds import is_job_work
from shared.wire.agent_v1 import Work


def decide(work: Work, seen: Seen, moment: Moment) -> Decision:
    """The next step for one work. See `decide_job` and `decide_object`."""
    if is_job_work(work):
        return decide_job(work, seen, moment)
    return decide_object(work, seen, moment)
