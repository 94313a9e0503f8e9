"""What parts are called."""

import pytest
from hypothesis import given
from msgspec.structs import replace

from decompose.sets import VALID_ID, files, signals
from weft.decompose.model import Signals
from weft.decompose.names import Names, slug, stem


def ids(found: Signals, *groups: list[str]) -> list[str]:
    numbers = [sorted(found.paths.index(path) for path in group) for group in groups]
    return Names.of(found).ids(numbers)


def title(found: Signals, *group: str) -> str:
    """Of these files, or of all."""
    numbers = [found.paths.index(path) for path in group] or range(len(found.paths))
    return Names.of(found).title(numbers)


def named(found: Signals, **symbols: str) -> Signals:
    """With symbols by the stem of files."""
    return replace(found, symbols=tuple(symbols.get(stem(path), "") for path in found.paths))


def several(folder: str, number: int, begin: int = 0) -> list[str]:
    return [f"{folder}/f{file:02}.py" for file in range(begin, begin + number)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("store", "store"),
        ("My Store/Sub", "my-store-sub"),
        ("ArrayUtils", "array-utils"),
        ("BaseToTests", "base-to-tests"),
        ("jQuery iOS GraphQL", "jquery-ios-graphql"),
        ("__init__", "init"),
        ("Übung\n1", "ubung-1"),
        ("文", ""),
        ("\udc80", ""),
        ("x" * 100, "x" * 48),
        (f"{'x' * 47}/y", "x" * 47),
    ],
)
def test_a_slug_has_what_ids_may_have(name: str, expected: str) -> None:
    assert slug(name) == expected


@pytest.mark.parametrize(
    ("path", "expected"), [("a/b.d.ts", "b"), (".env", ".env"), ("a/.x.y", ".x"), ("Makefile", "Makefile")]
)
def test_the_stem_of_a_file(path: str, expected: str) -> None:
    assert stem(path) == expected


# Ids


def test_a_part_is_called_by_the_topmost_folder_that_is_its_own() -> None:
    file_set = files("src/app/web/live/a.py", "src/app/store/b.py")
    assert ids(file_set, ["src/app/web/live/a.py"], ["src/app/store/b.py"]) == ["web", "store"]


def test_folders_of_one_name_are_taken_together() -> None:
    store = ["src/store/a.py", "tests/store/a.py"]
    net = ["src/net/a.py", "tests/net/a.py"]
    assert ids(files(*store, *net), store, net) == ["store", "net"]


def test_a_small_folder_is_no_name_for_a_part_that_is_mostly_elsewhere() -> None:
    net = [*several("src/net", 12), *several("src/tiny", 4)]
    others = [*several("src/net", 4, 12), *several("src/plan", 20)]
    assert ids(files(*net, *others), net, others) == ["net", "plan"]


def test_of_two_with_the_same_name_one_adds_a_distinguishing_name() -> None:
    net = several("src/net", 6)
    explore = [*several("src/net/explore", 2), *several("src/net", 5, 6)]
    plan = several("src/plan", 12)
    assert ids(files(*net, *explore, *plan), explore, net, plan) == ["net-explore", "net", "plan"]


def test_src_and_tests_are_names_only_for_what_is_nearly_all_there() -> None:
    sources, tests = several("src/net", 8), several("tests/net", 8)
    assert ids(files(*sources, *tests), sources, tests) == ["src", "tests"]
    mixed = [*several("src/net", 4, 8), *several("tests/net", 4, 8)]
    second_part = [*several("src/plan", 5), *several("lib/a", 3)]
    assert ids(files(*mixed, *second_part), mixed, second_part) == ["net", "plan"]


def test_what_is_all_that_is_in_src_says_no_more_than_src() -> None:
    first_part = [*several("src/pkg/a", 3), *several("src/pkg/b", 3), *several("tests/c", 3)]
    second_part = several("tests/d", 9)
    assert ids(files(*first_part, *second_part), first_part, second_part) == ["c", "d"]


def test_the_folder_that_a_group_of_parts_is_in_names_none_of_them() -> None:
    net = several("net", 8)
    assert ids(files(*net, *several("plan", 9)), net[:4], net[4:]) == ["f00", "f04"]


def test_what_all_parts_share_names_none() -> None:
    first_part, second_part = [*several("x", 8), "x/a/q.py"], [*several("x", 8, 8), "x/b/r.py"]
    assert ids(
        files(*first_part, *second_part, uses=(("x/f00.py", "x/f03.py"),)), first_part, second_part
    ) == ["f03", "r"]


def test_much_of_a_folder_that_others_have_files_of_too_is_a_name() -> None:
    store, git, cli = several("s/store", 9), several("s/store/git", 9), several("s/cli", 9)
    mostly = [*store, *several("s/a", 3)]
    assert ids(files(*mostly, *git, *cli), mostly, git, cli) == ["store", "git", "cli"]


def test_parts_of_one_folder_are_called_by_the_file_that_most_use() -> None:
    file_set = files(
        "x/a.py", "x/b.py", "x/c.py", "x/d.py", uses=(("x/a.py", "x/b.py"), ("x/c.py", "x/d.py"))
    )
    assert ids(file_set, ["x/a.py", "x/b.py"], ["x/c.py", "x/d.py"]) == ["b", "d"]


