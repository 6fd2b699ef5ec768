"""The plain manifests below deploy/, rendered from the charts by `python -m tests.charts.manifests`.

For whoever installs without Helm. A test holds each file equal to what is rendered here. The kinds that the
agent's chart brings are written, too.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Final

from tests.charts import helm
from tests.charts.helm import AGENT, HUB, Release
from tests.house.sources import REPOSITORY

_COMMAND: Final = "python -m tests.charts.manifests"
_GENERATED: Final = f"# Rendered from deploy/charts/{{chart}} by `{_COMMAND}`; change the chart.\n"
_OF_HELM = re.compile(
    r"^(# Source: .*| *(helm\.sh/chart|app\.kubernetes\.io/managed-by): .*)\n", re.MULTILINE
)
_SHARED: Final = {
    "createNamespace": True,
    "replicas": 2,
    "database": {"secret": {"name": "database"}, "migration": "start"},
    "adminToken": {"secret": {"name": "admin-token"}},
}


@dataclasses.dataclass(frozen=True)
class Manifest:
    """One file: of which templates of which release it is made, and what it says at its top."""

    release: Release
    templates: Sequence[str]
    about: str

    @property
    def text(self) -> str:
        """The file, without what only Helm reads."""
        rendered = _OF_HELM.sub("", helm.template(self.release, only=self.templates))
        about = "".join(f"# {line}\n" for line in self.about.strip().splitlines())
        head = _GENERATED.format(chart=self.release.chart)
        return head + about + rendered.removeprefix("---\n")


_HUB = ("namespace.yaml", "account.yaml", "service.yaml", "workload.yaml", "networkpolicy.yaml")
_ACCESS = Release(
    HUB,
    {
        "install": "access",
        "createNamespace": True,
        "hubCluster": {"token": True, "objects": True, "showJobs": True},
    },
)
_MEMBER = Release(
    AGENT,
    {
        "createNamespace": True,
        "profile": "objects",
        "hub": {"url": "https://roadstead.example.com"},
    },
)
MANIFESTS: Mapping[str, Manifest] = {
    "hub/sqlite.yaml": Manifest(
        Release(HUB, {"createNamespace": True}),
        _HUB,
        """
One hub that keeps everything in SQLite on a volume. Set the image. The first administrator's token:
  kubectl -n roadstead exec roadstead-hub-0 -- cat /var/lib/roadstead/data/admin.token
""",
    ),
    "hub/postgresql.yaml": Manifest(
        Release(HUB, _SHARED),
        (*_HUB, "poddisruptionbudget.yaml"),
        """
Two hubs that share one PostgreSQL. Set the image. Before, in namespace roadstead, Secret database with
key url (postgresql://USER:PASSWORD@HOST:PORT/DATABASE), and Secret admin-token with key token: ID.SECRET
of letters and digits, the first administrator's.
""",
    ),
    "hub-cluster/access.yaml": Manifest(
        _ACCESS,
        ("namespace.yaml", "account.yaml", "access.yaml", "people.yaml"),
        """
Who may do what on the hub cluster, from Kubernetes 1.30 on. `roadstead-hub-objects` is an example with
the usual kinds that placements select; leave `roadstead-hub-jobs` out where Jobs of REST are not shown.
People: bind `roadstead-user` in the namespaces of a team, `roadstead-operator` to those who keep
queues, members and placements, `roadstead-viewer` to whoever only looks.
""",
    ),
    "hub-cluster/job-guard.yaml": Manifest(_ACCESS, ("job-guard.yaml",), ""),
    "hub-cluster/mirror-guard.yaml": Manifest(_ACCESS, ("mirror-guard.yaml",), ""),
    "hub-cluster/job-policy.yaml": Manifest(_ACCESS, ("job-policy.yaml",), ""),
    "member/access.yaml": Manifest(
        _MEMBER,
        ("namespace.yaml", "account.yaml", "access.yaml"),
        """
What the agent may do in a member cluster. `roadstead-agent-objects` is an example with the usual kinds
that placements bring; leave it out on a cluster that runs jobs alone.
""",
    ),
    "member/admission-policy.yaml": Manifest(
        _MEMBER,
        ("admission-policy.yaml",),
        """
The second gate of a member cluster, from Kubernetes 1.30 on. Whoever sets ROADSTEAD_AGENT_… otherwise
than their defaults renders it anew, with the values of policy.
""",
    ),
    "member/agent.yaml": Manifest(
        _MEMBER,
        ("service.yaml", "workload.yaml", "networkpolicy.yaml"),
        """
The agent of a member cluster. Before: access.yaml, an image built from deploy/docker/agent.Dockerfile
where the cluster can pull it, and the join token in Secret roadstead/join, key token:
  roadstead clusters add NAME > join.token
  kubectl -n roadstead create secret generic join --from-file=token=join.token
Set the image and --hub.
""",
    ),
}


# The kinds that placements bring to members without Kueue: copies, for a chart is a folder that goes alone.
KINDS: Final = helm.CHARTS / AGENT / "kinds"
_PLACED: Final = (
    "clusterqueues",
    "cohorts",
    "localqueues",
    "resourceflavors",
    "workloadpriorityclasses",
)


def kinds() -> dict[str, str]:
    """What belongs into `KINDS`: the text by the file's name."""
    names = [f"kueue.x-k8s.io_{plural}.yaml" for plural in _PLACED]
    return {name: (REPOSITORY / "deploy" / "crds" / name).read_text() for name in names}


def main() -> None:
    """Write all of them."""
    KINDS.mkdir(exist_ok=True)
    for name, text in kinds().items():
        (KINDS / name).write_text(text)
    for path, manifest in MANIFESTS.items():
        file = REPOSITORY / "deploy" / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(manifest.text)


if __name__ == "__main__":
    main()
