"""What templates of a step can read, and the templates with it filled in."""

from collections.abc import Mapping
from hashlib import blake2b

from weft.engine.state.change_requests import request_text
from weft.engine.state.engine_state import EngineState
from weft.engine.state.outputs import step_values
from weft.engine.state.pipelines import PlacedStep
from weft.engine.state.slice_state import SubplanState
from weft.plan.templates.render import render
from weft.plan.templates.values import json_text

_MARKS = ("{{", "{%", "{#")


def template_values(
    state: EngineState, subplan: SubplanState, placed: PlacedStep, attempt: int
) -> Mapping[str, object]:
    plan = state.plan
    definition = plan.subplans[subplan.row]
    verify = [command if isinstance(command, str) else " ".join(command) for command in definition.verify]
    return {
        "slice": {
            "id": definition.id,
            "path": subplan.path,
            "prompt": definition.prompt or definition.title,
            "title": definition.title,
            "verify": "\n".join(verify),
        },
        "plan": {"id": plan.id, "goal": plan.goal or ""},
        "run": {"id": state.run},
        "env": state.env,
        "feedback": "\n\n".join(filter(None, _feedback(subplan, placed))),
        "attempt": attempt,
        "step": step_values(placed.beside, subplan.outputs, plan.pipelines, within=placed.within),
    }


def _feedback(subplan: SubplanState, placed: PlacedStep) -> tuple[str, ...]:
    return request_text(subplan.request), subplan.crashes.get(placed.address, ""), subplan.feedback


class Texts:
    """The templates of one step. Their values are computed when the first template needs them."""

    def __init__(self, state: EngineState, subplan: SubplanState, placed: PlacedStep, attempt: int) -> None:
        self._state = state
        self._subplan = subplan
        self._placed = placed
        self._attempt = attempt
        self._values: Mapping[str, object] | None = None
        self._filled: list[str] = []

    def filled(self, text: str, *, quote: bool = False) -> str:
        """Returns the rendered text; raises `RenderError`."""
        if not any(mark in text for mark in _MARKS):
            return text
        if self._values is None:
            self._values = template_values(self._state, self._subplan, self._placed, self._attempt)
        filled = render(text, self._values, quote=quote)
        self._filled.append(filled)
        return filled

    @property
    def digest(self) -> str:
        """The digest of all texts rendered so far; empty without templates."""
        if not self._filled:
            return ""
        return blake2b(json_text(self._filled).encode(errors="surrogatepass"), digest_size=16).hexdigest()
