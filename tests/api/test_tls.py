"""The hub serves TLS: with the certificates in force, in bounded time, and with none of the old ways."""

import asyncio
import contextlib
import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from prometheus_client import REGISTRY

from hub.folder import Misconfigured
from hub.services.context.settings import Api, Settings, Tls
from hub.tls import Certificates
from shared.certificates import pin_of
from shared.clock import SystemClock
from tests.api.listening import listening, until
from tests.certificates import CA, Pair, write

pytestmark = pytest.mark.anyio


def settings(folder: Path, ca: str = "") -> Tls:
    """What is served from `tls.crt` and `tls.key` of a folder."""
    return Tls(cert=str(folder / "tls.crt"), key=str(folder / "tls.key"), ca=ca)


def served(folder: Path, pair: Pair, *chain: bytes):
    """Certificates in force, from a folder made of these."""
    write(folder, pair, *chain)
    return Certificates(settings(folder), SystemClock())


def trusting(*authorities: CA) -> ssl.SSLContext:
    """A client's context that believes these alone."""
    pem = b"".join(each.pem for each in authorities).decode()
    return ssl.create_default_context(cadata=pem)


async def serial_of(hub, ca: CA) -> str:
    """The serial number of the certificate that a new connection is shown."""
    line = await hub.line(trusting(ca))
    return line._writer.get_extra_info("peercert")["serialNumber"]


def number(pair: Pair) -> str:
    digits = f"{pair.certificate.serial_number:X}"
    return digits.rjust(len(digits) + len(digits) % 2, "0")


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


async def test_requests_come_by_tls(tmp_path):
    """With a certificate the hub speaks TLS 1.2 or later, by ciphers with forward secrecy."""
    ca = CA()
    async with listening(tmp_path, trust=served(tmp_path / "tls", ca.sign())) as hub:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            trust = trusting(ca)
            trust.maximum_version = version
            line = await hub.line(trust)
            cipher, spoken, _ = line._writer.get_extra_info("cipher")
            assert spoken == version.name.replace("_", ".")
            assert cipher.startswith(("ECDHE", "TLS_"))
            await line.say(hub.head("GET", "/v1/jobs"))
            heard = await line.hear()
            assert heard.status == 200
            assert heard.headers["strict-transport-security"] == "max-age=31536000"


@pytest.mark.parametrize(
    ("version", "ciphers"),
    [(ssl.TLSVersion.TLSv1_1, "ALL:@SECLEVEL=0"), (ssl.TLSVersion.TLSv1_2, "AES128-SHA")],
)
async def test_old_ways_are_refused(tmp_path, version, ciphers):
    """TLS 1.1, and ciphers without forward secrecy, come to no agreement."""
    ca = CA()
    async with listening(tmp_path, trust=served(tmp_path / "tls", ca.sign())) as hub:
        trust = trusting(ca)
        trust.set_ciphers(ciphers)
        is_deprecated = version < ssl.TLSVersion.TLSv1_2
        with (
            pytest.warns(DeprecationWarning, match="TLSv1_1")
            if is_deprecated
            else contextlib.nullcontext()
        ):
            trust.minimum_version = trust.maximum_version = version
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await hub.line(trust)


async def test_what_is_no_tls_is_hung_up_on(tmp_path):
    """Whoever speaks plain HTTP to a hub of TLS gets no answer, and no connection is left of it."""
    async with listening(tmp_path, trust=served(tmp_path / "tls", CA().sign())) as hub:
        line = await hub.line()
        await line.say(hub.head("GET", "/healthz"))
        assert await line.is_hung_up()
        await until(lambda: not hub.door.handshakes)
        assert not hub.door.connections


async def test_a_slow_handshake_is_ended(tmp_path):
    """Who connects and agrees to nothing has as long as for a header, and counts as a connection."""
    limits = Settings(api=Api(connections=2))
    async with listening(tmp_path, limits, served(tmp_path / "tls", CA().sign())) as hub:
        silent, begun = await hub.line(), await hub.line()
        await begun.say(b"\x16\x03\x01\x02\x00\x01")  # the first bytes of a ClientHello
        await until(lambda: len(hub.door.handshakes) == 2)
        third = await hub.line()
        assert await third.is_hung_up()
        hub.clock.advance(9.9)
        hub.door.look()
        assert len(hub.door.handshakes) == 2
        hub.clock.advance(0.2)
        hub.door.look()
        assert await silent.is_hung_up()
        assert await begun.is_hung_up()
        await until(lambda: not hub.door.handshakes)


