"""`python -m agent.release`: takes our finalizer off Jobs that a hub left in a cluster, all or some.

For a cluster that leaves for good while no agent runs there, and after uninstalling: Jobs can then be
deleted by anybody. A running agent needs none of it. Results that the hub has not been told are lost
with their objects, so it asks for --yes.
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
    from shared import labels
    from shared.kube import errors, release
    from shared.kube.client import KubeClient
except ModuleNotFoundError as missing:
    leave_without(missing, "python -m agent.release", "agent")


def main() -> int:
    """Exit codes: 0 done, 1 not all could be released, 2 wrong usage."""
    parser = argparse.ArgumentParser(prog="python -m agent.release", description=__doc__)
    parser.add_argument(
        "jobs", metavar="NAMESPACE/NAME", nargs="*", help="only these Jobs; none: all there are"
    )
    parser.add_argument("--kubeconfig", type=Path, help="of the member; none: in-cluster")
    parser.add_argument("--hub-id", default="", help="only Jobs of this hub (label managed-by)")
    parser.add_argument("--yes", action="store_true", help="do it; without, only list the Jobs")
    given = parser.parse_args()
    for job in given.jobs:
        if len([part for part in job.split("/") if part]) != 2:
            parser.error(f"{job}: expected NAMESPACE/NAME")
    try:
        return asyncio.run(_run(given.kubeconfig, given.hub_id, do=given.yes, only=given.jobs))
    except (errors.NotConfigured, errors.KubeError) as fault:
        sys.stderr.write(f"error: {fault}\n")
        return 1


async def _run(
    kubeconfig: Path | None, hub_id: str, *, do: bool, only: Collection[str] = ()
) -> int:
    selector = f"{labels.MANAGED_BY}={hub_id}" if hub_id else labels.MANAGED_BY
    refused = 0
    async with await KubeClient.connect(kubeconfig) as client:
        listing = await client.list("batch/v1", "Job", label_selector=selector)
        found = [job for job in listing.items if not only or _name(job) in only]
        held = [job for job in found if is_held_by_us(job)]
        for job in held:
            refused += not await _release(client, job, do=do)
    sys.stdout.write(f"{_told(len(held), refused, do=do)}\n")
    for name in sorted(set(only) - {_name(job) for job in found}):
        sys.stderr.write(f"{name}: no Job of this name is from a hub\n")
        refused += 1
    return 1 if refused else 0


def _told(held: int, refused: int, *, do: bool) -> str:
    if not held:
        return "no Job here is held by a hub: nothing to release"
    if not do:
        return f"held: {held}; --yes releases them"
    return f"released: {held - refused} of {held}"


def _name(job: Mapping[str, Any]) -> str:
    return f"{job['metadata'].get('namespace') or ''}/{job['metadata']['name']}"


async def _release(client: KubeClient, job: dict[str, object], *, do: bool) -> bool:
    """Release one Job as it now is; True if that is done, or only asked for."""
    metadata = job["metadata"]
    assert isinstance(metadata, dict)
    where = "batch/v1", "Job", metadata.get("namespace") or "", metadata["name"]
    sys.stdout.write(f"{where[2]}/{where[3]}\n")
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
