"""A person ends usage limits before their time."""

from engine.run.stories import agent, begun, leaf, plan, run
from weft.engine.engine import Engine
from weft.engine.messages.event_codec import kind_of
from weft.engine.messages.facts import AnyFact, Ended, LimitsEnded, Resumed, StepOutcome, StopAsked, Woke
from weft.engine.messages.orders import Launch


def limited() -> tuple[Engine, list[AnyFact]]:
    """An engine whose first agent met a limit that lasts an hour, and the facts that it has heard."""
    compiled = plan(leaf("a", agent("work")), leaf("b", agent("work")), isolation="none", policy="serial")
    engine = begun(compiled)
    met = Ended(at=1.0, firing=1, execution=1, how=StepOutcome.LIMITED, until=3600.0)
    engine.apply(met)
    engine.take_messages()
    return engine, [met]


def launched(engine: Engine) -> list[tuple[str, int]]:
    return [(order.path, order.execution) for order in engine.take_messages()[1] if isinstance(order, Launch)]


def test_what_waits_for_a_usage_limit_continues_when_a_person_ends_it() -> None:
    engine, _ = limited()
    engine.apply(LimitsEnded(at=60.0))
    events, orders = engine.take_messages()
    assert (kind_of(events[0]), events[0].fact) == ("limits_ended", LimitsEnded(at=60.0))
    assert [(order.path, order.execution) for order in orders if isinstance(order, Launch)] == [("a", 2)]


def test_an_agent_that_meets_its_limit_again_waits_again() -> None:
    engine, _ = limited()
    engine.apply(LimitsEnded(at=60.0))
    engine.apply(Ended(at=61.0, firing=1, execution=2, how=StepOutcome.LIMITED, until=3600.0))
    engine.take_messages()
    engine.apply(Woke(at=70.0))
    assert launched(engine) == []
    engine.apply(Woke(at=3600.0))
    assert launched(engine) == [("a", 3)]


def test_to_end_limits_twice_or_where_there_are_none_changes_nothing() -> None:
    engine, _ = limited()
    engine.apply(LimitsEnded(at=60.0))
    engine.take_messages()
    engine.apply(LimitsEnded(at=61.0))
    assert launched(engine) == []
    quiet = begun(plan(leaf("a", run("work")), isolation="none"))
    quiet.apply(LimitsEnded(at=1.0))
    assert launched(quiet) == []


def test_a_run_that_is_resumed_hears_of_it_first() -> None:
    engine, _ = limited()
    engine.apply(StopAsked(at=2.0))
    assert engine.state == "stopped"
    engine.apply(Resumed(at=100.0, epoch=2))
    engine.apply(LimitsEnded(at=100.0))
    assert launched(engine) == [("a", 2)]
