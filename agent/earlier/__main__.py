"""`python -m agent.earlier`: lists, adopts or drains what an earlier hub left in a member.

For a member that joins a fresh hub (another hub id) while it still holds objects of an earlier one, which the
agent of the fresh hub does not see. The member's own people run this, with their own credential: neither hub
nor agent may consent for them. Run it only once the earlier hub and its agents do not run any more: a hub
that still runs may start a Job elsewhere once it no longer finds it here.

list    shows every object, and what adopt and drain would do to it; changes nothing
adopt   `--to` names the fresh hub. Namespaces get the label `accept` with its id. Jobs keep uid, epoch and
        pods: the fresh hub lists them (`roadstead restored`) and starts nothing because of them; `roadstead
        admin adopt UID` or `forget UID` decides. Other objects lose the earlier hub's marks: a placement of
        the fresh hub takes them over
drain   Jobs end and are deleted, what the earlier hub created is deleted, what it took over is released
"""

import argparse
import asyncio
import sys
from pathlib import Path

from shared.extras import leave_without

try:
    from agent.earlier.objects import EarlierHub, Left
    from shared.kube import errors
    from shared.kube.client import KubeClient
except ModuleNotFoundError as missing:
    leave_without(missing, "python -m agent.earlier", "agent")


def main() -> int:
    """Exit codes: 0 done, 1 something is left to do or was refused, 2 wrong usage."""
    parser = argparse.ArgumentParser(
        prog="python -m agent.earlier",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("verb", choices=["list", "adopt", "drain"])
    parser.add_argument("--kubeconfig", type=Path, help="of the member; none: in-cluster")
    parser.add_argument("--hub-id", default="", help="of the earlier hub (label managed-by)")
    parser.add_argument("--to", default="", help="adopt: the id of the fresh hub")
    parser.add_argument("--yes", action="store_true", help="do it; without, only list")
    given = parser.parse_args()
    if given.verb != "list" and not given.hub_id:
        parser.error(f"{given.verb}: --hub-id names the earlier hub; list shows the existing ids")
    if (given.verb == "adopt") != bool(given.to):
        parser.error("--to names the fresh hub, for adopt alone")
    if given.to and given.to == given.hub_id:
        parser.error("--to: that is the earlier hub itself, whose agent manages its objects")
    try:
        return asyncio.run(_run(given))
    except (errors.NotConfigured, errors.KubeError) as fault:
        sys.stderr.write(f"error: {fault}\n")
        return 1


async def _run(given: argparse.Namespace) -> int:
    async with await KubeClient.connect(given.kubeconfig) as client:
        earlier = EarlierHub(client, given.hub_id, given.to)
        found, unread = await earlier.look()
        for one in found:
            sys.stdout.write(f"{_line(one, given.verb)}\n")
        for kind in unread:
            sys.stderr.write(f"not listed: {kind}\n")
        if given.verb == "list" or not given.yes:
            sys.stdout.write(f"{_summary(found, given.verb)}\n")
            return 1 if unread else 0
        act = earlier.adopt if given.verb == "adopt" else earlier.drain
        faults = await act(found)
    for fault in faults:
        sys.stderr.write(f"{fault}\n")
    sys.stdout.write(f"{given.verb}: {len(found) - len(faults)} of {len(found)} done\n")
    return 1 if faults or unread else 0


def _line(one: Left, verb: str) -> str:
    if verb == "list":
        fates = f"adopt: {one.when_adopted}; drain: {one.when_drained}"
    else:
        fates = one.when_adopted if verb == "adopt" else one.when_drained
    return f"{one.place}  hub {one.hub_id}  {one.state}  {fates}"


def _summary(found: "list[Left]", verb: str) -> str:
    if not found:
        return "this member has no objects of an earlier hub"
    return f"{len(found)} objects{'' if verb == 'list' else '; --yes does it'}"


if __name__ == "__main__":
    sys.exit(main())
