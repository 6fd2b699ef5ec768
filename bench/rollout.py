"""Rollout: how soon a new placement stands on every cluster, beside many that stand already.

`--standing` placements stand on `--on` clusters each. Then a new one comes every second, `--new` times, for
all clusters: `applied_*` is from its apply until its condition Applied is true on the hub, by polling.
Members and their agents share one process (`roadstead up --pack`); each placement carries a Namespace with
a ConfigMap.
"""

import argparse
import itertools
import json
import statistics
import time
from collections.abc import Iterator
from typing import Any

from bench.local_fleet import LocalFleet, equal_members, fleet, machine, show
from roadstead import Client
from roadstead.models.placements import Placement

_CHUNK = 50  # placements of one request
_FEW = 4  # placements that are asked for in one round
_POLL_S = 0.1
_LIMIT_S = 3600.0


def documents(name: str, policy: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A Namespace with a ConfigMap, and the placement that sends both."""
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    yield {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": name},
        "data": {"colour": "blue"},
    }
    selector = {"group": "", "version": "v1", "kind": "Namespace", "name": name}
    yield {
        "apiVersion": "placement.kubernetes-fleet.io/v1",
        "kind": "ClusterResourcePlacement",
        "metadata": {"name": name},
        "spec": {"resourceSelectors": [selector], "policy": policy},
    }


def apply(hub: Client, found: Iterator[dict[str, Any]]) -> None:
    """Apply them in one request."""
    hub.apply(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(found)}))


def is_applied(placement: Placement) -> bool:
    """Is all of it where it is to be?"""
    return any(c.type.endswith("Applied") and c.status == "True" for c in placement.conditions)


def stand(hub: Client, args: argparse.Namespace) -> float:
    """Make the standing placements and wait for all; seconds."""
    policy = {"placementType": "PickN", "numberOfClusters": args.on}
    names = iter([f"standing-{number:04}" for number in range(args.standing)])
    began = time.monotonic()
    while few := list(itertools.islice(names, _CHUNK)):
        apply(hub, itertools.chain.from_iterable(documents(name, policy) for name in few))
    missing = {f"standing-{number:04}" for number in range(args.standing)}
    while missing:
        if time.monotonic() - began > _LIMIT_S:
            raise SystemExit(f"{len(missing)} of {args.standing} placements do not stand")
        time.sleep(2.0)
        for name in sorted(missing):
            if not is_applied(hub.placement(name)):
                break
            missing.discard(name)
    return time.monotonic() - began


def one_a_second(local: LocalFleet, args: argparse.Namespace) -> list[float]:
    """Seconds that each new placement took."""
    begun: dict[str, float] = {}
    took: list[float] = []
    names = iter([f"new-{number:04}" for number in range(args.new)])
    with local.client() as hub:
        due = time.monotonic()
        while len(took) < args.new:
            now = time.monotonic()
            if now >= due and (name := next(names, None)) is not None:
                begun[name] = now
                apply(hub, documents(name, {"placementType": "PickAll"}))
                due += 1.0
                continue
            few = list(begun)[:_FEW]
            there = [name for name in few if is_applied(hub.placement(name))]
            took.extend(time.monotonic() - begun.pop(name) for name in there)
            if begun and now - min(begun.values()) > _LIMIT_S:
                raise SystemExit(f"{len(begun)} placements are not applied everywhere")
            time.sleep(_POLL_S)
    return took


def measure(args: argparse.Namespace) -> dict[str, object]:
    members = equal_members(args.members, nodes=1, cpu=8)
    with fleet(members, packed=True) as local, local.client() as hub:
        stood_s = stand(hub, args)
        before, began = local.cpu_by_part(), time.monotonic()
        took = sorted(one_a_second(local, args))
        elapsed = time.monotonic() - began
        cpu = {part: s - before.get(part, 0.0) for part, s in local.cpu_by_part().items()}
        return {
            "standing": args.standing,
            "members": args.members,
            "on": args.on,
            "stood_s": round(stood_s, 1),
            "new": len(took),
            "p50_s": round(statistics.median(took), 2),
            "p90_s": round(took[int(len(took) * 0.9) - 1], 2),
            "max_s": round(took[-1], 2),
            "elapsed_s": round(elapsed, 1),
            "hub_cores": round(cpu.get("hub", 0.0) / elapsed, 2),
            "cpu_s": {part: round(seconds, 1) for part, seconds in cpu.items()},
            "hub_peak_rss_mib": round(local.peak_rss_mib("hub"), 1),
            "machine": machine(),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--standing", type=int, default=1000)
    parser.add_argument("--members", type=int, default=100)
    parser.add_argument("--on", type=int, default=10, help="clusters of each standing placement")
    parser.add_argument("--new", type=int, default=100)
    parser.add_argument("--json", action="store_true", help="only the JSON line")
    args = parser.parse_args()
    show(measure(args), only_json=args.json)


if __name__ == "__main__":
    main()
