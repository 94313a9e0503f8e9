"""The context that precedes every prompt: the goal of the plan and the files of the slice."""

from collections.abc import Iterator

from weft.plan.model import Plan

_GOAL = "plan.goal"


def with_context(prompt: str, plan: Plan, row: int, *, template: str) -> str:
    """Returns the prompt, preceded by the context that its template does not contain itself."""
    context = [*_goal(plan, template), *_files(plan, row)]
    return "\n\n".join([*context, prompt]) if context else prompt


def with_goal(prompt: str, plan: Plan) -> str:
    return "\n\n".join([*_goal(plan, ""), prompt])


def _goal(plan: Plan, template: str) -> Iterator[str]:
    if plan.goal and _GOAL not in template:
        yield f"What follows is a part of this:\n{plan.goal.strip()}"


def _files(plan: Plan, row: int) -> Iterator[str]:
    files = plan.subplans[row].files
    if files:
        others = (
            "Changing any other file is a failure."
            if plan.scopes[row].settings.strict_files
            else "Others may be working on other files at the same time."
        )
        yield "\n".join(["The files of this part:", *(f"- {glob}" for glob in files), others])
