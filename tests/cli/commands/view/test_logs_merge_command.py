"""`weft logs` of merges: what a verify of what has come together wrote, round by round."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from e2e.repositories import Repository
from weft.cli.main import cli

# Whichever way the processes are scheduled: b begins before a is merged, and is merged after that.
MERGED = """
setup: [echo set up]
subplans:
  - {id: a, steps: [{id: w, run: "read _ < OUTSIDE/begun; echo a > a"}]}
  - id: b
    verify: "echo see; ls"
    steps: [{id: w, run: "echo > OUTSIDE/begun; read _ < OUTSIDE/merged; echo b > b"}]
  - {id: c, depends_on: [a], steps: [{id: w, run: "echo > OUTSIDE/merged"}]}
"""
# A person commits while the slice works, and again while what came together is verified for the first time.
MOVED = """
merge: {mode: auto}
subplans:
  - id: a
    verify: "ls; [ ! -e one ] || [ -e two ] || COMMIT two"
    steps: [{id: w, run: "COMMIT one; echo a > a"}]
"""


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    repository = Repository(tmp_path / "project")
    for gate in ("begun", "merged"):
        os.mkfifo(repository.outside / gate)
    yield repository
    repository.kill_processes()  # which a test that failed has left
    repository.end()


def weft(repository: Repository, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["-C", str(repository.root), *arguments])


def test_what_was_verified_before_a_merge_is_reported(repository: Repository) -> None:
    weft(repository.plan(MERGED), "run", "-q")
    shown = weft(repository, "logs", "b:@merge")
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout.splitlines() == [
        "── b:@merge: echo set up && echo see; ls",
        *("set up", "see", "README", "a", "b"),
        "── b:@merge done",
    ]
    assert "── b:@workspace: echo set up" in weft(repository, "logs", "b").stdout


def test_each_verify_of_a_landing_is_shown_in_order(repository: Repository) -> None:
    commit = repository.outside / "commit"
    commit.write_text(
        f'#!/bin/sh\nunset GIT_DIR GIT_INDEX_FILE\ncd {repository.root}\necho > "$1"\ngit add "$1"\n'
        'git -c user.name=Ada -c user.email=a@b commit --quiet --message "$1"\n'
    )
    commit.chmod(0o755)
    done = weft(repository.plan(MOVED.replace("COMMIT", str(commit))), "run", "-q")
    assert done.exit_code == 0
    shown = weft(repository, "logs", "a:@land").stdout.splitlines()
    assert [line.partition(":")[2].partition(":")[0] or line for line in shown] == [
        *("@land", "README", "a", "one", "@land passed"),
        *("@land", "README", "a", "one", "two", "@land passed"),
    ]
