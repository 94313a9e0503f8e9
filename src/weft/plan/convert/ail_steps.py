"""Converts steps of `ail` to steps of Weft.

Where Weft cannot do what ail did, or cannot decide what ail decided, a person is asked. A step that cannot be
carried over (a skill, a `for_each`, a pipeline in a missing file) becomes an `action: ask` with its id, so that
its dependents wait. A condition that cannot be evaluated becomes a question before its step, and so does an entry
of `on_result`. Leaving such things out would silently skip work or a guard.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from weft.plan.convert.ail_chains import CHECK
from weft.plan.convert.ail_file import AilStep, Loop
from weft.plan.convert.ail_results import ResultRules, as_expression
from weft.plan.convert.ail_templates import (
    AilScope,
    Findings,
    NotCarriedOverError,
    SenselessError,
    condition,
    last_answer,
    literally,
    path_to,
    template,
)
from weft.plan.convert.fields import NOT_CARRIED_OVER, Fields, plain
from weft.plan.convert.names import free_id
from weft.plan.convert.plan_parts import AGENT, ASSUMED, without_empty
from weft.plan.language.agent_programs import AGENT_PROGRAMS
from weft.plan.text.emit import Plain

RUNNERS = frozenset(adapter.name for adapter in AGENT_PROGRAMS.values() if adapter.program is not None)
MOST_RETRIES = 10
_A_FILE = re.compile(r"(?:\.{0,2}|~)/\S+")
_ON_ERROR = {"abort_pipeline": "abort", "continue": "continue", "retry": "retry"}
_JOIN_ON_ERROR = ("fail_fast", "wait_for_all")
_REASONS = {
    "tools": "what an agent may do is set up with the agent",
    "input_schema": "Weft checks results, not what is read",
}
_AFTER_THE_LAST_ROUND = {"abort_pipeline": "abort", "continue": "continue"}
_DONE = "true"
"""A command that does nothing; the check of a loop needs a command."""


class Agents:
    """The agents that steps ask for by the name of the runner."""

    def __init__(self, model: str | None) -> None:
        self._model = model
        self.used: dict[str, Plain] = {}

    def of(self, fields: Fields) -> str:
        runner = fields.text("runner") or ASSUMED
        if runner not in RUNNERS:
            fields.note(
                "runner",
                f"runner {runner!r} {NOT_CARRIED_OVER}",
                f"Weft has no such agent; {ASSUMED!r} is used",
            )
            # The note names the runner; with another agent the plan can still be loaded.
            runner = ASSUMED
        return self.agent_for(runner)

    def agent_for(self, runner: str) -> str:
        """Returns the agent that stands for the runner."""
        name = AGENT if runner == ASSUMED else runner
        self.used[name] = without_empty({"use": runner, "model": self._model})
        return name


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What all pipelines of the file share."""

    agents: Agents
    findings: Findings
    pipelines: Mapping[str, list[AilStep]]
    ids: Mapping[str, Mapping[str, str]]
    """For each pipeline, the new ids of its steps."""
    names: Mapping[str, str]
    """The new names of the pipelines."""
    models: Mapping[str, str | None]
    """For each pipeline, the model that its file sets, if it differs from the first file's."""


