"""When objects of kinds that Kubernetes does not bring are available: rules as data, in CEL. Pure.

Agents execute them (`agent.objects.rules`); kinds of Kubernetes have their own rules there, which no
expression replaces.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

AT_ONCE: Final = "true"  # of kinds that hold data: there as soon as they are stored


class Rule(NamedTuple):
    """`available`: an expression that gives a bool. `message`: one that gives a text, for where it is not."""

    available: str
    message: str = ""


_KUEUE: Final = "kueue.x-k8s.io"
_ARGO: Final = "argoproj.io"
_CERT_MANAGER: Final = "cert-manager.io"
# Without a queue manager they hold data, and no controller ever writes a condition.
_ACTIVE: Final = Rule(
    "!has(object.status.conditions) || size(object.status.conditions) == 0 || cond('Active')"
)
_READY: Final = Rule("cond('Ready')")
_DATA: Final = Rule(AT_ONCE)
_SAYS_ITS_PHASE: Final = (
    "has(object.status.message) && object.status.message != '' ? object.status.message : "
    "'its phase is ' + object.status.phase"
)

BUILT_IN: Final[Mapping[tuple[str, str], Rule]] = {
    (_KUEUE, "AdmissionCheck"): _ACTIVE,
    (_KUEUE, "ClusterQueue"): _ACTIVE,
    (_KUEUE, "Cohort"): _DATA,
    (_KUEUE, "LocalQueue"): _ACTIVE,
    (_KUEUE, "ProvisioningRequestConfig"): _DATA,
    (_KUEUE, "ResourceFlavor"): _DATA,
    (_KUEUE, "Topology"): _DATA,
    (_KUEUE, "Workload"): Rule(
        "cond('Finished') ? reason('Finished') != 'Failed' : cond('Admitted')"
    ),
    (_KUEUE, "WorkloadPriorityClass"): _DATA,
    (_ARGO, "AppProject"): _DATA,
    (_ARGO, "Application"): Rule(
        "object.status.sync.status == 'Synced' && object.status.health.status == 'Healthy'",
        "'it is ' + object.status.sync.status + ' and ' + object.status.health.status",
    ),
    (_ARGO, "ApplicationSet"): Rule("cond('ResourcesUpToDate')"),
    (_ARGO, "ClusterWorkflowTemplate"): _DATA,
    (_ARGO, "CronWorkflow"): Rule(
        "!cond('SpecError') && !cond('SubmissionError')",
        "object.status.conditions.filter(c, c.status == 'True' && c.type.endsWith('Error'))[0].message",
    ),
    (_ARGO, "Rollout"): Rule(
        "object.status.observedGeneration == string(object.metadata.generation)"
        " && object.status.phase == 'Healthy'",
        _SAYS_ITS_PHASE,
    ),
    (_ARGO, "Workflow"): Rule("object.status.phase in ['Running', 'Succeeded']", _SAYS_ITS_PHASE),
    (_ARGO, "WorkflowTemplate"): _DATA,
    (_CERT_MANAGER, "Certificate"): _READY,
    (_CERT_MANAGER, "CertificateRequest"): _READY,
    (_CERT_MANAGER, "ClusterIssuer"): _READY,
    (_CERT_MANAGER, "Issuer"): _READY,
}
