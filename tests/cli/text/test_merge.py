"""What `weft merge` says while it merges."""

from stored_events import make_event
from weft.cli.text.merge import MergeObserver
from weft.engine.messages.events import Recorded


def heard(teller: MergeObserver, step: str, outcome: str, **data: object) -> None:
    event = make_event(kind="step_finished", subplan="cli", step=step, outcome=outcome, data=data)
    teller.receive([Recorded(seq=1, at=0.0, run="r1", event=event)])


def test_what_failed_is_reported_with_the_end_of_its_output() -> None:
    values: list[str] = []
    teller = MergeObserver(values.append)
    heard(teller, "@merge", "failed", message="it may not", tail="one\ntwo\n")
    heard(teller, "@land", "timeout")
    assert values == ["cli: it may not", "  | one", "  | two", "cli: timeout"]
    assert teller.failed


def test_what_is_tried_once_more_and_what_is_no_merge_is_not_reported() -> None:
    values: list[str] = []
    teller = MergeObserver(values.append)
    for outcome in ("held", "lost", "infra", "stopped", "cancelled"):
        heard(teller, "@merge", outcome, message="no")
    heard(teller, "code", "failed", message="no")
    assert (values, teller.failed, teller.merged) == ([], False, [])


def test_where_there_was_nothing_to_bring_that_is_reported() -> None:
    values: list[str] = []
    teller = MergeObserver(values.append)
    heard(teller, "@merge", "done")
    heard(teller, "@land", "done")
    assert values == ["cli: there was nothing to merge", "cli: there was nothing to land"]
    assert [(item.subplan, item.branch, item.commit) for item in teller.merged] == [("cli", None, None)] * 2


def test_without_a_reader_it_continues() -> None:
    values: list[str] = []

    def say(line: str) -> None:
        values.append(line)
        raise BrokenPipeError

    teller = MergeObserver(say)
    heard(teller, "@merge", "done")
    heard(teller, "@land", "done")
    assert (len(values), len(teller.merged)) == (1, 2)
