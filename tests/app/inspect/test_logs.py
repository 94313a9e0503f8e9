"""What steps wrote, put together: in order, each byte once, and what is not a process left out."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from app.books import Written, finished, started, written
from stored_events import make_event
from weft.app.inspect.logs import LogStreams, Piece, pieces
from weft.engine.messages.event_codec import data_of
from weft.engine.messages.events import AnyEvent
from weft.engine.messages.facts import Ended, StepOutcome
from weft.errors import InputError


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Written]:
    with written(tmp_path) as files:
        yield files


def told(one: Written, name: str, *, follow: bool = False) -> list[str]:
    with one.opened() as recorded_run:
        return [_shown(piece) for piece in pieces(recorded_run, name, follow=follow)]


def _shown(piece: Piece) -> str:
    about = f"{piece.log.name} {piece.what.name.lower()}"
    match piece.what:
        case LogStreams.OUTPUT:
            return f"{about} {piece.stream} {piece.data.decode()}"
        case LogStreams.LEFT_OUT:
            return f"{about} {piece.stream} {piece.left_out}"
        case LogStreams.STARTED | LogStreams.ENDED:
            return about


def test_each_step_is_reported_as_a_whole_in_the_order_in_which_they_began(one: Written) -> None:
    one.tell(started("write"), started("check", firing=2), finished("check", firing=2), finished("write"))
    one.log("docs/write.1.1-1.out").write_text("one")
    one.log("docs/check.1.2-1.err").write_text("two")
    assert told(one, "docs") == [
        "docs:write started",
        "docs:write output out one",
        "docs:write ended",
        "docs:check started",
        "docs:check output err two",
        "docs:check ended",
    ]


def test_of_a_step_that_runs_there_is_what_it_has_written(one: Written) -> None:
    one.tell(started("write"))
    one.log("docs/write.1.1-1.out").write_text("one")
    one.log("docs/write.1.1-1.out.tail").write_text("is being replaced")
    assert told(one, "docs") == ["docs:write started", "docs:write output out one"]


def test_each_go_at_a_step_has_an_output_of_its_own(one: Written) -> None:
    one.tell(started("write"), finished("write", "stopped"), started("write", execution=2))
    one.log("docs/write.1.1-1.out").write_text("one")
    one.log("docs/write.1.1-2.out").write_text("two")
    assert told(one, "docs:write") == [
        "docs:write started",
        "docs:write output out one",
        "docs:write ended",
        "docs:write started",
        "docs:write output out two",
    ]


def test_after_the_beginning_comes_how_much_was_not_kept_and_then_the_end(one: Written) -> None:
    fact = Ended(at=0.0, firing=1, execution=1, how=StepOutcome.DONE, stdout_bytes=1_000, stderr_bytes=7)
    one.tell(started("write"), structs.replace(finished("write"), fact=fact))
    one.log("docs/write.1.1-1.out").write_text("first")
    one.log("docs/write.1.1-1.out.tail").write_text("last")
    one.log("docs/write.1.1-1.err").write_text("fir")
    one.log("docs/write.1.1-1.err.tail").write_text("last")
    assert told(one, "docs") == [
        "docs:write started",
        "docs:write output out first",
        "docs:write left_out out 991",
        "docs:write output out last",
        "docs:write output err fir",
        "docs:write output err last",
        "docs:write ended",
    ]


def test_what_is_no_process_has_no_output(one: Written) -> None:
    one.tell(started("@merge", command=""), finished("@merge"), started("write", firing=2))
    assert told(one, "docs") == ["docs:write started"]


VERIFIED = """
weft: 1
plan: tried
isolation: dir
subplans: [{id: docs, verify: make, steps: [{id: write, run: "true"}]}]
"""


@pytest.fixture
def verified(tmp_path: Path) -> Iterator[Written]:
    with written(tmp_path, text=VERIFIED) as files:
        yield files


def ended(step: str, outcome: str = "done", **data: object) -> AnyEvent:
    end = finished(step, outcome)
    return structs.replace(end, **data)


def rounds(one: Written, name: str, *, follow: bool = False) -> list[tuple[int, str]]:
    with one.opened() as recorded_run:
        return [(piece.log.round, _shown(piece)) for piece in pieces(recorded_run, name, follow=follow)]


def test_a_merge_that_was_not_verified_has_no_output(verified: Written) -> None:
    verified.tell(started("@merge", command=""), finished("@merge"), started("write", firing=2))
    assert told(verified, "docs") == ["docs:write started"]
    with pytest.raises(InputError, match="no process of docs:@merge has been started"):
        told(verified, "docs:@merge")


def test_what_was_written_when_it_was_verified_is_reported_round_by_round(verified: Written) -> None:
    verified.tell(started("@land"), ended("@land", "held", exit_code=1))
    verified.log("docs/@land.1.1-1.out").write_text("one")
    verified.log("docs/@land.1.1-1.10.err").write_text("eleven")
    verified.log("docs/@land.1.1-1.2.out").write_text("three")
    verified.log("docs/@land.1.1-1.2.out.tail").write_text("end")
    verified.log("docs/@land.1.1-10.out").write_text("of another execution")
    verified.log("docs/@land.1.1-1.result.json").write_text("no output")
    verified.log("docs/@land.1.1-1.7.outer").write_text("no output")
    assert rounds(verified, "docs:@land") == [
        (1, "docs:@land started"),
        (1, "docs:@land output out one"),
        (1, "docs:@land ended"),
        (3, "docs:@land started"),
        (3, "docs:@land output out three"),
        (3, "docs:@land output out end"),
        (3, "docs:@land ended"),
        (11, "docs:@land started"),
        (11, "docs:@land output err eleven"),
        (11, "docs:@land ended"),
    ]


def test_only_the_last_round_ends_as_the_whole(verified: Written) -> None:
    verified.tell(started("@merge"), ended("@merge", "failed", exit_code=1, message="red"))
    verified.log("docs/@merge.1.1-1.out").write_text("one")
    verified.log("docs/@merge.1.1-1.1.out").write_text("two")
    with verified.opened() as recorded_run:
        ends = [piece.log.end for piece in pieces(recorded_run, "docs") if piece.what is LogStreams.ENDED]
    assert [(end.outcome, data_of(end)["message"]) for end in ends if end is not None] == [
        ("done", "the branch had moved meanwhile, so it was merged and verified again"),
        ("failed", "red"),
    ]


@pytest.mark.parametrize("how", [{"exit_code": 0}, {"signal": 9}])
def test_a_verify_that_wrote_nothing_is_reported_too(verified: Written, how: dict[str, Any]) -> None:
    verified.tell(started("@merge"), ended("@merge", **how))
    assert rounds(verified, "docs") == [(1, "docs:@merge started"), (1, "docs:@merge ended")]


def test_following_shows_each_round_as_it_comes(verified: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    verified.tell(started("@merge"))
    happens = iter(
        [
            lambda: verified.log("docs/@merge.1.1-1.out").write_text("one"),
            lambda: verified.log("docs/@merge.1.1-1.1.out").write_text("two"),
            lambda: verified.tell(
                ended("@merge", exit_code=0), make_event(kind="run_finished"), state="completed"
            ),
        ]
    )
    monkeypatch.setattr(time, "sleep", lambda seconds: next(happens)())
    assert rounds(verified, "docs", follow=True) == [
        (1, "docs:@merge started"),
        (1, "docs:@merge output out one"),
        (1, "docs:@merge ended"),
        (2, "docs:@merge started"),
        (2, "docs:@merge output out two"),
        (2, "docs:@merge ended"),
    ]


def test_files_that_are_not_there_are_no_reason_to_fail(one: Written) -> None:
    one.tell(started("write"), finished("write"))
    assert told(one, "docs") == ["docs:write started", "docs:write ended"]


def test_following_yields_each_byte_once(one: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    one.tell(started("write"))
    out = one.log("docs/write.1.1-1.out")
    happens = iter(
        [
            lambda: out.write_text("one"),
            lambda: out.write_text("one two"),
            lambda: None,
            lambda: one.tell(finished("write"), make_event(kind="run_finished"), state="completed"),
        ]
    )
    monkeypatch.setattr(time, "sleep", lambda seconds: next(happens)())
    assert told(one, "docs", follow=True) == [
        "docs:write started",
        "docs:write output out one",
        "docs:write output out  two",
        "docs:write ended",
    ]


def test_following_a_step_that_never_starts_ends_with_an_error(
    one: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: one.tell(state="failed"))
    with pytest.raises(InputError, match="no process of docs has been started in run r1"):
        told(one, "docs", follow=True)


def test_an_earlier_run_is_named_only_if_it_has_done_it(one: Written) -> None:
    one.tell(started("write"), state="completed")
    for run in ("r2", "r3"):
        one.journal.add_run(structs.replace(one.journal.runs()[0], run=run))
    with pytest.raises(InputError, match="in run r3; for an earlier one, type: weft logs docs --run r1"):
        told(one, "docs")
    with pytest.raises(InputError, match=r"no process of store has been started in run r3$"):
        told(one, "store")
