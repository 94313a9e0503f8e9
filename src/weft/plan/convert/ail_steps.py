"""Steps of `ail` as steps of Weft.

Where Weft cannot do what ail did, or cannot decide what ail decided, a person is asked: in place of a step that
cannot be carried over (a skill, a loop, a pipeline in another file) stands an `action: ask` with its id, so that
what depends on it waits; a condition that cannot be decided becomes one before its step; and so does an entry of
`on_result`. Leaving such things out would skip work or a guard without a word.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from weft.plan.convert.ail_file import Step
from weft.plan.convert.ail_templates import (
    Findings,
    NotCarriedOverError,
    Scope,
    SenselessError,
    condition,
    contains,
    literally,
    matches,
    template,
    way,
)
from weft.plan.convert.fields import NO_SUCH_KEY, NOT_CARRIED_OVER, Fields, plain
from weft.plan.convert.names import free_id
from weft.plan.convert.writing import AGENT, ASSUMED, without_empty
from weft.plan.language.adapters import ADAPTERS
from weft.plan.text.document import Items
from weft.plan.text.emit import Plain

RUNNERS = frozenset(adapter.name for adapter in ADAPTERS.values() if adapter.program is not None)
MOST_RETRIES = 10
_A_FILE = re.compile(r"(?:\.{0,2}|~)/\S+")
_ON_ERROR = {"abort_pipeline": "abort", "continue": "continue", "retry": "retry"}
_JOIN_ON_ERROR = ("fail_fast", "wait_for_all")
_ACTIONS = {"continue": "continue", "abort_pipeline": "abort", "pause_for_human": "ask"}
_MATCHERS = ("contains", "exit_code", "matches", "expression", "always")
_REASONS = {
    "tools": "what an agent may do is set up with the agent",
    "input_schema": "Weft checks results, not what is read",
    "before": "write it as steps before this one",
    "then": "write it as steps after this one",
}
ASK: dict[str, Plain] = {"when": "true", "action": "ask"}


class Agents:
    """The agents that steps ask for by the runner's name."""

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
            runner = ASSUMED
        return self.called(runner)

    def called(self, runner: str) -> str:
        """The agent that stands for the runner."""
        name = AGENT if runner == ASSUMED else runner
        self.used[name] = without_empty({"use": runner, "model": self._model})
        return name


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What all pipelines of the file share."""

    agents: Agents
    findings: Findings
    pipelines: Mapping[str, list[Step]]
    ids: Mapping[str, Mapping[str, str]]
    """For each pipeline, the new ids of its steps."""
    names: Mapping[str, str]
    """The new names of the pipelines."""


class PipelineWriter:
    """The steps of one pipeline, in order."""

    def __init__(self, name: str, context: Context, *, is_main: bool) -> None:
        self._steps = context.pipelines[name]
        self._ids = context.ids[name]
        self._context = context
        self._is_main = is_main
        self._used = set(self._ids.values())
        self._ended: dict[str, frozenset[str]] = {}

    def written(self) -> list[Plain]:
        return [entry for step, scope in self._scopes() for entry in self._entries(step, scope)]

    def _scopes(self) -> Iterator[tuple[Step, Scope]]:
        before: frozenset[str] = frozenset()
        last: str | None = None
        for step in self._steps:
            waited = (frozenset({need.text}) | self._ended[need.text] for need in step.needs)
            ended = before.union(*waited)
            self._ended[step.id] = ended
            yield step, self._scope(ended, last)
            if not step.is_async:
                before = ended | {step.id}
                last = step.id if step.answers else last

    def _scope(self, ended: frozenset[str], last: str | None) -> Scope:
        return Scope(
            ids=self._ids,
            ended=ended,
            last=last,
            steps={step.id: step for step in self._steps},
            result=self._result,
            is_main=self._is_main,
            findings=self._context.findings,
        )

    def _result(self, step: str) -> str:
        found = next(other for other in self._steps if other.id == step)
        return way([self._ids[step], *self._inner(found)], "result")

    def _inner(self, step: Step) -> list[str]:
        """The way to the last answer within a pipeline that is called."""
        if step.kind != "pipeline" or step.word not in self._context.names:
            return []
        inner = next((other for other in reversed(self._context.pipelines[step.word]) if other.answers), None)
        if inner is None:
            raise NotCarriedOverError(f"no step of pipeline {step.word!r} has an answer")
        return [self._context.ids[step.word][inner.id], *self._inner(inner)]

    def _entries(self, step: Step, scope: Scope) -> Iterator[Plain]:
        why = self._why_lost(step)
        if why is not None:
            step.fields.note(
                "id", NOT_CARRIED_OVER.replace("is not", "it is not") + "; a person is asked", why
            )
            yield self._gate(
                self._ids[step.id], step, f"ail had a step here that is not carried over: {why}."
            )
            return
        writer = _StepWriter(step, scope, self._context)
        decided, undecided = writer.condition()
        if undecided:
            gate = free_id(f"{self._ids[step.id]}_gate", self._used)
            self._used.add(gate)
            yield self._gate(gate, step, f"ail ran the next step only if: {undecided}. Go on?")
        yield without_empty(
            {
                "id": self._ids[step.id],
                "async": step.is_async or None,
                "depends_on": self._needs(step),
                "condition": decided,
                **writer.body(),
                **writer.ends(),
            }
        )
        writer.finish()

    def _needs(self, step: Step) -> list[str]:
        return [self._ids[need.text] for need in step.needs]

    def _gate(self, id_: str, step: Step, question: str) -> Plain:
        return without_empty(
            {"id": id_, "depends_on": self._needs(step), "action": "ask", "question": literally(question)}
        )

    def _why_lost(self, step: Step) -> str | None:
        match step.kind:
            case "skill":
                return "what a skill says stands in a file of its own"
            case "do_while" | "for_each":
                return "Weft has no loops"
            case "pipeline" if step.word not in self._context.names:
                return f"pipeline {step.word!r} is not in this file"
            case "action" if step.word not in {"join", "pause_for_human"}:
                return f"Weft has no action {step.word!r}"
            case "context" if _shell(step.fields) is None:
                return "of contexts, Weft knows shell commands only"
            case "prompt" if _A_FILE.fullmatch(step.fields.needed("prompt")):
                return "its prompt stands in a file of its own"
            case _:
                return None


def _shell(fields: Fields) -> str | None:
    context = fields.fields("context")
    return None if context is None else context.text("shell")


class _StepWriter:
    """The parts of a step that is carried over."""

    def __init__(self, step: Step, scope: Scope, context: Context) -> None:
        self._step = step
        self._fields = step.fields
        self._scope = scope
        self._context = context

    def condition(self) -> tuple[str | None, str]:
        """The condition, if there is one; and the words of one that Weft cannot decide."""
        said = self._fields.text("condition")
        if said is None:
            return None, ""
        try:
            return condition(said, self._scope), ""
        except SenselessError as error:
            self._fields.wrong("condition", f"has no meaning: {error}")
        except NotCarriedOverError as error:
            self._fields.note("condition", f"condition {NOT_CARRIED_OVER}; a person is asked", str(error))
            return None, said
        return None, ""

    def body(self) -> dict[str, Plain]:
        match self._step.kind:
            case "prompt":
                return self._prompt()
            case "context":
                return {"run": literally(_shell(self._fields) or "")}
            case "pipeline":
                return self._call()
            case _:
                return self._action()

    def _prompt(self) -> dict[str, Plain]:
        return {
            "agent": self._context.agents.of(self._fields),
            "model": self._fields.text("model"),
            "resume": self._fields.flag("resume"),
            "prompt": self._template("prompt"),
        }

    def _call(self) -> dict[str, Plain]:
        self._fields.leave("prompt", "a pipeline in line has no prompt of its own in Weft")
        return {"pipeline": self._context.names[self._step.word]}

    def _action(self) -> dict[str, Plain]:
        if self._step.is_join:
            return {"action": "join"}
        return {
            "action": "ask",
            "question": self._template("message") or "ail paused here for a person. Go on?",
        }

    def _template(self, key: str) -> str:
        def lost(path: str, why: str) -> None:
            self._fields.note(
                key, f"{{{{ {path} }}}} in {key} {NOT_CARRIED_OVER}; it stands there as <{path}>", why
            )

        try:
            return template(self._fields.text(key) or "", self._scope, lost)
        except SenselessError as error:
            self._fields.wrong(key, f"has no meaning: {error}")
            return ""

    def ends(self) -> dict[str, Plain]:
        """What is made of the step's result."""
        schema = self._fields.fields("output_schema")
        return {
            "output_schema": None if schema is None else plain(schema.table),
            **self._on_error(),
            "on_result": self._on_result(),
        }

    def finish(self) -> None:
        self._fields.rest(_REASONS)

    def _on_error(self) -> dict[str, Plain]:
        said = self._fields.text("on_error")
        if self._step.kind == "context":
            if said not in {None, "continue"}:
                self._fields.note(
                    "on_error", f"on_error {NOT_CARRIED_OVER}", "a failing command is no error in ail"
                )
                self._fields.take("max_retries")
            return {"on_error": "continue"}
        if said is None:
            return {}
        if self._step.is_join:
            return {"on_error": self._one_of(said, _JOIN_ON_ERROR)}
        if said == "pause_for_human":
            self._fields.note(
                "on_error", f"on_error: {said} {NOT_CARRIED_OVER}", "a failed step ends its slice"
            )
            return {}
        return {"on_error": _ON_ERROR.get(self._one_of(said, tuple(_ON_ERROR))), **self._retries(said)}

    def _one_of(self, said: str, allowed: tuple[str, ...]) -> str:
        if said not in allowed:
            self._fields.wrong("on_error", f"is {said!r}; one of {', '.join(allowed)} is needed")
        return said

    def _retries(self, said: str) -> dict[str, Plain]:
        if said != "retry":
            return {}
        found = self._fields.number("max_retries", least=1)
        if self._fields.take("max_retries") is None:
            self._fields.wrong("max_retries", "is missing; on_error: retry needs it")
        if found is not None and found > MOST_RETRIES:
            self._fields.note("max_retries", f"max_retries is now {MOST_RETRIES}", "Weft tries no more often")
        return {"max_retries": None if found is None else min(found, MOST_RETRIES)}

    def _on_result(self) -> list[Plain]:
        node = self._fields.take("on_result")
        if node is None:
            return []
        if not isinstance(node, Items):
            self._lost("on_result", self._fields, "only its list form is known")
            return [ASK]
        return [self._branch(entry) for entry in self._fields.each("on_result")]

    def _branch(self, entry: Fields) -> Plain:
        action = entry.text("action")
        when = self._when(entry)
        given = _ACTIONS.get(action or "")
        entry.rest()
        if given is None:
            self._lost("action", entry, f"Weft has no action {action!r} for a result")
        return ASK if given is None or when is None else {"when": when, "action": given}

    def _when(self, entry: Fields) -> str | None:
        """The expression; None if Weft cannot decide it."""
        found = [key for key in _MATCHERS if entry.take(key) is not None]
        if len(found) != 1:
            self._lost("action", entry, f"exactly one of {', '.join(_MATCHERS)} is needed")
            return None
        try:
            return self._matcher(found[0], entry)
        except NotCarriedOverError as error:
            self._lost(found[0], entry, str(error))
        except SenselessError as error:
            entry.wrong(found[0], f"has no meaning: {error}")
        return None

    def _matcher(self, key: str, entry: Fields) -> str:
        scope, said = self._scope.after(self._step.id), entry.text(key) or ""
        match key:
            case "always":
                return "true"
            case "exit_code":
                return self._exit_code(said)
            case "expression":
                return _as_expression(condition(said, scope))
            case "contains":
                return contains(self._step.id, said, scope)
            case _:
                return matches(self._step.id, said, scope)

    def _exit_code(self, said: str) -> str:
        if self._step.kind != "context":
            raise SenselessError("only a command has an exit code")
        code = way([self._scope.ids[self._step.id]], "exit_code")
        if said == "any":
            return f"{code} != 0"
        if not said.isdecimal():
            raise SenselessError(f"{said!r} is no exit code; a number or `any` is needed")
        return f"{code} == {int(said)}"

    def _lost(self, key: str, entry: Fields, why: str) -> None:
        entry.note(key, f"an entry of on_result {NOT_CARRIED_OVER}; a person is asked", why or NO_SUCH_KEY)


def _as_expression(said: str) -> str:
    return {"always": "true", "never": "false"}.get(said, said)
