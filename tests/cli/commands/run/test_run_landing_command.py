"""`weft run` in a repository: what it says of merges, and the question at the end whether results may land."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli.terminals import CTRL_C, CTRL_D, Terminal
from e2e.repositories import MINE, Repository
from weft.cli.main import cli

READY = """
subplans:
  - {id: g, subplans: [{id: a, steps: [{id: w, run: echo a > a}]}, {id: b, steps: [{id: w, run: echo b > b}]}]}
  - {id: d, depends_on: [g], steps: [{id: w, run: echo d > d}]}
"""
QUESTION = "Land 2 results on main? [y/N] "
# Whichever way the processes are scheduled: e begins before d is merged, and writes after that.
CONFLICT = """
subplans:
  - {id: d, steps: [{id: w, run: "read _ < OUTSIDE/begun; echo d > same"}]}
  - {id: e, steps: [{id: w, run: "echo > OUTSIDE/begun; read _ < OUTSIDE/merged; echo e > same"}]}
  - {id: f, depends_on: [d], steps: [{id: w, run: "echo > OUTSIDE/merged; echo f > f"}]}
"""


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    repository = Repository(tmp_path / "project")
    for gate in ("begun", "merged"):
        os.mkfifo(repository.outside / gate)
    yield repository.plan(READY)
    repository.kill_processes()  # which a test that failed has left
    repository.end()


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.close()


def on_terminal(terminals: list[Terminal], repository: Repository, *arguments: str) -> Terminal:
    terminals.append(Terminal(repository.root, {**repository.environ, **MINE}, *arguments))
    return terminals[-1]


def weft(repository: Repository, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["-C", str(repository.root), *arguments])


def told(text: str) -> list[str]:
    """Without what is different each time."""
    text = re.sub(r"^\d\d:\d\d:\d\d ", "", text, flags=re.MULTILINE)
    text = re.sub(r"\b\d:\d\d$", "TIME", text, flags=re.MULTILINE)
    text = re.sub(r"\b[0-9a-f]{7}\b", "COMMIT", text)
    text = re.sub(r"\d{8}-\d{6}-[0-9a-f]{4}", "RUN", text)
    return re.sub(r"\d+\.\d s\b|\d+ s\b", "N s", text).splitlines()


# Lines


def test_lines_say_where_work_goes_and_the_end_what_waits_to_land(repository: Repository) -> None:
    done = weft(repository, "run")
    assert done.exit_code == 4
    lines = told(done.stderr)
    assert lines[0] == "tried  run RUN started; lands on main"
    assert {line for line in lines if line.startswith("g/") and "merged" in line} == {
        "g/a  merged into weft/tried/g",
        "g/b  merged into weft/tried/g",
    }
    assert [line for line in lines if "merge" in line or "land" in line][3:] == [
        "g  merged into weft/tried/_plan",
        "g  waits to land on main",
        "d  merged into weft/tried/_plan",
        "d  lands after g",
        "All 3 slices completed in N s; 2 results wait to land on main.",
        "! d      lands after g      1  +1 −0         1  TIME",  # noqa: RUF001
        "To land    g, d",
        "Next       weft merge  lands the 2 results on main",
    ]


def test_what_landed_is_reported(repository: Repository) -> None:
    repository.plan(f"merge: {{mode: auto}}\n{READY}")
    done = weft(repository, "run")
    lines = told(done.stderr)
    assert (done.exit_code, lines[lines.index("All 3 slices completed in N s.") :]) == (
        0,
        [
            "All 3 slices completed in N s.",
            "",
            "  slice  result          files  lines  attempts  time",
            "✓ g/a    completed           1  +1 −0         1  TIME",  # noqa: RUF001
            "✓ g/b    completed           1  +1 −0         1  TIME",  # noqa: RUF001
            "✓ d      landed COMMIT      1  +1 −0         1  TIME",  # noqa: RUF001
            "",
            "Landed     2 on main: g, d",
        ],
    )
    assert "g  landed on main (COMMIT)" in told(done.stderr)


def test_what_a_person_should_know_is_said_before_anything_starts_but_not_quietly(
    repository: Repository,
) -> None:
    (repository.root / "README").write_text("changed\n")
    done = weft(repository, "run")
    assert told(done.stderr)[0] == (
        f"note: 1 file changed in {repository.root} (README): slices start from commits and do not see "
        f"uncommitted files"
    )
    assert "note:" not in weft(repository, "run", "--fresh", "-q").stderr


def test_quietly_only_what_needs_help_is_said_and_the_conflict_explained(repository: Repository) -> None:
    repository.plan(CONFLICT)
    done = weft(repository, "run", "-q")
    place = f"git -C {repository.worktree('e')}"
    assert (done.exit_code, told(done.stderr)) == (
        4,
        [
            "e  merge is held: cannot be merged into weft/tried/_plan: 1 file in conflict: same",
            "Needs you after N s: 2 of 3 slices completed, 1 held, 2 results wait to land on main.",
            "",
            "  slice  result         files  lines  attempts  time",
            "! d      waits to land      1  +1 −0         1  TIME",  # noqa: RUF001
            "! e      in conflict        1  +1 −0         1  TIME",  # noqa: RUF001
            "! f      lands after d      1  +1 −0         1  TIME",  # noqa: RUF001
            "",
            "Conflict   e cannot be merged into weft/tried/_plan: 1 file in conflict. Nothing has moved.",
            "             same (add/add)",
            "               weft/tried/_plan added it: COMMIT d: w [d]",
            "               weft/tried/e added it: COMMIT e: w [e]",
            "                 <<<<<<< weft/tried/_plan",
            "                 d",
            "                 =======",
            "                 e",
            "                 >>>>>>> weft/tried/e",
            "To land    d, f",
            f"Next       {place} merge weft/tried/_plan",
            "           (fix the files that git names, and `git add` them)",
            f"           {place} commit",
            "           weft merge e  merges it then",
            "           weft merge    lands the 2 results on main",
        ],
    )


def test_what_failed_counts_more_than_what_waits(repository: Repository) -> None:
    failing = "  - {id: bad, steps: [{id: w, run: 'false'}]}\n"
    repository.plan(f"failure_mode: continue_on_error\n{READY}{failing}")
    assert weft(repository, "run", "-q").exit_code == 1


# The question


def test_after_consent_the_result_lands(repository: Repository, terminals: list[Terminal]) -> None:
    terminal = on_terminal(terminals, repository, "run")
    assert terminal.sees("All 3 slices completed in")
    assert terminal.sees("To land    g (2 files), d (1 file)\n")
    assert terminal.sees(QUESTION)
    terminal.type(b"y\n")
    assert told(terminal.rest())[1:] == [
        "g: landed on main (COMMIT)",
        "d: landed on main (COMMIT)",
        "[0]",
    ]
    assert (repository.story().state, repository.landed()) == ("completed", ["Merge g", "Merge d"])


def test_results_are_verified_before_the_question_and_only_what_passes_is_offered(
    repository: Repository, terminals: list[Terminal]
) -> None:
    bad = "  - {id: bad, depends_on: [d], steps: [{id: w, run: echo > bad}]}\n"
    repository.plan(f"{READY}{bad}verify: '! test -e bad'\n")
    terminal = on_terminal(terminals, repository, "run")
    assert terminal.sees("Held       bad does not land on main: `verify` fails with it")
    assert terminal.sees("To land    g (2 files), d (1 file)\n           verify passed in ")
    assert terminal.sees(QUESTION)
    verified = [item for item in repository.story().events if item.kind == "verify"]
    terminal.type(b"y\n")
    assert "g: landed on main (COMMIT)" in told(terminal.rest())
    assert repository.landed() == ["Merge g", "Merge d"]
    assert [event for event in repository.story().events if event.kind == "verify"] == verified


@pytest.mark.parametrize("keys", [b"n\n", b"\n", CTRL_C, CTRL_D], ids=["no", "nothing", "Ctrl-C", "Ctrl-D"])
def test_without_consent_the_command_is_shown(
    repository: Repository, terminals: list[Terminal], keys: bytes
) -> None:
    terminal = on_terminal(terminals, repository, "run")
    assert terminal.sees(QUESTION)
    terminal.answers(keys)
    assert terminal.rest().endswith("\nNext       weft merge  lands the 2 results on main\n[4]")
    assert repository.landed() == []


def test_only_what_nothing_is_in_the_way_of_is_asked_for(
    repository: Repository, terminals: list[Terminal]
) -> None:
    terminal = on_terminal(terminals, repository.plan(CONFLICT), "run")
    assert terminal.sees("Conflict   e cannot be merged")
    assert terminal.sees(QUESTION)
    terminal.type(b"y\n")
    assert told(terminal.rest())[-2:] == ["           weft merge e  merges it then", "[4]"]
    assert repository.landed() == ["Merge d", "Merge f"]


def test_what_turns_out_to_be_in_the_way_is_reported(
    repository: Repository, terminals: list[Terminal]
) -> None:
    terminal = on_terminal(terminals, repository, "run")
    assert terminal.sees(QUESTION)
    (repository.root / "d").write_text("mine")
    terminal.type(b"y\n")
    end = told(terminal.rest())
    assert (end[1], end[-1]) == ("g: landed on main (COMMIT)", "[4]")
    assert end[2].startswith("d: main is checked out in ")
    assert end[-2] == "Next       weft merge d  tries to land again"


def test_a_landing_that_is_stopped_moves_nothing(repository: Repository, terminals: list[Terminal]) -> None:
    verify = "test ! -e other || { echo > OUTSIDE/begun; read _ < OUTSIDE/merged; }"
    repository.plan(f"subplans: [{{id: d, verify: '{verify}', steps: [{{id: w, run: echo d > d}}]}}]")
    terminal = on_terminal(terminals, repository, "run")
    assert terminal.sees("Land 1 result on main? [y/N] ")
    before = repository.commit(other="by a person\n")
    terminal.type(b"y\n")
    (repository.outside / "begun").read_text()
    terminal.type(CTRL_C)
    assert terminal.rest().endswith("[130]")
    assert repository.tip() == before


def test_what_landed_while_the_question_was_open_has_landed(
    repository: Repository, terminals: list[Terminal]
) -> None:
    terminal = on_terminal(terminals, repository, "run")
    assert terminal.sees(QUESTION)
    assert weft(repository, "merge").exit_code == 0
    terminal.type(b"y\n")
    assert terminal.rest().endswith("[0]")
    assert repository.landed() == ["Merge g", "Merge d"]


@pytest.mark.parametrize(
    ("mode", "option"), [("manual", "--no-wait"), ("confirm", "--quiet"), ("confirm", "--json")]
)
def test_no_question_is_asked_if_none_is_wanted(
    repository: Repository, terminals: list[Terminal], mode: str, option: str
) -> None:
    repository.plan(f"merge: {{mode: {mode}}}\n{READY}")
    terminal = on_terminal(terminals, repository, "run", option)
    assert terminal.rest().endswith("Next       weft merge  lands the 2 results on main\n[4]")
