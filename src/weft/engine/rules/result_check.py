"""The judgement of a result by `output_schema` and the rules of `on_result`.

The result of a successful step can be rejected: by its schema, or by a rule with the action `fail` or
`abort`. Such a step counts as *rejected*, and the judgement holds the rule or the schema error that says why.
The engine judges a result before it writes the event about the end of the step, so that the event carries the
verdict.
"""

from msgspec import Struct
from msgspec.structs import replace

from weft.engine.messages.failures import Failure
from weft.engine.rules.step_result import output_tail, step_failure
from weft.engine.rules.template_values import template_values
from weft.engine.state.engine_state import EngineState
from weft.engine.state.outputs import StepOutput, check_result
from weft.engine.state.pipelines import PlacedStep
from weft.engine.state.slice_state import SubplanState
from weft.engine.states import FailureReason
from weft.plan.model import OnResult
from weft.plan.templates.render import holds, render
from weft.plan.templates.values import RenderError


class ResultJudgement(Struct, frozen=True, kw_only=True):
    output: StepOutput
    """The output with its JSON, or as failed, if it does not fit the schema."""
    failure: Failure
    """Why the step failed, if it did."""
    action: str = ""
    """The action of the rule that applies: `fail`, `abort` or `ask`; empty if the step simply continues."""
    rejected_by: str = ""
    """`output_schema` or `on_result`; empty if the result was not rejected."""
    question: str = ""
    """The question to a person, for the action `ask`."""

    @property
    def reason(self) -> str:
        """The rule or the schema error that rejected the result."""
        return self.failure.detail if self.rejected_by else ""


class ResultJudge:
    def __init__(self, state: EngineState) -> None:
        self._state = state

    def judge(
        self, subplan: SubplanState, placed: PlacedStep, output: StepOutput, failure: Failure
    ) -> ResultJudgement:
        """Stores the checked output and returns its judgement. `failure` explains an output that has failed."""
        checked = check_result(placed.step, output)
        subplan.outputs[placed.address] = checked
        judgement = ResultJudgement(output=checked, failure=failure)
        if checked is not output and checked.error is not None:
            failure = step_failure(placed, subplan.attempts[placed.address], checked.error.message)
            judgement = ResultJudgement(output=checked, failure=failure, rejected_by="output_schema")
        if placed.step.on_result and (checked.status == "done" or placed.step.on_error == "continue"):
            judgement = self._by_rules(subplan, placed, judgement)
        return judgement

    def _by_rules(
        self, subplan: SubplanState, placed: PlacedStep, judgement: ResultJudgement
    ) -> ResultJudgement:
        """Returns the judgement of the first rule that applies, or the given one."""
        values = template_values(self._state, subplan, placed, subplan.attempts[placed.address])
        for rule in placed.step.on_result:
            try:
                if holds(rule.when, values):
                    return self._by_rule(subplan, placed, rule, judgement)
            except RenderError as error:
                detail = f"on_result: {rule.when}: {error}"
                return self._reject(subplan, placed, judgement, detail, "fail")
        return judgement

    def _by_rule(
        self, subplan: SubplanState, placed: PlacedStep, rule: OnResult, judgement: ResultJudgement
    ) -> ResultJudgement:
        match rule.action:
            case "fail" | "abort":
                detail = f"on_result: {rule.when} ({rule.action})"
                return self._reject(subplan, placed, judgement, detail, rule.action)
            case "ask":
                question = self._question(subplan, placed, rule)
                return replace(judgement, action="ask", rejected_by="", question=question)
            case _:
                return judgement

    def _reject(
        self, subplan: SubplanState, placed: PlacedStep, judgement: ResultJudgement, detail: str, action: str
    ) -> ResultJudgement:
        failure = step_failure(placed, subplan.attempts[placed.address], detail)
        if action == "abort":  # an abort is never "exhausted": it allows no retry
            failure = replace(failure, reason=FailureReason.ERROR)
        failure = replace(failure, tail=output_tail(judgement.output.result))
        # A step that failed by itself stays `failed`; the rule only adds its reason.
        ran_well = judgement.output.status == "done"
        rejected_by = "on_result" if ran_well else judgement.rejected_by
        return replace(judgement, action=action, failure=failure, rejected_by=rejected_by)

    def _question(self, subplan: SubplanState, placed: PlacedStep, rule: OnResult) -> str:
        """Returns the question of the rule or a default, with the condition and the end of the result."""
        values = template_values(self._state, subplan, placed, subplan.attempts[placed.address])
        question = f"Accept the result of {placed.address}?" if rule.question is None else rule.question
        parts = [render(question, values).strip(), f"({placed.address}: on_result: {rule.when})"]
        tail = output_tail(subplan.outputs[placed.address].result)
        return "\n".join([*parts, f"Its result:\n{tail}"] if tail else parts)
