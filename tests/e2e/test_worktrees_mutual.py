"""Results that hold each other's work, by dependencies or by a person's merge, land together."""

import re

import pytest

from e2e.projects import Outcome
from e2e.repositories import AS_ADA, Repository

CROSSWISE = """
merge: {mode: MODE, when: milestone, batch: 1}
failure_mode: continue_on_error
verify: 'if test -e bad; then echo broken; exit 1; fi'
subplans:
  - id: left
    subplans:
      - {id: a, steps: [{id: write, run: 'echo a > a'}]}
      - {id: b, depends_on: [/right/c], steps: [{id: write, run: 'echo b > b'}]}
  - id: right
    subplans:
      - {id: c, steps: [{id: write, run: 'echo c > c'}]}
      - {id: d, depends_on: [/left/a], steps: [{id: write, run: 'D'}]}
"""
"""Each of the two groups holds work of the other one."""
ANOTHER = "  - {id: z, steps: [{id: write, run: 'echo z > z'}]}\n"
"""It lands by itself. Where people decide, the groups may be built on it, if it is done first."""
ALL = {"README", "a", "b", "c", "d", "z"}


def crosswise(mode: str, d: str = "echo d > d") -> str:
    plan = CROSSWISE + (ANOTHER if mode == "auto" else "")
    return plan.replace("MODE", mode).replace("'D'", f"'{d}'")


SETTLED = """
merge: {mode: MODE, when: milestone}
failure_mode: continue_on_error
verify: 'test -e README && ! test -e bad'
subplans:
  - id: left
    subplans: [{id: a, steps: [{id: write, run: 'until test -e OUTSIDE/begun; WAIT; echo a > shared; LEFT'}]}]
  - {id: last, depends_on: [left/a], steps: [{id: write, run: 'true'}]}
  - id: right
    subplans: [{id: b, steps: [{id: write, run: 'touch OUTSIDE/begun; until MERGED; WAIT; echo b > shared'}]}]
""".replace("WAIT", "do sleep 0.02; done").replace("MERGED", "git cat-file -e weft/tried/_plan:shared")
"""The groups are in conflict: `b` starts before `a` is merged, and is merged after it."""


def messages(outcome: Outcome) -> dict[str, str]:
    """The last reason why each result is held."""
    return {
        event.subplan: event.data["message"]
        for event in outcome.of("step_finished")
        if event.outcome == "held"
    }


def suggested(text: str) -> list[str]:
    """The command at the end of a message."""
    command = re.search(r"type: weft (merge .*)", text)
    assert command is not None, text
    return command[1].split()


def test_groups_whose_slices_depend_on_each_other_crosswise_land_together(repository: Repository) -> None:
    done = repository.plan(crosswise("auto")).run()
    assert done.state == "completed", messages(done)
    assert repository.files().keys() == ALL
    assert sorted(repository.landed()) == ["Merge left", "Merge right", "Merge z"]
    moves = repository.git("reflog", "--format=%gs", "main").splitlines()
    assert any("left" in move and "right" in move for move in moves)


@pytest.mark.parametrize("mode", ["confirm", "manual"])
def test_the_command_that_is_suggested_for_them_lands_them(repository: Repository, mode: str) -> None:
    waiting = repository.plan(crosswise(mode)).run()
    assert waiting.state == "waiting"
    assert suggested(messages(waiting)["left"]) == ["merge", "left", "right"]
    merged = repository.weft(*suggested(messages(waiting)["left"]))
    assert merged.returncode == 0, merged.stdout + merged.stderr
    assert repository.files().keys() == ALL - {"z"}


def test_a_request_for_only_one_of_them_names_the_other(repository: Repository) -> None:
    repository.plan(crosswise("confirm")).run()
    alone = repository.weft("merge", "left")
    assert alone.returncode == 4
    assert "weft merge right left" in alone.stdout
    assert repository.weft("merge", "right", "left").returncode == 0
    assert repository.files().keys() == ALL - {"z"}


def test_if_their_verify_fails_neither_lands_and_others_do(repository: Repository) -> None:
    waiting = repository.plan(crosswise("auto", d="touch bad")).run()
    assert waiting.state == "waiting"
    assert repository.files().keys() == {"README", "z"}
    assert (
        "right does not land on main: `verify` fails with it together with left" in messages(waiting)["right"]
    )
    place = repository.root.parent / "fix"
    repository.git("worktree", "add", "--quiet", str(place), repository.branch("right"))
    repository.git("rm", "--quiet", "bad", at=place)
    repository.commit(at=place)
    assert repository.weft(*suggested(messages(waiting)["right"])).returncode == 0
    assert repository.files().keys() == ALL - {"d"}


def test_the_completed_parts_of_one_land_with_the_other(repository: Repository) -> None:
    """The group on the right fails, and the one on the left holds a part of it."""
    failed = repository.plan(crosswise("auto", d="exit 1")).run()
    assert failed.state == "waiting"
    text = messages(failed)["left"]
    assert suggested(text) == ["merge", "right", "left", "--now"]
    repository.weft(*suggested(text))
    assert repository.files().keys() == ALL - {"d"}


def settle(repository: Repository, group: str, *branches: str) -> None:
    """A person merges branches into that of a group, in a worktree of their own or the one that is there."""
    place = repository.worktree(group)
    if not place.is_dir():
        place = repository.outside / f"at-{group}"
        repository.git("worktree", "add", "--quiet", str(place), repository.branch(group))
    for branch in branches:
        if repository.ask_git(*AS_ADA, "merge", "--quiet", "--no-edit", branch, at=place).returncode:
            repository.commit(at=place, shared="both\n")


@pytest.mark.parametrize("command", [("merge", "right"), ("merge",), ("run",)])
def test_groups_that_hold_each_other_s_work_by_a_person_s_merges_land_with_any_command(
    repository: Repository, command: tuple[str, ...]
) -> None:
    """Both groups are settled with the branch of the plan: the first for a fix, the second for a conflict."""
    waiting = repository.plan(SETTLED.replace("MODE", "auto").replace("LEFT", "touch bad")).run()
    assert waiting.state == "waiting"
    settle(repository, "right", repository.branch(""))
    repository.weft("merge", "right")
    settle(repository, "left", repository.branch(""))
    assert repository.files().keys() == {"README"}, "neither lands while their verify fails"
    repository.git("rm", "--quiet", "bad", at=repository.outside / "at-left")
    repository.commit(at=repository.outside / "at-left")
    done = repository.weft(*command)
    assert done.returncode == 0, done.stdout + done.stderr
    assert repository.files() == {"README": "hello", "shared": "both"}
    assert {"Merge left", "Merge right"} <= set(repository.landed())


def test_the_command_for_groups_that_people_have_merged_crosswise_lands_them(repository: Repository) -> None:
    repository.plan(SETTLED.replace("MODE", "confirm").replace("LEFT", "true")).run()
    settle(repository, "right", repository.branch(""))
    repository.weft("merge", "right")
    repository.commit(shared="a person\n")
    in_conflict = repository.weft("merge", "left", "right")
    assert in_conflict.returncode == 4
    settle(repository, "left", repository.branch(""), "main")
    alone = repository.weft(*suggested(in_conflict.stdout))
    assert alone.returncode == 0, alone.stdout + alone.stderr
    assert repository.files() == {"README": "hello", "shared": "both"}
