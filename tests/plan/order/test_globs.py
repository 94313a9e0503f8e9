"""Patterns: what is none, what one matches, and whether two of them can mean the same file."""

from itertools import combinations, product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from weft.plan.order.globs import Crossings, coarser, crossings, glob_fault, intersects, matches

NAMES = ["".join(letters) for length in (1, 2, 3, 4) for letters in product("abcd", repeat=length)]
PATHS = ["/".join(names) for length in range(1, 7) for names in product(("a", "b", "ab"), repeat=length)]
PIECES = st.sampled_from(("a", "b", "c", "*", "**", "?", "[ab]", "[!a]", "[!bc]", "[b-z]"))
NAME_PATTERNS = st.lists(PIECES, min_size=1, max_size=3).map("".join).filter(lambda name: name != "**")


@st.composite
def patterns(draw: st.DrawFn) -> str:
    names = st.sampled_from(("a", "b", "ab", "*", "**", "a*", "*b", "?"))
    segments = draw(st.lists(names, min_size=1, max_size=2))
    return "/".join(segments) + draw(st.sampled_from(("", "", "/")))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "the pattern is empty; `**` means all files"),
        ("/", "the pattern '/' is absolute; it must be relative to the top of the repository"),
        (
            "/etc/passwd",
            "the pattern '/etc/passwd' is absolute; it must be relative to the top of the repository",
        ),
        ("a/../b", "the pattern 'a/../b' leads upwards with `..`; it must stay in the repository"),
        ("..", "the pattern '..' leads upwards with `..`; it must stay in the repository"),
        ("a\0b", r"the pattern 'a\x00b' has a NUL character in it, which no file name has"),
        (
            "a\\*",
            r"the pattern 'a\\*' has a backslash in it; `/` separates directories, and `[*]` is a plain `*`",
        ),
        ("a//b", "the pattern 'a//b' has the segment '', which no file matches; leave it out"),
        ("./a", "the pattern './a' has the segment '.', which no file matches; leave it out"),
        ("a/[bc", "the pattern 'a/[bc' has a `[` without its `]`; `[[]` is a plain `[`"),
        ("[a/b]", "the pattern '[a/b]' has a `[` without its `]`; `[[]` is a plain `[`"),
        ("[]", "the pattern '[]' has a `[` without its `]`; `[[]` is a plain `[`"),
        ("[!]", "the pattern '[!]' has a `[` without its `]`; `[[]` is a plain `[`"),
        ("x[z-a]", "the pattern 'x[z-a]' has the range z-a, which is the wrong way round"),
    ],
)
def test_what_is_no_pattern_is_reported_in_a_sentence(text: str, fault: str) -> None:
    assert glob_fault(text) == fault


@pytest.mark.parametrize(
    "text", ["a", "a/", "a/**/b*", "**", "[!a-z]?", "[]a]", "[!]]", "..a", ".a/b", "a]", "[a-]", "[[]", "ä/ö"]
)
def test_a_pattern_without_fault_has_none(text: str) -> None:
    assert glob_fault(text) is None


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("src/store", ["src/store", "src/store/a", "src/store/a/b"], ["src/stores", "src", "x/src/store"]),
        ("src/", ["src/a", "src/a/b"], ["src", "srca"]),
        ("src/**", ["src", "src/a", "src/a/b"], ["srca", "a/src"]),
        ("**/a", ["a", "b/a", "b/c/a"], ["ab", "a/b"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/b/c"]),
        ("a/*", ["a/b", "a/.b"], ["a", "a/b/c"]),
        ("*.py", ["a.py", ".py"], ["a/b.py", "apy", "a.pyc"]),
        ("a**b", ["ab", "axb"], ["a/b"]),
        ("?", ["a", "ä", "\n"], ["", "ab", "/"]),
        ("[a-cx]", ["a", "b", "x"], ["d", "-", "ab"]),
        ("[!a-c]", ["d", "-", "^"], ["a", "b", ""]),
        ("[]-]", ["]", "-"], ["a", "[]-]"]),
        ("[!]]", ["a"], ["]"]),
        ("[^a]", ["^", "a"], ["b"]),
        ("[.-0]", [".", "0"], ["/", "1"]),
        ("a+(b)", ["a+(b)", "a+(b)/c"], ["aab"]),
        ("*/", ["a/b", "a/b/c"], ["a"]),
        ("[[]*", ["[", "[a"], ["a"]),
        ("a[&&~|b]", ["a&", "a|"], ["a"]),
    ],
)
def test_a_pattern_matches_these_and_not_those(pattern: str, yes: list[str], no: list[str]) -> None:
    assert [path for path in (*yes, *no) if matches(pattern, path)] == yes


