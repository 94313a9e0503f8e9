"""The pools of a plan, by their numbers in the allocator."""

from msgspec import Struct

from weft.engine.pools.lanes import Claims
from weft.plan.compile.plan_net import CompiledPlan


class PoolNumbers(Struct, frozen=True, kw_only=True):
    """The pools of a plan, by their numbers in the allocator."""

    sizes: list[int]
    slots: list[Claims]
    """The slots that each row takes: one of each `max_parallel` limit around it."""
    turns: list[tuple[int, ...]]
    """The pool of size 1 that serializes each row under `policy: serial`; empty without one."""
    caps: dict[str, int]
    """The limits on slices by name: `slots` is the `max_parallel` of the plan, `slots:PATH` that of a group."""
    named: dict[str, int]
    """The pools of the plan and of its agents by name."""


def pool_numbers(compiled: CompiledPlan) -> PoolNumbers:
    plan, outline = compiled.plan, compiled.plan.outline
    numbers = PoolNumbers(sizes=[], slots=[], turns=[], caps={}, named={})

    def pool(size: int) -> int:
        numbers.sizes.append(size)
        return len(numbers.sizes) - 1

    for row, subplan in enumerate(plan.subplans):
        settings, parent = plan.scopes[row].settings, outline.parents[row]
        slots = numbers.slots[parent] if row else ()
        turn = numbers.turns[parent] if row else ()
        if not row or ("max_parallel" in subplan.settings and not outline.is_leaf(row)):
            number = pool(settings.max_parallel)
            numbers.caps[f"slots:{outline.paths[row]}" if row else "slots"] = number
            slots = (*slots, (number, 1))
        if settings.policy != "serial":
            turn = ()
        elif not turn:
            turn = (pool(1),)
        numbers.slots.append(slots)
        numbers.turns.append(turn)
    for name, size in compiled.pools.items():
        numbers.named[name] = pool(size)
    return numbers
