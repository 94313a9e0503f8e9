"""Worlds at random: how long things take and how they end, what people say, when the coordinator dies.

All that a world says is a function of its seed and of what it is asked about, never of how often it was asked: the
same thing goes the same way for a coordinator that lives and for one that dies.
"""

from collections.abc import Sequence
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from weft.engine.messages.facts import Controlled, ControlState, StepOutcome
from weft.engine.messages.orders import Launch, Ordered, Prepare
from weft.engine.simulate import Interruptions, SimulatedEnd, SimulatedReply

_TROUBLES = (
    StepOutcome.FAILED,
    StepOutcome.FAILED,
    StepOutcome.FAILED,
    StepOutcome.TIMEOUT,
    StepOutcome.LOST,
    StepOutcome.INFRA,
)
_LAST_LIMITED = 2


class RandomWorld:
    def __init__(self, seed: str, trouble: float, *, holds: bool = True) -> None:
        self.seed = seed
        self.trouble = trouble
        self._holds = holds
        self.parts = (
            StepOutcome.FAILED,
            StepOutcome.CONFLICT,
            StepOutcome.LOST,
            StepOutcome.INFRA,
            StepOutcome.HELD if holds else StepOutcome.FAILED,
        )
        self.limits = Random(f"{seed} limits").choice([0.0, 0.0, 0.4])
        self._firings: dict[str, list[int]] = {}
        self._questions: dict[str, int] = {}

    def happens(self, order: Ordered) -> SimulatedEnd:
        random = Random(f"{self.seed} {self._name(order)} {order.execution}")
        is_agent = isinstance(order, Launch) and order.agent is not None
        how = StepOutcome.DONE
        if is_agent and order.execution <= _LAST_LIMITED and random.random() < self.limits:
            how = StepOutcome.LIMITED
        elif random.random() < self.trouble:
            how = self._trouble(random, order)
        happening = SimulatedEnd(
            seconds=random.choice([0.0, 1.0, 1.0, 2.0, 7.0]),
            how=how,
            result=random.choice(["", "odd", "even", '{"x": 1}', '{"accepted": true, "reasons": []}']),
            exit_code=1 if how is StepOutcome.FAILED else None,
            message="it went wrong" if how is not StepOutcome.DONE else "",
            cost=random.choice([None, 0, 4_000, 20_000, 70_000]) if is_agent else None,
            wait=random.choice([0.0, 1.0, 10.0, 50.0]),
            conflict=how is StepOutcome.HELD and random.random() < 0.7,
        )
        return self._spending(random, happening) if is_agent else happening

    def _spending(self, random: Random, one: SimulatedEnd) -> SimulatedEnd:
        """What an agent is heard to spend: totals that grow, up to what it costs in the end if it tells that."""
        tokens = random.choice([None, 0, 300, 2_000, 9_000])
        most, most_tokens = one.cost or random.choice([0, 30_000]), tokens or random.choice([0, 5_000])
        times = sorted(random.uniform(0.0, 1.0) for _ in range(random.choice([0, 0, 1, 3])))
        spends = [
            (one.seconds * time, round(most * time), round(most_tokens * time))
            for time in times
            if (one.cost, tokens) != (0, 0)
        ]
        spends = [(at, 0 if one.cost == 0 else cost, 0 if tokens == 0 else used) for at, cost, used in spends]
        return replace(one, tokens=tokens, spends=tuple(spends))

    def _trouble(self, random: Random, order: Ordered) -> StepOutcome:
        if isinstance(order, Launch):
            return random.choice(_TROUBLES)
        how = random.choice(self.parts)
        # A merge or landing that the machine cannot do is held in the end.
        is_held = how in {StepOutcome.LOST, StepOutcome.INFRA} and not isinstance(order, Prepare)
        return StepOutcome.FAILED if is_held and not self._holds else how

    def _name(self, order: Ordered) -> str:
        """What is done, in words that are the same in each run: a further try of what was lost has a number."""
        step = f"{order.step} {order.attempt}" if isinstance(order, Launch) else type(order).__name__
        firings = self._firings.setdefault(f"{order.path} {step}", [])
        if order.firing not in firings:
            firings.append(order.firing)
        return f"{order.path} {step} {firings.index(order.firing)}"

    def replies(self, path: str, step: str) -> SimulatedReply:
        name = f"{path} {step}"
        self._questions[name] = number = self._questions.get(name, 0) + 1
        random = Random(f"{self.seed} {name} {number}")
        return SimulatedReply(
            random.choice([0.0, 1.0, 30.0]), random.random() < 0.8, random.choice(["", "so"])
        )


class Chances(Struct, frozen=True, kw_only=True):
    """How probable it is, after each fact."""

    dies: float = 0.0
    dies_early: float = 0.0
    stops: float = 0.0
    says: float = 0.0

    def interruptions(self, seed: str, paths: Sequence[str] = ("",)) -> Interruptions:
        def after(name: str, part: float) -> bool:
            return part > 0.0 and Random(f"{seed} {name}").random() < part

        def said(name: str) -> Controlled | None:
            random = Random(f"{seed} {name}")
            if self.says == 0.0 or random.random() >= self.says:
                return None
            wanted = random.choice([ControlState.GO, ControlState.GO, *ControlState])
            return Controlled(at=0.0, subplan=random.choice(paths), wanted=wanted, now=random.random() < 0.2)

        return Interruptions(
            says=lambda facts: said(f"says {facts}"),
            dies=lambda facts: after(f"dies {facts}", self.dies),
            dies_early=lambda facts: after(f"early {facts}", self.dies_early),
            stops=lambda facts: after(f"stops {facts}", self.stops),
        )
