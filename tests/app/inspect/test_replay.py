"""Replay of a journal in which nothing has happened; all else stands in the tests of the command."""

from pathlib import Path

from app.books import written
from weft.app.inspect.replay import replay


def test_a_run_without_events_is_replayed(tmp_path: Path) -> None:
    with written(tmp_path) as files, files.opened() as recorded_run:
        replayed = replay(recorded_run)
    assert (replayed.facts, replayed.events, replayed.state, replayed.difference) == (0, 0, "running", None)
