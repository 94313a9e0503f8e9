from contextvars import ContextVar, copy_context

import pytest

from weft.subplans.own_context import in_context

variable: ContextVar[str] = ContextVar("variable", default="outside")


class Pause:
    """Suspends whoever awaits it, as a future would."""

    def __await__(self):
        return (yield "paused")


def test_each_step_runs_in_the_given_context() -> None:
    seen: list[str] = []

    async def work() -> str:
        variable.set("inside")
        seen.append(await Pause())
        seen.append(variable.get())
        return "done"

    steps = in_context(copy_context(), work)
    assert steps.send(None) == "paused"
    assert variable.get() == "outside"
    with pytest.raises(StopIteration) as stop:
        steps.send("woken")
    assert stop.value.value == "done"
    assert seen == ["woken", "inside"]


def test_what_is_thrown_in_is_the_work_s_to_handle() -> None:
    async def work() -> str:
        try:
            await Pause()
        except ValueError:
            return variable.get()
        raise AssertionError

    steps = in_context(copy_context(), work)
    steps.send(None)
    with pytest.raises(StopIteration) as stop:
        steps.throw(ValueError("from outside"))
    assert stop.value.value == "outside"


def test_closing_lets_the_work_clean_up_in_its_context() -> None:
    cleaned_up_as: list[str] = []

    async def work() -> None:
        variable.set("inside")
        try:
            await Pause()
        finally:
            cleaned_up_as.append(variable.get())

    steps = in_context(copy_context(), work)
    steps.send(None)
    steps.close()
    assert cleaned_up_as == ["inside"]
