"""Drift: how soon an edit in a member is on the hub, and how soon it is undone.

ConfigMaps are placed on one member, half under IfNotDrifted and half under Always. Each is edited
there by hand, one at a time: `seen_*` is from the edit until the hub lists path and both values,
`undone_*` until the member holds again what the hub declares. Both are read by polling every 20 ms.
"""

import argparse
import base64
import json
import ssl
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import yaml

from bench.local_fleet import equal_members, fleet, machine, show
from roadstead import Client

NAMESPACE = "shop"
_POLL_S = 0.02


def objects(when: str, count: int) -> list[dict[str, Any]]:
    """A Namespace with ConfigMaps and the placement that sends them everywhere."""
    namespace = f"{NAMESPACE}-{when.lower()}"
    maps = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": f"settings-{i}", "namespace": namespace},
            "data": {"colour": "blue"},
        }
        for i in range(count)
    ]
    selector = {"group": "", "version": "v1", "kind": "Namespace", "name": namespace}
    placement = {
        "apiVersion": "placement.kubernetes-fleet.io/v1",
        "kind": "ClusterResourcePlacement",
        "metadata": {"name": namespace},
        "spec": {
            "resourceSelectors": [selector],
            "policy": {"placementType": "PickAll"},
            "strategy": {"applyStrategy": {"whenToApply": when}},
        },
    }
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        *maps,
        placement,
    ]


def member_api(kubeconfig: Path) -> httpx.Client:
    """A client of a member's API server."""
    config = yaml.safe_load(kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    return httpx.Client(
        base_url=cluster["server"],
        verify=ssl.create_default_context(cadata=authority),
        headers={"Authorization": f"Bearer {user['token']}"},
    )


def seconds_until(condition: Callable[[], bool]) -> float:
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > 60:
            raise SystemExit("not within 60 s")
        time.sleep(_POLL_S)
    return time.monotonic() - began


def colour(member: httpx.Client, path: str) -> str:
    answer = member.get(path)
    return answer.json()["data"]["colour"] if answer.status_code == 200 else ""


def _holds(member: httpx.Client, path: str, value: str) -> Callable[[], bool]:
    return lambda: colour(member, path) == value


def _lists(hub: Client, count: int) -> Callable[[], bool]:
    return lambda: len(list(hub.drift())) == count


def measure(args: argparse.Namespace) -> dict[str, object]:
    seen: list[float] = []
    undone: list[float] = []
    with fleet(equal_members(1)) as local, local.client() as hub:
        member = member_api(local.folder / "members" / "m1.kubeconfig")
        for when, found in (("IfNotDrifted", seen), ("Always", undone)):
            declared = objects(when, args.edits)
            hub.apply(json.dumps({"apiVersion": "v1", "kind": "List", "items": declared}).encode())
            paths = [
                f"/api/v1/namespaces/{NAMESPACE}-{when.lower()}/configmaps/settings-{i}"
                for i in range(args.edits)
            ]
            for path in paths:
                seconds_until(_holds(member, path, "blue"))
            for number, path in enumerate(paths):
                member.patch(
                    path,
                    json={"data": {"colour": "red"}},
                    headers={"Content-Type": "application/merge-patch+json"},
                ).raise_for_status()
                if when == "Always":
                    found.append(seconds_until(_holds(member, path, "blue")))
                else:
                    found.append(seconds_until(_lists(hub, number + 1)))
    return {
        "edits": args.edits,
        "seen_p50_s": round(statistics.median(seen), 3),
        "seen_max_s": round(max(seen), 3),
        "undone_p50_s": round(statistics.median(undone), 3),
        "undone_max_s": round(max(undone), 3),
        "machine": machine(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=10)
    parser.add_argument("--json", action="store_true", help="only the JSON line")
    args = parser.parse_args()
    figures = measure(args)
    show(figures, only_json=args.json)


if __name__ == "__main__":
    main()
