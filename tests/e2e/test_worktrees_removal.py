"""Worktrees go when their slices are merged, nothing is lost by it, and `weft open` brings one back."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from e2e.repositories import REMOVES, Repository
from weft.cli.main import cli

MANY = """
failure_mode: continue_on_error
max_parallel: 2
merge: {mode: auto}
subplans:
"""


STEPS = {
    **{f"s{number}": f"echo {number} > f{number}" for number in range(5)},
    "ignored": "echo '*.log' > .gitignore; echo x > trace.log; echo a > a",
    "undone": "echo 1 > u; git add u; git commit -qm kept; git reset -q --hard HEAD~1; echo 2 > v",
    "bad": "echo half > half; exit 3",
}
"""Slices that are merged, some of which leave more than their work, and one that fails."""


def run_in(folder: Path) -> Iterator[Repository]:
    repository = Repository(folder / "project")
    repository.head = REMOVES
    slices = [f"  - {{id: {id_}, steps: [{{id: t, run: {json.dumps(run)}}}]}}" for id_, run in STEPS.items()]
    repository.plan(MANY + "\n".join(slices))
    assert repository.run(waits=False).state == "failed"
    yield repository
    repository.end()


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Repository]:
    """For tests that only look."""
    yield from run_in(tmp_path_factory.mktemp("ran"))


@pytest.fixture
def again(tmp_path: Path) -> Iterator[Repository]:
    yield from run_in(tmp_path)


def weft(repository: Repository, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["-C", str(repository.root), *arguments])


def left(repository: Repository) -> list[str]:
    return sorted(path.name for path in (repository.root / ".weft" / "worktrees" / "tried").iterdir())


def test_what_is_merged_has_no_worktree_and_nothing_is_lost(ran: Repository) -> None:
    assert left(ran) == ["bad"]
    assert len(ran.git("worktree", "list").splitlines()) == 2
    assert (ran.root / ".weft" / "worktrees" / "tried" / "bad" / "half").read_text() == "half\n"
    for number in range(5):
        assert ran.git("show", f"weft/tried/s{number}:f{number}") == str(number)
        assert (ran.root / f"f{number}").read_text() == f"{number}\n"
    (kept,) = ran.git("for-each-ref", "--format=%(refname)", "refs/weft/kept/tried/undone").splitlines()
    assert ran.git("show", f"{kept}:u") == "1"
    done = weft(ran, "diff", "s3", "--name-only")
    assert (done.exit_code, done.stdout) == (0, "f3\n")
    assert "has no worktree" not in weft(ran, "doctor").stdout


def test_a_worktree_that_was_removed_is_opened_again_and_stays(again: Repository) -> None:
    done = weft(again, "open", "s1")
    place = Path(done.stdout.rstrip("\n"))
    assert (done.exit_code, (place / "f1").read_text()) == (0, "1\n")
    assert again.git("symbolic-ref", "--short", "HEAD", at=place) == "weft/tried/s1"
    text = json.loads(weft(again, "open", "s1", "--json").stdout)["data"]
    assert (text["worktree"], text["made"]) == (str(place), False)
    assert (text["subplan"], text["branch"]) == ("s1", "weft/tried/s1")
    again.run(waits=False)  # the slice that failed is tried again, and the run comes to rest
    assert left(again) == ["bad", "s1"]
    again.git("branch", "--delete", "--force", "weft/tried/s4")
    done = weft(again, "open", "s4")
    assert done.exit_code == 2
    assert "the branch weft/tried/s4" in done.stderr


def test_that_of_a_slice_that_failed_is_where_it_was(ran: Repository) -> None:
    result = json.loads(weft(ran, "open", "bad", "--json").stdout)["data"]
    assert (Path(result["worktree"]).name, result["made"]) == ("bad", False)


@pytest.mark.parametrize(
    ("name", "said"),
    [("/", "consists of several slices and has no worktree of its own"), ("nothing", "nothing")],
)
def test_what_has_no_worktree_cannot_be_opened(ran: Repository, name: str, said: str) -> None:
    done = weft(ran, "open", name)
    assert (done.exit_code, said in done.stderr) == (2, True)


def test_never_means_those_of_failed_slices_too(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "project")
    repository.head = REMOVES
    step = "{id: t, run: 'echo x > x; exit 3'}"
    repository.plan(f"keep_worktrees: never\nsubplans: [{{id: bad, steps: [{step}]}}]")
    assert repository.run().state == "failed"
    assert left(repository) == []
    assert repository.git("show", "weft/tried/bad:x") == "x"
    repository.end()