class PipelineWriter:
    """Writes the steps of one pipeline, in order."""

    def __init__(self, name: str, context: Context, *, is_main: bool) -> None:
        self._steps = context.pipelines[name]
        self._ids = context.ids[name]
        self._context = context
        self._is_main = is_main
        self._model = context.models.get(name)
        self._used = set(self._ids.values())
        self._ended: dict[str, frozenset[str]] = {}
        self._decided: dict[int, str | None] = {}
        """The conditions written so far, by `id()` of their mapping; None if a person decides."""

    def written(self) -> list[Plain]:
        return [entry for step, scope in self._scopes() for entry in self._entries(step, scope)]

    def _scopes(self) -> Iterator[tuple[AilStep, AilScope]]:
        before: frozenset[str] = frozenset()
        last: str | None = None
        for step in self._steps:
            # What a dependency waited for has ended as well.
            waited = (frozenset({need.text}) | self._ended[need.text] for need in step.needs)
            ended = before.union(*waited)
            self._ended[step.id] = ended
            yield step, self._scope(ended, last, step.loop)
            if not step.is_async:
                before = ended | {step.id}
                last = step.id if step.has_response else last

    def _scope(self, ended: frozenset[str], last: str | None, loop: Loop | None) -> AilScope:
        return AilScope(
            ids=self._ids,
            ended=ended,
            last=last,
            steps={step.id: step for step in self._steps},
            result=self._result,
            is_main=self._is_main,
            findings=self._context.findings,
            loop=loop,
        )

    def _result(self, step: str) -> str:
        last = next(candidate for candidate in self._steps if candidate.id == step)
        if last.kind == CHECK and last.loop is not None:  # the response of a loop is that of its last step
            inner = [
                candidate
                for candidate in self._steps
                if candidate.id in last.loop.ids.values() and candidate.has_response
            ]
            if not inner:
                raise NotCarriedOverError(f"no step of loop {step!r} has an answer")
            last = inner[-1]
        return path_to([self._ids[last.id], *self._inner(last)], "result")

    def _inner(self, step: AilStep) -> list[str]:
        """Returns the ids that lead to the last response within a called pipeline."""
        if step.kind != "pipeline" or step.word not in self._context.names:
            return []
        inner = next(
            (
                candidate
                for candidate in reversed(self._context.pipelines[step.word])
                if candidate.has_response
            ),
            None,
        )
        if inner is None:
            raise NotCarriedOverError(f"no step of pipeline {step.word!r} has an answer")
        return [self._context.ids[step.word][inner.id], *self._inner(inner)]

    def _entries(self, step: AilStep, scope: AilScope) -> Iterator[Plain]:
        why = self._why_unsupported(step)
        if why is not None:
            step.fields.note(
                "id", NOT_CARRIED_OVER.replace("is not", "it is not") + "; a person is asked", why
            )
            yield self._gate(
                self._ids[step.id], step, f"ail had a step here that is not carried over: {why}."
            )
            return
        writer = _StepWriter(step, scope, self._context, self._model)
        conditions: list[str] = []
        for fields in step.conditions or (step.fields,):
            # Parts of one step share its condition, so a person is asked once.
            if id(fields.table) not in self._decided:
                decided, undecided = writer.condition(fields)
                self._decided[id(fields.table)] = decided
                if undecided:
                    yield self._condition_gate(step, undecided)
            written = self._decided[id(fields.table)]
            conditions += [] if written is None else [written]
        yield without_empty(
            {
                "id": self._ids[step.id],
                "async": step.is_async or None,
                "depends_on": self._needs(step),
                "condition": _all_of(conditions),
                **writer.body(),
                **writer.ends(),
            }
        )
        writer.finish()

    def _condition_gate(self, step: AilStep, undecided: str) -> Plain:
        gate = free_id(f"{self._ids[step.id]}_gate", self._used)
        self._used.add(gate)
        return self._gate(gate, step, f"ail ran the next step only if: {undecided}. Continue?")

    def _needs(self, step: AilStep) -> list[str]:
        return [self._ids[need.text] for need in step.needs]

    def _gate(self, id_: str, step: AilStep, question: str) -> Plain:
        return without_empty(
            {"id": id_, "depends_on": self._needs(step), "action": "ask", "question": literally(question)}
        )

    def _why_unsupported(self, step: AilStep) -> str | None:
        if step.unsupported:
            return step.unsupported
        match step.kind:
            case "skill":
                return "what a skill says stands in a file of its own"
            case "for_each":
                return "Weft has no loops over a list"
            case "pipeline" if step.word not in self._context.names:
                return f"pipeline {step.word!r} is not in this file, nor in a file beside it"
            case "action" if step.word not in {"join", "pause_for_human", "modify_output"}:
                return f"Weft has no action {step.word!r}"
            case "context" if _shell(step.fields) is None:
                return "of contexts, Weft knows shell commands only"
            case "prompt" if _A_FILE.fullmatch(step.fields.required_text("prompt")):
                return "its prompt stands in a file of its own"
            case _:
                return None


def _shell(fields: Fields) -> str | None:
    context = fields.fields("context")
    return None if context is None else context.text("shell")


