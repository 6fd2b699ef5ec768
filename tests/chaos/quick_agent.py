"""`python -m tests.chaos.quick_agent --lease-s=N …`: the agent with a short lease, else as it is.

The lease is a promise between sessions of one agent and no setting of the product; a schedule of a
minute has no room for one of 30 s. A superseded agent does not stand by either: the campaign decides
when it is started again.
"""

import asyncio
import os
import sys
from dataclasses import replace

from agent.config import from_arguments
from agent.main import Agent
from shared import log
from shared.parent import die_with_parent

_FLAG = "--lease-s="


async def _run(arguments: list[str], lease_s: float) -> int:
    settings, with_parent = from_arguments(arguments, os.environ)
    if with_parent:
        die_with_parent()
    return await Agent(replace(settings, lease_s=lease_s, stand_by=False)).run()


def main() -> int:
    """Run until it is killed or superseded; the exit code is the agent's."""
    given = [each for each in sys.argv[1:] if each.startswith(_FLAG)]
    lease_s = float(given[-1].removeprefix(_FLAG))
    log.configure("info", "text")
    return asyncio.run(_run([a for a in sys.argv[1:] if a not in given], lease_s))


if __name__ == "__main__":
    sys.exit(main())
