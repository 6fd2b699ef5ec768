"""Storm: dispatch beside ten thousand drifts.

ConfigMaps stand on every member, under IfNotDrifted. A burst of jobs is dispatched on a quiet fleet, then
an equal one while each ConfigMap is edited by hand in every member: `share` is its rate in that of the first.
`seen_s` is from the first edit until the hub has all drifts. Members and their agents share one process.
"""

import argparse
import concurrent.futures
import json
import time

from bench.dispatch import manifests
from bench.drift import NAMESPACE as _SHOP, member_api, objects
from bench.local_fleet import LocalFleet, equal_members, fleet, machine, show
from bench.rollout import is_applied
from roadstead import Client

NAMESPACE = f"{_SHOP}-ifnotdrifted"
_CHUNK = 200
_LIMIT_S = 1800.0


def stand(hub: Client, count: int) -> None:
    """Declare them and wait until they are everywhere."""
    documents = objects("IfNotDrifted", count)
    for start in range(0, len(documents), _CHUNK):
        items = documents[start : start + _CHUNK]
        hub.apply(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    began = time.monotonic()
    while not is_applied(hub.placement(NAMESPACE)):
        if time.monotonic() - began > _LIMIT_S:
            raise SystemExit("the ConfigMaps do not stand")
        time.sleep(1.0)


def burst(hub: Client, args: argparse.Namespace, prefix: str) -> float:
    """Jobs per second, from the first submit to the last end."""
    jobs = list(manifests(args.jobs, 1.0))
    for each in jobs:
        each["metadata"]["namespace"] = f"{prefix}-{each['metadata']['namespace']}"
    before = _ended(hub)
    began = time.monotonic()
    for start in range(0, len(jobs), 1000):
        hub.submit_many(jobs[start : start + 1000])
    while _ended(hub) - before < args.jobs:
        if time.monotonic() - began > _LIMIT_S:
            raise SystemExit("the jobs do not end")
        time.sleep(0.25)
    return args.jobs / (time.monotonic() - began)


def _ended(hub: Client) -> int:
    states = hub.overview().jobs
    return sum(states.get(state, 0) for state in ("Succeeded", "Failed", "Cancelled"))


def edit(local: LocalFleet, member: str, count: int) -> None:
    """Change each ConfigMap of one member by hand."""
    with member_api(local.folder / "members" / f"{member}.kubeconfig") as api:
        for i in range(count):
            path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/settings-{i}"
            how = {"Content-Type": "application/merge-patch+json"}
            api.patch(path, json={"data": {"colour": "red"}}, headers=how).raise_for_status()


def measure(args: argparse.Namespace) -> dict[str, object]:
    members = equal_members(args.members)
    count = args.drifts // args.members
    with fleet(members, packed=True) as local, local.client() as hub:
        stand(hub, count)
        quiet = burst(hub, args, "quiet")
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(args.members) as pool:
            edits = [pool.submit(edit, local, each["name"], count) for each in members]
            stormy = burst(hub, args, "stormy")
            for each in edits:
                each.result()
        edited_s = time.monotonic() - began
        while (seen := len(list(hub.drift()))) < count * args.members:
            if time.monotonic() - began > _LIMIT_S:
                raise SystemExit(f"the hub has {seen} of {count * args.members} drifts")
            time.sleep(1.0)
        return {
            "drifts": seen,
            "jobs": args.jobs,
            "members": args.members,
            "quiet_jobs_per_s": round(quiet, 1),
            "stormy_jobs_per_s": round(stormy, 1),
            "share": round(stormy / quiet, 2),
            "edited_s": round(edited_s, 1),
            "seen_s": round(time.monotonic() - began, 1),
            "hub_peak_rss_mib": round(local.peak_rss_mib("hub"), 1),
            "machine": machine(),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drifts", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=4000)
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--json", action="store_true", help="only the JSON line")
    args = parser.parse_args()
    show(measure(args), only_json=args.json)


if __name__ == "__main__":
    main()
