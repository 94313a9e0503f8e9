from collections.abc import Iterator, Mapping
from itertools import permutations
from pathlib import Path
from threading import Barrier, Thread

import pytest
from hypothesis import given, settings

from weft.workspaces.git.base.merge_tree import try_merge
from weft.workspaces.git.base.program import Git, GitError, GitOutput
from weft.workspaces.git.base.refs import tip
from weft.workspaces.git.merges import conflict_forecast
from weft.workspaces.git.merges.conflict_forecast import ConflictForecast, ForecastConflict
from workspaces.faults import quick_folder
from workspaces.git.histories import History, branches, grown
from workspaces.git.repositories import Made, grow, repository

LINES = "".join(f"{number}\n" for number in range(1, 10))
FILES = {"a": LINES, "b": LINES, "d/x": LINES, "d/y": LINES * 2, "e/z": "z\n"}


class CountingGit(Git):
    """Remembers what it was asked for, and says that it is of another version, if that is wanted."""

    def __init__(self, git: Git, version: str = "") -> None:
        super().__init__(git.directory, environ=git._environ, works=True)
        self.version = version
        self.asked: list[str] = []

    def ask(
        self, *command: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None
    ) -> GitOutput:
        if self.version and command == ("version",):
            return GitOutput(0, f"git version {self.version}\n".encode(), "")
        self.asked += [word for word in command if word in {"merge-tree", "diff-tree"}]
        return super().ask(*command, stdin=stdin, env=env)


@pytest.fixture(params=["", "2.38.0"], ids=["several at once", "one by one"])
def git(tmp_path: Path, request: pytest.FixtureRequest) -> CountingGit:
    return CountingGit(repository(tmp_path / 'repo:si"to\\ry', FILES), request.param)


@pytest.fixture(scope="module")
def whole() -> Iterator[Git]:
    """A repository for many histories."""
    with quick_folder() as folder:
        yield repository(folder / "repository")


def foresight(git: Git, **branches: Mapping[str, Made]) -> ConflictForecast:
    """Of branches that did this since `main`."""
    result = ConflictForecast(git)
    for name, files in branches.items():
        go(git, result, name, files)
    return result


def go(git: Git, found: ConflictForecast, name: str, files: Mapping[str, Made]) -> None:
    found.moved(name, tip(git, "refs/heads/main") or "", grow(git, name, files))


def seen(found: ConflictForecast, name: str) -> list[tuple[str, tuple[str, ...]]]:
    return [(conflict.other, conflict.files) for conflict in found.conflicts(name)]


def test_a_conflict_is_distinguished_from_both_sides(git: CountingGit) -> None:
    result = foresight(
        git, one={"a": "one\n"}, two={"a": "two\n", "b": "two\n"}, three={"b": "three\n", "n": "n"}
    )
    assert result.conflicts("one") == [ForecastConflict(one="one", other="two", files=("a",))]
    assert seen(result, "two") == [("one", ("a",)), ("three", ("b",))]
    assert seen(result, "three") == [("two", ("b",))]


def test_changes_that_go_together_are_no_conflict(git: CountingGit) -> None:
    conflicts = foresight(git, one={"a": f"0\n{LINES}"}, two={"a": f"{LINES}10\n"})
    assert seen(conflicts, "one") == []
    assert git.asked.count("merge-tree") == 1


def test_branches_that_touch_nothing_in_common_are_not_merged(git: CountingGit) -> None:
    conflicts = foresight(
        git, one={"a": "one\n", "d/x": "1"}, two={"b": "two\n", "d/y": "1", "n": "n"}, three={}
    )
    assert [seen(conflicts, name) for name in ("one", "two", "three")] == [[], [], []]
    assert git.asked == ["diff-tree"]


def test_an_unknown_branch_has_no_conflicts(git: CountingGit) -> None:
    assert seen(foresight(git), "one") == []
    assert git.asked == []


def test_a_file_where_the_other_has_a_directory(git: CountingGit) -> None:
    conflicts = foresight(git, one={"n": "file\n"}, two={"n/deep/file": "2"})
    assert seen(conflicts, "one") == [("two", ("n",))]
    assert seen(conflicts, "two") == [("one", ("n",))]
    conflicts = foresight(git, one={"n/deep/file": "1"}, two={"n": "file\n"})
    assert seen(conflicts, "one") == [("two", ("n",))]


def test_two_kinds_of_file_are_reported_by_their_name(git: CountingGit) -> None:
    conflicts = foresight(git, one={"a": ("b",)}, two={"a": f"{LINES}x\n"})
    assert seen(conflicts, "one") == [("two", ("a",))]


def test_one_renamed_the_directory_to_which_the_other_added(git: CountingGit) -> None:
    moved: dict[str, Made] = {"d/x": None, "d/y": None, "f/x": LINES, "f/y": LINES * 2}
    conflicts = foresight(git, one=moved, two={"d/new": "new\n"})
    assert seen(conflicts, "one") == [("two", ("f/new",))]
    assert seen(conflicts, "two") == [("one", ("f/new",))]


def test_a_conflict_about_no_file_names_the_directory(git: CountingGit) -> None:
    split: dict[str, Made] = {"d/x": None, "d/y": None, "f/x": LINES, "g/y": LINES * 2}
    conflicts = foresight(git, one=split, two={"d/new": "new\n"})
    assert seen(conflicts, "two") == [("one", ("d",))]


