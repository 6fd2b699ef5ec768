"""An agent speaks to its own hub alone: what answers otherwise is refused before anything is sent to it."""

import asyncio
import ssl
import warnings

import pytest

from agent.config import from_arguments
from agent.hub.client import HubClient, HubError
from agent.hub.link import Link, Untrusted
from shared.certificates import pin_of
from shared.clock import ManualClock
from shared.wire.agent_v1 import SyncRequest
from tests import waiting
from tests.agent.hub.tls_hub import tls_hub
from tests.certificates import CA, write

pytestmark = pytest.mark.anyio
SECRET = "id.secret"
A_SYNC = SyncRequest(session="session-1", seq=1, cluster_uid="uid")


def pin(ca: CA) -> str:
    return pin_of(ca.pair.certificate)


def link(folder, hub, **more) -> Link:
    """A link as an agent of this folder has it."""
    return Link(hub.url, folder / "credential.hub-ca", **more)


def ca_file(folder, *authorities: CA):
    path = folder / "given-ca.pem"
    path.write_bytes(b"".join(each.pem for each in authorities))
    return path


async def sync(link: Link) -> HubError:
    """How one sync ends: with the hub's answer, which is 409, or with what went wrong before."""
    async with HubClient(link) as client:
        with pytest.raises(HubError) as refusal:
            await client.sync(SECRET, A_SYNC)
    return refusal.value


async def join(link: Link, *pins: str) -> HubError:
    """The first contact, with these pins in the join token."""
    async with HubClient(link) as client:
        await client.find_authority(pins)
        with pytest.raises(HubError) as refusal:
            await client.sync(SECRET, A_SYNC)
    return refusal.value


def secrets_told(hub) -> list[str]:
    return [authorization for _, authorization in hub.heard if authorization]


# --- what is believed -----------------------------------------------------------------------------


async def test_url_and_join_token_are_enough(tmp_path):
    """The pin finds the CA, which is kept beside the credential and believed from then on."""
    ca = CA()
    async with tls_hub(tmp_path / "tls", ca.sign(), ca=ca.pem) as hub:
        assert (await join(link(tmp_path, hub), pin(ca))).status == 409
        kept = tmp_path / "credential.hub-ca"
        assert kept.read_bytes() == ca.pem
        assert kept.stat().st_mode & 0o777 == 0o600
        asked = len(hub.heard)
        assert (await join(link(tmp_path, hub))).status == 409  # started again, without a pin
        assert len(hub.heard) == asked + 1
        assert secrets_told(hub) == [f"bearer {SECRET}"] * 2


async def test_what_is_not_pinned_is_not_kept(tmp_path):
    """Of the certificates that answer, the pinned ones alone are believed."""
    ca, other = CA(), CA("other")
    async with tls_hub(tmp_path / "tls", ca.sign(), ca=other.pem + ca.pem) as hub:
        await join(link(tmp_path, hub), pin(ca))
        assert (tmp_path / "credential.hub-ca").read_bytes() == ca.pem


async def test_a_renewed_ca_certificate_of_the_same_key_has_the_pin(tmp_path):
    """The pin is of the key: the CA's own certificate may be renewed."""
    ca = CA()
    again = ca.again()
    async with tls_hub(tmp_path / "tls", again.sign(), ca=again.pem) as hub:
        assert (await join(link(tmp_path, hub), pin(ca))).status == 409


async def test_a_pinned_intermediate_is_enough(tmp_path):
    """What is pinned need be no root."""
    lower = CA("root").lower("lower")
    async with tls_hub(tmp_path / "tls", lower.sign(), lower.pem, ca=lower.pem) as hub:
        assert (await join(link(tmp_path, hub), pin(lower))).status == 409


async def test_flags_override_the_join_token(tmp_path):
    """`--hub-ca` is the one CA that is believed; `--hub-ca-pin` goes before the token's pins."""
    ca, other = CA(), CA("other")
    async with tls_hub(tmp_path / "tls", ca.sign(), ca=ca.pem) as hub:
        given = link(tmp_path, hub, ca=ca_file(tmp_path, ca))
        assert (await join(given, pin(other))).status == 409
        assert not (tmp_path / "credential.hub-ca").exists()
        pinned = link(tmp_path, hub, pins=(pin(ca),))
        assert (await join(pinned, pin(other))).status == 409


def test_an_agent_that_was_given_a_ca_keeps_no_other(tmp_path):
    """Whatever the hub tells: it would be believed once the flag is gone."""
    given = ca_file(tmp_path, CA())
    kept = tmp_path / "credential.hub-ca"
    Link("https://hub", kept, ca=given).keep(CA("other").pem.decode())
    assert not kept.exists()


