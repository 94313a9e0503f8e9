"""Converts templates and conditions of `ail` to Jinja.

A template of ail is a path between `{{` and `}}`; everything else is text, also `{%` and `{#`, which are special
in Jinja. A condition is `always`, `never` or `LHS op RHS`, where both sides are texts with templates in them.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from weft.plan.convert.ail_file import AilStep, Loop

_TEMPLATE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_JINJA = re.compile(r"\{[{%#]")
_OPERATOR = re.compile(r"\s*(==|!=)\s*|\s+(contains|starts_with|ends_with|matches)\s+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ATTRIBUTE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_REGEX = re.compile(r"/(?P<pattern>.*)/(?P<flags>[a-z]*)", re.DOTALL)
_LITERAL_REGEX = re.compile(r"(\^?)((?:[\w ,:;<>=!@%&'\"#~-]|\\[^\w\s])*)(\$?)")
_GROUP = re.compile(r"\((?:\?:)?(?P<inside>[^()\\]*)\)")
_CHOICE = re.compile(r"(?<!\\)\|")
_COMMAND_FIELDS = frozenset({"stdout", "stderr", "exit_code"})
_LOOP_FIELDS = frozenset({"iteration", "max_iterations"})
_UNSUPPORTED_FIELDS = frozenset({"items", "modified", "index", "tool_calls", "iterations_completed"})
_DEFAULT = re.compile(r"(?P<path>[^|]*)\|\s*default\((?P<text>\"[^\"]*\"|'[^']*')\)\s*", re.DOTALL)


class NotCarriedOverError(Exception):
    """Weft cannot express this; the message is the reason."""


class SenselessError(Exception):
    """This has no meaning in ail either; the message is the reason."""


@dataclass(slots=True, kw_only=True)
class Findings:
    """What the templates of a file need."""

    env: dict[str, None] = field(default_factory=dict[str, None])
    prompt: bool = False
    """Whether a template reads the prompt of the command line."""
    invocation: bool = False
    """Whether a template reads the step that runs it, which ail adds implicitly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AilScope:
    """What a template may read at its place."""

    ids: Mapping[str, str]
    """The new ids of the steps of this pipeline, by their old ids."""
    ended: frozenset[str]
    """The steps that are certain to have ended."""
    last: str | None
    """The step with the last response."""
    steps: Mapping[str, AilStep]
    result: Callable[[str], str]
    """Returns the expression for a step's response."""
    is_main: bool
    findings: Findings
    loop: Loop | None = None
    """The loop around it, or the loop that it is the check of."""

    def after(self, step: str) -> "AilScope":
        """Returns the scope after the end of the step itself."""
        return AilScope(
            ids=self.ids,
            ended=self.ended | {step},
            last=step,
            steps=self.steps,
            result=self.result,
            is_main=self.is_main,
            findings=self.findings,
            loop=self.loop,
        )


def template(text: str, scope: AilScope, lost: Callable[[str, str], None]) -> str:
    """Returns the text for Weft.

    A path that cannot be expressed becomes `<path>`, and `lost` gets it with the reason.
    """
    parts: list[str] = []
    for literal, path in _pieces(text):
        # Braces that mean nothing to ail would be statements to Jinja.
        parts.append(_JINJA.sub(r"{% raw %}\g<0>{% endraw %}", literal))
        if path is not None:
            try:
                parts.append(f"{{{{ {expression(path, scope)} }}}}")
            except NotCarriedOverError as error:
                parts.append(f"<{path}>")
                lost(path, str(error))
    return "".join(parts)


def literally(text: str) -> str:
    """Returns a text in which ail sees no templates."""
    return f"{{% raw %}}{text}{{% endraw %}}" if _JINJA.search(text) else text


def _pieces(text: str) -> Iterator[tuple[str, str | None]]:
    """Yields each stretch of text with the path that follows it."""
    position = 0
    for match in _TEMPLATE.finditer(text):
        yield text[position : match.start()], match[1].strip()
        position = match.end()
    yield text[position:], None


# Paths.


def expression(path: str, scope: AilScope) -> str:
    piped = _DEFAULT.fullmatch(path)
    if piped is None:
        return _of_path(path, scope)
    return f"{_of_path(piped['path'].strip(), scope)} | default({_string(_unquote(piped['text']))})"