async def test_silent_handshakes_of_one_address_keep_nobody_else_out(tmp_path):
    """They count for it from the beginning: it has its share, and another one comes in."""
    ca, limits = CA(), Settings(api=Api(connections=20, connections_per_address=10))
    async with listening(tmp_path, limits, served(tmp_path / "tls", ca.sign())) as hub:
        host, port = hub.address
        silent = [await asyncio.open_connection(host, port) for _ in range(20)]
        try:
            await until(lambda: len(hub.door.handshakes) >= 10)
            _, writer = await asyncio.open_connection(
                host, port, ssl=trusting(ca), local_addr=("127.0.0.2", 0)
            )
            await until(lambda: len(hub.door.handshakes) == 10)  # of the first
            writer.close()
        finally:
            for _, each in silent:
                each.close()
        await until(lambda: not hub.door.handshakes and not hub.door._by_network)


async def test_a_slow_header_by_tls_is_answered_408(tmp_path):
    """What bounds requests in clear bounds those by TLS."""
    ca = CA()
    async with listening(tmp_path, trust=served(tmp_path / "tls", ca.sign())) as hub:
        line = await hub.line(trusting(ca))
        await line.say(b"GET /healthz HTTP/1.1\r\nX: y")
        await until(lambda: any(each._phase.name == "HEAD" for each in hub.door.connections))
        hub.clock.advance(10.1)
        hub.door.look()
        heard = await line.hear()
        assert (heard.status, heard.problem["code"]) == (408, "RequestTimeout")


async def test_a_request_within_the_handshakes_last_bytes_is_answered(tmp_path):
    """Clients that send their first request with the end of the handshake lose nothing of it."""
    ca = CA()
    async with listening(tmp_path, trust=served(tmp_path / "tls", ca.sign())) as hub:
        lines = [await hub.line() for _ in range(20)]
        for line in lines:
            incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            tls = trusting(ca).wrap_bio(incoming, outgoing, server_hostname="localhost")
            while True:
                try:
                    tls.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    await line.say(outgoing.read())
                    incoming.write(await line._reader.read(1 << 16))
            tls.write(hub.head("GET", "/healthz"))
            await line.say(outgoing.read())  # Finished and the request in one segment
            heard = b""
            while b'{"status":"ok"}' not in heard:
                try:
                    heard += tls.read()
                except ssl.SSLWantReadError:
                    async with asyncio.timeout(20):
                        incoming.write(await line._reader.read(1 << 16))
            assert heard.startswith(b"HTTP/1.1 200")


async def test_changed_files_are_taken(tmp_path):
    """A renewed pair is shown to the next connection; those that stand are asked to come anew."""
    ca, folder = CA(), tmp_path / "tls"
    first, second = ca.sign(), ca.sign()
    trust = served(folder, first)
    async with listening(tmp_path, trust=trust) as hub:
        old = await hub.line(trusting(ca))
        assert await serial_of(hub, ca) == number(first)
        write(folder, second)
        trust.look()
        assert await serial_of(hub, ca) == number(second)
        await old.say(hub.head("GET", "/healthz"))
        heard = await old.hear()
        assert (heard.status, heard.headers["connection"]) == (200, "close")


async def test_a_mounted_secret_is_swapped_by_its_link(tmp_path):
    """Kubernetes renews a mounted Secret by turning one symbolic link; both files change at once."""
    ca = CA()
    first, second = ca.sign(), ca.sign()
    mount = tmp_path / "mount"
    write(mount / "..1", first)
    write(mount / "..2", second)
    (mount / "..data").symlink_to("..1")
    for name in ("tls.crt", "tls.key"):
        (mount / name).symlink_to(f"..data/{name}")
    trust = Certificates(settings(mount), SystemClock())
    async with listening(tmp_path, trust=trust) as hub:
        (mount / "..next").symlink_to("..2")
        (mount / "..next").replace(mount / "..data")
        trust.look()
        assert await serial_of(hub, ca) == number(second)