def test_what_was_merged_is_not_merged_again_until_one_moves(git: CountingGit) -> None:
    conflicts = foresight(git, one={"a": "one\n"}, two={"a": "two\n"}, three={"a": "three\n"})
    seen(conflicts, "one")
    git.asked.clear()
    assert len(seen(conflicts, "two")) == 2
    assert git.asked == []
    go(git, conflicts, "two", {"a": f"0\n{LINES}"})
    assert seen(conflicts, "three") == [("one", ("a",)), ("two", ("a",))]
    assert git.asked.count("diff-tree") == 1
    git.asked.clear()
    seen(conflicts, "two")
    assert git.asked == []


def test_conflicts_are_in_the_order_of_names_whichever_branch_moved_last(git: CountingGit) -> None:
    conflicts = foresight(git, one={"a": "one\n"}, two={"a": "two\n"}, three={"a": "three\n"})
    seen(conflicts, "three")
    go(git, conflicts, "one", {"a": "one more\n"})
    assert seen(conflicts, "three") == [("one", ("a",)), ("two", ("a",))]


def test_the_topmost_directory_is_never_taken_for_renamed(git: CountingGit) -> None:
    assert seen(foresight(git, one={"n": "new\n"}, two={"b": None}), "one") == []
    assert git.asked == ["diff-tree"]


def test_all_that_is_new_is_merged_by_one_process(tmp_path: Path) -> None:
    git = CountingGit(repository(tmp_path / "repository", FILES))
    conflicts = foresight(git, **{f"branch{number}": {"a": f"{number}\n"} for number in range(6)})
    assert len(seen(conflicts, "branch3")) == 5
    assert git.asked == ["diff-tree", "merge-tree"]


def test_a_branch_that_moves_out_of_the_way_is_in_no_conflict(git: CountingGit) -> None:
    conflicts = foresight(git, one={"a": "one\n"}, two={"a": "two\n"})
    assert seen(conflicts, "one") != []
    go(git, conflicts, "two", {"a": LINES})
    assert seen(conflicts, "one") == []


def test_a_branch_that_is_gone_is_in_no_conflict(git: CountingGit) -> None:
    conflicts = foresight(git, one={"a": "one\n"}, two={"a": "two\n"})
    assert seen(conflicts, "one") != []
    conflicts.gone("two")
    conflicts.gone("never")
    assert seen(conflicts, "one") == []
    assert seen(conflicts, "two") == []


def test_a_branch_that_started_elsewhere_is_compared_with_that(git: CountingGit) -> None:
    result = ConflictForecast(git)
    start = grow(git, "start", {"a": "start\n"})
    result.moved("one", start, grow(git, "one", {"b": "one\n"}, start))
    go(git, result, "two", {"a": "two\n"})
    assert seen(result, "one") == []
    result.moved("one", tip(git, "refs/heads/main") or "", tip(git, "refs/heads/one") or "")
    assert seen(result, "one") == [("two", ("a",))]


def test_names_may_have_any_characters(git: CountingGit) -> None:
    name = "tab\tline\nö \udcff"
    assert seen(foresight(git, one={name: "1"}, two={name: "2"}), "one") == [("two", (name,))]


@pytest.mark.parametrize("memory", [conflict_forecast._MEMORY, "/dev/null/nowhere"])
def test_nothing_is_left_in_the_repository(
    git: CountingGit, memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conflict_forecast, "_MEMORY", memory)
    conflicts = foresight(git, one={"a": "one\n"}, two={"a": "two\n"})
    before = sorted((git.directory / ".git").rglob("*"))
    assert seen(conflicts, "one") == [("two", ("a",))]
    assert sorted((git.directory / ".git").rglob("*")) == before


def test_a_commit_that_is_missing_is_an_error(git: CountingGit) -> None:
    result = foresight(git, one={"a": "one\n"}, two={"a": "two\n"})
    seen(result, "one")
    result.moved("two", "1" * 40, "2" * 40)
    with pytest.raises(GitError):
        result.conflicts("one")
    go(git, result, "two", {"a": "two\n"})
    assert seen(result, "one") == [("two", ("a",))]


def test_what_git_cannot_merge_is_not_taken_for_a_conflict(git: CountingGit) -> None:
    with pytest.raises(GitError, match="not something we can merge"):
        conflict_forecast._single(git, ("main", "nothing"), {})


def test_histories_without_a_common_commit_are_an_error(git: CountingGit) -> None:
    result = foresight(git, one={"a": "one\n"})
    result.moved("two", tip(git, "refs/heads/main") or "", grow(git, "two", {"a": "two\n"}, ""))
    with pytest.raises(GitError, match="unrelated histories"):
        result.conflicts("one")


def test_many_threads_get_the_same_answers(git: CountingGit) -> None:
    names = [f"branch{number}" for number in range(5)]
    result, ready = ConflictForecast(git), Barrier(len(names))
    answers: dict[str, list[tuple[str, tuple[str, ...]]]] = {}

    def work(name: str) -> None:
        commit = grow(git, name, {"a": f"{name}\n"})
        result.moved(name, tip(git, "refs/heads/main") or "", commit)
        ready.wait()
        answers[name] = seen(result, name)

    threads = [Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {name: [(other, ("a",)) for other in names if other != name] for name in names}


@given(branches(3))
@settings(max_examples=40)
def test_what_is_foreseen_is_what_would_happen(whole: Git, history: History) -> None:
    start, *tips = grown(whole, history)
    result = ConflictForecast(whole)
    for number, commit in enumerate(tips):
        result.moved(str(number), start, commit)
    happens = {
        (str(entry), str(other)): {
            conflict.path for conflict in try_merge(whole, tips[entry], tips[other]).conflicts
        }
        for entry, other in permutations(range(len(tips)), 2)
    }
    foreseen = {(seen.one, seen.other): set(seen.files) for item in "012" for seen in result.conflicts(item)}
    assert foreseen == {pair: files for pair, files in happens.items() if files}
