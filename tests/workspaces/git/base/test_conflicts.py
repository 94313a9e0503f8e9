from pathlib import Path

import pytest

from weft.workspaces.git.base.conflicts import Conflict, TreeVersion, explain
from weft.workspaces.git.base.merge_tree import message, try_merge
from weft.workspaces.git.base.program import Git
from workspaces.git.repositories import Made, grow, repository

LINES = "".join(f"{number}\n" for number in range(1, 10))
BRANCH = "weft/p/store.model"


@pytest.fixture
def git(tmp_path: Path) -> Git:
    return repository(tmp_path / "repository", {"a": LINES, "b": LINES})


def told(git: Git, conflicts: tuple[Conflict, ...]) -> str:
    return explain(
        git,
        conflicts,
        subplan="store/model",
        branch=BRANCH,
        into="main",
        worktree=Path("/some where"),
        command="weft merge store/model",
    )


def clash(git: Git, ours: dict[str, Made], theirs: dict[str, Made], *, said: str = "theirs") -> str:
    """Returns the message about these changes; `theirs` are those of the subplan."""
    base = grow(git, "main", {})
    into = grow(git, "main", ours, base, message="by hand")
    commit = grow(git, BRANCH, theirs, base, message=said)
    return told(git, try_merge(git, into, commit).conflicts)


def test_files_sides_lines_and_what_to_type_are_reported(git: Git) -> None:
    entry = message("code: model", {"Weft-Subplan": "store/model"})
    text = clash(
        git, {"a": LINES.replace("5\n", "five\n")}, {"a": LINES.replace("5\n", "fünf\n")}, said=entry
    )
    main, branch = git.line("rev-parse", "--short", "main"), git.line("rev-parse", "--short", BRANCH)
    assert text == (
        "store/model cannot be merged into main: 1 file in conflict. Nothing has moved.\n"
        "a (content)\n"
        f"  main changed it: {main} by hand\n"
        f"  weft/p/store.model changed it: {branch} code: model [store/model]\n"
        "    <<<<<<< main\n"
        "    five\n"
        "    =======\n"
        "    fünf\n"
        "    >>>>>>> weft/p/store.model\n"
        "To settle it, merge the other way round, in the worktree of the subplan:\n"
        "  git -C '/some where' merge main\n"
        "  (fix the files that git names, and `git add` them)\n"
        "  git -C '/some where' commit\n"
        "  weft merge store/model"
    )


@pytest.mark.parametrize(
    ("ours", "theirs", "first", "second"),
    [
        ({"a": None}, {"a": "x"}, "main removed it", f"{BRANCH} changed it"),
        ({"n": "1"}, {"n": "2"}, "main added it", f"{BRANCH} added it"),
        ({"a": None, "n": LINES}, {"a": None, "o": LINES}, "main removed it", f"{BRANCH} removed it"),
        ({"b": None, "b/x": "1"}, {"b": "x"}, "main removed it", f"{BRANCH} changed it"),
        ({"n/x": "1"}, {"n": "x"}, "main has a directory there", f"{BRANCH} added it"),
        ({"a": None, "n": "x" + LINES}, {"a": None}, "main changed it", f"{BRANCH} removed it"),
        ({"a": [LINES + "x"]}, {"a": None}, "main changed it", f"{BRANCH} removed it"),
        ({"a": [LINES]}, {"a": None}, "main changed its mode", f"{BRANCH} removed it"),
        ({"s": ("160000", "1" * 40)}, {"s": "x"}, "main added it", f"{BRANCH} added it"),
    ],
)  # fmt: skip
def test_what_each_side_did_is_reported(
    git: Git, ours: dict[str, Made], theirs: dict[str, Made], first: str, second: str
) -> None:
    told_of = clash(git, ours, theirs).splitlines()
    assert told_of[2].strip().split(":")[0] == first
    assert told_of[3].strip().split(":")[0] == second


def test_a_submodule_moves(git: Git) -> None:
    item, other = TreeVersion("160000", "1" * 40), TreeVersion("160000", "2" * 40)
    text = told_here(git, Conflict(path="s", kind="submodule", base=item, ours=item, theirs=other))
    assert f"main left its content\n  {BRANCH} moved it to 222222222222" in text


def test_a_file_under_another_name_is_missing_on_the_side_that_has_not_renamed_it(git: Git) -> None:
    tree_version = TreeVersion("100644", "1" * 40)
    text = told_here(git, Conflict(path="n", kind="rename/rename", theirs=tree_version))
    assert f"main has no such file\n  {BRANCH} added it" in text


def told_here(git: Git, *conflicts: Conflict) -> str:
    grow(git, BRANCH, {})
    return told(git, conflicts)