@pytest.mark.parametrize("damage", ["half a certificate", "another key", "nothing", "no file"])
async def test_a_bad_pair_is_refused_and_the_old_one_stays(tmp_path, damage):
    """Refused once each, with a line and a count; when it is whole it is taken."""
    ca, folder = CA(), tmp_path / "tls"
    first, second = ca.sign(), ca.sign()
    trust = served(folder, first)
    async with listening(tmp_path, trust=trust) as hub:
        refused = counted("roadstead_tls_certificate_loads_total", outcome="refused")
        if damage == "half a certificate":
            (folder / "tls.crt").write_bytes(second.pem[:300])
        elif damage == "another key":
            (folder / "tls.key").write_bytes(second.key_pem)
        elif damage == "nothing":
            (folder / "tls.crt").write_bytes(b"")
        else:
            (folder / "tls.key").unlink()
        for _ in range(3):
            trust.look()
        assert await serial_of(hub, ca) == number(first)
        after = counted("roadstead_tls_certificate_loads_total", outcome="refused")
        assert after == refused + 1
        write(folder, second)
        trust.look()
        assert await serial_of(hub, ca) == number(second)


async def test_the_days_left_are_told(tmp_path):
    """A metric says when the certificate ends, by now and not as of its reading."""
    trust = served(tmp_path / "tls", CA().sign(days=(-1, 12)))
    assert trust.serves_tls
    left = REGISTRY.get_sample_value("roadstead_tls_certificate_days", {"certificate": "server"})
    assert 11.9 < left <= 12


@pytest.mark.parametrize("what", ["key of another", "encrypted key", "no certificate"])
def test_the_first_pair_must_be_good(tmp_path, what):
    """A hub that can not serve what it is told to does not start, and asks nobody for a password."""
    ca = CA()
    cert, key = write(tmp_path, ca.sign())
    if what == "key of another":
        key.write_bytes(ca.sign().key_pem)
    elif what == "encrypted key":
        pair = ca.sign()
        cert.write_bytes(pair.pem)
        hidden = serialization.BestAvailableEncryption(b"x")
        pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        key.write_bytes(pair.key.private_bytes(pem, form, hidden))
    else:
        cert.unlink()
    with pytest.raises(Misconfigured):
        Certificates(settings(tmp_path), SystemClock())


def test_the_authority_is_found(tmp_path):
    """Named, beside the certificate if it signed it, or at the end of a chain that is private."""
    ca, other = CA(), CA("other")
    pin = pin_of(ca.pair.certificate)
    named = tmp_path / "named.pem"
    named.write_bytes(ca.pem)
    write(tmp_path / "a", other.sign())
    told = settings(tmp_path / "a", ca=str(named))
    assert Certificates(told, SystemClock()).authority.pins == (pin,)
    beside = tmp_path / "b"
    assert served(beside, ca.sign()).authority.pins == ()
    write(beside, ca.sign(), ca=ca.pem)
    assert Certificates(settings(beside), SystemClock()).authority.pins == (pin,)
    write(tmp_path / "c", ca.sign(), ca=other.pem)  # left over from an earlier issuer
    assert Certificates(settings(tmp_path / "c"), SystemClock()).authority.pins == ()
    assert served(tmp_path / "d", ca.sign(), ca.pem).authority.pins == (pin,)
    write(tmp_path / "e", ca.sign(), ca=ca.pem + other.pem)  # the next one is there already
    both = (pin, pin_of(other.pair.certificate))
    assert Certificates(settings(tmp_path / "e"), SystemClock()).authority.pins == both


def test_the_pin_survives_renewal(tmp_path):
    """A new certificate of the hub, and even of the CA for its key, has the same pin."""
    ca = CA()
    before = served(tmp_path / "a", ca.sign(), ca.pem).authority.pins
    assert served(tmp_path / "b", ca.sign(), ca.pem).authority.pins == before
    assert served(tmp_path / "c", ca.sign(), ca.again().pem).authority.pins == before
    assert served(tmp_path / "d", CA().sign(), CA().pem).authority.pins != before


def test_a_ca_that_changes_alone_is_taken(tmp_path):
    """The next CA comes before the certificate that it signs: agents are told of it in time."""
    ca, after = CA(), CA("after")
    write(tmp_path, ca.sign(), ca=ca.pem)
    trust = Certificates(settings(tmp_path), SystemClock())
    (tmp_path / "ca.crt").write_bytes(ca.pem + after.pem)
    trust.look()
    assert trust.authority.pins == (pin_of(ca.pair.certificate), pin_of(after.pair.certificate))
