"""Converts `on_result` of `ail`: rules about a step's result. The first rule that matches counts.

A rule that Weft cannot follow asks a person. If its condition can be evaluated, the person is asked only when it
holds, so that the rules after it keep their meaning; otherwise the person is always asked.
"""

from weft.plan.convert.ail_file import AilStep
from weft.plan.convert.ail_templates import (
    AilScope,
    NotCarriedOverError,
    SenselessError,
    condition,
    contains,
    literally,
    matches,
    path_to,
)
from weft.plan.convert.fields import NO_SUCH_KEY, NOT_CARRIED_OVER, Fields
from weft.plan.convert.plan_parts import without_empty
from weft.plan.text.document import Items
from weft.plan.text.emit import Plain

_ACTIONS = {"continue": "continue", "abort_pipeline": "abort", "pause_for_human": "ask"}
_MATCHERS = ("contains", "exit_code", "matches", "expression", "always")
_ALWAYS = "true"


class ResultRules:
    """The rules of one step."""

    def __init__(self, step: AilStep, scope: AilScope) -> None:
        self._step = step
        self._scope = scope

    def written(self) -> list[dict[str, Plain]]:
        fields = self._step.fields
        node = fields.take("on_result")
        if node is None:
            return []
        if not isinstance(node, Items):
            self._note_unsupported("on_result", fields, "only its list form is known")
            return [_ask(_ALWAYS, "ail decided here by the result what comes next. Continue?")]
        return [self._rule(entry) for entry in fields.each("on_result")]

    def _rule(self, entry: Fields) -> dict[str, Plain]:
        action = entry.text("action")
        message = entry.text("message")
        when = self._when(entry)
        # Only now, when all known keys are taken, are the others unknown ones.
        entry.rest()
        # An unknown condition may hold, so the person decides every time.
        if when is None:
            return _ask(
                _ALWAYS,
                f"ail had a rule here that is not carried over, to {_describe_action(action)}. Continue?",
            )
        meaning = _ACTIONS.get(action or "")
        if meaning is None:
            self._note_unsupported("action", entry, f"Weft has no action {action!r} for a result")
            return _ask(when, f"ail was to {_describe_action(action)} now. Continue?")
        return without_empty(
            {"when": when, "action": meaning, "question": self._question(entry, message, meaning)}
        )

    def _question(self, entry: Fields, message: str | None, action: str) -> str | None:
        if message is None:
            return None
        if action != "ask":
            entry.note("message", f"message {NOT_CARRIED_OVER}", "nothing is asked")
            return None
        return literally(message)

    def _when(self, entry: Fields) -> str | None:
        """Returns the expression; None if Weft cannot evaluate it."""
        keys = [key for key in _MATCHERS if entry.take(key) is not None]
        if len(keys) != 1:
            self._note_unsupported("action", entry, f"exactly one of {', '.join(_MATCHERS)} is needed")
            return None
        try:
            return self._matcher(keys[0], entry)
        except NotCarriedOverError as error:
            self._note_unsupported(keys[0], entry, str(error))
        except SenselessError as error:
            entry.wrong(keys[0], f"has no meaning: {error}")
        return None

    def _matcher(self, key: str, entry: Fields) -> str:
        # A rule may refer to the result of its own step, which a condition before the step may not.
        scope, text = self._scope.after(self._step.id), entry.text(key) or ""
        match key:
            case "always":
                return _ALWAYS
            case "exit_code":
                return self._exit_code(text)
            case "expression":
                return as_expression(condition(text, scope))
            case "contains":
                return contains(self._step.id, text, scope)
            case _:
                return matches(self._step.id, text, scope)

    def _exit_code(self, text: str) -> str:
        if self._step.kind != "context":
            raise SenselessError("only a command has an exit code")
        code = path_to([self._scope.ids[self._step.id]], "exit_code")
        if text == "any":
            return f"{code} != 0"
        if not text.isdecimal():
            raise SenselessError(f"{text!r} is not an exit code; use a number or `any`")
        return f"{code} == {int(text)}"

    def _note_unsupported(self, key: str, entry: Fields, why: str) -> None:
        entry.note(key, f"an entry of on_result {NOT_CARRIED_OVER}; a person is asked", why or NO_SUCH_KEY)


def as_expression(text: str) -> str:
    return {"always": _ALWAYS, "never": "false"}.get(text, text)


def _ask(when: str, question: str) -> dict[str, Plain]:
    return {"when": when, "action": "ask", "question": literally(question)}


def _describe_action(action: str | None) -> str:
    return "do something that it did not name" if action is None else f"do {action!r}"