def _of_path(path: str, scope: AilScope) -> str:
    match path.split("."):
        case ["step", "invocation", field] if "invocation" not in scope.ids or field == "prompt":
            return _of_invocation(field, scope)
        case ["step", step, *rest] if rest:
            return _of_step(step, rest, scope)
        case ["last_response"]:
            return last_answer(scope)
        case ["pipeline", "run_id"]:
            return "run.id"
        case ["env", name] if _NAME.fullmatch(name):
            scope.findings.env[name] = None
            return f"env.{name}"
        case ["do_while", field] if scope.loop is not None and field in _LOOP_FIELDS:
            return str(scope.loop.rounds) if field == "max_iterations" else "(attempt - 1)"
        case ["session" | "do_while" | "for_each", *_]:
            raise NotCarriedOverError("Weft's templates know nothing of it")
        case _:
            raise SenselessError(f"{{{{ {path} }}}} is no template of ail")


def _of_invocation(field: str, scope: AilScope) -> str:
    if not scope.is_main:
        raise NotCarriedOverError("a pipeline in line has no prompt of its own in Weft")
    if field == "prompt":
        scope.findings.prompt = True
        return "slice.prompt"
    if field not in {"response", "result"}:
        raise NotCarriedOverError("of the command line's prompt, Weft knows the text and the answer")
    scope.findings.invocation = True
    return "step.invocation.result"


def last_answer(scope: AilScope) -> str:
    """Returns the expression for the last response."""
    if scope.last is not None:
        return scope.result(scope.last)
    if scope.is_main and "invocation" in scope.ids:
        raise SenselessError("it reads last_response, and no step before it has one")
    return _of_invocation("response", scope)


def _of_step(step: str, rest: list[str], scope: AilScope) -> str:
    step = step if scope.loop is None else scope.loop.ids.get(step, step)
    if step not in scope.ids and ("::" in step or step.endswith("__on_result")):
        raise NotCarriedOverError("the step it reads is not carried over")
    if scope.loop is not None and step in scope.loop.ids.values() and step not in scope.ended:
        raise NotCarriedOverError("it reads a step of the round before; Weft keeps those of this round")
    _must_have_ended(step, scope)
    match rest:
        case ["response" | "result"]:
            return scope.result(step)
        case ["modified"] if scope.steps[step].word == "modify_output":
            return scope.result(step)
        case [dep, "response"] if dep in scope.ids:
            return scope.result(dep)
        case [field] if field in _COMMAND_FIELDS and not scope.steps[step].is_command:
            raise SenselessError(f"it reads {field} of step {step!r}, which is no command")
        case [field] if field in _UNSUPPORTED_FIELDS:
            raise NotCarriedOverError(f"a step of Weft has no {field}")
        case _:
            return _of_json(scope.steps[step], rest, scope)


def _of_json(step: AilStep, rest: list[str], scope: AilScope) -> str:
    """Returns the expression for a field of a JSON result; Weft needs `json` if there is no schema."""
    id_ = scope.ids[step.id]
    if step.is_command and rest[0] in _COMMAND_FIELDS:
        return path_to([id_], *rest)
    if step.is_join:
        if not step.has_schema and not all(scope.steps[need.text].has_schema for need in step.needs):
            raise SenselessError(f"it reads a field of step {step.id!r}, a join without an output_schema")
        return path_to([id_, scope.ids.get(rest[0], rest[0])], *rest[1:])
    return path_to([id_], *(rest if step.has_schema else ["json", *rest]))


def _must_have_ended(step: str, scope: AilScope) -> None:
    if step not in scope.ids:
        raise SenselessError(f"it reads step {step!r}, which does not exist")
    if step not in scope.ended:
        raise SenselessError(f"it reads step {step!r}, which may not have ended by then")


def path_to(ids: Sequence[str], *fields: str) -> str:
    """Returns the path to a step, by one id or several nested ones, and on to a field of its result."""
    return "step" + "".join(map(_key, ids)) + "".join(map(_field, fields))


def _field(name: str) -> str:
    return f"[{int(name)}]" if name.isdecimal() else _key(name)


def _key(name: str) -> str:
    return f".{name}" if _ATTRIBUTE.fullmatch(name) else f"[{_string(name)}]"


# Conditions.


