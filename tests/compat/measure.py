"""What becomes of the manifests of a folder at both doors of a hub: REST, and its hub cluster's API server.

Each file has a hub of its own, as if it were the first that somebody tries; its documents go in one by
one, in order, into namespaces that exist. Nothing of a manifest is kept: the answer is a table.
"""

import asyncio
import contextlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson
import yaml

from hub.bridge.kinds import STATIC
from hub.services.mirror.objects import known_uids
from hub.store import objects
from shared.kinds.registry import identify
from shared.kube import errors
from shared.kubesim.cluster import SimCluster
from shared.kubesim.server.hub_admission import EVERY_NAMESPACE
from tests.api.serving import Served, served
from tests.bridge.hub_cluster import VERSIONS, World, until, world

Document = dict[str, Any]
TAKEN: Final = ""
# The start of what kubectl prints of an error; what follows is the API server's sentence.
_NOISE: Final = re.compile(r'^(Error from server \(\w+\): )?(error when \w+ "\S+": )?')
_UNSERVED: Final = "no matches for kind"


@dataclass(frozen=True, slots=True)
class Found:
    """One document and what each door said of it: "" where it was taken, else why not."""

    project: str
    api_version: str
    kind: str
    rest: str
    hub_cluster: str


def documents_of(file: Path) -> list[Document]:
    """The documents of a file, the items of a `List` by themselves."""
    found = [each for each in yaml.safe_load_all(file.read_text()) if each]
    return [
        item
        for each in found
        for item in (each["items"] if each.get("kind") == "List" else [each])
    ]


async def measure(folder: Path, scratch: Path) -> list[Found]:
    """Put every `*.yaml` below `folder` through both doors; its first level names the project.

    `scratch` is an empty folder for the stores of the hubs. Needs kubectl on PATH.
    """
    rows: list[Found] = []
    for number, file in enumerate(_files(folder)):
        stores = [scratch / f"{number}-{door}" for door in ("rest", "hub-cluster")]
        for each in stores:
            each.mkdir()
        project = file.relative_to(folder).parts[0].removesuffix(".yaml")
        documents = documents_of(file)
        rest = await by_rest(documents, stores[0])
        kubectl = await by_kubectl(documents, stores[1])
        rows += (
            Found(project, each["apiVersion"], each["kind"], one, other)
            for each, one, other in zip(documents, rest, kubectl, strict=True)
        )
    return rows


def _files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.yaml"))


async def by_rest(documents: Sequence[Document], place: Path) -> list[str]:
    """What `POST /v1/apply` says of each document."""
    async with served(place) as hub:
        return [await _posted(hub, each) for each in documents]


async def _posted(hub: Served, document: Document) -> str:
    answer = (
        await hub.admin.post("/v1/apply", content=orjson.dumps(document), headers=_JSON)
    ).json()
    (item,) = answer["items"]
    return f"{item['code']}: {item['detail']}" if item["result"] == "rejected" else TAKEN


_JSON: Final = {"Content-Type": "application/json"}


async def by_kubectl(documents: Sequence[Document], place: Path) -> list[str]:
    """What kubectl, and after it the hub, says of each document on a hub cluster as `up` starts it.

    A document that leaves its name to the server is created, any other applied.
    """
    cluster = SimCluster("hub", hub=True, hub_namespaces=EVERY_NAMESPACE)
    await cluster.start()
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(cluster.stop)
        it = await stack.enter_async_context(world(place, cluster))
        await until(lambda: _serves_our_kinds(it))
        for name in {each["metadata"].get("namespace") for each in documents} - {None, "default"}:
            await it.kube.create(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
                field_manager="compat",
            )
        return [await _applied(it, each, place / "hub.kubeconfig") for each in documents]


async def _serves_our_kinds(it: World) -> bool:
    for kind in ("ClusterQueue", "ResourcePlacement"):
        try:
            await it.kube.list(VERSIONS[kind], kind)
        except errors.KubeError:
            await it.kube.server_resources(refresh=True)
            return False
    return True


async def _applied(it: World, document: Document, kubeconfig: Path) -> str:
    verb = "apply" if document["metadata"].get("name") else "create"
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *("kubectl", "--kubeconfig", str(kubeconfig), verb, "-o", "json", "-f", "-"),
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
    )
    said, complaint = await process.communicate(orjson.dumps(document))
    if process.returncode:
        return _sentence(complaint.decode())
    group, _, kind = identify(document)
    if (group, kind) not in STATIC:
        return TAKEN  # the hub looks at it where a placement selects it
    metadata = orjson.loads(said)["metadata"]
    name = (group, kind, metadata.get("namespace") or "", metadata["name"])
    try:
        return str(await until(lambda: _word_of_the_hub(it, metadata["uid"], name)))[len(_OK) :]
    except AssertionError:
        return "the hub says nothing of it"


_OK: Final = "said "


async def _word_of_the_hub(it: World, uid: str, name: tuple[str, str, str, str]) -> str:
    """`said `, and the Warning where the hub refused it; "" as long as there is nothing."""
    hub = it.hub.hub
    known = uid in await hub.read(known_uids, [uid])
    if known or await hub.read(objects.find, *name) is not None:
        return _OK
    for event in (await it.kube.list("v1", "Event")).items:
        if event["involvedObject"].get("uid") == uid and event["type"] == "Warning":
            return f"{_OK}{event['reason']}: {event['message']}"
    return ""


def _sentence(complaint: str) -> str:
    lines = [line for line in complaint.splitlines() if line.strip()]
    for line in lines:
        if _UNSERVED in line:
            return line[line.index(_UNSERVED) :]
    return _NOISE.sub("", lines[-1]) if lines else "kubectl said nothing"


def table(rows: Iterable[Found]) -> Iterator[str]:
    """Lines of a table in Markdown: per project and kind how many each door took, and why not the rest."""
    grouped: dict[tuple[str, str], list[Found]] = defaultdict(list)
    for row in rows:
        grouped[row.project, row.kind].append(row)
    yield "| project | kind | documents | REST | kubectl | why not |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for (project, kind), found in sorted(grouped.items()):
        rest = sum(each.rest == TAKEN for each in found)
        kubectl = sum(each.hub_cluster == TAKEN for each in found)
        why = Counter(
            f"{door}: {said}"
            for each in found
            for door, said in (("REST", each.rest), ("kubectl", each.hub_cluster))
            if said != TAKEN
        )
        reasons = "; ".join(f"{count} × {said}" for said, count in sorted(why.items()))
        yield f"| {project} | {kind} | {len(found)} | {rest} | {kubectl} | {reasons.replace('|', '/')} |"
