"""What every journal does. A maker of journals derives a class from this one and says how its own are opened."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, Protocol, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import fields

from stored_events import make_event
from weft.engine.messages.event_codec import kind_of
from weft.engine.messages.events import AnyEvent, UnknownEvent
from weft.engine.messages.facts import (
    Answered,
    AnyFact,
    ControlState,
    EarlierSlice,
    EarlierSpending,
    EarlierStep,
    Ended,
    OutsideChange,
    RefMove,
    RunStarted,
    SliceFeedback,
    StepOutcome,
    Woke,
)
from weft.errors import InputError
from weft.ports.journal import Journal, JournalReader, RawEvent, RunRecord
from weft.store.errors import BusyError, LeaseLostError
from weft.store.rows import to_json
from weft.terms import MachineState

NOT_UTF_8 = b"caf\xe9".decode(errors="surrogateescape")
MORE_THAN_A_PAGE = 600


class ReaderWithFacts(JournalReader, Protocol):
    def facts(self, run: str) -> Iterator[AnyFact]: ...


class JournalWithFacts(ReaderWithFacts, Journal, Protocol):
    pass


class Maker(Protocol):
    """One place where a journal is kept."""

    def open(self, *, now: float = 0.0, command: str = "") -> JournalWithFacts: ...

    def reader(self) -> ReaderWithFacts: ...

    def steal(self) -> None:
        """Give the lease to somebody else, behind the holder's back."""
        ...


# --- anything that can be told ---

_TEXT, _BOOL, _INT64 = st.text(max_size=20), st.booleans(), st.integers(-(2**63), 2**63 - 1)
_FLOAT = st.floats(allow_nan=False, allow_infinity=False)
_BY_TYPE: dict[Any, st.SearchStrategy[Any]] = {
    str: _TEXT,
    bool: _BOOL,
    int: _INT64,
    float: _FLOAT,
    StepOutcome: st.sampled_from(StepOutcome),
    ControlState: st.sampled_from(ControlState),
    MachineState: st.sampled_from(MachineState),
    bool | None: st.none() | _BOOL,
    int | None: st.none() | _INT64,
    str | None: st.none() | _TEXT,
    float | None: st.none() | _FLOAT,
    tuple[str, ...]: st.lists(_TEXT, max_size=3).map(tuple),
    tuple[RefMove, ...]: st.lists(st.builds(RefMove, ref=_TEXT, before=_TEXT, after=_TEXT), max_size=2).map(
        tuple
    ),
    dict[str, str]: st.dictionaries(_TEXT, _TEXT, max_size=3),
}
_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | _BOOL | _INT64 | _FLOAT | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=5,
)


_EARLIER = st.builds(EarlierSpending, **{each.name: _BY_TYPE[each.type] for each in fields(EarlierSpending)})
_OUTSIDE = st.builds(OutsideChange, **{each.name: _BY_TYPE[each.type] for each in fields(OutsideChange)})
_BY_TYPE[tuple[OutsideChange, ...]] = st.lists(_OUTSIDE, max_size=2).map(tuple)
_BY_TYPE[tuple[SliceFeedback, ...]] = st.lists(
    st.builds(SliceFeedback, subplan=_TEXT, text=_TEXT), max_size=2
).map(tuple)
_BY_TYPE[tuple[EarlierSpending, ...] | None] = st.none() | st.lists(_EARLIER, max_size=2).map(tuple)


def facts_of(kind: type[AnyFact]) -> st.SearchStrategy[AnyFact]:
    return st.builds(kind, **{each.name: _BY_TYPE[each.type] for each in fields(kind)})