async def test_a_changed_file_is_taken_without_a_restart(tmp_path):
    """A new CA and a new certificate of the agent are used from the next request on; bad ones never."""
    old, new, clients = CA("old"), CA("new"), CA("clients")
    cert, key = write(tmp_path / "own", clients.sign([], common_name="one"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_verify_locations(cadata=clients.pem.decode())
    context.verify_mode = ssl.CERT_REQUIRED
    async with tls_hub(tmp_path / "tls", new.sign(), context=context) as hub:
        given = link(tmp_path, hub, ca=ca_file(tmp_path, old), client_cert=cert, client_key=key)
        async with HubClient(given) as client:

            async def outcome() -> tuple[int, str]:
                with pytest.raises(HubError) as refusal:
                    await client.sync(SECRET, A_SYNC)
                return refusal.value.status, refusal.value.code

            assert await outcome() == (0, "Untrusted")
            ca_file(tmp_path, old, new)
            assert await outcome() == (409, "No")
            write(tmp_path / "own", clients.sign([], common_name="two"))
            assert await outcome() == (409, "No")
            cert.write_bytes(b"half")
            assert await outcome() == (409, "No")
        shown = [dict(part[0] for part in each["subject"])["commonName"] for each in hub.clients]
        assert shown == ["one", "two"]


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("tells", ["his own", "nothing"])
async def test_a_man_in_the_middle_learns_nothing(tmp_path, tells):
    """He has a CA of his own, which is not the one that is pinned: no token goes to him."""
    ca, his = CA(), CA("his")
    told = his.pem if tells == "his own" else None
    async with tls_hub(tmp_path / "tls", his.sign(), ca=told) as hub:
        with pytest.raises(Untrusted):
            await join(link(tmp_path, hub), pin(ca))
        assert secrets_told(hub) == []


async def test_a_man_in_the_middle_who_repeats_the_ca_learns_nothing(tmp_path):
    """Anybody may tell the true CA; nobody else has a certificate that it signed."""
    ca, his = CA(), CA("his")
    async with tls_hub(tmp_path / "tls", his.sign(), ca=ca.pem) as hub:
        assert (await join(link(tmp_path, hub), pin(ca))).code == "Untrusted"
        assert secrets_told(hub) == []


@pytest.mark.parametrize("how", ["another CA", "another host", "expired", "nobody's"])
async def test_a_wrong_certificate_is_refused(tmp_path, how):
    """Before the credential is sent, whatever it is that is wrong, with the reason in the error."""
    ca = CA()
    pair = {
        "another CA": CA("other").sign(),
        "another host": ca.sign(["hub.example"]),
        "expired": ca.sign(days=(-3, -1)),
        "nobody's": CA("127.0.0.1").pair,
    }[how]
    async with tls_hub(tmp_path / "tls", pair) as hub:
        refusal = await sync(link(tmp_path, hub, ca=ca_file(tmp_path, ca)))
        assert (refusal.status, refusal.code) == (0, "Untrusted")
        assert refusal.unreachable  # it is asked again: the hub's administrator may mend it
        assert secrets_told(hub) == []


async def test_a_private_certificate_without_a_pin_is_refused(tmp_path):
    """Without CA, pin or token that has one the machine's authorities decide."""
    ca = CA()
    async with tls_hub(tmp_path / "tls", ca.sign(), ca=ca.pem) as hub:
        assert (await join(link(tmp_path, hub))).code == "Untrusted"
        assert hub.heard == []


async def test_old_tls_is_refused(tmp_path):
    """A hub, or who stands before it, that speaks TLS 1.1 at most."""
    ca = CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    async with tls_hub(tmp_path / "tls", ca.sign(), context=context) as hub:
        assert (await sync(link(tmp_path, hub, ca=ca_file(tmp_path, ca)))).status == 0
        assert hub.heard == []


async def test_nobody_is_sent_elsewhere(tmp_path):
    """A redirect, to plain HTTP or anywhere, is an answer that is none."""
    ca = CA()
    async with tls_hub(tmp_path / "tls", ca.sign()) as hub:
        hub.redirects = True
        refusal = await sync(link(tmp_path, hub, ca=ca_file(tmp_path, ca)))
        assert refusal.status == 307
        assert len(hub.heard) == 1


async def test_a_pinned_token_is_not_sent_in_clear(tmp_path):
    """Its hub speaks TLS: `http://` is a mistake or a trick, unless somebody has said that it is safe."""
    in_clear = Link("http://127.0.0.1:1", tmp_path / "credential.hub-ca")
    with pytest.raises(Untrusted, match="TLS"):
        await in_clear.find_authority([pin(CA())])
    said = Link("http://127.0.0.1:1", tmp_path / "credential.hub-ca", plain_http=True)
    await said.find_authority([pin(CA())])


@pytest.mark.parametrize(
    "flags",
    [
        ["--hub=http://hub.example"],
        ["--hub=ftp://hub.example"],
        ["--hub=http://hub.example", "--hub-ca=ca.pem", "--hub-plain-http"],
        ["--hub=https://hub.example", "--hub-ca=ca.pem", f"--hub-ca-pin={'a' * 43}"],
        ["--hub=https://hub.example", "--hub-ca-pin=sha256"],
        ["--hub=https://hub.example", "--client-cert=tls.crt"],
    ],
)
def test_flags_that_can_not_be_meant_are_refused(flags, capsys):
    """In clear to another machine, two answers to one question, half a pair, a pin that is none."""
    with pytest.raises(SystemExit) as ended:
        from_arguments(["--credential=c", *flags], {})
    assert ended.value.code == 2
    assert "--" in capsys.readouterr().err


async def test_a_hub_that_is_away_is_waited_for(tmp_path):
    """No answer to the question for the CA is no verdict: it is asked again."""
    clock = ManualClock()
    async with HubClient(Link("https://127.0.0.1:1", tmp_path / "kept"), clock) as client:
        asking = asyncio.create_task(client.find_authority([pin(CA())]))
        await waiting.eventually(lambda: clock._sleepers)
        assert not asking.done()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
