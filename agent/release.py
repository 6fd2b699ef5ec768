"""`python -m agent.release`: takes our finalizer off Jobs that a hub left in a cluster, all or some.

Objects of the other kinds that jobs run as (JobSets, RayJobs, ...) are released too.

For a cluster that leaves permanently while no agent runs there, and after uninstalling: Then any user can
delete the Jobs. A running agent needs none of it. Results that the hub has not stored are lost with their
objects, so it asks for --yes.
"""

import argparse
import asyncio
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from shared.extras import leave_without

try:
    from agent.objects.facts import is_held_by_us
    from agent.objects.holds import BUILT_IN, JOB
    from shared import labels
    from shared.kube import errors, release
    from shared.kube.client import KubeClient
except ModuleNotFoundError as missing:
    leave_without(missing, "python -m agent.release", "agent")


def main() -> int:
    """Exit codes: 0 done, 1 not all could be released, 2 wrong usage."""
    parser = argparse.ArgumentParser(prog="python -m agent.release", description=__doc__)
    parser.add_argument(
        "jobs",
        metavar="[KIND/]NAMESPACE/NAME",
        nargs="*",
        help="only these Jobs, or objects of another kind; none: all there are",
    )
    parser.add_argument("--kubeconfig", type=Path, help="of the member; none: in-cluster")
    parser.add_argument("--hub-id", default="", help="only Jobs of this hub (label managed-by)")
    parser.add_argument("--yes", action="store_true", help="do it; without, only list the Jobs")
    given = parser.parse_args()
    for job in given.jobs:
        if len(parts := job.split("/")) not in {2, 3} or not all(parts):
            parser.error(f"{job}: expected NAMESPACE/NAME or KIND/NAMESPACE/NAME")
    try:
        return asyncio.run(_run(given.kubeconfig, given.hub_id, do=given.yes, only=given.jobs))
    except (errors.NotConfigured, errors.KubeError) as fault:
        sys.stderr.write(f"error: {fault}\n")
        return 1


async def _run(
    kubeconfig: Path | None, hub_id: str, *, do: bool, only: Collection[str] = ()
) -> int:
    selector = f"{labels.MANAGED_BY}={hub_id}" if hub_id else labels.MANAGED_BY
    only = {job.removeprefix("Job/") if job.count("/") == 2 else job for job in only}
    async with await KubeClient.connect(kubeconfig) as client:
        listed, refused = await _listed(client, selector)
        found = [job for job in listed if not only or _name(job) in only]
        held = [job for job in found if is_held_by_us(job)]
        for job in held:
            refused += not await _release(client, job, do=do)
    sys.stdout.write(f"{_told(len(held), refused, do=do)}\n")
    for name in sorted(set(only) - {_name(job) for job in found}):
        sys.stderr.write(f"{name}: no Job of this name is from a hub\n")
        refused += 1
    return 1 if refused else 0


async def _listed(client: KubeClient, selector: str) -> tuple[list[dict[str, Any]], int]:
    """All Jobs and served objects of other kinds; how many kinds the API server did not let us list."""
    found: list[dict[str, Any]] = []
    refused = 0
    served = await client.server_resources()
    for key in sorted(BUILT_IN & {JOB, *served}):
        try:
            found += (await client.list(*key, label_selector=selector)).items
        except errors.KubeError as refusal:
            if key == JOB:
                raise
            sys.stderr.write(f"{key[1]}: not listed: {refusal.message}\n")
            refused += 1
    return found, refused


def _told(held: int, refused: int, *, do: bool) -> str:
    if not held:
        return "no hub holds a Job here: nothing to release"
    if not do:
        return f"held: {held}; --yes releases them"
    return f"released: {held - refused} of {held}"


def _name(job: Mapping[str, Any]) -> str:
    """NAMESPACE/NAME of a Job, KIND/NAMESPACE/NAME of others."""
    of = "" if (job["apiVersion"], job["kind"]) == JOB else f"{job['kind']}/"
    return f"{of}{job['metadata'].get('namespace') or ''}/{job['metadata']['name']}"


async def _release(client: KubeClient, job: Mapping[str, Any], *, do: bool) -> bool:
    """Release one object as it now is; True if that is done, or only asked for."""
    metadata = job["metadata"]
    where = job["apiVersion"], job["kind"], metadata.get("namespace") or "", metadata["name"]
    sys.stdout.write(f"{_name(job)}\n")
    if not do:
        return True
    try:
        await release.let_go(
            client, where, str(metadata["uid"]), labels.MEMBER_FINALIZER, labels.FIELD_MANAGER
        )
    except errors.KubeError as refusal:
        sys.stderr.write(f"  {refusal.message}\n")
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
