"""What projects say about themselves, however badly."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.decompose.references.aliases import Aliases, parse_json
from weft.decompose.references.manifests import NAMES, projects


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a/go.mod", b"// x\nmodule example.org/m // y\n\ngo 1.22\n", {"example.org/m": "a"}),
        (
            "a/go.mod",
            b'module "m"\nreplace (\n x/y v1 => ../b\n z => other/z v2\n w => /w\n)\n',
            {"m": "a", "x/y": "b"},
        ),
        ("go.mod", b"module m\nreplace x => ./b\nreplace y =>\n", {"m": "", "x": "b"}),
        ("a/go.mod", b"go 1.22\n", {}),
        ("a/b/package.json", b'{"name": "@org/ui"}', {"@org/ui": "a/b"}),
        ("package.json", b'{"name": "one", "name": "two", "x": NaN}', {"two": ""}),
        ("package.json", b'{"name": 3}', {}),
        ("package.json", b"[1]", {}),
        ("package.json", b"{", {}),
        ("package.json", b"[" * 100_000, {}),
        ("package.json", b'{"name": ' + b"1" * 10_000 + b"}", {}),
        (
            "a/Cargo.toml",
            b'[package]\nname = "my-crate" # so\n[dependencies]\nname = "no"\n',
            {"my_crate": "a"},
        ),
        ("a/Cargo.toml", b"[package]\nname='one'\n\n[lib]\nname = 'two'\n", {"one": "a", "two": "a"}),
        ("a/Cargo.toml", b"[workspace]\n", {}),
        ("a/Cargo.toml", b"[package]\nname =\nname = other\n", {}),
        ("a/Cargo.toml", b"\xff", {}),
    ],
)
def test_a_manifest_names_folders(path: str, text: bytes, expected: dict[str, str]) -> None:
    assert projects({path: text}).packages == expected


def test_of_two_with_one_name_the_first_counts() -> None:
    text = b'{"name": "same"}'
    assert projects({"b/package.json": text, "a/package.json": text}).packages == {"same": "a"}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("x", ["exact", "also", "all/x"]),
        ("x/y", ["long/y/end", "short/x/y", "all/x/y"]),
        ("x/.js", ["long/.js/end", "scripts/x/", "all/x/.js"]),
        (".j", ["all/.j"]),
    ],
)
def test_the_most_exact_alias_comes_first(said: str, expected: list[str]) -> None:
    pairs = [("*", "all/*"), ("x/*", "long/*/end"), ("x*/y", "short/x/y"), ("*.js", "scripts/*")]
    aliases = Aliases.of([*pairs, ("x", "exact"), ("x", "also")])
    assert list(aliases.resolve(said)) == expected


@pytest.mark.parametrize(
    ("exports", "said", "expected"),
    [
        ("./a.js", "p", ["q/a.js"]),
        ({"import": "./a.mjs", "default": ["./b.js", None]}, "p", ["q/a.mjs", "q/b.js"]),
        ({".": {"node": {"import": "./a.js"}}, "./x": "./b.js"}, "p/x", ["q/b.js"]),
        ({"./x/*": "./src/*.js", "./x/*/y": None}, "p/x/y/z", ["q/src/y/z.js"]),
        ({"./x": "../../../up.js"}, "p/x", ["../../up.js"]),
        ([[[]]], "p", []),
    ],
)
def test_a_package_says_what_others_may_have(exports: object, said: str, expected: list[str]) -> None:
    named_projects = projects({"q/package.json": json.dumps({"name": "p", "exports": exports}).encode()})
    assert list(named_projects.exports["p"].resolve(said)) == expected


def test_the_main_file_of_a_package_has_its_name() -> None:
    named_projects = projects(
        {"q/package.json": b'{"name": "p", "main": "./lib/a", "module": "m.mjs", "types": 3}'}
    )
    assert list(named_projects.exports["p"].resolve("p")) == ["q/m.mjs", "q/lib/a"]


SETTINGS = {
    "tsconfig.base.json": b'{"compilerOptions": {"baseUrl": "src", "paths": {"@a/*": ["a/*"], "@b": ["b"]}}}',
    "p/tsconfig.json": b'{"extends": "../tsconfig.base", "compilerOptions": {}}',
    "q/tsconfig.json": b'{"extends": ["../tsconfig.base"], "compilerOptions": {"paths": {"@c": ["c.ts", 3]}}}',
    "r/jsconfig.json": b'{"compilerOptions": {"paths": {"@d/*": ["./d/*"]}}}',
    "round/tsconfig.json": b'{"extends": "./tsconfig.json", "compilerOptions": {"baseUrl": "."}}',
}


@pytest.mark.parametrize(
    ("folder", "said", "expected"),
    [
        ("p", "@a/x", ["src/a/x", "src/@a/x"]),
        ("q", "@a/x", ["src/@a/x"]),
        ("q", "@c", ["src/c.ts", "src/@c"]),
        ("r", "@d/x", ["r/d/x"]),
        ("r", "e", []),
        ("round", "e", ["round/e"]),
    ],
)
def test_settings_give_paths_other_names(folder: str, said: str, expected: list[str]) -> None:
    named_projects = projects(SETTINGS)
    assert [path for aliases in named_projects.own[folder] for path in aliases.resolve(said)] == expected


@pytest.mark.parametrize(
    "text",
    [
        '{"a": "//no", /* yes */ "b": [1, 2,], // yes\n "c": "/*,]", }',
        '\n{"a": "//no", "b": [1, 2], "c": "/*,]"}',
    ],
)
def test_comments_and_commas_are_forgiven(text: str) -> None:
    assert parse_json(text) == {"a": "//no", "b": [1, 2], "c": "/*,]"}


@pytest.mark.parametrize(
    "text", ['\\"' * 50_000, "/*" * 50_000, '"' * 50_001, "{" * 50_000, ", " * 50_000, "[,]" * 9]
)
def test_what_makes_no_sense_is_nothing(text: str) -> None:
    assert parse_json(text) == {}


def test_very_many_or_very_long_names_are_left_out() -> None:
    many = Aliases.of([("x" * 600, "y"), *((f"{number}*", "z/*") for number in range(9999))])
    assert (len(many.exact), len(many.open)) == (0, 256)
    assert list(Aliases.of([("a*", "*" * 99)]).resolve("abc")) == ["bc" + "*" * 98]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.floats()
    | st.sampled_from(["./a", "../..", "*", "@a/*", "#x", "\udc80\n"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "name",
                    "exports",
                    "imports",
                    "main",
                    ".",
                    "./*",
                    "compilerOptions",
                    "paths",
                    "baseUrl",
                    "extends",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    st.dictionaries(st.sampled_from(sorted(NAMES)), JSON.map(json.dumps) | st.text(max_size=40), max_size=3)
)
def test_any_manifest_can_be_read(texts: dict[str, str]) -> None:
    named_projects = projects({f"a/{name}": text.encode("utf-8", "replace") for name, text in texts.items()})
    paths = [
        path
        for several in named_projects.own.values()
        for aliases in several
        for path in aliases.resolve("@a/b")
    ]
    assert all(isinstance(path, str) for path in paths)
