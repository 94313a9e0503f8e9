"""Plans in a few lines, and what loading says of them."""

from typing import Any

from weft.plan.loader.load import load_plan
from weft.plan.model import Step
from weft.plan.text.problems import PlanError

HEAD = "weft: 1\nplan: p\n"
AGENT = "agent: claude\n"


def problems(text: str, **how: Any) -> list[str]:
    """Errors and warnings, or warnings alone if it is a plan, as "line:column message"."""
    try:
        reported = load_plan(text, **how).warnings
    except PlanError as error:
        reported = error.problems
    return [f"{problem.at.line}:{problem.at.column} {problem.message}" for problem in reported]


def with_subplans(*lines: str, top: str = AGENT) -> str:
    """With a top of one line the first subplan is in line 5; what it holds begins in column 5."""
    return f"{HEAD}{top}subplans:\n" + "".join(f"  - {line}\n" for line in lines)


def with_steps(*lines: str, top: str = AGENT) -> str:
    """A plan of one slice. With a top of one line the first step is in line 9, and begins in column 9."""
    steps = "".join(f"      - {line}\n" for line in lines)
    return f"{HEAD}{top}subplans:\n  - id: s\n    prompt: x\n    verify: v\n    steps:\n{steps}"


def steps_of(*lines: str, top: str = AGENT) -> tuple[Step, ...]:
    """The steps of such a plan, which has no error."""
    steps = load_plan(with_steps(*lines, top=top)).subplans[1].steps
    assert steps is not None
    return steps.steps
