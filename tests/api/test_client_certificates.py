"""An agent's certificate is a second factor: it must be the hub's clients', and names no other cluster."""

import json
import ssl
from pathlib import Path
from typing import Literal

import pytest

from hub.services.access import credentials
from hub.services.context.settings import Settings, Tls
from hub.tls import Certificates
from shared.clock import SystemClock
from shared.wire.agent_v1 import REGISTER_PATH, SYNC_PATH
from tests.api.listening import Heard, Listening, listening
from tests.certificates import CA, Pair, write

pytestmark = pytest.mark.anyio
HUB, CLIENTS = CA("hub-ca"), CA("client-ca")
NO_BODY = "Content-Length: 0"


def wanting(
    folder: Path, required: Literal["Required", "Optional"] = "Required", signer: CA = CLIENTS
) -> Settings:
    """Settings of a hub that wants certificates of its agents, by this authority."""
    cert, key = write(folder / "tls", HUB.sign())
    clients = folder / "clients.pem"
    clients.write_bytes(signer.pem)
    tls = Tls(cert=str(cert), key=str(key), client_ca=str(clients), client_certificates=required)
    return Settings(tls=tls)


def serving(folder: Path, settings: Settings):
    return listening(folder, settings, Certificates(settings.tls, SystemClock()))


def showing(folder: Path, pair: Pair | None) -> ssl.SSLContext:
    """What a client speaks with that shows this certificate."""
    context = ssl.create_default_context(cadata=HUB.pem.decode())
    if pair is not None:
        context.load_cert_chain(*write(folder / "client", pair))
    return context


async def ask(hub: Listening, folder: Path, pair: Pair | None, path: str, token: str) -> Heard:
    method = "GET" if path.startswith("/v1") else "POST"
    line = await hub.line(showing(folder, pair))
    authorization = f"Authorization: Bearer {token}"
    await line.say(hub.head(method, path, NO_BODY, authorization, token=False))
    return await line.hear()


async def token_of(hub: Listening, cluster: str = "east") -> str:
    return await hub.db.write(lambda tx: credentials.issue_bearer(tx, "agent", cluster, cluster))


def code(heard: Heard) -> str:
    return heard.problem["code"]


def an_agents(cluster: str = "east", names: tuple[str, ...] = (), **more) -> Pair:
    return CLIENTS.sign(names, common_name=cluster, **more)


async def test_agents_must_show_one_and_people_need_not(tmp_path):
    """On the agents' routes the credential alone is not enough; people go on with their token."""
    settings = wanting(tmp_path)
    async with serving(tmp_path, settings) as hub:
        agent = await token_of(hub)
        assert (
            code(await ask(hub, tmp_path, None, SYNC_PATH, agent)) == "ClientCertificateRequired"
        )
        assert (await ask(hub, tmp_path, None, "/v1/jobs", hub.token)).status == 200
        join, _ = await hub.db.write(
            lambda tx: credentials.issue_join(tx, "east", settings.api.join_token_kept)
        )
        refused = await ask(hub, tmp_path, None, REGISTER_PATH, join)
        assert code(refused) == "ClientCertificateRequired"
        taken = await ask(hub, tmp_path, an_agents(), REGISTER_PATH, join)
        assert code(taken) == "InvalidJSON"  # let in: the message is what is looked at


@pytest.mark.parametrize(
    "pair",
    [an_agents(), an_agents(""), an_agents("team 7", ("east",))],
    ids=["its name", "no name", "alternative name"],
)
async def test_a_certificate_goes_with_its_own_clusters_credential(tmp_path, pair):
    """The names of the certificate, if it has any, are the cluster's; subjectAltName goes before CN."""
    async with serving(tmp_path, wanting(tmp_path)) as hub:
        agent = await token_of(hub)
        assert code(await ask(hub, tmp_path, pair, SYNC_PATH, agent)) == "InvalidJSON"


