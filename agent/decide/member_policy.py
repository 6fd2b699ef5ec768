"""The member's own word on what a hub may have written here. Pure.

The hub has judged before, by its rules; this agent judges again by its own, so that a hub that is
mistaken or has been taken over gets no further than this cluster's administrator allows. Deletions of
what is ours are always allowed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final, Literal

from agent.decide.decision import Do, Trouble
from agent.objects import managed_fields
from agent.objects.facts import Object, is_namespace
from agent.objects.forms import forms_of, rule_faults, rule_of
from agent.objects.holds import BUILT_IN, JOB, fenced_paths, is_job_work
from agent.objects.manifests import PASSED_METADATA
from shared import labels, podsecurity
from shared.errors import FieldError, Rejected
from shared.podsecurity import LEVELS, Rules, level_named, listed
from shared.podsecurity.rules import ENFORCE
from shared.podsecurity.templates import templates_of
from shared.reject_codes import RejectCode
from shared.wire.agent_v1 import Work
from shared.workkinds.growing_kinds import refuse_growth

REFUSED: Final = "RefusedByMember"
Profile = Literal["jobs", "objects"]
PROFILES: Final[tuple[Profile, ...]] = ("jobs", "objects")
ConsentMode = Literal["Enforce", "Report"]
CONSENT_MODES: Final[tuple[ConsentMode, ...]] = ("Enforce", "Report")
_WRITES: Final = frozenset({"Create", "Apply"})
# Of a Job they change no pod. Of other kinds they write what the hub's rule says.
_PATCHES: Final = frozenset({"Start", "PatchJob"})
# Who may write these may do anything: they are taken where their group is named in full.
POWERS: Final = frozenset(
    {
        "admissionregistration.k8s.io",
        "apiregistration.k8s.io",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "certificates.k8s.io",
        "rbac.authorization.k8s.io",
    }
)
# Secrets that the cluster itself fills with a token, or takes for one: never a hub's to make.
TOKEN_SECRETS: Final = frozenset(
    {"bootstrap.kubernetes.io/token", "kubernetes.io/service-account-token"}
)


@dataclass(frozen=True, slots=True)
class MemberPolicy:
    """What may be written. `kinds`: patterns by comma, of GROUP/KIND; the core group is `core`.

    Groups in `POWERS` are in no pattern that has to guess them. The second gate in a member says the same
    once more (deploy/charts/roadstead-agent/templates/admission-policy.yaml).
    """

    rules: Rules = field(default_factory=Rules)
    profile: Profile = "objects"
    kinds: str = "*"
    logs: Literal["off", "on"] = "off"  # whether people read pods' logs through the hub
    accepted: str = (
        ""  # namespaces of the member's people that accept the hub, as names and patterns
    )
    consent: ConsentMode = (
        "Enforce"  # Report: namespaces that hold Jobs of the hub at start continue
    )

    def refuse(self, work: Work, step: Do) -> Trouble | None:
        """Refuse a step, naming the field and the rule; None: it may be taken.

        Judged is the object as the hub sends it, as it is held, and as it runs.
        """
        patched = step in _PATCHES and rule_of(work) is not None
        if work.manifest is None or not (step in _WRITES or patched):
            return None
        if (other := names_another(work)) is not None:
            return other
        manifest, *written = forms_of(work)
        found = self._broken(work, manifest) or rule_faults(work)
        for form in written:
            found = found or self._broken(work, form)
        if not found:
            return None
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        first = found[0]
        text = f"{first.code}: {first.field}: {first.message}{more}"
        return Trouble(REFUSED, text, final=True)

    def _broken(self, work: Work, manifest: Object) -> list[FieldError]:
        metadata = manifest.get("metadata") or {}
        held: list[FieldError] = []
        podsecurity.check_metadata(metadata, "metadata", held)
        if held:
            return held
        if odd := sorted(labels.CONSENT & (metadata.get("labels") or {}).keys()):
            text = f"only people of this member write {odd[0]}"
            return [FieldError("metadata.labels", RejectCode.FORBIDDEN_FIELD, text)]
        if found := _other_metadata(metadata):
            return found
        if not self._takes(work):
            text = f"this member takes no {work.kind} (profile {self.profile})"
            return [FieldError("kind", RejectCode.UNSUPPORTED_KIND, text)]
        target = work.name if _is_namespace(work) else work.namespace
        found = podsecurity.check_target(target, self.rules)
        if found:
            return found
        if _is_namespace(work):
            return self._weakened(work.name, metadata.get("labels") or {})
        if (work.api_version, work.kind) == ("v1", "Secret"):
            return _tokens(manifest)
        if (work.api_version, work.kind) == ("v1", "Service"):
            return _claimed_addresses(manifest)
        found = _job_faults(work, manifest)
        level, fenced = self.rules.level_of(work.namespace), fenced_paths(work)
        return found + podsecurity.check_pods(manifest, work.namespace, level, self.rules, fenced)

    def _takes(self, work: Work) -> bool:
        if is_job_work(work) and (work.api_version, work.kind) in BUILT_IN:
            return True
        group = work.api_version.rpartition("/")[0] or "core"
        return self.profile == "objects" and any(
            fnmatchcase(f"{group}/{work.kind}", pattern)
            for pattern in listed(self.kinds)
            if group not in POWERS or pattern.partition("/")[0] == group
        )

    def _weakened(self, name: str, marks: Object) -> list[FieldError]:
        """A Namespace must not be told to take more than this member's own level for it."""
        asked, own = marks.get(ENFORCE), self.rules.level_of(name)
        if asked is None or LEVELS.index(level_named(asked)) >= LEVELS.index(own):
            return []
        text = f"namespace {name} is {own} in this member"
        return [FieldError(f"metadata.labels[{ENFORCE}]", RejectCode.POLICY_VIOLATION, text)]


