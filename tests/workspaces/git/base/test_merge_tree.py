from collections.abc import Mapping
from pathlib import Path

import pytest

from weft.workspaces.git.base.conflicts import Conflict
from weft.workspaces.git.base.merge_tree import MergeTrial, commit_merge, message, try_merge
from weft.workspaces.git.base.program import Git, GitError
from weft.workspaces.git.base.refs import tip
from workspaces.git.repositories import Made, contents, empty_repository, files_of, grow, repository

LINES = "".join(f"{number}\n" for number in range(1, 10))
OTHER = "".join(f"line {number}\n" for number in range(1, 10))
TOP = LINES.replace("1\n", "one\n", 1)
END = LINES.replace("9\n", "nine\n", 1)
Tree = Mapping[str, Made]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    return repository(tmp_path / "repository", {"a": LINES, "d/x": OTHER, "d/y": OTHER * 2})


def sides(git: Git, ours: Tree, theirs: Tree, base: Tree | None = None) -> tuple[str, str]:
    start = grow(git, "base", base or {})
    return grow(git, "ours", ours, start), grow(git, "theirs", theirs, start)


def tried(
    git: Git, ours: Tree, theirs: Tree, base: Tree | None = None, *, take: tuple[str, ...] = ()
) -> MergeTrial:
    return try_merge(git, *sides(git, ours, theirs, base), take=take)


def told(trial: MergeTrial) -> list[tuple[str, str]]:
    return [(conflict.path, conflict.kind) for conflict in trial.conflicts]


def have(git: Git, conflict: Conflict) -> list[str | None]:
    """What base, ours and theirs have."""
    versions = (conflict.base, conflict.ours, conflict.theirs)
    return [git.do("cat-file", "-p", version.oid).decode() if version else None for version in versions]


# Clean


def test_what_both_did_is_in_the_tree(git: Git) -> None:
    trial = tried(git, {"a": TOP, "b": "b"}, {"a": END, "c": "c"})
    assert trial.conflicts == ()
    both = {"a": TOP.replace("9\n", "nine\n"), "b": "b", "c": "c", "d/x": OTHER, "d/y": OTHER * 2}
    assert files_of(git, trial.tree) == both


def test_a_file_that_one_renamed_gets_the_change_of_the_other(git: Git) -> None:
    trial = tried(git, {"a": None, "b": LINES}, {"a": TOP})
    assert trial.conflicts == ()
    assert files_of(git, trial.tree)["b"] == TOP


def test_a_change_of_the_mode_and_one_of_the_text_go_together(git: Git) -> None:
    trial = tried(git, {"a": [LINES]}, {"a": TOP})
    assert trial.conflicts == ()
    assert git.line("ls-tree", trial.tree, "a").startswith("100755")
    assert files_of(git, trial.tree)["a"] == TOP


def test_the_same_change_on_both_sides_is_none(git: Git) -> None:
    assert tried(git, {"a": TOP}, {"a": TOP}).conflicts == ()


def test_what_is_merged_already_gives_the_tree_that_there_is(git: Git) -> None:
    ours, _ = sides(git, {"a": TOP}, {})
    assert try_merge(git, ours, "main").tree == git.line("rev-parse", f"{ours}^{{tree}}")


def test_neither_a_ref_nor_a_file_is_touched(git: Git) -> None:
    ours, theirs = sides(git, {"a": TOP}, {"a": "x"})
    before = (git.line("for-each-ref"), contents(git.directory), git.line("status", "--porcelain"))
    try_merge(git, ours, theirs, take=["a"])
    assert (git.line("for-each-ref"), contents(git.directory), git.line("status", "--porcelain")) == before


def test_a_history_with_two_bases_is_merged_as_git_does_it(git: Git) -> None:
    item, other = grow(git, "one", {"a": TOP}), grow(git, "other", {"a": END})
    both = TOP.replace("9\n", "nine\n")
    ours = grow(git, "ours", {"a": both, "b": "b"}, item, other)
    theirs = grow(git, "theirs", {"a": both, "c": "c"}, other, item)
    assert len(git.line("merge-base", "--all", ours, theirs).splitlines()) == 2
    trial = try_merge(git, ours, theirs)
    assert trial.conflicts == ()
    assert {"a": both, "b": "b", "c": "c"}.items() <= files_of(git, trial.tree).items()


