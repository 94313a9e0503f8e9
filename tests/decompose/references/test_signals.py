"""From files, manifests and commits to what is known about them."""

import pytest

from weft.decompose.references.signals import Source, bytes_to_read, is_read, signals_of


def source(path: str, text: bytes = b"") -> Source:
    return Source(path=path, size=len(text), text=text)


def test_files_are_numbered_in_the_order_of_their_paths() -> None:
    signals = signals_of([source("b.py", b"import a"), source("a.py", b"12345")], {})
    assert (signals.paths, signals.tokens, signals.uses) == (("a.py", "b.py"), (2, 2), ((1, 0),))


def test_a_file_does_not_use_itself_and_each_other_once() -> None:
    text = b"import a\nimport b\nfrom b import x, y\n"
    assert signals_of([source("a.py", text), source("b.py")], {}).uses == ((0, 1),)


def test_manifests_name_what_is_referred_to() -> None:
    signals = signals_of(
        [source("m/go.mod"), source("m/a/a.go"), source("z.go", b'package z\nimport "example.org/m/a"')],
        {"m/go.mod": b"module example.org/m\n"},
    )
    assert [(signals.paths[user], signals.paths[used]) for user, used in signals.uses] == [
        ("z.go", "m/a/a.go")
    ]


def test_files_that_change_together_are_counted() -> None:
    commits = [["a", "b", "gone"], ["b", "a"], ["c"], ["b", "c", "b"]]
    signals = signals_of([source(path) for path in "abc"], {}, commits)
    assert signals.together == ((0, 1, 2000), (1, 2, 1000))


def test_the_more_files_a_commit_has_the_less_it_says_about_two() -> None:
    signals = signals_of([source(path) for path in "abcd"], {}, [["a", "b"], ["a", "b", "c"], list("abcd")])
    assert signals.together[:2] == ((0, 1, 1000 + 500 + 333), (0, 2, 500 + 333))


def test_a_commit_that_changed_very_much_says_nothing() -> None:
    paths = [f"{number:03}" for number in range(31)]
    sources = [source(path) for path in paths]
    assert signals_of(sources, {}, [paths]).together == ()
    assert len(signals_of(sources, {}, [paths[:30]]).together) == 435


def test_less_of_each_file_is_read_the_more_there_are() -> None:
    assert [bytes_to_read(files) for files in (0, 10, 2**14, 10**6)] == [262144, 262144, 32768, 4096]


def test_files_in_no_known_language_need_not_be_read() -> None:
    assert [is_read(path) for path in ("a.py", "a.png")] == [True, False]


def test_names_with_spaces_and_newlines_are_names() -> None:
    signals = signals_of([source("a b/c\nd.py", b"from . import e\n"), source("a b/e.py")], {})
    assert signals.uses == ((0, 1),)


def found_in(texts: dict[str, str]) -> tuple[list[tuple[str, str]], dict[str, str]]:
    """Who uses whom, and symbols."""
    signals = signals_of([source(path, text.encode()) for path, text in texts.items()], {})
    pairs = [(signals.paths[user], signals.paths[used]) for user, used in signals.uses]
    return pairs, {path: name for path, name in zip(signals.paths, signals.symbols, strict=True) if name}


def test_a_symbol_is_what_most_others_take() -> None:
    texts = {
        "a.py": "",
        "b.py": "from a import One, Two",
        "c.py": "from a import Two",
        "d.py": "from b import z, y",
    }
    assert found_in(texts)[1] == {"a.py": "Two", "b.py": "y"}


def test_what_a_file_takes_from_itself_is_no_symbol() -> None:
    assert found_in({"a.py": "from a import One"}) == ([], {})


@pytest.mark.parametrize(
    "texts",
    [
        {"a.py": "from p import X", "p/__init__.py": "from .q import X, Y", "p/q.py": ""},
        {"a.ts": "import {X} from './p'", "p/index.ts": "export {X} from './q'", "p/q.ts": ""},
        {"a.js": "import {X} from './p'", "p/index.js": "export {default as X} from './q'", "p/q.js": ""},
        {"lib.rs": "mod p;\nuse p::X;", "p/mod.rs": "mod q;\npub use self::q::X;", "p/q.rs": ""},
    ],
)
def test_a_reexported_name_counts_for_the_file_that_defines_it(texts: dict[str, str]) -> None:
    user, face, origin = sorted(texts)
    pairs, symbols = found_in(texts)
    assert {(user, origin), (face, origin)} <= set(pairs)
    assert symbols == {origin: "X"}


def test_a_name_is_followed_through_several_files() -> None:
    texts = {
        "a.py": "from p import X",
        "p/__init__.py": "from .q import X",
        "p/q/__init__.py": "from .r import X",
        "p/q/r.py": "",
    }
    assert ("a.py", "p/q/r.py") in found_in(texts)[0]


def test_names_that_are_passed_on_in_a_circle_do_no_harm() -> None:
    texts = {
        "a.py": "from p import X",
        "p/__init__.py": "from q import X",
        "q/__init__.py": "from p import X",
    }
    assert [user for user, _used in found_in(texts)[0]] == ["a.py", "p/__init__.py", "q/__init__.py"]


def test_a_class_of_the_same_package_needs_no_import() -> None:
    texts = {
        "main/p/A.java": "package p; class A { B b; String s; }",
        "main/p/B.java": "package p; class B {}",
        "test/p/ATest.java": "package p; class ATest { A a; }",
    }
    assert found_in(texts)[0] == [("main/p/A.java", "main/p/B.java"), ("test/p/ATest.java", "main/p/A.java")]


def test_folders_may_be_very_deep() -> None:
    deep = "a/" * 2000
    pairs, _symbols = found_in({f"{deep}x.py": "import y", f"{deep}y.py": ""})
    assert pairs == [(f"{deep}x.py", f"{deep}y.py")]


def test_what_a_package_takes_from_several_places_is_the_last_one() -> None:
    many = [f"m{number:02}" for number in range(40)]
    texts = {
        "a.py": "from p import X",
        "p/__init__.py": "".join(f"from .{name} import X\n" for name in many),
        **{f"p/{name}.py": "" for name in many},
    }
    assert ("a.py", "p/m39.py") in found_in(texts)[0]
