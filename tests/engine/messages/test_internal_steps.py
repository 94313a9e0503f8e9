from weft.engine.messages.internal_steps import InternalStep, internal_step, is_internal
from weft.plan.compile.actions import ActionKind

OF_STEPS = {ActionKind.NONE, ActionKind.AGENT, ActionKind.RUN, ActionKind.ASK}


def test_each_action_of_weft_itself_has_a_name() -> None:
    assert {internal_step(kind) for kind in ActionKind if kind not in OF_STEPS} == {*InternalStep}


def test_they_are_told_from_the_steps_of_a_plan() -> None:
    assert all(is_internal(step) for step in InternalStep)
    assert not is_internal("code")