# Conflicts


def test_different_changes_of_one_line_are_a_conflict_of_content(git: Git) -> None:
    trial = tried(git, {"a": "one\n"}, {"a": "eins\n"})
    assert told(trial) == [("a", "content")]
    assert have(git, trial.conflicts[0]) == [LINES, "one\n", "eins\n"]
    merged = git.do("cat-file", "-p", trial.conflicts[0].merged).decode()
    assert "=======\neins\n>>>>>>>" in merged


def test_two_new_files_of_one_name(git: Git) -> None:
    trial = tried(git, {"n": "one\n"}, {"n": "eins\n"})
    assert told(trial) == [("n", "add/add")]
    assert have(git, trial.conflicts[0]) == [None, "one\n", "eins\n"]


def test_one_changed_what_the_other_removed(git: Git) -> None:
    trial = tried(git, {"a": None}, {"a": TOP})
    assert told(trial) == [("a", "modify/delete")]
    assert have(git, trial.conflicts[0]) == [LINES, None, TOP]


def test_files_that_are_not_text(git: Git) -> None:
    trial = tried(git, {"b": b"\0one"}, {"b": b"\0eins"}, {"b": b"\0"})
    assert told(trial) == [("b", "binary")]


def test_links_that_lead_to_different_places(git: Git) -> None:
    trial = tried(git, {"l": ("a",)}, {"l": ("b",)}, {"l": ("c",)})
    assert told(trial) == [("l", "content")]
    assert have(git, trial.conflicts[0]) == ["c", "a", "b"]


def test_one_made_a_link_of_what_the_other_changed(git: Git) -> None:
    trial = tried(git, {"a": ("d",)}, {"a": TOP})
    assert told(trial) == [("a", "distinct modes")]
    assert have(git, trial.conflicts[0]) == [LINES, "d", TOP]


def test_one_file_with_two_new_names(git: Git) -> None:
    trial = tried(git, {"a": None, "b": LINES}, {"a": None, "c": LINES})
    assert told(trial) == [("a", "rename/rename"), ("b", "rename/rename"), ("c", "rename/rename")]


def test_two_files_with_the_same_new_name(git: Git) -> None:
    trial = tried(git, {"a": None, "n": LINES}, {"d/x": None, "n": OTHER})
    assert told(trial) == [("n", "add/add")]
    assert have(git, trial.conflicts[0]) == [None, LINES, OTHER]


def test_one_renamed_what_the_other_removed(git: Git) -> None:
    trial = tried(git, {"a": None, "b": TOP}, {"a": None})
    assert told(trial) == [("b", "rename/delete")]
    assert have(git, trial.conflicts[0]) == [LINES, TOP, None]


def test_one_has_a_file_where_the_other_has_a_directory(git: Git) -> None:
    trial = tried(git, {"d/x": None, "d/y": None, "d": "file\n"}, {"d/x": TOP})
    assert told(trial) == [("d/x", "modify/delete"), ("d", "file/directory")]
    assert have(git, trial.conflicts[1]) == [None, "file\n", None]
    assert not trial.conflicts[1].merged


def test_submodules_at_different_commits(git: Git) -> None:
    commits = [grow(git, f"sub{number}", {"a": str(number)}) for number in range(3)]
    ours, theirs, base = ({"s": ("160000", commit)} for commit in commits)
    trial = tried(git, {**ours, "a": "one\n"}, {**theirs, "a": "eins\n"}, base)
    assert told(trial) == [("a", "content"), ("s", "submodule")]
    assert [
        version and version.oid for version in (trial.conflicts[1].ours, trial.conflicts[1].theirs)
    ] == commits[:2]


def test_one_has_a_file_where_the_other_has_a_submodule(git: Git) -> None:
    trial = tried(git, {"s": ("160000", grow(git, "sub", {}))}, {"s": "file\n"})
    assert told(trial) == [("s", "submodule")]


def test_one_renamed_the_directory_to_which_the_other_added(git: Git) -> None:
    moved: Tree = {"d/x": None, "d/y": None, "e/x": OTHER, "e/y": OTHER * 2}
    assert told(tried(git, moved, {"d/n": "new\n"})) == [("e/n", "directory rename suggested")]


SPLIT: Tree = {"d/x": None, "d/y": None, "e/x": OTHER, "f/y": OTHER * 2}


