"""What a run holds, as its events tell it, and what of that is meant."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.books import Written, started, written
from app.run_stories import group, slices
from stored_events import make_event
from weft.app.control.holds import chosen, chosen_now, held, paused_subplans, subplans
from weft.app.run.merge import PendingMerges, merge
from weft.app.views.rows import HeldWork
from weft.app.views.run_fold import RunFold
from weft.engine.messages.events import AnyEvent, Recorded
from weft.errors import InputError

PLAN = json.dumps({
    "weft": 1, "plan": "tried", "isolation": "worktree", "agent": "coder", "agents": {"coder": {"use": "claude"}},
    "subplans": [group("store", *slices("model", "disk", pipeline="plain")), *slices("cli", pipeline="plain")],
    "pipelines": {"plain": [{"id": "code", "prompt": "x"}]},
})  # fmt: skip
STEP = {"firing": 1, "execution": 1}


def ends(subplan: str, step: str = "@merge", outcome: str = "held", **data: object) -> AnyEvent:
    return make_event(kind="step_finished", subplan=subplan, step=step, outcome=outcome, data=STEP | data)


def becomes(subplan: str, state: str) -> AnyEvent:
    return make_event(kind="subplan_state", subplan=subplan, outcome=state)


def tries(subplan: str, step: str = "@merge") -> AnyEvent:
    return started(step, subplan=subplan)


@pytest.fixture
def written_run(tmp_path: Path) -> Iterator[Written]:
    with written(tmp_path, text=PLAN) as files:
        yield files


@pytest.fixture
def another() -> Iterator[int]:
    """The process of somebody else."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        yield process.pid
        process.kill()


def held_now(written_run: Written) -> list[str]:
    with written_run.opened() as recorded_run:
        return subplans(held(recorded_run))


def meant(written_run: Written, *names: str) -> list[str]:
    with written_run.opened() as recorded_run:
        return subplans(chosen(recorded_run, names))


def test_what_is_held_is_known_with_all_that_a_person_has_to_know(written_run: Written) -> None:
    written_run.tell(
        ends("cli", message="it conflicts", files=["f.txt"], conflict=True),
        ends("store", "@land", message="ready", asks=True),
        ends("store/model", "@land", message="later", waits_for=["store"]),
    )
    with written_run.opened() as recorded_run:
        assert held(recorded_run) == [
            HeldWork(subplan="cli", step="@merge", message="it conflicts", files=("f.txt",), conflict=True),
            HeldWork(subplan="store", step="@land", message="ready", asks=True),
            HeldWork(subplan="store/model", step="@land", message="later", waits_for=("store",)),
        ]


@pytest.mark.parametrize(
    "event",
    [
        ends("cli", outcome="done"),
        ends("cli", outcome="failed"),
        make_event(kind="step_cancelled", subplan="cli", step="@merge", data=STEP),
        becomes("cli", "failed"),
    ],
    ids=["merged", "failed", "cancelled", "given up"],
)
def test_what_is_over_is_held_no_more(written_run: Written, event: AnyEvent) -> None:
    written_run.tell(ends("store"), ends("cli"), tries("cli"), event)
    assert held_now(written_run) == ["store"]


def test_what_waits_to_land_is_held_although_its_subplan_has_ended(written_run: Written) -> None:
    written_run.tell(ends("cli", "@land"), becomes("cli", "completed"), becomes("store", "completed"))
    assert held_now(written_run) == ["cli"]


@pytest.mark.parametrize("state", ["completed", "failed", "abandoned"])
def test_a_run_that_is_over_holds_nothing(written_run: Written, state: str) -> None:
    written_run.tell(ends("cli"), state=state)
    assert held_now(written_run) == []


def test_a_hold_under_retry_is_not_held_but_may_be_named(written_run: Written, another: int) -> None:
    written_run.tell(ends("cli"), ends("store"), tries("cli"))
    written_run.be(another)
    assert (held_now(written_run), meant(written_run)) == (["store"], ["cli", "store"])


def test_a_retry_by_a_dead_coordinator_is_held(written_run: Written) -> None:
    written_run.tell(ends("cli"), tries("cli"))
    written_run.die()
    assert held_now(written_run) == ["cli"]


def test_what_is_meant_is_a_subplan_or_all_that_is_in_a_group_or_everything(written_run: Written) -> None:
    written_run.tell(ends("cli"), ends("store/model"), ends("store/disk"))
    assert meant(written_run) == ["cli", "store/model", "store/disk"]
    assert meant(written_run, "store") == ["store/model", "store/disk"]
    assert meant(written_run, "store/disk", "cli") == ["cli", "store/disk"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("clii", "there is no subplan 'clii'; did you mean 'cli'?"),
        ("stor", "there is no subplan 'stor'; did you mean 'store'?"),
        ("cli", "cli is not held; held: store/model, store/disk"),
    ],
)
def test_what_is_not_held_cannot_be_meant(written_run: Written, name: str, said: str) -> None:
    written_run.tell(ends("store/model"), ends("store/disk"))
    with pytest.raises(InputError) as error:
        meant(written_run, name)
    assert str(error.value) == said


