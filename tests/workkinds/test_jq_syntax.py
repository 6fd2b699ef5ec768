"""Which jq a definition may say."""

import hypothesis
import jq
import pytest
from hypothesis import given, strategies as st

from shared.workkinds.jq_syntax import DEEPEST, LONGEST, JqSyntax, check
from tests.examples import Contents, examples, sample

ALLOWED = [
    ".",
    ".spec.template",
    '.metadata.labels["a.example.org/b"] // "0"',
    '.["a"].b[0].c[1:2]?',
    '."a"."b"',
    ".a.if",
    ".spec.workers[]? | .template",
    ".spec.services | to_entries[] | .key",
    "(.a // 1) * ((.b // 1) - 1) / 2 % 3",
    "-1",
    '.a == 1 or .b != "x" and (.c < 2 | not)',
    'if .a == "b" then 0 elif .c then 1 else 2 end',
    ".spec as $s | .spec.items as $i | $s.a + $i[0]",
    ".t as $t | $t.c[] | select(.name as $n | ([$t.g[]?.n[]?] | index($n) | not)) | .name",
    "[.a, .b] | max",
    '{requests: .spec.resources, b, "c": (1, 2)}',
    "(.s // []) | any(.ready > 0 and .active > 0) and all(.failed == 0)",
    "any(.a[]; . > 1)",
    '.labels["x"] | ascii_downcase',
    '.spec.predictor | (.[]? | select(type == "object" and .uri))',
    '"text"',
    "null",
]
REFUSED = [
    "def f: 1; f",
    "..",
    ".a | ..",
    "recurse",
    "recurse(.a)",
    "range(10)",
    "until(.; .)",
    "while(.; .)",
    "repeat(.)",
    "limit(1; .[])",
    "first(.[])",
    "reduce .[] as $x (0; . + $x)",
    "foreach .[] as $x (0; . + $x)",
    "input",
    "inputs",
    "input_filename",
    "env",
    "env.HOME",
    "$ENV",
    "$ENV.HOME",
    "$__loc__",
    "$__prog_args",
    'import "a" as b; .',
    'include "a"; .',
    'test("a")',
    'match("a")',
    'capture("a")',
    'sub("a"; "b")',
    'split("a"; "g")',
    ".a = 1",
    ".a |= 1",
    ".a += 1",
    ".a //= 1",
    "del(.a)",
    "path(.a)",
    "paths",
    'getpath(["a"])',
    "walk(.)",
    "try .a",
    "label $f | 1",
    ".a ?// .b",
    ".a as [$x] | $x",
    "$unbound",
    '"\\(.a)"',
    "@base64",
    "debug",
    "error",
    "halt",
    "halt_error",
    ".a | halt_error(1)",
    "now",
    "tojson",
    "splits",
    "spec.template",
    "# a comment",
    ".a # b",
    "",
    "(.a",
    ".a)",
    "select()",
    "has",
    "not(1)",
    "if . then 1",
    ".a.",
]


@pytest.mark.parametrize("expression", ALLOWED)
def test_what_definitions_need_is_allowed(expression):
    """Each way of saying something that the catalogue of Karta uses, and jq takes it too."""
    check(expression)
    jq.compile(expression)


@pytest.mark.parametrize("expression", REFUSED)
def test_what_has_no_bound_or_reads_elsewhere_is_refused(expression):
    """Functions, recursion, loops, inputs, the environment, modules, regular expressions and changes."""
    with pytest.raises(ValueError):
        check(expression)


def test_a_refusal_says_where_and_what():
    """The character, the word and why."""
    with pytest.raises(ValueError, match=r"character 6: range is not allowed here"):
        check(".a | range(3)")


@pytest.mark.parametrize(
    "expression",
    ["." + "a" * LONGEST, "(" * (DEEPEST + 1) + "1" + ")" * (DEEPEST + 1), "1" + "+1" * 300],
    ids=["long", "deep", "many"],
)
def test_length_depth_and_parts_are_bounded(expression):
    """jq has no bound of its own."""
    with pytest.raises(ValueError):
        check(expression)


PIECES = st.sampled_from(
    [*" .|,()[]{}:;?+-*/%$@#\"'", ".a", "[]", "//", "==", "and", "not", "if", "then", "else", "end", "as",
     "$x", "1", '"t"', "null", "select(", "map(", "any", "length", "range", "def", "..", "input"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=12).map(" ".join))
@examples(500)
def test_whatever_is_written_is_allowed_or_refused(expression):
    """No text makes anything but a ValueError."""
    try:
        check(expression)
    except ValueError:
        return


ATOMS = st.sampled_from(
    [".", ".a", '.["b"]', "1", '"t"', "null", ".a[]", "length", "keys", "[]", "{}"]
)


OPERATORS = ["|", ",", "+", "-", "*", "/", "%", "//", "==", "<", "and", "or"]


def _larger(inner):
    pair = st.tuples(inner, st.sampled_from(OPERATORS), inner)
    return st.one_of(
        pair.map(" ".join),
        inner.map(lambda e: f"({e})"),
        inner.map(lambda e: f"[{e}]"),
        inner.map(lambda e: f"select({e})"),
        inner.map(lambda e: f"any(.[]; {e})"),
        inner.map(lambda e: f"{{k: ({e})}}"),
        st.tuples(inner, inner).map(lambda p: f"({p[0]}) as $v | $v, ({p[1]})"),
        st.tuples(inner, inner, inner).map(lambda p: f"if {p[0]} then {p[1]} else {p[2]} end"),
    )


def _compiled(settings: hypothesis.settings) -> Contents:
    """Compile each generated expression that the recogniser allows; which of them it allows."""
    seen = Contents()

    @settings
    @given(st.recursive(ATOMS, _larger, max_leaves=8))
    def holds(expression):
        try:
            check(expression)
        except ValueError:
            seen.note(False)
            return
        jq.compile(expression)
        seen.note(True)

    holds()
    return seen


def test_what_is_allowed_is_jq():
    """Each generated expression that the recogniser allows compiles; two comparisons in a row do not."""
    _compiled(examples(200))


def test_many_of_these_expressions_are_allowed():
    """The property before has something to compile."""
    seen = _compiled(sample(100))
    assert seen.are_in(0.3), seen.seen


@pytest.mark.parametrize(
    ("expression", "without"),
    [
        (".spec.replicas // 1", ".spec.replicas"),
        ("(.a // 1) * (.b // 2)", "(.a ) * (.b )"),
        (".a // .b", ".a // .b"),
    ],
)
def test_defaults_can_be_taken_off(expression, without):
    """A literal after `//` is a default; another path is none."""
    assert JqSyntax().without_defaults(expression) == without


@pytest.mark.parametrize(
    ("expression", "owner"),
    [(".spec.a.template", ".spec.a"), (".spec", "."), (".", None), (".a[].b", None)],
)
def test_the_owner_of_a_plain_path(expression, owner):
    """What holds the value, told of plain paths alone."""
    assert JqSyntax().owner(expression) == owner