def test_a_conflict_that_is_about_no_file_is_one_all_the_same(git: Git) -> None:
    trial = tried(git, SPLIT, {"d/n": "new\n"})
    assert told(trial) == [("d", "directory rename unclear split")]
    assert told(tried(git, {**SPLIT, "a": TOP}, {"d/n": "new\n", "a": "eins\n"})) == [
        ("a", "content"),
        ("d", "directory rename unclear split"),
    ]


def test_names_may_have_any_characters(git: Git) -> None:
    name = "tab\tline\nö \udcff"
    trial = tried(git, {name: "one\n"}, {name: "eins\n"}, {name: "base\n"}, take=("nothing",))
    assert told(trial) == [(name, "content")]
    assert (
        files_of(git, tried(git, {name: "1\n"}, {name: "2\n"}, {name: "3\n"}, take=("tab*",)).tree)[name]
        == "2\n"
    )


# Files that are taken


def test_a_file_that_is_taken_is_as_theirs_and_others_stay_in_conflict(git: Git) -> None:
    ours: Tree = {"a": "one\n", "d/x": "one\n", "b": "b"}
    trial = tried(git, ours, {"a": "eins\n", "d/x": "eins\n", "c": "c"}, take=("d",))
    assert told(trial) == [("a", "content")]
    files = files_of(git, trial.tree)
    assert (files["d/x"], files["b"], files["c"]) == ("eins\n", "b", "c")
    assert "<<<<<<<" in files["a"]


def test_a_file_that_is_not_in_conflict_is_merged_though_it_could_be_taken(git: Git) -> None:
    trial = tried(git, {"a": TOP, "d/x": "one\n"}, {"a": END, "d/x": "eins\n"}, take=("**",))
    assert trial.conflicts == ()
    assert files_of(git, trial.tree)["a"] == TOP.replace("9\n", "nine\n")


def test_what_theirs_removed_is_removed(git: Git) -> None:
    trial = tried(git, {"a": TOP}, {"a": None}, take=("a",))
    assert trial.conflicts == ()
    assert "a" not in files_of(git, trial.tree)


def test_what_ours_removed_comes_back_as_theirs_has_it(git: Git) -> None:
    trial = tried(git, {"a": None}, {"a": [TOP]}, take=("a",))
    assert trial.conflicts == ()
    assert git.line("ls-tree", trial.tree, "a").startswith("100755")


def test_of_one_file_with_two_new_names_that_of_theirs_is_taken(git: Git) -> None:
    trial = tried(git, {"a": None, "b": LINES}, {"a": None, "c": LINES}, take=("*",))
    assert trial.conflicts == ()
    assert set(files_of(git, trial.tree)) == {"c", "d/x", "d/y"}


def test_a_file_that_ours_renamed_has_the_content_of_theirs_under_its_new_name(git: Git) -> None:
    ours = LINES.replace("5\n", "five\n")
    trial = tried(git, {"a": None, "b": ours}, {"a": LINES.replace("5\n", "fünf\n")}, take=("b",))
    assert trial.conflicts == ()
    assert files_of(git, trial.tree)["b"] == LINES.replace("5\n", "fünf\n")


def test_a_file_with_two_new_names_is_taken_without_what_git_has_merged_into_it(git: Git) -> None:
    ours, theirs = LINES.replace("5\n", "five\n"), LINES.replace("5\n", "fünf\n")
    trial = tried(git, {"a": None, "b": ours}, {"a": None, "c": theirs}, take=("*",))
    assert trial.conflicts == ()
    assert files_of(git, trial.tree)["c"] == theirs


def test_a_version_that_theirs_never_had_is_not_taken(git: Git) -> None:
    moved: Tree = {"d/x": None, "d/y": None, "e/x": OTHER, "e/y": OTHER * 2}
    ours = {**moved, "a": None, "b": LINES.replace("5\n", "five\n")}
    trial = tried(git, ours, {"a": None, "d/n": LINES.replace("5\n", "fünf\n")}, take=("**",))
    assert [conflict.path for conflict in trial.conflicts] == ["e/n"]


