"""The registry's entry for a typed kind, and the conversion of a manifest to `Parsed`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from shared.errors import FieldError, Rejected
from shared.kinds.metadata import SUBDOMAIN_NAME, NameRule, read_metadata
from shared.kinds.model import Model, validate
from shared.kinds.parsed import Parsed
from shared.kinds.problems import Problems
from shared.resources import PodSet

ENVELOPE: Final = frozenset({"apiVersion", "kind", "metadata", "status"})

Content = dict[str, Any]
Rule = Callable[[Content, Problems], None]


def _as_is(content: Content, problems: Problems) -> Content:
    return content


def _spec_of(content: Content) -> Content:
    found: Content = content.get("spec", content)
    return found


def no_rule(content: Content, problems: Problems) -> None:
    """What each field may say is all."""


def _no_pods(content: Content) -> tuple[PodSet, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind in one version. Its content is everything but apiVersion, kind, metadata, status.

    `model` is this version's content, `both` accepts either version's names (for the bridge).
    `convert` gives the internal shape and notes what is ambiguous; `check` looks at that shape, and
    `kept` says what of it is kept beside the manifest.
    """

    group: str
    version: str
    kind: str
    namespaced: bool
    model: type[Model]
    both: type[Model]
    check: Rule = no_rule
    convert: Callable[[Content, Problems], Content] = _as_is
    name_rule: NameRule = SUBDOMAIN_NAME
    pod_sets: Callable[[Content], tuple[PodSet, ...]] = _no_pods
    kept: Callable[[Content], Content] = _spec_of

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"

    def parse(
        self,
        manifest: dict[str, Any],
        *,
        strict: bool,
        from_client: bool,
        lenient_versions: bool,
        default_namespace: str,
    ) -> Parsed:
        """Read a manifest of this kind; raises `Rejected` with every fault found."""
        problems = Problems(strict=strict)
        metadata = read_metadata(
            manifest, problems, name_rule=self.name_rule, from_client=from_client,
            may_generate=self.kind == "Workload",
        )  # fmt: skip
        content = content_of(manifest)
        if content.get("spec", ...) is None:
            content["spec"] = {}  # `spec:` with nothing below it
        model = self.both if lenient_versions else self.model
        read = validate(model, content, "", problems)
        if read:
            read = self.convert(read, problems)
            self.check(read, problems)
        problems.raise_if_any()
        namespace = (metadata.namespace or default_namespace) if self.namespaced else ""
        pod_sets, hindrance = self._admissible(read, problems)
        return Parsed(
            self.kind, self.group, self.version, namespace, metadata.name, metadata.labels,
            metadata.annotations, self.kept(read), manifest, metadata.generate_name,
            pod_sets, hindrance,
        )  # fmt: skip

    def _admissible(
        self, content: Content, problems: Problems
    ) -> tuple[tuple[PodSet, ...], FieldError | None]:
        """The demand to admit, or the reason why it can not be admitted."""
        if problems.hindrance is not None:
            return (), problems.hindrance
        try:
            return self.pod_sets(content), None
        except Rejected as refusal:
            return (), FieldError(refusal.field, refusal.code, refusal.detail)


def content_of(manifest: Mapping[str, Any]) -> Content:
    """A manifest without its envelope."""
    return {name: value for name, value in manifest.items() if name not in ENVELOPE}