def names_another(work: Work) -> Trouble | None:
    """Refuse a work whose manifest names another object: consent covers only the work's own."""
    if work.manifest is None:
        return None
    metadata = work.manifest.get("metadata") or {}
    named = (
        work.manifest.get("apiVersion"),
        work.manifest.get("kind"),
        metadata.get("namespace") or "",
        metadata.get("name"),
    )
    if named == (work.api_version, work.kind, work.namespace, work.name):
        return None
    text = "metadata: the manifest names another object than the work"
    return Trouble(REFUSED, f"{RejectCode.POLICY_VIOLATION}: {text}", final=True)


VERSION: Final = f"{ENFORCE}-version"


def lowered(manifest: Object, live: Object | None) -> str:
    """Refuse an apply that lowers the Pod Security level of a Namespace, or pins an older version; or "".

    `live`: the Namespace as it is; None: it is created.
    """
    if not is_namespace(manifest):
        return ""
    name, code = manifest["metadata"]["name"], RejectCode.POLICY_VIOLATION
    marks = {} if live is None else live["metadata"].get("labels") or {}
    if pinned := _pinned(manifest, marks):
        text = f"namespace {name} gets no older version of its level, and the manifest would pin {pinned}"
        return f"{code}: metadata.labels[{VERSION}]: {text}"
    held = marks.get(ENFORCE)
    if held is None or live is None:
        return ""
    asked = (manifest["metadata"].get("labels") or {}).get(ENFORCE)
    where = f"metadata.labels[{ENFORCE}]: namespace {name} enforces {held} in this member"
    if asked is None:
        owned = managed_fields.owned_by(live, labels.FIELD_MANAGER) or {}
        ours = held != LEVELS[0] and managed_fields.covers(owned, ("metadata", "labels", ENFORCE))
        return f"{code}: {where}, and the manifest would remove it" if ours else ""
    if LEVELS.index(level_named(asked)) < LEVELS.index(level_named(held)):
        return f"{code}: {where}, and the manifest would lower it to {asked}"
    return ""


def _pinned(manifest: Object, held: Object) -> str:
    """The version of the level's rules that an apply would set: an older one enforces less."""
    asked = (manifest["metadata"].get("labels") or {}).get(VERSION)
    return "" if asked in (None, "latest", held.get(VERSION)) else str(asked)


def _other_metadata(metadata: Object) -> list[FieldError]:
    """Metadata that only the member's API server and its people set; empty values set nothing."""
    text = f"a manifest for a member sets {', '.join(PASSED_METADATA)} and no other metadata"
    return [
        FieldError(f"metadata.{name}", RejectCode.FORBIDDEN_FIELD, text)
        for name in sorted(metadata.keys() - set(PASSED_METADATA))
        if metadata[name]
    ]


def _job_faults(work: Work, manifest: Object) -> list[FieldError]:
    if not is_job_work(work):
        return []
    if (work.api_version, work.kind) == JOB:
        return podsecurity.check_job_fields(manifest.get("spec") or {}, from_client=True)
    return _growth(work, manifest) + _unfenced(work, manifest)


def _growth(work: Work, manifest: Object) -> list[FieldError]:
    """Pods beside those that the hub has charged, or after the end."""
    try:
        refuse_growth(work.api_version, work.kind, manifest)
    except Rejected as refusal:
        why = refusal.detail.removeprefix(f"{refusal.field}: ")
        return [FieldError(refusal.field, refusal.code, why)]
    return []


def _unfenced(work: Work, manifest: Object) -> list[FieldError]:
    """Every pod template must say whose its pods are, or nobody could prove that they are gone."""
    marks = {labels.JOB_UID: work.uid, labels.EPOCH: str(work.epoch)}
    text = "the hub has not marked this pod template: its pods could not be told from others"
    specs = {f"{path}.spec" for path in fenced_paths(work)}  # listed once more, by themselves
    return [
        FieldError(each.path, RejectCode.POLICY_VIOLATION, text)
        for each in templates_of(manifest)
        if not each.is_part
        and each.path not in specs
        and not marks.items() <= _labels_of(each.body).items()
    ]


def _labels_of(template: Object | Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = template.get("metadata")
    found = metadata.get("labels") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}


def _is_namespace(work: Work) -> bool:
    return (work.api_version, work.kind) == ("v1", "Namespace")


def _tokens(secret: Object) -> list[FieldError]:
    """A Secret of these types becomes a credential of the member: the hub could read it back."""
    kind = secret.get("type")
    if not isinstance(kind, str) or kind not in TOKEN_SECRETS:
        return []
    text = f"this member takes no Secret of type {kind}"
    return [FieldError("type", RejectCode.POLICY_VIOLATION, text)]


def _claimed_addresses(service: Object) -> list[FieldError]:
    """Addresses of `externalIPs` draw the traffic of everybody in the member that is for them."""
    if not (service.get("spec") or {}).get("externalIPs"):
        return []
    text = "this member takes no Service with externalIPs: name a type that gives it an address"
    return [FieldError("spec.externalIPs", RejectCode.POLICY_VIOLATION, text)]