@pytest.mark.parametrize(("ours", "theirs"), [(("d",), TOP), (TOP, ("d",))])
def test_of_two_kinds_of_file_that_of_theirs_is_taken(git: Git, ours: Made, theirs: Made) -> None:
    trial = tried(git, {"a": ours}, {"a": theirs}, take=("a",))
    assert trial.conflicts == ()
    assert trial.tree == git.line("rev-parse", "theirs^{tree}")


def test_the_directory_of_theirs_is_taken_where_ours_has_a_file(git: Git) -> None:
    trial = tried(git, {"d/x": None, "d/y": None, "d": "file\n"}, {"d/x": TOP}, take=("d",))
    assert trial.conflicts == ()
    assert files_of(git, trial.tree) == {"a": LINES, "d/x": TOP}


def test_the_file_of_theirs_is_taken_where_nothing_is_left_in_the_directory_of_ours(git: Git) -> None:
    trial = tried(git, {"d/x": TOP}, {"d/x": None, "d/y": None, "d": "file\n"}, take=("d",))
    assert trial.conflicts == ()
    assert files_of(git, trial.tree) == {"a": LINES, "d": "file\n"}


def test_a_directory_in_which_ours_has_more_is_never_given_up_for_a_file(git: Git) -> None:
    ours: Tree = {"d/x": TOP, "d/more": "more\n"}
    trial = tried(git, ours, {"d/x": None, "d/y": None, "d": "file\n"}, take=("d",))
    assert told(trial) == [("d", "file/directory")]
    assert files_of(git, trial.tree)["d/more"] == "more\n"


def test_the_submodule_of_theirs_is_taken(git: Git) -> None:
    commits = [grow(git, f"sub{number}", {"a": str(number)}) for number in range(3)]
    ours, theirs, base = ({"s": ("160000", commit)} for commit in commits)
    trial = tried(git, ours, theirs, base, take=("s",))
    assert trial.conflicts == ()
    assert git.line("ls-tree", trial.tree, "s") == f"160000 commit {commits[1]}\ts"


def test_a_conflict_that_is_about_no_file_is_not_settled_by_taking(git: Git) -> None:
    trial = tried(git, {**SPLIT, "a": TOP}, {"d/n": "new\n", "a": "eins\n"}, take=("**",))
    assert told(trial) == [("d", "directory rename unclear split")]


# What cannot be merged


def test_histories_without_a_common_commit(git: Git) -> None:
    other = grow(git, "other", {"a": "1"}, "")
    with pytest.raises(GitError, match=f"main and {other} have no commit in common"):
        try_merge(git, "main", other)


def test_a_name_that_is_no_commit_is_an_error_and_no_conflict(git: Git) -> None:
    with pytest.raises(GitError, match="nothing - not something we can merge"):
        try_merge(git, "main", "nothing")


# Commits


def test_a_merge_is_committed_with_its_parents_and_message(git: Git) -> None:
    ours, theirs = sides(git, {"b": "b"}, {"c": "c"})
    identity = {
        f"GIT_{role}_{part}": "Weft" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")
    }
    tree = try_merge(git, ours, theirs).tree
    text = message("merge ö", {"Weft-Plan": "p", "Weft-Subplan": "s/x"})
    commit = commit_merge(git, tree, (ours, theirs), text, identity=identity)
    shown = git.line(
        "show", "--no-patch", "--format=%T %P|%an %ce|%s|%(trailers:key=Weft-Subplan,valueonly)", commit
    )
    assert shown.split("|") == [f"{tree} {ours} {theirs}", "Weft Weft", "merge ö", "s/x"]
    assert tip(git, "refs/heads/ours") == ours


def test_a_message_has_a_subject_of_one_line_and_then_trailers() -> None:
    assert message(" two\nlines ", {"A": "1", "B-C": "2\n3"}) == "two lines\n\nA: 1\nB-C: 2 3\n"
    assert message("alone", {}) == "alone\n"


def test_repositories_with_longer_ids_are_merged_too(tmp_path: Path) -> None:
    git = empty_repository(tmp_path / "repository", "--object-format=sha256")
    base = grow(git, "base", {"a": LINES, "b": LINES}, "")
    ours, theirs = (
        grow(git, "ours", {"a": "1", "b": None}, base),
        grow(git, "theirs", {"a": "2", "b": TOP}, base),
    )
    trial = try_merge(git, ours, theirs, take=["a"])
    assert told(trial) == [("b", "modify/delete")]
    assert files_of(git, trial.tree)["a"] == "2"
