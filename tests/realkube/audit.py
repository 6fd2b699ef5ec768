"""What an API server wrote down of accounts in the namespace roadstead: whether a right was missing."""

import json
from pathlib import Path
from typing import Final

import yaml

_POLICY: Final = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],  # a watch tells of its beginning
    "rules": [{"level": "Metadata", "userGroups": ["system:serviceaccounts:roadstead"]}],
}


def flags(directory: Path) -> str:
    """The flags of an API server that keeps `directory`/audit.log."""
    policy = directory / "audit-policy.yaml"
    policy.write_text(yaml.safe_dump(_POLICY))
    return (
        f"--audit-policy-file={policy} --audit-log-path={directory / 'audit.log'} "
        "--audit-log-mode=blocking"
    )


def asked(directory: Path) -> list[tuple[str, str, str, int]]:
    """Every request so far: account, verb, GROUP/RESOURCE with its subresource, and the answer's code."""
    found = []
    for line in (directory / "audit.log").read_text().splitlines():
        event = json.loads(line)
        what = event.get("objectRef") or {}
        names = (what.get("apiGroup"), what.get("resource"), what.get("subresource"))
        resource = "/".join(filter(None, names)) or event["requestURI"]
        account = event["user"]["username"].rpartition(":")[2]
        found.append((account, event["verb"], resource, event["responseStatus"]["code"]))
    return found


def refused(directory: Path) -> set[tuple[str, str, str]]:
    """What was answered 403 so far: account, verb, resource."""
    return {(who, verb, what) for who, verb, what, code in asked(directory) if code == 403}