def test_of_many_commits_the_newest_are_named_and_the_rest_is_counted(git: Git) -> None:
    for number in range(5):
        grow(
            git,
            BRANCH,
            {"a": f"{number}\n"},
            f"refs/heads/{BRANCH}^0" * bool(number) or "main",
            message=f"no. {number}",
        )
    grow(git, "main", {"a": "x\n"})
    text = told(git, try_merge(git, "main", BRANCH).conflicts)
    line = next(line for line in text.splitlines() if line.startswith(f"  {BRANCH}"))
    assert [part.split(" ", 1)[1] for part in line.split(": ", 1)[1].split("; ")] == [
        "no. 4",
        "no. 3",
        "no. 2",
        "2 more",
    ]


def test_only_commits_since_the_sides_parted_are_named(git: Git) -> None:
    text = clash(git, {"a": "one\n"}, {"a": "eins\n"})
    assert " more\n" not in text


def test_a_tag_of_the_same_name_is_not_meant(git: Git) -> None:
    git.do("tag", "main")
    text = clash(git, {"a": "one\n"}, {"a": "eins\n"})
    assert "by hand" in text


def test_of_a_conflict_of_very_many_lines_the_beginnings_of_both_sides_are_reported(git: Git) -> None:
    long = "".join(f"{number} {'x' * 300}\n" for number in range(1500))
    text = clash(git, {"a": long}, {"a": long.replace("x", "y")})
    assert text.count("… and 1489 lines more") == 1
    assert text.count("… and 1490 lines more") == 1
    assert "    =======\n    0 yyy" in text
    assert len(text) < 6_000


def test_what_both_started_with_is_reported_if_the_user_wants_it(git: Git) -> None:
    git.do("config", "merge.conflictStyle", "diff3")
    text = clash(git, {"a": "one\n"}, {"a": "eins\n" * 3})
    assert "    one\n    ||||||| " in text
    assert "    =======\n    eins\n    eins\n    eins\n    >>>>>>> weft/p/store.model" in text


def test_lines_that_look_like_marks_do_not_make_it_longer(git: Git) -> None:
    text = clash(git, {"a": "x\n=======\n" * 1000}, {"a": "eins\n"})
    assert len(text.splitlines()) < 50


def test_files_that_are_no_text_or_very_large_are_not_shown(git: Git) -> None:
    text = clash(git, {"a": b"\0one", "b": b"x" * 2_000_000}, {"a": b"\0eins", "b": "x\n"})
    assert "a (binary)" in text
    assert "<<<<<<<" not in text


def test_ten_thousand_conflicts_are_reported_in_few_lines(git: Git) -> None:
    version = TreeVersion("100644", "1" * 40)
    many = (
        Conflict(path=f"{number} {'long' * 20}", kind="content", base=version, ours=version, theirs=version)
        for number in range(10_000)
    )
    text = told_here(git, *many)
    assert "10000 files in conflict" in text
    assert "… and 9980 more" in text
    assert len(text.splitlines()) < 60
    assert len(text) < 10_000


def test_twenty_conflicts_are_all_named(git: Git) -> None:
    text = told_here(git, *(Conflict(path=f"file{number}", kind="content") for number in range(20)))
    assert "file19 (content)\nTo settle it" in text


def test_any_name_and_any_text_is_shown_on_its_own_line(git: Git) -> None:
    name = "li\nne\udcff"
    text = clash(git, {name: "\x1b[31mone\n"}, {name: "eins\ttab\r\n"}, said="sub\x1bject")
    assert "li\\nne\\xff (add/add)" in text
    assert "    �[31mone\n" in text
    assert "    eins\ttab�\n" in text
    assert "sub\\x1bject" in text
    assert text.encode()


def test_a_name_that_is_a_pattern_to_git_is_a_name(git: Git) -> None:
    text = clash(git, {":(odd)[a": "one\n"}, {":(odd)[a": "eins\n"})
    assert ":(odd)[a (add/add)\n  main added it: " in text


def test_what_looks_like_marks_in_a_file_that_is_no_text_is_not_shown(git: Git) -> None:
    assert "<<<" not in clash(git, {"a": b"\0\n<<<<<<< x\n"}, {"a": b"\0y"})


def test_what_has_no_marks_has_no_lines(git: Git) -> None:
    assert "<<<" not in clash(git, {"a": None}, {"a": "x"})


def test_marks_that_never_close_are_shown_to_the_end(git: Git) -> None:
    blob = git.do("hash-object", "-w", "--stdin", stdin=b"<<<<<<< x\none\n").decode().strip()
    text = told_here(git, Conflict(path="a", kind="content", merged=blob))
    assert "    <<<<<<< main\n    one\n" in text


def test_what_is_gone_meanwhile_has_no_lines(git: Git) -> None:
    assert "a (content)" in told_here(git, Conflict(path="a", kind="content", merged=f"{'1' * 40}:a"))