class _StepWriter:
    """Writes the parts of a step that is carried over."""

    def __init__(self, step: AilStep, scope: AilScope, context: Context, model: str | None) -> None:
        self._step = step
        self._model = model
        self._fields = step.fields
        self._scope = scope
        self._context = context

    def condition(self, fields: Fields) -> tuple[str | None, str]:
        """Returns the condition in these fields, if any, and the text of one that Weft cannot evaluate."""
        text = fields.text("condition")
        if text is None:
            return None, ""
        try:
            return condition(text, self._scope), ""
        except SenselessError as error:
            fields.wrong("condition", f"has no meaning: {error}")
        except NotCarriedOverError as error:
            fields.note("condition", f"condition {NOT_CARRIED_OVER}; a person is asked", str(error))
            return None, text
        return None, ""

    def body(self) -> dict[str, Plain]:
        match self._step.kind:
            case "prompt":
                return self._prompt()
            case "context":
                return {"run": literally(_shell(self._fields) or "")}
            case "pipeline":
                return self._call()
            case "check":
                return {"run": _DONE}
            case _:
                return self._action()

    def _prompt(self) -> dict[str, Plain]:
        return {
            "agent": self._context.agents.of(self._fields),
            "model": self._fields.text("model") or self._model,
            "resume": self._fields.flag("resume"),
            "prompt": self._template("prompt"),
        }

    def _call(self) -> dict[str, Plain]:
        self._fields.leave("prompt", "a pipeline in line has no prompt of its own in Weft")
        return {"pipeline": self._context.names[self._step.word]}

    def _action(self) -> dict[str, Plain]:
        if self._step.is_join:
            return {"action": "join"}
        usual = "ail paused here for a person. Continue?"
        if self._step.word == "modify_output":
            usual = self._to_modify()
        return {"action": "ask", "question": self._template("message") or usual}

    def _to_modify(self) -> str:
        """Returns the question of a step in which a person edits the last response. The answer is its result."""
        try:
            last = f"\n\n{{{{ {last_answer(self._scope)} }}}}"
        except (NotCarriedOverError, SenselessError):
            last = ""
        return f"Answer with the text to continue with (weft answer … --text).{last}"

    def _template(self, key: str) -> str:
        def note_lost(path: str, why: str) -> None:
            self._fields.note(
                key, f"{{{{ {path} }}}} in {key} {NOT_CARRIED_OVER}; it stands there as <{path}>", why
            )

        try:
            return template(self._fields.text(key) or "", self._scope, note_lost)
        except SenselessError as error:
            self._fields.wrong(key, f"has no meaning: {error}")
            return ""

    def ends(self) -> dict[str, Plain]:
        """Returns the keys about the step's result."""
        rules: list[Plain] = [*ResultRules(self._step, self._scope).written()]
        if self._step.kind == CHECK and self._step.loop is not None:
            return self._rounds(self._step.loop, rules)
        schema = self._fields.fields("output_schema")
        return {
            "output_schema": None if schema is None else plain(schema.table),
            **self._on_error(),
            "on_result": rules,
        }

    def _rounds(self, loop: Loop, rules: list[Plain]) -> dict[str, Plain]:
        """Returns the keys of a loop's check. Its result counts as a failure until the loop may end."""
        if rules:
            message = f"on_result {NOT_CARRIED_OVER}"
            self._fields.note("on_result", message, "the check of a loop decides only whether it goes on")
        self._fields.leave("on_error", "the check of a loop cannot fail otherwise")
        # The first round is not a retry.
        most = min(loop.rounds, MOST_RETRIES + 1)
        if most < loop.rounds:
            loop.fields.note("max_iterations", f"max_iterations is now {most}", "that is Weft's limit")
        last = loop.fields.text("on_max_iterations")
        loop.fields.take("steps")
        loop.fields.take("exit_when")
        loop.fields.rest()
        try:
            until = as_expression(condition(loop.until, self._scope))
        except SenselessError as error:
            loop.fields.wrong("exit_when", f"has no meaning: {error}")
            return {}
        except NotCarriedOverError as error:
            message = f"exit_when {NOT_CARRIED_OVER}; a person is asked after the first round"
            loop.fields.note("exit_when", message, str(error))
            question = f"ail repeated the steps before this one until: {loop.until}. They ran once. Continue?"
            return {"on_result": [{"when": "true", "action": "ask", "question": literally(question)}]}
        if last not in {None, *_AFTER_THE_LAST_ROUND}:
            message = f"on_max_iterations: {last} {NOT_CARRIED_OVER}"
            loop.fields.note("on_max_iterations", message, "after the last round the slice has failed")
        return {
            "on_error": "continue" if last == "continue" else None,
            # A loop "until" is a check that fails until its condition holds, and `on_fail` goes back to the first
            # step.
            "on_result": [{"when": until, "action": "continue"}, {"when": "true", "action": "fail"}],
            "on_fail": {"retry_from": self._scope.ids[loop.first], "max": most - 1},
        }

    def finish(self) -> None:
        self._fields.rest(_REASONS)

    def _on_error(self) -> dict[str, Plain]:
        on_error = self._fields.text("on_error")
        if self._step.kind == "context":
            if on_error not in {None, "continue"}:
                self._fields.note(
                    "on_error", f"on_error {NOT_CARRIED_OVER}", "a failing command is no error in ail"
                )
                self._fields.take("max_retries")
            # Otherwise a failing command would end the slice, which ail leaves to the rules of `on_result`.
            return {"on_error": "continue"}
        if on_error is None:
            return {}
        if self._step.is_join:
            return {"on_error": self._one_of(on_error, _JOIN_ON_ERROR)}
        if on_error == "pause_for_human":
            self._fields.note(
                "on_error", f"on_error: {on_error} {NOT_CARRIED_OVER}", "a failed step ends its slice"
            )
            return {}
        return {
            "on_error": _ON_ERROR.get(self._one_of(on_error, tuple(_ON_ERROR))),
            **self._retries(on_error),
        }

    def _one_of(self, value: str, allowed: tuple[str, ...]) -> str:
        if value not in allowed:
            self._fields.wrong("on_error", f"is {value!r}; one of {', '.join(allowed)} is needed")
        return value

    def _retries(self, on_error: str) -> dict[str, Plain]:
        if on_error != "retry":
            return {}
        retries = self._fields.number("max_retries", least=1)
        if self._fields.take("max_retries") is None:
            self._fields.wrong("max_retries", "is missing; on_error: retry needs it")
        if retries is not None and retries > MOST_RETRIES:
            self._fields.note("max_retries", f"max_retries is now {MOST_RETRIES}", "that is Weft's limit")
        return {"max_retries": None if retries is None else min(retries, MOST_RETRIES)}


def _all_of(conditions: list[str]) -> str | None:
    if len(conditions) < 2:  # noqa: PLR2004
        return conditions[0] if conditions else None
    return " and ".join(f"({as_expression(text)})" for text in conditions)