def test_where_nothing_is_held_that_is_said(written_run: Written) -> None:
    with pytest.raises(InputError) as error:
        meant(written_run, "cli")
    assert str(error.value) == ("cli is not held, and nothing else is; to see its events, type: weft events")


def test_what_is_where_it_should_be_may_be_named(written_run: Written) -> None:
    written_run.tell(ends("cli", "@land", "done"), ends("store/model", "@merge", "done"), ends("store"))
    assert meant(written_run, "cli", "store/model") == []


def test_what_is_merged_but_has_not_landed_is_not_where_it_should_be(written_run: Written) -> None:
    written_run.tell(ends("cli", "@merge", "done"))
    with pytest.raises(InputError):
        meant(written_run, "cli")


def test_a_step_of_a_run_merges_nothing(written_run: Written) -> None:
    written_run.tell(ends("cli"))
    with written_run.opened() as recorded_run, pytest.raises(InputError) as error:
        merge(recorded_run, held(recorded_run), None, environ={"WEFT_RUN": "r1", "WEFT_SUBPLAN": "cli"})  # type: ignore[arg-type]
    assert "is refused inside a step of cli" in str(error.value)


# What is waited for


def asked(subplan: str) -> AnyEvent:
    return make_event(kind="merge_asked", data={"subplan": subplan})


def waits(wanted: tuple[tuple[str, str], ...], *events: AnyEvent) -> PendingMerges:
    """What waits for these, which were held, after the events."""
    first = [ends(path, step) for path, step in wanted]
    recorded = [
        Recorded(seq=seq, at=0.0, run="r1", event=event) for seq, event in enumerate((*first, *events), 1)
    ]
    fold = RunFold()
    fold.apply_all(recorded[: len(wanted)])
    waiting = PendingMerges([HeldWork(subplan=path, step=step, message="") for path, step in wanted], fold)
    for item in recorded[len(wanted) :]:
        waiting.apply(item)
    return waiting


def waiting(*events: AnyEvent) -> list[str]:
    """Of `cli` and `store`, what is still waited for after that."""
    return sorted(path for path, _ in waits((("cli", "@land"), ("store", "@land")), *events).keys)


def test_each_is_waited_for_until_it_has_been_tried() -> None:
    assert waiting() == ["cli", "store"]
    assert waiting(asked("cli"), asked("store"), tries("cli", "@land"), ends("cli", "@land")) == ["store"]
    assert waiting(asked("cli"), ends("cli", "@merge", "done"), ends("x", "@land")) == ["cli", "store"]
    assert waiting(ends("cli", "@land", "done"), asked("store"), ends("store", "@land", "failed")) == []


def test_a_retry_requested_elsewhere_counts_only_if_it_succeeded() -> None:
    assert waiting(ends("cli", "@land"), asked("cli")) == ["cli", "store"]


def test_what_lands_after_another_is_waited_for_again_when_that_has_landed() -> None:
    first = ends("cli", "@land", waits_for=["store"])
    both = (asked("cli"), asked("store"))
    assert waiting(*both, first) == ["store"]
    assert waiting(*both, first, ends("store", "@land", "done")) == ["cli"]
    assert waiting(*both, first, ends("store", "@land", "held")) == []
    assert waiting(*both, first, ends("store", "@land", "done"), ends("cli", "@land", "done")) == []


def test_a_result_is_waited_for_while_the_one_before_it_lands_and_no_longer() -> None:
    one = (("cli", "@land"),)
    behind = (asked("cli"), ends("cli", "@land", waits_for=["store"]))
    assert waits(one, *behind).is_over
    assert not waits(one, tries("store", "@land"), *behind).is_over
    assert not waits(one, tries("store", "@land"), *behind, ends("store", "@land", "done")).is_over
    assert waits(one, tries("store", "@land"), *behind, ends("store", "@land", "held")).is_over
    assert waits(one, tries("store", "@land"), *behind, make_event(kind="recovered")).is_over


def says(subplan: str, wanted: str) -> AnyEvent:
    return make_event(kind="resumed" if wanted == "go" else "paused", subplan=subplan, outcome=wanted)


@pytest.mark.parametrize("wanted", ["pause", "freeze", "stop"])
@pytest.mark.parametrize("where", ["store/model", "store", ""])
def test_a_workspace_whose_slice_is_paused_is_not_waited_for_until_it_continues(
    where: str, wanted: str
) -> None:
    workspace = (("store/model", "@workspace"),)
    assert not waits(workspace, asked("store/model")).is_over
    assert waits(workspace, says(where, wanted), asked("store/model")).is_over
    assert waits(workspace, asked("store/model"), says(where, wanted)).is_over
    assert not waits(workspace, says(where, wanted), says("store/model", "go")).is_over


