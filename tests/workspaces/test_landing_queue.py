"""The landing queue on real git: which results land, and which are held for what, where a verify fails."""

from pathlib import Path

import anyio
import pytest

from weft.engine.messages.facts import Ended, StepOutcome
from workspaces.landing_world import LandingWorld
from workspaces.worlds import repository_in


@pytest.fixture
def world(tmp_path: Path) -> LandingWorld:
    """A tree is red that has a file with BAD in it, or both `p` and `q`."""
    repository_in(tmp_path / "repository", {"README": "hello\n"})
    return LandingWorld(tmp_path / "repository", groups=("", "left", "right"))


def land(world: LandingWorld, *paths: str, not_landed: tuple[str, ...] = ()) -> dict[str, Ended]:
    return anyio.run(world._land_queue, list(paths), not_landed)


def first_parents(world: LandingWorld) -> list[str]:
    return world.git.line("log", "--first-parent", "--format=%s", f"{world.base}..main").splitlines()[::-1]


def test_results_that_pass_together_land_by_one_move_of_the_target(world: LandingWorld) -> None:
    for path in ("e", "f"):
        world.do(path, {path: path})
    moved = world.git.line("reflog", "--format=%h", "main").count("\n")
    assert {end.how for end in land(world, "e", "f").values()} == {StepOutcome.DONE}
    assert first_parents(world) == ["Merge e", "Merge f"]
    assert world.git.line("reflog", "--format=%h", "main").count("\n") == moved + 1


def test_a_culprit_is_held_with_the_reason_and_the_others_land(world: LandingWorld) -> None:
    world.do("e", {"e": "e"})
    world.do("f", {"f": "BAD"})
    world.do("left/a", {"a": "a"})
    ends = land(world, "e", "f", "left/a")
    assert {path: end.how for path, end in ends.items()} == {
        "e": StepOutcome.DONE,
        "f": StepOutcome.HELD,
        "left/a": StepOutcome.DONE,
    }
    assert ends["f"].red
    assert ends["f"].message.startswith("f does not land on main: `verify` of")
    assert world.files("main").keys() == {"README", "e", "a"}


def test_of_two_that_are_red_together_nothing_red_lands(world: LandingWorld) -> None:
    world.do("e", {"p": "1"})
    world.do("f", {"q": "1"})
    world.do("left/a", {"a": "a"})
    ends = land(world, "e", "f", "left/a")
    assert ends["left/a"].how is StepOutcome.DONE
    assert {"p", "q"} - world.files("main").keys()
    held = [path for path, end in ends.items() if end.how is StepOutcome.HELD]
    assert held == ["e", "f"]
    assert "together with" in ends["e"].message


def test_what_is_built_on_a_culprit_waits_for_it(world: LandingWorld) -> None:
    world.done("e", {"e": "BAD"})
    world.do("f", {"f": "f"}, "e")
    world.do("left/a", {"a": "a"})
    ends = land(world, "e", "f")
    assert (ends["e"].red, ends["f"].red) == (True, False)
    assert ends["f"].waits_for == ("e",)
    assert world.target == world.base


def test_a_target_that_is_red_already_is_reported_and_no_result_is_blamed(world: LandingWorld) -> None:
    world.do("e", {"e": "e"})
    world.do("f", {"f": "f"})
    person = world.commit({"person": "BAD"})
    ends = land(world, "e", "f")
    text = f"`verify` already fails on main at {person[:7]}"
    assert [end.message.startswith(text) for end in ends.values()] == [True, True]
    assert world.target == person


def test_a_result_in_conflict_with_another_lands_if_that_is_a_culprit(world: LandingWorld) -> None:
    world.do("e", {"new": "BAD"})
    world.do("f", {"new": "good"})
    ends = land(world, "e", "f")
    assert {path: end.how for path, end in ends.items()} == {"e": StepOutcome.HELD, "f": StepOutcome.DONE}
    assert world.files("main")["new"] == "good"


def test_results_that_hold_each_others_work_land_or_are_held_together(world: LandingWorld) -> None:
    world.do("left/a", {"a": "a"})
    world.done("e", {"e": "BAD"})
    world.do("f", {"f": "f"}, "e")
    world.at("e").do("commit", "--quiet", "--allow-empty", "--message", "a person")
    world.at("e").do("merge", "--quiet", "--no-edit", "weft/notes/f")
    ends = land(world, "e", "left/a", "f")
    assert {path: end.how for path, end in ends.items()} == {
        "e": StepOutcome.HELD,
        "f": StepOutcome.HELD,
        "left/a": StepOutcome.DONE,
    }
    assert "fails with it together with f" in ends["e"].message
    world.step("e", {"e": "good"})
    assert {end.how for end in land(world, "f", "e").values()} == {StepOutcome.DONE}
    assert world.files("main").keys() == {"README", "e", "f", "a"}


def test_what_depends_on_a_result_that_is_rebuilt_lands_with_it(world: LandingWorld) -> None:
    """They reach the queue together, after the result that both hold by chance has failed its verify."""
    for path in ("right/c", "right/d"):  # with the culprit they fill the first batch
        world.do(path, {path[-1]: path})
    world.done("e", {"bad": "BAD"})
    world.done("left/a", {"a": "a"})
    world.done("left/b", {"b": "b"}, "left/a")
    assert "bad" in world.files(world.tip("left/a"))
    ends = land(world, "e", "right/c", "right/d", "left/a", "left/b", not_landed=("e", "left/a", "left/b"))
    assert {path for path, end in ends.items() if end.how is not StepOutcome.DONE} == {"e"}, ends
    assert world.files("main").keys() == {"README", "a", "b", "c", "d"}
