"""What files say about others, in each language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.decompose.references.mentions import language_of, mentions

ALL = [""]
SAID: dict[str, tuple[bytes, dict[str, list[str]]]] = {
    "a.py": (
        (
            b"import a.b as c, d\nfrom . import x, y as z\nfrom ..q import *\nfrom m import (n, # no, no\n o)\n"
            b"if 1: import l\nfrom .import w\nimport\tt\nfrom importlib \\\n  import important as i"
        ),
        {
            "..q": ALL,
            ".": ["w", "x", "y"],
            **dict.fromkeys(("a.b", "d", "l", "t"), ALL),
            "importlib": ["important"],
            "m": ["n", "o"],
        },
    ),
    "a.pyi": (b"from a import b", {"a": ["b"]}),
    "a.js": (
        (
            b"import x from './x';\nexport * from \"../y\";\nimport './side'; import('./dyn'); other('no');\n"
            b"import D, {a as b, default as c, /* no, */ e} from './many';\nimport * as n from './all';\n"
            b"export {default as F, g} from './face'; export * as ns from './ns';\n"
            b"const q = require('./q'), {r, s: t, ...u} = require('./r');\nrequire('./plain')"
        ),
        {
            "./x": ["x"],
            "./many": ["D", "a", "c", "e"],
            "./face": ["F", "g"],
            "./q": ["", "q"],
            "./r": ["", "r", "s"],
            **dict.fromkeys(("../y", "./side", "./dyn", "./all", "./ns", "./plain"), ALL),
        },
    ),
    "a.ts": (
        (
            b"import type {X, type Y} from './x';\nimport y = require('./y');\nexport type {z} from './z';\n"
            b"import type T from './t'; type Q = import('./q').Q"
        ),
        {"./x": ["X", "Y"], "./y": ["y"], "./z": ["z"], "./t": ["T"], "./q": ALL},
    ),
    "a.tsx": (b"import {X} from './x'; const a = <X/>;", {"./x": ["X"]}),
    "a.go": (
        b'package a\nimport (\n f "fmt"\n "example.org/m/b"\n)\nimport `os`',
        dict.fromkeys(("example.org/m/b", "fmt", "os"), ALL),
    ),
    "a.rs": (
        (
            b"mod foo; mod bar {}\nuse crate::a::{b, c::{self, D}, e as f}; use super::g::*;\n"
            b"use std; use {x::y, z}; use r#in::k; extern crate old as new; fn f() { crate::m::n::O::p() }\n"
            b'#[path = "q/r.rs"] mod q;\n#[cfg(test)] mod t;'
        ),
        {
            **dict.fromkeys(("mod:foo", "mod:t", "path:q/r.rs", "super::g", "std", "z", "old"), ALL),
            "crate::a": ["b", "e"],
            "crate::a::c": ["", "D"],
            "crate::m::n::O": ["p"],
            "in": ["k"],
            "x": ["y"],
        },
    ),
    "A.java": (
        b"package a;\nimport a.b.C;\nimport static a.b.D.f;\nimport a.c.*; /* No */ class A { /** Not */ B b; }",
        {
            **dict.fromkeys(("a.b.C", "a.b.D.f"), ALL),
            "a.*": ["A", "B", "C", "D"],
            "a.c.*": ["A", "B", "C", "D"],
        },
    ),
    "a.c": (b'#include "x/y.h"\n#include <stdio.h>\nint main() {}', dict.fromkeys(("stdio.h", "x/y.h"), ALL)),
    "a.HPP": (b'#ifdef Q\n#include "x.hpp"\n#endif\nclass A {};', {"x.hpp": ALL}),
}


def said(path: str, text: bytes) -> dict[str, list[str]]:
    language = language_of(path)
    assert language is not None
    return {target: sorted(set(names)) for target, names in mentions(language, text).items()}


@pytest.mark.parametrize("path", SAID)
def test_references_are_found_as_written(path: str) -> None:
    text, expected = SAID[path]
    assert said(path, text) == expected


@pytest.mark.parametrize("path", ["README.md", "go", "Makefile", "src.py/notes", "a."])
def test_other_files_have_no_language(path: str) -> None:
    assert language_of(path) is None


@pytest.mark.parametrize("path", SAID)
def test_a_file_without_references_says_nothing(path: str) -> None:
    assert said(path, b"\n") == {}


def test_what_is_in_text_or_in_comments_is_no_reference() -> None:
    assert said("a.py", b"'''\nimport a\n'''\n# import b\nx = 'import c'\n") == {}


def test_a_file_that_is_broken_further_down_is_read_all_the_same() -> None:
    assert said("a.py", b"import a\nimport b\ndef (:\n  ]] import\n") == {"a": ALL, "b": ALL}


def test_a_long_list_that_ends_the_file_is_read_to_its_end() -> None:
    names = [f"name{number:03}" for number in range(200)]
    text = "from a import (\n" + ",\n".join(names) + "\n)\n"
    assert said("a.py", text.encode()) == {"a": names}


def test_bytes_that_are_no_text_do_no_harm() -> None:
    assert said("a.c", b'#include "\xff.h"\n\x00\x01') == {"\udcff.h": ALL}


def test_an_example_in_a_description_is_no_reference() -> None:
    assert said("a.py", b'"""Do:\n\nimport a\n"""\nx = 1\n') == {}


def test_what_a_module_inside_a_file_takes_from_that_file_is_no_reference() -> None:
    text = b"use super::a::B;\nmod t { use super::*; use super::super::c::D; mod u { use super::super::E; } }"
    assert said("a.rs", text) == {"super::a": ["B"], "super::c": ["D"]}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", b"import " + b"a." * 30_000 + b"b"),
        ("a.js", b"import {" + b"/*" * 20_000 + b" a} from '" + b"../" * 20_000 + b"x'"),
        ("a.ts", b"import " + b"{" * 30_000),
        ("a.rs", b"use " + b"a::{" * 20_000),
        ("a.rs", b"use " + b"name::{" * 40 + b"X" + b"}" * 40 + b";"),
        ("a.rs", b"use " + b"name::" * 5_000 + b"x;"),
        ("A.java", b"import " + b"a." * 30_000 + b"*;"),
        ("a.c", b'#include "' + b"x/" * 30_000 + b'"'),
        ("a.go", b'import "' + b"x/" * 30_000 + b'"'),
    ],
)
def test_what_is_out_of_all_proportion_is_no_reference(path: str, text: bytes) -> None:
    assert said(path, text) == {}


@pytest.mark.parametrize("signs", [b"/*", b"'", b'"', b"<a>", b"(", b"a / * "])
@pytest.mark.parametrize(
    ("path", "mention"), [("a.py", b"import a"), ("a.go", b'import "a"'), ("a.c", b"#include <a>")]
)
def test_what_follows_signs_without_end_is_read(path: str, mention: bytes, signs: bytes) -> None:
    assert said(path, b"\n" + signs * 3_000 + b"\n" * 600 + mention) == {"a": ALL}


def test_ornaments_do_no_harm() -> None:
    line = b"#" + b"-=" * 60 + b"\n"
    assert said("a.py", line * 9 + b"import a\n" + line * 9 + b"import b\n") == {"a": ALL, "b": ALL}


PIECES = st.sampled_from([text for text, _found in SAID.values()])


@given(
    path=st.sampled_from(list(SAID)),
    text=st.lists(PIECES | st.binary(max_size=9), max_size=4),
    cut=st.integers(0, 99),
)
def test_any_bytes_can_be_read(path: str, text: list[bytes], cut: int) -> None:
    whole = b"".join(text)
    for target, names in said(path, whole[: len(whole) * cut // 99]).items():
        assert len(target) < 1000
        assert all(isinstance(name, str) for name in names)


def test_mentions_are_in_the_order_of_the_text() -> None:
    """tree-sitter gives what it finds in the order of addresses in memory, another one each time."""
    modules = [f"m{number}" for number in range(60)]
    language = language_of("a.py")
    assert language is not None
    assert list(mentions(language, "".join(f"import {name}\n" for name in modules).encode())) == modules