_BY_TYPE[Ended | Answered] = st.deferred(lambda: facts_of(Ended) | facts_of(Answered))
_BY_TYPE[tuple[EarlierStep, ...]] = st.lists(
    st.builds(EarlierStep, **{each.name: _BY_TYPE[each.type] for each in fields(EarlierStep)}), max_size=2
).map(tuple)
_BY_TYPE[tuple[tuple[str, int, bool], ...]] = st.lists(st.tuples(_TEXT, _INT64, _BOOL), max_size=2).map(tuple)
_BY_TYPE[tuple[EarlierSlice, ...]] = st.lists(
    st.builds(EarlierSlice, **{each.name: _BY_TYPE[each.type] for each in fields(EarlierSlice)}), max_size=2
).map(tuple)
FACTS = st.one_of(*(facts_of(kind) for kind in get_args(AnyFact)))
EVENTS = st.builds(
    UnknownEvent,
    kind=_TEXT,
    subplan=_TEXT,
    step=_TEXT,
    attempt=_INT64,
    outcome=_TEXT,
    cost=st.none() | _INT64,
    tokens=st.none() | _INT64,
    data=st.dictionaries(_TEXT, _JSON, max_size=4),
    fact=st.none() | FACTS,
)


# --- a few that are easy to read ---


def record(run: str = "r1", *, plan: str = "notes", state: str = "running") -> RunRecord:
    return RunRecord(
        run=run,
        plan=plan,
        file="weft.yaml",
        directory="/somewhere",
        text="plan: ü\n",
        digest="d",
        created_at=12.5,
        state=state,
    )


def told(*kinds: str) -> list[tuple[float, AnyEvent]]:
    return [(float(at), make_event(kind=kind)) for at, kind in enumerate(kinds)]


def kinds(reader: JournalReader, run: str = "r1", *, after: int = 0) -> list[str]:
    return [kind_of(recorded.event) for recorded in reader.events(run, after=after)]


def ask(reader: JournalReader, run: str = "r1", *, text: str = "") -> int:
    return reader.ask(run, "answer", subplan="a/b", step="gate", data={"text": text}, at=3.5)


WRITES: dict[str, Callable[[Journal], object]] = {
    "append": lambda journal: journal.append("r1", told("late")),
    "set_run_state": lambda journal: journal.set_run_state("r1", "failed"),
    "add_run": lambda journal: journal.add_run(record("r2")),
}