def test_ids_come_from_paths_and_only_where_these_say_nothing_from_symbols() -> None:
    file_set = named(files("x/a.py", "x/index.py"), a="Alpha", index="Face")
    assert ids(file_set, ["x/a.py"], ["x/index.py"]) == ["a", "face"]


def test_equal_names_are_distinguished() -> None:
    paths = [f"{folder}/same.py" for folder in ("A", "a", "a ", "á")]
    assert ids(files(*paths), *([path] for path in paths)) == ["a", "a-same", "a-2", "a-3"]


def test_a_name_without_letters_is_called_part() -> None:
    assert ids(files("文.py", "语.py"), ["文.py"], ["语.py"]) == ["part", "part-2"]


def test_no_groups_have_no_names() -> None:
    assert ids(files("a.py")) == []


@given(signals(most=20))
def test_ids_are_valid_and_differ_whatever_the_paths_are(found: Signals) -> None:
    names = ids(found, *([path] for path in found.paths))
    assert len(set(names)) == len(names)
    assert all(VALID_ID.fullmatch(name) for name in names)


# Titles


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["src/store/a.py", "src/store/b.py"], "src/store: a, b"),
        (["src/a/x.py", "src/b/x.py", "src/b/y.py"], "src: b, a"),
        (["a.py"], "a"),
        ([f"s/{name}.py" for name in "abcde"], "s: a, b, c and 2 more"),
        ([f"s/{name}/x.py" for name in "abcde"], "s: a, b, c and 2 more"),
        (["a\nb/x.py"], "a?b: x"),
        (["x\udc80.py"], "x?"),
        (["s/own.py", "s/own2.py", "s/t/x.py"], "s: own, own2, x"),
        (["pkg/__init__.py", "pkg/z.py"], "pkg: pkg, z"),
        ([*several("src/a", 9), *several("docs", 8), "README.md", "x/y.txt"], "src/a, docs and 2 more"),
        ([*several("src/a/b", 29), "src/a/c.py"], "src/a/b and 1 more"),
    ],
)
def test_a_title_says_where_and_what(paths: list[str], expected: str) -> None:
    assert title(files(*paths)) == expected


def test_a_folder_that_is_all_here_says_more_than_a_larger_one_of_which_little_is() -> None:
    own_files = [*several("src/net", 6), *several("tests/net", 4), *several("src/plan", 2)]
    file_set = files(*own_files, *several("src/plan", 30, 2), *several("tests/plan", 30))
    assert title(file_set, *own_files) == "src/net, tests/net, src/plan"


def test_a_folder_of_which_others_have_some_too_is_reported_with_its_most_used_files() -> None:
    own_files = [*several("src/app", 4), *several("tests/app", 4)]
    links = [("tests/app/f00.py", "src/app/f01.py"), ("tests/app/f01.py", "src/app/f01.py")]
    file_set = files(*own_files, *several("src/app", 9, 4), *several("tests/app", 9, 4), uses=tuple(links))
    assert title(file_set, *own_files) == "src/app, tests/app: f01"
    assert title(named(file_set, f01="Doctor"), *own_files) == "src/app, tests/app: Doctor"


def test_what_is_long_is_cut_between_folders() -> None:
    folders = [f"{letter * 40}/{letter * 8}" for letter in "abc"]
    assert title(files(*(f"{folder}/x.py" for folder in folders))) == f"{folders[0]} and 2 more"


def test_the_most_used_file_is_named_first() -> None:
    assert title(files("s/a.py", "s/z.py", uses=(("s/a.py", "s/z.py"),))) == "s: z, a"


@pytest.mark.parametrize(("symbol", "expected"), [("Zone", "Zone"), ("make", "z"), ("LIMIT", "z"), ("", "z")])
def test_a_file_is_called_by_a_type_that_others_take_from_it(symbol: str, expected: str) -> None:
    assert title(named(files("s/z.py"), z=symbol)) == f"s: {expected}"


def test_a_file_whose_name_says_nothing_is_called_by_whatever_others_take() -> None:
    assert title(named(files("s/index.ts"), index="make")) == "s: make"


@given(signals(most=30))
def test_a_title_is_a_line_whatever_the_paths_are(found: Signals) -> None:
    title_line = title(found)
    assert title_line.isprintable()
    assert title_line


def test_many_files_are_not_named_after_one_of_them() -> None:
    """However many use it: a group that is most of a package has the name of the package."""
    modules, others = several("src/shop", 60), several("src/shop", 3, 60)
    file_set = files(*modules, *others, uses=tuple((module, modules[0]) for module in modules[1:]))
    assert ids(file_set, modules, others) == ["shop", "f60"]


def test_code_names_a_part_before_settings_and_hidden_files() -> None:
    file_set = files(".env", ".flake8", "Makefile", "setup.py", "src/a/m.py", "src/a/n.py")
    assert Names.of(file_set).ids([[0, 1, 2, 3], [4, 5]]) == ["setup", "src"]
    assert Names.of(file_set).title([0, 1, 2, 3]) == "setup, Makefile, .env and 1 more"
