"""What is taken as an expression, and what is told of one that is not."""

import pytest
from hypothesis import given, strategies as st

from shared.expressions.expression import compiled
from shared.expressions.reading import LONGEST, MOST_TOKENS, read
from tests.examples import examples

REFUSED = [
    ("", "it is empty"),
    ("   ", "it is empty"),
    ("status.phase", "character 1: there is no status: fields begin with object."),
    ("object.run()", "character 8: there is no function run here"),
    ("object.a.matches('(a+)+')", "there is no function matches here"),
    ("print(object)", "there is no function print here"),
    ("x" * (LONGEST + 1), "it has 2049 characters: at most 2048 are read"),
    ("1" + "+1" * MOST_TOKENS, "it has 513 parts: at most 256 are read"),
    ("(" * 25 + "1" + ")" * 25, "brackets stand more than 24 deep"),
    ("((1)", "character 1: the bracket is not closed"),
    ("1)", "character 2: ) closes nothing"),
    ("object.a.all(a, a.b.all(b, b.c.all(c, c)))", "macros stand more than 2 deep in each other"),
    ("(object.a + object.b).all(x, true)", "all is asked of a field, or of what a macro gives"),
    ("object.a.all(x)", "it is all(name, expression)"),
    ("object.a.all(object, true)", "all names its element object"),
    ("object.a.all(object_0, true)", "all names its element object_0"),
    ("object.a.all(x, cond('b'))", "cond is asked of the whole object"),
    ("object.a.all(x, reason('b') == x)", "reason is asked of the whole object"),
    ("Thing{a: 1}", "messages are not made here"),
    ("r'a' + object.a", "a prefix of one"),
    ("object.b.all(r, r'\\' + object.a + '\\'')", "a prefix of one"),
    ("'''a'''", "two texts"),
    ("1 // 2", "a comment"),
    ("object.`a`", "begins nothing known"),
    ("'a", "begins nothing known"),
    ("object.a ==", "Syntax error"),
    ("object.a.all(n, m == 'a')", "there is no m"),
    ("object.?a", "there is no a"),
]


@pytest.mark.parametrize(("source", "told"), REFUSED, ids=[each[0][:30] for each in REFUSED])
def test_what_is_no_expression_here_is_refused_with_what_is_wrong(source, told):
    """At which character, and what there is instead."""
    with pytest.raises(ValueError) as refused:
        compiled(source)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("source", "given", "parts"),
    [
        ("object.status.phase == 'a'", "object_0.phase == 'a'", [(("status",), "object_0", ("phase",))]),
        ("object['status'][\"a.b\"]", 'object_0["a.b"]', [(("status",), "object_0", ("a.b",))]),
        ("object.status.l[0].x", "object_0.l[0].x", [(("status",), "object_0", ("l",))]),
        ("object.s.l.all(x, x.s)", "object_0.l.all(x, x.s)", [(("s",), "object_0", ("l",))]),
        ("has(object.s) && object.s.n > object.s.m", "has(object.s) && object_1.n > object_1.m",
         [((), "object", ("s",)), (("s",), "object_1", ("m", "n"))]),
        ("object == object.a", "object == object.a", [((), "object", ())]),
        ("object.a == object", "object.a == object", [((), "object", ())]),
        ("'object.a' == 'b'", "'object.a' == 'b'", []),
        ("object.l.all(x, x.object.b)", "object.l.all(x, x.object.b)", [((), "object", ("l",))]),
        ("size(object.kind) + object.kind.size()", "size(object.kind) + object.kind.size()",
         [((), "object", ("kind",))]),
    ],
)  # fmt: skip
def test_the_fields_that_are_read_are_told(source, given, parts):
    """Nothing else of the object is given to the library, and it is given flat."""
    reading = read(source)
    assert (reading.source, list(reading.parts)) == (given, parts)


@pytest.mark.parametrize(
    ("source", "power"),
    [
        ("object.a == 1", 0),
        ("object.l.all(x, x.a == 1)", 0),
        ("object.l.all(x, x.l.all(y, y == 1))", 0),
        ("object.l.all(x, x.a == object.a)", 1),
        ("object.l.all(x, x.l.all(y, y == x))", 1),
        ("object.l.all(x, object.l.all(y, y == x))", 2),
        ("object.l.map(x, x.a) == []", 1),
        ("object.l.map(x, object.l) == []", 2),
        ("object.l.filter(x, x.a).map(x, x.b) == []", 1),
        ("object.l.map(x, object.l.map(y, x)) == []", 4),
    ],
)
def test_how_steps_grow_is_told(source, power):
    """A macro that reads its own element alone goes once through what there is; map and filter copy."""
    assert read(source).power == power


_PARTS = st.sampled_from(
    ["object", ".", "a", "(", ")", "[", "]", "all", "map", "x", ",", "'t'", '"', "'", "1", "+", "==",
     "&&", "!", "?", ":", "{", "}", "has", "cond", "sum", "in", "/", "\\", " ", "r", "0x", "1e", "\n"]
)  # fmt: skip


@examples(200)
@given(st.one_of(st.text(max_size=60), st.lists(_PARTS, max_size=40).map("".join)))
def test_no_text_is_anything_but_an_expression_or_refused(text):
    """And what is taken can be evaluated, whatever comes of it."""
    try:
        expression = compiled(text)
    except ValueError:
        return
    expression.evaluate({"a": [1, "b", {"a": None}]})
