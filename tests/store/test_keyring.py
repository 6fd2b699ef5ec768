"""Keys and what they close: the form that is kept, and files that can not be meant."""

import base64

import pytest
from hypothesis import given, strategies as st

from hub.store.keyring import MOST_KEYS, Keyring, Sealed, WrongKeys

ONE, TWO = b"1" * 32, b"2" * 32


def a_file(*keys):
    """A key file of these, `plain` for None."""
    return "\n".join("plain" if each is None else base64.b64encode(each).decode() for each in keys)


@given(st.binary(), st.sampled_from(["a.b", "c.d"]))
def test_what_is_closed_is_opened_again(body, place):
    """Whatever it is; and nothing of it can be seen, if there is anything to hide."""
    keys = Keyring([ONE])
    kept = keys.seal(body, place)
    assert keys.unseal(kept, place) == body
    assert len(body) < 8 or body not in kept


def test_the_first_key_closes_and_every_key_opens():
    """A value of an earlier key stays readable as long as that key is there."""
    kept = Keyring([ONE]).seal(b"secret", "a.b")
    both = Keyring([TWO, ONE])
    assert both.unseal(kept, "a.b") == b"secret"
    assert not both.is_current(kept)
    assert both.is_current(both.seal(b"secret", "a.b"))
    with pytest.raises(Sealed, match=Keyring([ONE]).writes):
        Keyring([TWO]).unseal(kept, "a.b")


def test_a_value_is_closed_anew_each_time():
    """Equal values can not be told to be equal."""
    keys = Keyring([ONE])
    assert keys.seal(b"secret", "a.b") != keys.seal(b"secret", "a.b")


def test_a_changed_value_does_not_open():
    """One bit anywhere, or another column, and it is refused."""
    keys = Keyring([ONE])
    kept = keys.seal(b"secret", "a.b")
    with pytest.raises(Sealed, match="was changed"):
        keys.unseal(kept, "a.c")
    for place in range(11, len(kept)):
        other = bytes([*kept[:place], kept[place] ^ 1, *kept[place + 1 :]])
        with pytest.raises(Sealed):
            keys.unseal(other, "a.b")
    with pytest.raises(Sealed):
        keys.unseal(kept[:20], "a.b")


def test_without_keys_everything_is_in_clear():
    """What was in clear before there was a key is read too, and is not as it should be then."""
    nothing, keys = Keyring(), Keyring([ONE])
    assert nothing.seal(b"text", "a.b") == b"text"
    assert keys.unseal(b"text", "a.b") == b"text"
    assert nothing.is_current(b"text")
    assert not keys.is_current(b"text")
    assert keys.is_current(b"{}"), "there is nothing to hide"


def test_plain_in_the_first_place_takes_encryption_back():
    """Values are written in clear, and those under a key are still read."""
    kept = Keyring([ONE]).seal(b"secret", "a.b")
    back = Keyring.parse(a_file(None, ONE))
    assert back.unseal(kept, "a.b") == b"secret"
    assert back.seal(b"secret", "a.b") == b"secret"
    assert (back.is_current(kept), back.writes) == (False, "")


def test_a_file_has_a_key_each_line():
    """Comments and empty lines are left out; both alphabets of base64 are read."""
    odd = b"\xff\xfe" * 16
    text = f"# of May\n\n  {base64.urlsafe_b64encode(odd).decode()}  # newest\n{a_file(ONE)}\n"
    keys = Keyring.parse(text)
    assert keys.writes == Keyring([odd]).writes
    assert keys.knows(Keyring([ONE]).writes)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no key"),
        ("# nothing\n", "no key"),
        ("not base64!\n", "line 1 is no base64"),
        (f"{a_file(ONE)}\n{base64.b64encode(b'short').decode()}\n", "line 2 has 5 bytes"),
        (a_file(ONE, ONE), "twice"),
        (a_file(*(bytes([n]) * 32 for n in range(MOST_KEYS + 1))), f"more than {MOST_KEYS}"),
    ],
)
def test_a_file_that_can_not_be_meant_is_refused(text, says):
    """The line is named, and nothing that stands there."""
    with pytest.raises(WrongKeys, match=says) as refusal:
        Keyring.parse(text)
    assert "not base64!" not in str(refusal.value)


def test_a_file_that_can_not_be_read_is_refused(tmp_path):
    """By its name."""
    with pytest.raises(WrongKeys, match=r"--secrets-key .*absent: No such file"):
        Keyring.read(tmp_path / "absent")
    (tmp_path / "binary").write_bytes(b"\xff\x00" * 16)
    with pytest.raises(WrongKeys, match="not ASCII"):
        Keyring.read(tmp_path / "binary")