def condition(text: str, scope: AilScope) -> str:
    stripped = text.strip()
    if stripped in {"always", "never"}:
        return stripped
    # An operator inside a template is not the operator of the condition.
    blanked = _TEMPLATE.sub(lambda match: "\0" * len(match[0]), stripped)
    operator = _OPERATOR.search(blanked)
    if operator is None or operator.start() == 0:
        raise SenselessError(
            f"{stripped!r} is not a condition; use `always`, `never` or `LEFT operator RIGHT`"
        )
    left, right = _unquote(stripped[: operator.start()]), _unquote(stripped[operator.end() :])
    return _comparison(left, operator[1] or operator[2], right, scope)


def _comparison(left: str, operator: str, right: str, scope: AilScope) -> str:
    match operator:
        case "==" | "!=":
            # Jinja writes a boolean of JSON as True or False.
            filters = ("lower", "trim") if right.strip() in {"true", "false"} else ("trim",)
            return f"{_text(left, scope, *filters)} {operator} {_text(right, scope, 'trim')}"
        case "matches":
            return _match_expression(_text(left, scope, "string"), _text(left, scope, "lower"), right)
        case "contains":
            return f"{_text(right, scope, 'lower')} in {_text(left, scope, 'lower')}"
        case "starts_with":
            return f"{_text(left, scope, 'lower')}.startswith({_text(right, scope, 'lower')})"
        case _:
            return f"{_text(left, scope, 'lower')}.endswith({_text(right, scope, 'lower')})"


def contains(step: str, text: str, scope: AilScope) -> str:
    """Returns an expression for whether a step's response contains the text, ignoring case."""
    return f"{_string(text.lower())} in ({scope.result(step)} | lower)"


def matches(step: str, regex: str, scope: AilScope) -> str:
    stated = regex if _REGEX.fullmatch(regex.strip()) else f"/{regex}/"
    return _match_expression(f"({scope.result(step)} | string)", f"({scope.result(step)} | lower)", stated)


def _match_expression(left: str, lowered: str, right: str) -> str:
    """Returns an expression for a regex that is a choice of texts, each with optional `^` and `$`."""
    regex = _REGEX.fullmatch(right.strip())
    if regex is None:
        raise SenselessError(f"{right!r} is no /regular expression/")
    choices = [_LITERAL_REGEX.fullmatch(choice) for choice in _choices(regex["pattern"])]
    literals = [literal for literal in choices if literal is not None]
    by_line = "m" in regex["flags"] and any(literal[1] or literal[3] for literal in literals)
    if len(literals) < len(choices) or by_line or set(regex["flags"]) - set("ims"):
        raise NotCarriedOverError(
            "of regular expressions, Weft's conditions know texts and choices of texts only"
        )
    ignore_case = "i" in regex["flags"]
    parts = [
        _with_literal(lowered if ignore_case else left, each, ignore_case=ignore_case) for each in literals
    ]
    return parts[0] if len(parts) == 1 else f"({' or '.join(parts)})"


def _choices(pattern: str) -> list[str]:
    """Returns the alternatives of a pattern, without a group around all of them and without `.*` at the ends."""
    group = _GROUP.fullmatch(pattern)
    choices = _CHOICE.split(pattern if group is None else group["inside"])
    return [choice.removeprefix(".*").removesuffix(".*") for choice in choices]


def _with_literal(whole: str, literal: re.Match[str], *, ignore_case: bool) -> str:
    start, pattern, end = literal.groups()
    text = re.sub(r"\\(.)", r"\1", pattern)
    part = _string(text.lower() if ignore_case else text)
    match start, end:
        case "", "":
            return f"{part} in {whole}"
        case "^", "":
            return f"{whole}.startswith({part})"
        case "", _:
            return f"{whole}.endswith({part})"
        case _:
            return f"{whole} == {part}"


def _text(text: str, scope: AilScope, *filters: str) -> str:
    """Returns an expression for a text with templates in it; values become text first, as in ail."""
    if _TEMPLATE.search(text) is None:
        return _string(_apply_filters(text, filters))
    parts: list[str] = []
    for literal, path in _pieces(text):
        if literal:
            parts.append(_string(literal))
        if path is not None:
            parts.append(expression(path, scope))
    whole = parts[0] if len(parts) == 1 else f"({' ~ '.join(parts)})"
    return f"({' | '.join([whole, *filters])})"


def _apply_filters(text: str, filters: tuple[str, ...]) -> str:
    text = text.lower() if "lower" in filters else text
    return text.strip() if "trim" in filters else text


def _string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"


def _unquote(text: str) -> str:
    stripped = text.strip()
    if len(stripped) > 1 and stripped[0] == stripped[-1] and stripped[0] in "'\"":
        return stripped[1:-1]
    return stripped