def test_a_merge_is_waited_for_even_if_its_slice_is_paused_unless_its_processes_stand_still() -> None:
    merge_of_cli = (("cli", "@merge"),)
    assert not waits(merge_of_cli, says("cli", "freeze"), asked("cli")).is_over
    assert not waits(merge_of_cli, says("cli", "freeze"), asked("cli"), tries("cli")).is_over
    assert waits(merge_of_cli, asked("cli"), tries("cli"), says("cli", "freeze")).is_over
    assert not waits(merge_of_cli, asked("cli"), tries("cli"), says("cli", "pause")).is_over
    frozen = (asked("cli"), tries("cli"), says("cli", "freeze"))
    assert not waits(merge_of_cli, *frozen, says("", "go")).is_over


def test_a_landing_does_not_stand_still() -> None:
    landing = (("cli", "@land"),)
    assert not waits(landing, asked("cli"), tries("cli", "@land"), says("", "freeze")).is_over


def test_a_stop_ends_with_the_next_coordinator_and_a_pause_does_not() -> None:
    workspace = (("cli", "@workspace"),)
    again = make_event(kind="recovered")
    assert not waits(workspace, says("cli", "stop"), again).is_over
    assert waits(workspace, says("cli", "pause"), again).is_over


@pytest.mark.parametrize(
    "event",
    [make_event(kind="step_cancelled", subplan="cli", step="@merge", data=STEP), becomes("cli", "failed")],
    ids=["cancelled", "given up"],
)
def test_what_is_given_up_is_not_waited_for(event: AnyEvent) -> None:
    both = (("cli", "@merge"), ("store", "@merge"))
    assert waits(both, asked("cli"), asked("store"), event).keys == {("store", "@merge")}


def test_what_is_paused_is_named_if_it_is_still_held(written_run: Written) -> None:
    written_run.tell(
        ends("cli", "@workspace"), ends("store/disk", "@workspace"), ends("store/model", "@merge")
    )
    with written_run.opened() as recorded_run:
        wanted = held(recorded_run)
        assert paused_subplans(recorded_run, wanted) == []
    written_run.tell(says("", "pause"), becomes("store/disk", "failed"))
    with written_run.opened() as recorded_run:
        assert paused_subplans(recorded_run, wanted) == ["cli"]


# Completed parts


def meant_now(written_run: Written, *names: str) -> tuple[list[str], tuple[str, ...]]:
    with written_run.opened() as recorded_run:
        wanted, parts = chosen_now(recorded_run, names)
        return subplans(wanted), parts


def test_with_parts_all_that_is_held_in_the_group_is_meant_too(written_run: Written) -> None:
    written_run.tell(ends("cli"), ends("store/model"))
    assert meant_now(written_run, "store") == (["store/model"], ("store",))
    assert meant_now(written_run, "store/disk") == ([], ("store/disk",))


def test_parts_may_be_asked_for_in_a_run_that_has_failed_but_not_in_one_that_was_replaced(
    written_run: Written,
) -> None:
    written_run.tell(ends("cli"), state="failed")
    assert meant_now(written_run, "store") == ([], ("store",))
    written_run.tell(state="abandoned")
    with pytest.raises(InputError, match="run r1 was replaced by a newer run; leave out --run"):
        meant_now(written_run, "store")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ((), "name the group that lands its completed parts, as in: weft merge ID --now"),
        (("stor",), "there is no subplan 'stor'; did you mean 'store'?"),
    ],
)
def test_parts_of_what_is_not_there_are_refused(
    written_run: Written, names: tuple[str, ...], said: str
) -> None:
    with pytest.raises(InputError) as error:
        meant_now(written_run, *names)
    assert str(error.value) == said


def test_parts_without_a_branch_are_refused(tmp_path: Path) -> None:
    with written(tmp_path) as files, pytest.raises(InputError, match="docs has no branch that could land"):
        meant_now(files, "docs")


def asked_now(subplan: str, parts: list[str], joins: list[str]) -> AnyEvent:
    return make_event(kind="merge_asked", data={"subplan": subplan, "parts": parts, "joins": joins})


def parts_end(subplan: str, outcome: str = "landed") -> AnyEvent:
    return make_event(kind="parts", subplan=subplan, outcome=outcome)


def waits_for_parts(*events: AnyEvent) -> bool:
    waiting = PendingMerges([], RunFold(), ["store"])
    for seq, event in enumerate(events, 1):
        waiting.apply(Recorded(seq=seq, at=0.0, run="r1", event=event))
    return not waiting.is_over


def test_completed_parts_are_waited_for_until_each_landing_has_ended() -> None:
    request = asked_now("store", ["store", "store/h"], ["store/x"])
    assert waits_for_parts()
    assert waits_for_parts(asked("store")), "another request, which is not for the parts"
    assert not waits_for_parts(asked_now("store", [], []))
    assert waits_for_parts(request, parts_end("store"), parts_end("store/h"))
    assert waits_for_parts(request, parts_end("store", "started"), ends("store/x", "@land", "done"))
    ended = (parts_end("store", "held"), parts_end("store/h"), ends("store/x", "@land", "done"))
    assert not waits_for_parts(request, *ended)
    assert waits_for_parts(request, becomes("store", "completed"), becomes("store/x", "completed"))
