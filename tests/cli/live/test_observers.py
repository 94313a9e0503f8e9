"""Whoever looks at a run that is resumed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stored_events import make_event
from weft.app.project.places import project_of
from weft.app.run.session import RunSetup
from weft.cli.live.observers import LineObserver
from weft.engine.messages.events import Recorded
from weft.engine.states import SubplanExecutionState as State
from weft.hosts.local import LocalHost
from weft.plan.loader.load import load_plan
from weft.workspaces.in_place import InPlaceWorkspaces

PLAN = """
weft: 1
plan: notes
isolation: none
subplans:
  - {id: a, steps: [{id: work, run: "true"}]}
  - {id: b, steps: [{id: work, run: "true"}]}
"""
STATES = [("a", "running"), ("a", "completed"), ("b", "running"), ("b", "completed")]


class Journal:
    """Gives its events one by one, and counts those that were read."""

    def __init__(self) -> None:
        self.read = 0
        self.events = [
            Recorded(
                seq=seq,
                at=0.0,
                run="r",
                event=make_event(kind="subplan_state", subplan=path, outcome=outcome),
            )
            for seq, (path, outcome) in enumerate(STATES, 1)
        ]

    def __iter__(self) -> Iterator[Recorded]:
        for recorded in self.events:
            self.read += 1
            yield recorded


@pytest.fixture
def journal() -> Journal:
    return Journal()


@pytest.fixture
def reader(tmp_path: Path, journal: Journal) -> LineObserver:
    begun = RunSetup(
        run="r",
        plan=load_plan(PLAN),
        places=project_of(tmp_path),
        host=LocalHost(tmp_path / "host", tmp_path / "logs"),
        workspaces=InPlaceWorkspaces(tmp_path),
        directory=tmp_path,
        resumed=True,
        history=journal,
    )
    reader = LineObserver(quiet=True)
    reader.start(begun)
    return reader


def test_the_history_of_a_run_is_read_when_something_new_has_happened(
    reader: LineObserver, journal: Journal
) -> None:
    assert journal.read == 0
    reader.receive(journal.events[2:3])  # the journal has it by then, and more
    assert journal.read == 3
    assert reader.view.counts[State.COMPLETED] == 1
    assert reader.view.counts[State.RUNNING] == 1


def test_what_was_read_of_the_history_is_not_read_again(reader: LineObserver, journal: Journal) -> None:
    reader.receive(journal.events[2:3])
    reader.receive(journal.events[3:])
    assert journal.read == 3
    assert reader.view.counts[State.COMPLETED] == 2


def test_the_history_is_read_for_the_last_word_at_the_latest(reader: LineObserver, journal: Journal) -> None:
    assert reader.view.counts[State.COMPLETED] == 2
    assert journal.read == 4
