"""Commits written without git, compared with those of `git commit-tree`."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weft.workspaces.git.base.commit_file import committer, write_commit_file
from weft.workspaces.git.base.program import Git
from workspaces.git.repositories import commit, empty_repository, repository, surroundings

DATE = "1700000000 +0130"
DATES = {"GIT_AUTHOR_DATE": DATE, "GIT_COMMITTER_DATE": DATE}


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> Git:
    return repository(tmp_path_factory.mktemp("commits") / "top")


def by_git(git: Git, tree: str, parents: list[str], message: bytes, env: Mapping[str, str]) -> str:
    """The id that git gives; the object is not written, so that ours cannot be taken for it."""
    options = [part for parent in parents for part in ("-p", parent)]
    made = git.do(
        "-c", "i18n.commitEncoding=UTF-8", "commit-tree", tree, *options, "-F", "-", stdin=message, env=env
    )
    return made.decode().strip()


def tree_of(git: Git) -> str:
    return git.line("rev-parse", "HEAD^{tree}")


def names() -> st.SearchStrategy[str]:
    return st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)


@given(
    name=names(),
    email=names(),
    message=st.binary(max_size=60) | st.text(max_size=40).map(lambda text: text.encode(errors="replace")),
    parents=st.integers(0, 1),
    zone=st.sampled_from(["+0000", "-0330", "+1400"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
def test_a_commit_has_the_bytes_that_git_would_write_or_is_left_to_git(
    git: Git, name: str, email: str, message: bytes, parents: int, zone: str
) -> None:
    date = f"1700000000 {zone}"
    env = {
        "GIT_AUTHOR_NAME": name,
        "GIT_AUTHOR_EMAIL": email,
        "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_DATE": date,
    }
    tree, values = tree_of(git), [git.line("rev-parse", "HEAD")][:parents]
    written = write_commit_file(git, tree, values, message, env)
    if written is not None:
        assert written == by_git(git, tree, values, message, env)


def test_an_ordinary_commit_is_not_left_to_git(git: Git) -> None:
    tree, head = tree_of(git), git.line("rev-parse", "HEAD")
    written = write_commit_file(git, tree, [head], "Größe: 3\n\nWeft-Plan: p\n".encode(), DATES)
    assert written is not None
    assert git.line("cat-file", "commit", written).splitlines() == [
        f"tree {tree}",
        f"parent {head}",
        f"author Ada <ada@example.org> {DATE}",
        f"committer Ada <ada@example.org> {DATE}",
        "",
        "Größe: 3",
        "",
        "Weft-Plan: p",
    ]
    git.do("fsck", "--strict")


def test_the_object_is_complete_read_only_and_alone(git: Git) -> None:
    written = write_commit_file(git, tree_of(git), [], b"one\n", DATES)
    assert written is not None
    assert write_commit_file(git, tree_of(git), [], b"one\n", DATES) == written
    file = git.common / "objects" / written[:2] / written[2:]
    assert oct(file.stat().st_mode)[-3:] == "444"
    assert list(file.parent.glob("tmp_obj_*")) == []


def test_without_dates_it_is_now_in_the_local_time_zone(git: Git) -> None:
    written = write_commit_file(git, tree_of(git), [], b"now\n", {})
    assert written is not None
    stamp = git.line("show", "--no-patch", "--format=%at %ad", "--date=format:%z", written).split()
    expected = git.line(
        "show",
        "--no-patch",
        "--format=%at %ad",
        "--date=format:%z",
        by_git(git, tree_of(git), [], b"now\n", {}),
    )
    seconds, zone = expected.split()
    assert stamp[1] == zone
    assert int(seconds) - int(stamp[0]) in range(60)


def test_a_repository_with_sha256_gets_its_own_ids(tmp_path: Path) -> None:
    git = empty_repository(tmp_path / "top", "--object-format=sha256")
    head = commit(git, {"README": "hello\n"})
    written = write_commit_file(git, tree_of(git), [head], b"more\n", DATES)
    assert written is not None
    assert written == by_git(git, tree_of(git), [head], b"more\n", DATES)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("core.sharedRepository", "group"),
        ("core.fsync", "all"),
        ("core.fsyncObjectFiles", "true"),
        ("extensions.worktreeConfig", "true"),
        ("includeIf.onbranch:weft/**.path", "other"),
        ("includeIf.gitdir:**/.git.path", "other"),
        ("user.name", " Ada."),
        ("user.email", "<ada>"),
        ("author.name", ""),
    ],
)
def test_what_only_git_can_decide_is_left_to_git(tmp_path: Path, key: str, value: str) -> None:
    git = repository(tmp_path / "top")
    git.do("config", key, value)
    assert write_commit_file(git, tree_of(git), [], b"more\n", DATES) is None


def test_an_include_for_a_directory_around_the_repository_is_common(tmp_path: Path) -> None:
    git = repository(tmp_path / "top")
    (tmp_path / "more").write_text("[user]\n\tname = Grace\n")
    git.do("config", f"includeIf.gitdir:{tmp_path}/.path", str(tmp_path / "more"))
    written = write_commit_file(git, tree_of(git), [], b"more\n", DATES)
    assert written is not None
    assert git.line("show", "--no-patch", "--format=%an", written) == "Grace"


@pytest.mark.parametrize(
    "env",
    [
        {"GIT_AUTHOR_DATE": "yesterday"},
        {"GIT_COMMITTER_NAME": ""},
        {"GIT_AUTHOR_NAME": os.fsdecode(b"Ad\xe1")},
    ],
)
def test_variables_that_git_reads_in_its_own_way_are_left_to_git(git: Git, env: Mapping[str, str]) -> None:
    assert write_commit_file(git, tree_of(git), [], b"more\n", {**DATES, **env}) is None


def test_a_message_or_parents_that_git_refuses_are_left_to_git(git: Git) -> None:
    tree, head = tree_of(git), git.line("rev-parse", "HEAD")
    assert write_commit_file(git, tree, [], b"a\0b\n", DATES) is None
    assert write_commit_file(git, tree, [head, head], b"a\n", DATES) is None
    assert write_commit_file(git, "HEAD^{tree}", [], b"a\n", DATES) is None


def test_without_a_user_only_git_can_tell_the_committer(tmp_path: Path) -> None:
    git = empty_repository(tmp_path / "top")
    assert committer(git) is not None
    git.do("config", "--unset", "user.email")
    assert committer(Git(git.directory, environ=surroundings(tmp_path))) is None


def test_a_directory_that_cannot_be_written_is_left_to_git(tmp_path: Path) -> None:
    git = repository(tmp_path / "top")
    tree = tree_of(git)
    objects = git.common / "objects"
    objects.rename(tmp_path / "away")
    objects.touch()
    assert write_commit_file(git, tree, [], b"more\n", DATES) is None
