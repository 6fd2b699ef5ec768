"""The user of a schedule: submits, holds, cancels … over REST, and deletes by hand in members.

What the hub acknowledged goes into the ledger; a request that it did not answer is no fault of the
hub, and a submission is repeated under its key until it is answered.
"""

import copy
import json
import threading
import time
from typing import Any

from roadstead.errors import NotFound, Rejected, RoadsteadError
from shared import labels
from tests.chaos import manifests
from tests.chaos.fleet import Fleet
from tests.chaos.history import Ledger
from tests.chaos.member import Member
from tests.chaos.recorder import Recorder

_EVERY_S = 0.1
_REPLACE_WITHIN_S = 8
Json = dict[str, Any]


class User:
    """One person with the administrator's token. Its methods may be called from several threads."""

    def __init__(self, fleet: Fleet, recorder: Recorder, ledger: Ledger) -> None:
        self._fleet, self._recorder, self.ledger = fleet, recorder, ledger
        self._lock = threading.Lock()
        self._manifests: dict[str, Json] = {}  # by name
        self._bursts: dict[str, list[Json]] = {}  # by key
        self._unanswered: set[str] = set()  # keys
        self._answered: dict[str, float] = {}  # when each uid was acknowledged first
        self._replaced: set[str] = set()  # names that were deleted and submitted anew

    # --- submissions ---------------------------------------------------------------------------------

    def submit(self, key: str, jobs: list[Json]) -> None:
        """Submit a burst under its key."""
        with self._lock:
            self._bursts[key] = [manifests.job(each) for each in jobs]
            self._unanswered.add(key)
            self.ledger.tight |= {each["name"] for each in jobs if each.get("tight")}
            self.ledger.steered |= {each["name"] for each in jobs if each.get("queue")}
            self.ledger.unanswered |= {each["name"] for each in jobs}
            for manifest in self._bursts[key]:
                self._manifests[manifest["metadata"]["name"]] = manifest
        self._submit_again(key)

    def submit_unanswered(self) -> None:
        """Repeat what has no answer yet. Raises RoadsteadError."""
        for key in sorted(self._unanswered):
            self._submit_again(key)

    def submit_all_again(self) -> None:
        """Repeat every burst under its key, as a user would who doubts the answers."""
        for key in sorted(self._bursts):
            self._submit_again(key)

    def _submit_again(self, key: str) -> None:
        lines = "\n".join(json.dumps(each) for each in self._bursts[key])
        answer = self._fleet.request(
            "POST",
            "/v1/jobs:batch",
            body=lines.encode(),
            content_type="application/x-ndjson",
            headers={"Idempotency-Key": key},
        )
        with self._lock:
            self._unanswered.discard(key)
            for manifest, item in zip(self._bursts[key], answer["items"], strict=True):
                self._acknowledged(manifest["metadata"]["name"], item)

    def lose(self, known: set[str], since: float) -> None:
        """The hub went back to a time `since`: it need not know what it acknowledged from then on."""
        with self._lock:
            uids = {u for u, at in self._answered.items() if at >= since and u not in known}
            self.ledger.lost |= uids
            names = {self.ledger.acknowledged[uid] for uid in uids}
            self.ledger.unanswered |= names
            for key, burst in self._bursts.items():
                if names & {each["metadata"]["name"] for each in burst}:
                    self._unanswered.add(key)

    def _acknowledged(self, name: str, item: Json) -> None:
        uid = item.get("uid")
        if name not in self._replaced:
            self.ledger.unanswered.discard(name)
            before = [u for u, n in self.ledger.acknowledged.items() if n == name]
            known = next((u for u in before if u not in self.ledger.lost), uid)
            if uid and known != uid:
                change = {"name": name, "first": known, "second": uid}
                self.ledger.changed_uids.append(change)
        if uid:
            self._note(uid, name)

    def _note(self, uid: str, name: str) -> None:
        self.ledger.acknowledged[uid] = name
        self._answered.setdefault(uid, time.time())

    # --- what is done to jobs ------------------------------------------------------------------------

    def act(self, verb: str, count: int, states: list[str], cluster: str = "") -> None:
        """Do `verb` to the first `count` jobs, by name, that are in one of the states there."""
        found: list[Json] = []
        for state in states:
            filters = {"state": state, **({"cluster": cluster} if cluster else {})}
            found += self._fleet.jobs(**filters)
        chosen = sorted(found, key=lambda job: job["name"])[:count]
        for job in chosen:
            try:
                self._do(verb, job)
            except Rejected:
                continue  # it has moved on meanwhile

    def _do(self, verb: str, job: Json) -> None:
        uid = job["uid"]
        match verb:
            case "hold" | "release" | "cancel":
                self._fleet.request("POST", f"/v1/jobs/{uid}/{verb}")
            case "delete":
                self._delete(uid)
            case "replace":
                self._replace(job)
            case "prioritise":
                self._change(job["name"], priority="high")

    def release_all(self) -> None:
        """Let every held job go. Raises RoadsteadError."""
        self.act("release", 1000, ["Held"])

    def resize(self, count: int, to: int) -> None:
        """Apply the newest `count` jobs that may grow with another number of pods."""
        grows = [n for n, m in self._manifests.items() if "completionMode" not in m["spec"]]
        for name in sorted(grows)[-count:]:
            self._change(name, parallelism=to)

    def _change(self, name: str, *, priority: str = "", parallelism: int | None = None) -> None:
        """Apply a job otherwise; one that was deleted meanwhile is made anew by that, and so acknowledged."""
        manifest = copy.deepcopy(self._manifests.get(name))
        if manifest is None or name not in self.ledger.acknowledged.values():
            return
        if priority:
            manifest["metadata"]["labels"][labels.PRIORITY_CLASS] = priority
        if parallelism:
            manifest["spec"]["parallelism"] = parallelism
        try:
            answer = self._fleet.request("POST", "/v1/apply", body=json.dumps(manifest).encode())
        except Rejected:
            raise
        except RoadsteadError:
            with self._lock:
                self._replaced.add(name)
                self.ledger.unanswered.add(name)
            raise
        with self._lock:
            for item in answer["items"]:
                if item["result"] == "created":
                    self._note(item["uid"], name)

    def _delete(self, uid: str) -> None:
        with self._lock:
            self.ledger.deleted.add(uid)
        self._fleet.request("DELETE", f"/v1/jobs/{uid}")

    def _replace(self, job: Json) -> None:
        """Delete a job and submit another of its name as soon as that is free."""
        name = job["name"]
        if name not in self._manifests:
            return
        with self._lock:
            self._replaced.add(name)
            self.ledger.unanswered.add(name)
        self._delete(job["uid"])
        body = json.dumps(self._manifests[name]).encode()
        headers = {"Idempotency-Key": f"again-{job['uid']}"}
        deadline = time.monotonic() + _REPLACE_WITHIN_S
        while time.monotonic() < deadline:
            try:
                made = self._fleet.request("POST", "/v1/jobs", body=body, headers=headers)
            except RoadsteadError:
                time.sleep(4 * _EVERY_S)
                continue
            with self._lock:
                self._note(made["uid"], name)
                self.ledger.unanswered.discard(name)
            return

    # --- by hand in a member -------------------------------------------------------------------------

    def delete_by_hand(self, member: Member, within_s: float, count: int) -> None:
        """Delete up to `count` Jobs of ours in a member, each as soon as it is seen Complete."""
        deadline = time.monotonic() + within_s
        left = count
        while left and time.monotonic() < deadline:
            ended = [s for s in self._recorder.live() if s.member == member.name and s.result]
            for seen in ended[:left]:
                key = f"{seen.member}/{seen.uid}"
                with self._lock:
                    if key in self.ledger.by_hand:
                        continue
                    self.ledger.by_hand.add(key)
                left -= 1
                member.delete_job(manifests.NAMESPACE, seen.name, seen.uid)
            time.sleep(_EVERY_S)

    def cordon(self, members: list[str], *, on: bool) -> None:
        """Cordon or uncordon members."""
        for member in members:
            try:
                verb = "cordon" if on else "uncordon"
                self._fleet.request("POST", f"/v1/clusters/{member}/{verb}")
            except NotFound:
                continue