class JournalContract:
    @pytest.fixture
    def maker(self) -> Maker:
        raise NotImplementedError

    @pytest.fixture
    def journal(self, maker: Maker) -> Iterator[JournalWithFacts]:
        """With one run, r1."""
        with closing(maker.open(now=7.0, command="weft run")) as journal:
            journal.add_run(record())
            yield journal

    @pytest.fixture
    def reader(self, maker: Maker, journal: JournalWithFacts) -> Iterator[ReaderWithFacts]:
        with closing(maker.reader()) as reader:
            yield reader

    # Events

    # The journal is the same for all examples: each looks only at what it added. And each maker has its own class.
    @settings(
        max_examples=60,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
    )
    @given(events=st.lists(st.tuples(_FLOAT, EVENTS), max_size=4))
    def test_what_is_read_is_what_was_written(
        self, journal: JournalWithFacts, events: list[tuple[float, AnyEvent]]
    ) -> None:
        before = journal.append("r1", [])
        last = journal.append("r1", events)
        read = list(journal.events("r1", after=before))
        assert [(each.at, each.event) for each in read] == events
        assert [each.seq for each in read] == list(range(before + 1, last + 1))
        assert {each.run for each in read} <= {"r1"}

    def test_the_numbers_go_on_over_all_runs_and_each_run_has_its_own_events(
        self, journal: JournalWithFacts
    ) -> None:
        journal.add_run(record("r2"))
        assert journal.append("r1", told("a", "b")) == 2
        assert journal.append("r2", told("c")) == 3
        assert journal.append("r1", told("d")) == 4
        assert [(each.seq, kind_of(each.event)) for each in journal.events("r1")] == [
            (1, "a"),
            (2, "b"),
            (4, "d"),
        ]
        assert [(each.seq, kind_of(each.event)) for each in journal.events("r2")] == [(3, "c")]

    def test_after_leaves_out_what_is_known(self, journal: JournalWithFacts) -> None:
        journal.append("r1", told("a", "b", "c"))
        assert kinds(journal, after=2) == ["c"]
        assert kinds(journal, after=3) == []

    def test_a_long_run_comes_out_whole_and_in_order(self, journal: JournalWithFacts) -> None:
        facts = [Woke(at=float(at)) for at in range(MORE_THAN_A_PAGE)]
        journal.append("r1", [(fact.at, make_event(kind="woke", fact=fact)) for fact in facts])
        assert [each.event.fact for each in journal.events("r1")] == facts
        assert list(journal.facts("r1")) == facts

    def test_facts_are_those_of_one_run_without_the_events_between_them(
        self, journal: JournalWithFacts
    ) -> None:
        journal.add_run(record("r2"))
        first, other = RunStarted(at=1.0, run="r1", env={"A": "b"}), RunStarted(at=1.0, run="r2")
        last = Ended(at=2.0, firing=3, execution=1, how=StepOutcome.LIMITED, until=9.5)
        journal.append("r1", [(1.0, make_event(kind="run_started", fact=first)), *told("subplan_state")])
        journal.append("r2", [(1.0, make_event(kind="run_started", fact=other))])
        journal.append("r1", [(2.0, make_event(kind="step_finished", fact=last))])
        assert list(journal.facts("r1")) == [first, last]

    def test_a_reader_sees_what_is_added_while_it_reads(
        self, journal: JournalWithFacts, reader: ReaderWithFacts
    ) -> None:
        journal.append("r1", told(*"abc"))
        assert kinds(reader) == ["a", "b", "c"]
        journal.append("r1", told("d"))
        assert kinds(reader, after=3) == ["d"]

    def test_an_unfinished_reading_does_not_stop_the_writer(
        self, journal: JournalWithFacts, reader: ReaderWithFacts
    ) -> None:
        journal.append("r1", told(*"a" * MORE_THAN_A_PAGE))
        reading = reader.events("r1")
        assert next(reading).seq == 1
        assert journal.append("r1", told("b")) == MORE_THAN_A_PAGE + 1
        assert [each.seq for each in reading] == list(range(2, MORE_THAN_A_PAGE + 2))

    def test_a_glance_leaves_out_states_and_the_steps_that_cost_nothing(
        self, journal: JournalWithFacts, reader: ReaderWithFacts
    ) -> None:
        journal.add_run(record("r2"))
        journal.append("r2", told("ask"))
        ask = {"firing": 1, "question": "Sure?", "transition": "t"}
        events = [
            make_event(kind="subplan_state", subplan="a", outcome="running", data={"from": "pending"}),
            make_event(kind="step_started", subplan="a", step="s", attempt=1, data={"firing": 1}),
            make_event(
                kind="step_finished", subplan="a", step="s", attempt=1, outcome="done", cost=7, tokens=9
            ),
            make_event(kind="step_finished", subplan="a", step="t", attempt=1, outcome="done"),
            make_event(kind="step_finished", subplan="a", step="t", attempt=1, outcome="done", tokens=9),
            make_event(kind="ask", subplan="a", step="u", data=ask),
        ]
        journal.append("r1", [(2.0, event) for event in events])
        assert list(reader.notable_events("r1")) == [
            RawEvent(4, 2.0, "step_finished", "a", "s", 1, "done", 7, 9, "{}"),
            RawEvent(6, 2.0, "step_finished", "a", "t", 1, "done", None, 9, "{}"),
            RawEvent(7, 2.0, "ask", "a", "u", 0, "", None, None, to_json(ask)),
        ]

    def test_states_are_the_last_ones(self, journal: JournalWithFacts, reader: ReaderWithFacts) -> None:
        def state(path: str, outcome: str) -> tuple[float, AnyEvent]:
            return 1.0, make_event(kind="subplan_state", subplan=path, outcome=outcome)

        journal.add_run(record("r2"))
        journal.append("r1", [state("b", "running"), state("a", "running"), state("b", "completed")])
        journal.append("r2", [state("a", "failed")])
        journal.append("r1", told("ask"))
        assert dict(reader.states("r1")) == {"a": "running", "b": "completed"}

    def test_lives_are_those_of_some_subplans_after_a_number(
        self, journal: JournalWithFacts, reader: ReaderWithFacts
    ) -> None:
        kinds = ("subplan_state", "step_started", "step_finished", "step_skipped")
        events = [make_event(kind=kind, subplan=path) for path in "abc" for kind in kinds]
        journal.append("r1", [(1.0, event) for event in events])
        result = reader.step_events("r1", ["a", "c", "d"], after=1)
        assert [(item.seq, item.kind, item.subplan) for item in result] == [
            (2, "step_started", "a"),
            (3, "step_finished", "a"),
            (9, "subplan_state", "c"),
            (10, "step_started", "c"),
            (11, "step_finished", "c"),
        ]

    def test_lives_may_be_those_of_the_whole_plan_too(
        self, journal: JournalWithFacts, reader: ReaderWithFacts
    ) -> None:
        steps = [("subplan_state", "a"), ("step_started", "a"), ("step_started", ""), ("step_finished", "a")]
        events = [make_event(kind=kind, subplan=path) for kind, path in [("step_finished", ""), *steps]]
        journal.append("r1", [(1.0, event) for event in events])
        assert [outcome.seq for outcome in reader.step_events("r1", [""])] == [1, 4]
        assert [entry.seq for entry in reader.step_events("r1", ["a", ""])] == [1, 2, 3, 4, 5]
        assert [item.seq for item in reader.step_events("r1", ["b"])] == []

    def test_merges_that_went_well_can_be_left_out_and_read_by_themselves(
        self, journal: JournalWithFacts, reader: ReaderWithFacts
    ) -> None:
        ends = [("a", "@merge", "conflict"), ("a", "@merge", "merged"), ("b", "@merge", "merged")]
        ends += [("b", "@land", "merged"), ("c", "@land", "merged"), ("c", "@land", "held")]
        events = [make_event(kind="merge", subplan=path, step=step, outcome=end) for path, step, end in ends]
        journal.append("r1", [(1.0, event) for event in (*events, make_event(kind="push"))])
        assert [item.seq for item in reader.notable_events("r1")] == [1, 2, 3, 4, 5, 6, 7]
        assert [actual.seq for actual in reader.notable_events("r1", merged=False)] == [1, 6, 7]
        assert [content.seq for content in reader.merges("r1", ["a", "c", "d"])] == [1, 2, 5, 6]
        assert [merge.seq for merge in reader.merges("r1", [])] == []
        assert [entry.seq for entry in reader.merges_after("r1", 4)] == [5, 6]
        assert set(reader.landed("r1")) == {"b"}
        assert set(reader.landed("r9")) == set()

    def test_the_record_of_a_run_or_of_the_last_one(
        self, journal: JournalWithFacts, reader: ReaderWithFacts
    ) -> None:
        journal.add_run(record("r0", plan="other"))
        assert reader.record() == record("r0", plan="other")
        assert reader.record("r1") == record("r1")
        assert reader.record("r9") is None

    def test_the_last_run_is_that_in_which_something_happened_last(
        self, journal: JournalWithFacts, reader: ReaderWithFacts
    ) -> None:
        def last() -> str:
            result = reader.record()
            assert result is not None
            return result.run

        made = record("r1").created_at
        for run in ("r2", "r3"):
            journal.add_run(record(run))
        assert last() == "r3"
        journal.append("r2", [(made + 2.0, make_event(kind="x"))])
        assert last() == "r2"
        journal.append("r1", [(made + 1.0, make_event(kind="x"))])
        assert last() == "r2"
        journal.append("r1", [(made + 3.0, make_event(kind="x"))])
        assert last() == "r1"

    # All or nothing

    def test_one_event_that_cannot_be_written_keeps_out_all_of_its_turn(
        self, journal: JournalWithFacts, reader: ReaderWithFacts
    ) -> None:
        asked = ask(reader)
        unwritable = (1.0, make_event(kind="bad", data={"x": object()}))
        with pytest.raises(TypeError):
            journal.append("r1", [*told("a"), unwritable], taken=[asked], state="failed")
        assert kinds(reader) == []
        assert [each.id for each in journal.requests("r1")] == [asked]
        assert [each.state for each in reader.runs()] == ["running"]
        assert journal.append("r1", told("a")) == 1

    @pytest.mark.parametrize(
        "event",
        [
            make_event(kind="x", data={"text": NOT_UTF_8}),
            make_event(kind="x", fact=RunStarted(at=1.0, run="r1", env={"A": NOT_UTF_8})),
        ],
        ids=["data", "fact"],
    )
    def test_what_is_not_text_is_refused(self, journal: JournalWithFacts, event: AnyEvent) -> None:
        with pytest.raises(
            InputError, match=r"cannot record 'caf.*': it is not text in UTF-8; rename the file"
        ):
            journal.append("r1", [(1.0, event)])
        assert kinds(journal) == []

    def test_a_run_with_a_name_that_is_not_text_is_refused(self, journal: JournalWithFacts) -> None:
        with pytest.raises(InputError, match="not text in UTF-8"):
            journal.add_run(record("r2", plan=NOT_UTF_8))
        assert [each.run for each in journal.runs()] == ["r1"]

    # Runs

    def test_runs_come_newest_first_and_by_plan(
        self, journal: JournalWithFacts, reader: ReaderWithFacts
    ) -> None:
        journal.add_run(record("r0", plan="other"))
        assert reader.runs() == [record("r0", plan="other"), record("r1")]
        assert reader.runs("notes") == [record("r1")]
        assert reader.runs("none") == []

    def test_the_state_of_a_run_changes_by_itself_or_with_events(
        self, journal: JournalWithFacts, reader: ReaderWithFacts
    ) -> None:
        journal.add_run(record("r2"))
        journal.set_run_state("r1", "stopped")
        assert journal.append("r2", told("run_finished"), state="completed") == 1
        assert reader.runs() == [record("r2", state="completed"), record("r1", state="stopped")]

    def test_a_run_is_added_once(self, journal: JournalWithFacts) -> None:
        with pytest.raises(InputError, match="has a run"):
            journal.add_run(record(plan="other"))
        assert journal.runs() == [record()]

    def test_nothing_is_written_about_a_run_that_is_not_there(self, journal: JournalWithFacts) -> None:
        with pytest.raises(InputError, match="has no"):
            journal.append("r9", told("a"))
        with pytest.raises(InputError, match="has no"):
            journal.set_run_state("r9", "failed")
        with pytest.raises(InputError, match="has no"):
            ask(journal, "r9")
        assert kinds(journal, "r9") == []
        assert journal.append("r1", told("a")) == 1

    # Requests

    def test_requests_wait_in_order_until_they_are_taken_up(
        self, journal: JournalWithFacts, reader: ReaderWithFacts
    ) -> None:
        journal.add_run(record("r2"))
        asked = [
            ask(reader, text="one"),
            ask(journal, text="two"),
            ask(reader, "r2"),
            ask(reader, text="three"),
        ]
        assert [(each.id, each.data) for each in journal.requests("r1")] == [
            (asked[0], {"text": "one"}),
            (asked[1], {"text": "two"}),
            (asked[3], {"text": "three"}),
        ]
        journal.append("r1", told("answered"), taken=asked[:2])
        assert [each.id for each in journal.requests("r1")] == [asked[3]]
        assert [each.id for each in journal.requests("r2")] == [asked[2]]
        assert len(set(asked)) == 4

    def test_the_last_events_of_a_coordinator_are_refused_while_a_request_of_its_run_waits(
        self, journal: JournalWithFacts, reader: ReaderWithFacts
    ) -> None:
        journal.add_run(record("r2"))
        reader.ask("r2", "answer", subplan="a", step="", data={}, at=1.0)
        asked = reader.ask("r1", "answer", subplan="a", step="", data={}, at=1.0)
        assert (journal.append_last("r1", told("a")), kinds(reader)) == (None, [])
        journal.append("r1", told("b"), taken=[asked])
        assert (journal.append_last("r1", told("c", "d")), kinds(reader)) == (3, ["b", "c", "d"])

    def test_a_request_comes_with_all_that_was_said(
        self, journal: JournalWithFacts, reader: ReaderWithFacts
    ) -> None:
        ask(reader, text="ja, natürlich")
        (request,) = journal.requests("r1")
        assert (request.run, request.kind, request.subplan, request.step) == ("r1", "answer", "a/b", "gate")
        assert (request.data, request.at) == ({"text": "ja, natürlich"}, 3.5)

    def test_the_number_of_a_request_is_not_used_again(self, journal: JournalWithFacts) -> None:
        first = ask(journal)
        journal.append("r1", told("answered"), taken=[first])
        assert ask(journal) > first

    # The lease

    def test_a_second_writer_is_kept_out(self, maker: Maker, journal: JournalWithFacts) -> None:
        with pytest.raises(BusyError) as raised:
            maker.open()
        assert raised.value.holder == journal.holder()
        assert journal.append("r1", told("a")) == 1

    def test_the_next_writer_has_the_next_epoch(self, maker: Maker, journal: JournalWithFacts) -> None:
        assert journal.epoch == 1
        journal.append("r1", told("a"))
        journal.close()
        with closing(maker.open()) as second:
            assert second.epoch == 2
            assert second.append("r1", told("b")) == 2
            assert kinds(second) == ["a", "b"]

    def test_the_holder_is_who_wrote_last(self, journal: JournalWithFacts, reader: ReaderWithFacts) -> None:
        holder = reader.holder()
        assert holder is not None
        assert (holder.epoch, holder.since, holder.command) == (1, 7.0, "weft run")
        journal.close()
        assert reader.holder() == holder

    @pytest.mark.parametrize("write", WRITES)
    def test_who_has_lost_the_lease_cannot_write(
        self, maker: Maker, journal: JournalWithFacts, reader: ReaderWithFacts, write: str
    ) -> None:
        journal.append("r1", told("a"))
        maker.steal()
        with pytest.raises(LeaseLostError, match="has stopped writing"):
            WRITES[write](journal)
        assert kinds(journal) == kinds(reader) == ["a"]
        assert reader.runs() == [record()]

    def test_closing_twice_is_like_once(self, maker: Maker, journal: JournalWithFacts) -> None:
        journal.close()
        with closing(maker.open()):
            journal.close()
            with pytest.raises(BusyError):
                maker.open()

    # News

    def test_the_writes_of_others_are_news_once(
        self, journal: JournalWithFacts, reader: ReaderWithFacts
    ) -> None:
        assert not reader.changed()
        journal.append("r1", told("a"))
        assert reader.changed()
        assert not reader.changed()
        ask(reader)
        assert not reader.changed()
        assert journal.changed()
        journal.append("r1", told("b"))
        assert not journal.changed()

    def test_what_was_written_before_somebody_began_to_read_is_no_news(
        self, maker: Maker, journal: JournalWithFacts
    ) -> None:
        journal.append("r1", told("a"))
        with closing(maker.reader()) as reader:
            assert not reader.changed()