@given(patterns(), patterns())
@example("a*/", "?/**")
@example("**/a/", "b/a/")
def test_two_patterns_cross_exactly_if_some_path_matches_both(left: str, right: str) -> None:
    both = any(matches(left, path) and matches(right, path) for path in PATHS)
    assert intersects(left, right) == intersects(right, left) == both


@given(NAME_PATTERNS, NAME_PATTERNS)
def test_two_patterns_of_one_name_cross_exactly_if_some_name_matches_both(left: str, right: str) -> None:
    both = any(matches(left, name) and matches(right, name) for name in NAMES)
    assert intersects(left, right) == intersects(right, left) == both


@pytest.mark.parametrize(
    ("left", "right", "cross"),
    [
        ("src/**", "src", True),
        ("src/", "src", True),
        ("src/*.py", "src/a*", True),
        ("src/*.py", "src/*.md", False),
        ("src/store", "src/store2", False),
        ("**/test_*.py", "tests", True),
        ("**/test_*.py", "tests/*.md", False),
        ("a*b*c", "*d*", True),
        ("[a-f]x", "[g-z]x", False),
        ("[a-f]x", "[f-z]x", True),
        ("[!a-y]", "[a-z]", True),
        ("[!a-z]", "[a-z]", False),
        ("[!b-da-c]", "[a-d]", False),
        ("[!a-zb-c]", "[a-z]", False),
        ("[.-0]", "[!.0]", False),
        ("?", "[!a]", True),
        ("a/**/b/**/c", "a/x/**/c", True),
        ("a/b", "a/*/c/d", True),
        ("a/b*", "a/c", False),
        ("*/**", "**", True),
    ],
)
def test_these_cross_and_those_do_not(left: str, right: str, *, cross: bool) -> None:
    assert intersects(left, right) == intersects(right, left) == cross


@given(st.lists(patterns(), unique=True, max_size=12))
def test_of_many_patterns_all_that_cross_are_found(many: list[str]) -> None:
    result = crossings(many)
    expected = [
        (left, right)
        for left, right in combinations(range(len(many)), 2)
        if intersects(many[left], many[right])
    ]
    assert result.complete
    assert sorted(result.pairs) == expected


@pytest.mark.parametrize(
    "make",
    [
        "src/m{}/**".format,
        "src/f{}.py".format,
        "src/mod_{}_*.py".format,
        "tests/**/test_{}.py".format,
        "**/{}/x/*.a{}".format,
    ],
)
def test_patterns_with_different_beginnings_or_endings_are_not_compared(make: object) -> None:
    many = [make(number, number) for number in range(100, 300)]  # type: ignore[operator]
    assert crossings(many, 0) == Crossings(pairs=[], complete=True)


def test_a_search_beyond_its_limit_says_that_it_is_not_complete() -> None:
    many = ["a*", "*b", "*c*"]
    assert crossings(many, 3).complete
    result = crossings(many, 2)
    assert not result.complete
    assert len(result.pairs) == 2


@pytest.mark.parametrize(
    ("pattern", "coarse"),
    [
        ("src/store", "src/store"),
        ("src/a*/b", "src/**"),
        ("src/store/**", "src/store/**"),
        ("*.py", "**"),
        ("a/", "a/"),
        ("x[a]/b", "**"),
    ],
)
def test_a_coarser_pattern_is_all_below_the_directory(pattern: str, coarse: str) -> None:
    assert coarser(pattern) == coarse


@given(patterns())
def test_a_coarser_pattern_matches_whatever_the_pattern_matches(pattern: str) -> None:
    assert all(matches(coarser(pattern), path) for path in PATHS if matches(pattern, path))