@pytest.mark.parametrize(
    "pair",
    [
        an_agents("west"),
        an_agents("East"),
        an_agents("east-1"),
        an_agents("east", ("west",)),
        an_agents("", ("east", "west")),
        an_agents("*"),
    ],
    ids=["another", "case", "prefix", "alternative", "two", "wildcard"],
)
async def test_a_certificate_of_another_cluster_is_refused(tmp_path, pair):
    """Compared exactly; it is written down, once, and the credential says who it was."""
    async with serving(tmp_path, wanting(tmp_path)) as hub:
        made = json.dumps({"name": "east"}).encode()
        length = f"Content-Length: {len(made)}"
        line = await hub.line(showing(tmp_path, None))
        await line.say(
            hub.head("POST", "/v1/clusters", "Content-Type: application/json", length) + made
        )
        assert (await line.hear()).status == 201
        agent = await token_of(hub)
        for _ in range(2):
            heard = await ask(hub, tmp_path, pair, SYNC_PATH, agent)
            assert (heard.status, code(heard)) == (403, "IdentityMismatch")
        told = json.loads((await ask(hub, tmp_path, None, "/v1/audit", hub.token)).body)
        noted = [each for each in told["items"] if each["principal"] == "agent of east"]
        assert [each["outcome"] for each in noted] == ["IdentityMismatch"]


@pytest.mark.parametrize(
    "pair",
    [CA("stranger").sign([], common_name="east"), an_agents(days=(-3, -1))],
    ids=["another CA", "expired"],
)
async def test_a_certificate_that_does_not_verify_gets_no_connection(tmp_path, pair):
    """Of another authority, or expired: no agreement, not even for people's routes."""
    async with serving(tmp_path, wanting(tmp_path)) as hub:
        with pytest.raises((ssl.SSLError, ConnectionError, EOFError)):
            await ask(hub, tmp_path, pair, "/v1/jobs", hub.token)


async def test_a_certificate_that_expires_ends_its_use(tmp_path):
    """A connection that stands does not outlive the certificate that it was made with."""
    async with serving(tmp_path, wanting(tmp_path)) as hub:
        agent = await token_of(hub)
        line = await hub.line(showing(tmp_path, an_agents()))
        text = hub.head("POST", SYNC_PATH, NO_BODY, f"Authorization: Bearer {agent}", token=False)
        await line.say(text)
        assert code(await line.hear()) == "InvalidJSON"
        hub.clock.advance(3650 * 86400)
        await line.say(text)
        assert code(await line.hear()) == "ClientCertificateRequired"


async def test_optional_certificates_are_looked_at_all_the_same(tmp_path):
    """Where none need be shown, one of another cluster is refused still."""
    async with serving(tmp_path, wanting(tmp_path, "Optional")) as hub:
        agent = await token_of(hub)
        assert code(await ask(hub, tmp_path, None, SYNC_PATH, agent)) == "InvalidJSON"
        wrong = await ask(hub, tmp_path, an_agents("west"), SYNC_PATH, agent)
        assert code(wrong) == "IdentityMismatch"


async def test_a_certificate_alone_is_nobody(tmp_path):
    """Without a credential the right certificate opens nothing."""
    async with serving(tmp_path, wanting(tmp_path)) as hub:
        heard = await ask(hub, tmp_path, an_agents(), SYNC_PATH, "")
        assert (heard.status, code(heard)) == (401, "Unauthenticated")


async def test_the_cas_of_agents_need_be_no_root(tmp_path):
    """An authority below another is believed by itself, and not whoever else the root has signed."""
    ours, others = CLIENTS.lower("ours"), CLIENTS.lower("others")
    async with serving(tmp_path, wanting(tmp_path, signer=ours)) as hub:
        agent = await token_of(hub)
        mine, theirs = (each.sign((), common_name="east") for each in (ours, others))
        heard = await ask(hub, tmp_path, mine, SYNC_PATH, agent)
        assert heard.status not in {401, 403}, heard
        with pytest.raises((ssl.SSLError, ConnectionError, EOFError)):
            await ask(hub, tmp_path, theirs, SYNC_PATH, agent)
