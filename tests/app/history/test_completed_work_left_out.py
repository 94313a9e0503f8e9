"""What an earlier run was left without is done anew; what has landed with the rest of its group is not."""

from stored_events import make_event
from weft.app.history.completed_work import CompletedWork, kept_of
from weft.app.history.earlier_runs import earlier_runs
from weft.engine.messages.facts import RunStarted
from weft.plan.loader.load import load_plan
from weft.ports.journal import RunRecord
from weft.store.memory import MemoryJournal, MemoryReader, MemoryStore

PLAN = """
weft: 1
plan: p
isolation: dir
subplans:
  - id: outer
    subplans:
      - id: g
        subplans:
          - {id: a, steps: [{id: x, run: x}]}
          - {id: deep, subplans: [{id: b, steps: [{id: x, run: x}]}]}
          - {id: c, steps: [{id: x, run: x}]}
          - {id: cc, steps: [{id: x, run: x}]}
  - {id: other, steps: [{id: x, run: x}]}
"""
ALL = (
    "outer", "outer/g", "outer/g/a", "outer/g/deep", "outer/g/deep/b", "outer/g/c", "outer/g/cc", "other"
)  # fmt: skip


def kept(*left_out: str, landed: tuple[str, ...] = ("outer", "other")) -> CompletedWork:
    """After a run that has completed all, and landed these."""
    recorded_run = MemoryStore()
    journal = MemoryJournal(recorded_run, now=0.0)
    journal.add_run(
        RunRecord(
            run="r1", plan="p", file="", directory="", text=PLAN, digest="", created_at=0.0, state="failed"
        )
    )
    started = RunStarted(at=0.0, run="r1", target="main")
    events = [make_event(kind="run_started", fact=started)]
    events += [make_event(kind="left_out", subplan=path, data={"group": "outer/g"}) for path in left_out]
    events += [make_event(kind="subplan_state", subplan=path, outcome="completed") for path in ALL]
    events += [
        make_event(kind="step_finished", subplan=path, step="@land", outcome="done") for path in landed
    ]
    journal.append("r1", [(0.0, event) for event in events])
    reader = MemoryReader(recorded_run)
    return kept_of(load_plan(PLAN), reader, earlier_runs(reader, "p"))


def test_where_nothing_was_left_out_all_is_kept() -> None:
    kept_work = kept()
    assert (kept_work.paths, kept_work.landed) == (ALL, ("outer", "other"))


def test_what_was_left_out_is_not_kept_nor_are_the_groups_around_it() -> None:
    kept_work = kept("outer/g/a")
    assert kept_work.paths == ("outer/g/deep", "outer/g/deep/b", "outer/g/c", "outer/g/cc", "other")


def test_what_is_in_what_was_left_out_is_not_kept() -> None:
    kept_work = kept("outer/g/deep", "outer/g/c")
    assert kept_work.paths == ("outer/g/a", "outer/g/cc", "other")


def test_the_others_have_landed_with_their_group() -> None:
    assert kept("outer/g/deep", "outer/g/c").landed == ("outer/g/a", "outer/g/cc", "other")


def test_where_the_group_has_not_landed_none_of_it_has() -> None:
    assert kept("outer/g/deep", landed=("other",)).landed == ("other",)
