"""Checks that the names in a template have values at the place where the template is evaluated.

A name is followed key by key, as long as something is known about its value: the names that Weft defines, then a
step, then the JSON Schema that the step declares for its result. The rest of the path is left to the evaluation,
which is strict.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Literal, assert_never, cast

from msgspec import Struct, field

from weft.plan.templates.parse import Name, Path, Template

StepKind = Literal["agent", "run", "verify", "join", "ask", "pipeline"]
Schema = Mapping[str, object]


class TemplateStep(Struct, frozen=True, kw_only=True):
    """A step as a template sees it."""

    id: str
    kind: StepKind
    ended: bool
    """Whether it is certain to have ended, or been skipped, when the template is evaluated."""
    schema: Schema | None = None
    """Its output_schema."""
    members: Mapping[str, "TemplateStep"] = field(default_factory=dict[str, "TemplateStep"])
    """The steps that a join depends on."""
    inner: Mapping[str, "TemplateStep"] = field(default_factory=dict[str, "TemplateStep"])
    """The steps of a nested pipeline, in order."""


class TemplateScope(Struct, frozen=True, kw_only=True):
    """What a template may read at its place."""

    steps: Mapping[str, TemplateStep]
    env_allow: frozenset[str]
    later: frozenset[str]
    """Steps of the same pipeline at or after this one."""


class NameFault(Struct, frozen=True, kw_only=True):
    """A name that has no value, with an explanation."""

    offset: int
    message: str


FIELDS = {
    "slice": ("id", "path", "prompt", "verify", "title"),
    "plan": ("id", "goal"),
    "run": ("id",),
}
ROOTS = ("slice", "plan", "feedback", "attempt", "run", "env", "step")
STEP_FIELDS = ("result", "json")
COMMAND_FIELDS = ("stdout", "stderr", "exit_code")
ERROR_FIELDS = ("kind", "message")

MOST_LISTED = 20
LONGEST_NAME = 100
"""Longer names are cut before a similar one is searched for."""

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_SCALARS = {
    "string": "text",
    "number": "a number",
    "integer": "a number",
    "boolean": "true or false",
    "null": "null",
}


class _Unknown(Exception):  # noqa: N818 - never leaves this module
    """Explains what is wrong with a path."""


def unknown_names(template: Template, scope: TemplateScope) -> list[NameFault]:
    """Returns the names of a template that have no value in this scope."""
    faults: list[NameFault] = []
    for name in template.names:
        try:
            _check(name, scope)
        except _Unknown as unknown:
            faults.append(NameFault(offset=name.offset, message=str(unknown)))
    return faults


def is_structured(step: TemplateStep) -> bool:
    """Returns whether the result is known to be JSON."""
    if step.schema is not None:
        return True
    match step.kind:
        case "join":
            return bool(step.members) and all(map(is_structured, step.members.values()))
        case "pipeline":
            last = _last(step)
            return last is not None and is_structured(last)
        case "agent" | "run" | "verify" | "ask":
            return False
        case _:
            assert_never(step.kind)


def written(path: Path) -> str:
    """Returns a path as it is written in a template."""
    parts: list[str] = []
    for key in path:
        if isinstance(key, str) and _PLAIN.fullmatch(key):
            parts.append(f".{key}" if parts else key)
        else:
            parts.append(f"[{key!r}]")
    return "".join(parts)


# The names that Weft defines


def _check(name: Name, scope: TemplateScope) -> None:
    match name.path:
        case ("feedback", *_):
            _check_text(name.path, 1)
        case ("attempt", *_):
            _check_end(name.path, 1, "is a number")
        case ("slice" | "plan" | "run" as root, *keys):
            _check_key(keys, FIELDS[root], name.path, 1)
            _check_text(name.path, 2)
        case ("env", *keys):
            _check_environment(keys, name.path, scope)
        case ("step", *keys):
            _check_step_path(keys, name.path, scope)
        case _:
            raise _unknown_root(str(name.path[0]), scope)


def _unknown_root(root: str, scope: TemplateScope) -> _Unknown:
    # `prompt` alone probably means `slice.prompt`.
    owners = [owner for owner, fields in FIELDS.items() if root in fields]
    if root in scope.steps:
        hint = f"did you mean '{written(('step', root))}'? "
    elif owners:
        hint = f"did you mean '{owners[0]}.{root}'? "
    else:
        hint = _did_you_mean(root, ROOTS)
    return _Unknown(f"unknown name '{root}'; {hint}there are {_list_names(ROOTS)}")


def _check_environment(keys: list[str | int], path: Path, scope: TemplateScope) -> None:
    if not keys:
        raise _Unknown("'env' is not a value; name a variable, as in env.NAME")
    if keys[0] not in scope.env_allow:
        hint = _did_you_mean(keys[0], scope.env_allow)
        raise _Unknown(
            f"'{written(path[:2])}' is not available to this plan; {hint}to allow it, add {keys[0]} to env_allow"
        )
    _check_text(path, 2)


# Steps


def _check_step_path(keys: list[str | int], path: Path, scope: TemplateScope) -> None:
    if not keys:
        raise _Unknown("'step' is not a value; name a step and a field, as in step.ID.result")
    if keys[0] in scope.later:
        raise _Unknown(
            f"'{written(path)}' reads step '{keys[0]}', which comes later and has not run when this is evaluated"
        )
    _check_step(_find_step(keys[0], scope.steps, path[:2]), path, 2)


def _find_step(key: str | int, steps: Mapping[str, TemplateStep], path: Path) -> TemplateStep:
    step = steps.get(key) if isinstance(key, str) else None
    if step is None:
        raise _Unknown(f"'{written(path)}': unknown step '{key}'; {_step_hint(key, steps)}")
    return step


def _step_hint(key: str | int, steps: Mapping[str, TemplateStep]) -> str:
    # Jinja reads `step.a-b.result` as a subtraction of `step.a` and `b.result`.
    dashed = [name for name in steps if name.startswith(f"{key}-") or name == str(key)]
    if dashed:
        return f"if you mean '{dashed[0]}', write {written(('step', dashed[0]))}"
    return f"{_did_you_mean(key, steps)}{_there_are('steps', steps)}"


def _check_step(step: TemplateStep, path: Path, index: int) -> None:
    """Checks `path[index:]`, which is read from this step."""
    inner = step.inner.get(str(path[index])) if index < len(path) and path[index] not in STEP_FIELDS else None
    if inner is not None:
        _check_step(inner, path, index + 1)
        return
    if not step.ended:
        name = ".".join(str(key) for key in path[1:index])
        message = f"'{written(path)}' reads step '{name}', which may still be running then"
        raise _Unknown(f"{message}; add depends_on: [{path[1]}]")
    _check_output(step, path, index)


def _check_output(step: TemplateStep, path: Path, index: int) -> None:
    match path[index:]:
        case ():
            raise _Unknown(f"'{written(path)}' is not a value; name a field of it; {_offered_fields(step)}")
        case ("result", *_):
            _check_text(path, index + 1)
        case ("stdout" | "stderr", *_) if step.kind in {"run", "verify"}:
            _check_text(path, index + 1)
        case ("exit_code", *_) if step.kind in {"run", "verify"}:
            _check_end(path, index + 1, "is a number")
        # Any result may turn out to be JSON at run time, even without a schema; only the text of a join cannot.
        case ("json", *_) if not _is_text_join(step):
            _check_value(step, path, index + 1)
        case _:
            _check_fields(step, path, index)


def _check_fields(step: TemplateStep, path: Path, index: int) -> None:
    if not is_structured(step):
        raise _Unknown(f"'{written(path)}': step '{step.id}' has no '{path[index]}'; {_offered_fields(step)}")
    _check_value(step, path, index)


def _check_value(step: TemplateStep, path: Path, index: int) -> None:
    """Checks `path[index:]`, which is read from the JSON result of the step."""
    if step.schema is not None:
        _check_against_schema(step.schema, path, index)
    last = _last(step)
    if last is not None:
        _check_value(last, path, index)
    elif step.kind == "join" and is_structured(step) and index < len(path):
        _check_member(step, path, index)


def _check_member(join: TemplateStep, path: Path, index: int) -> None:
    member = _find_step(path[index], join.members, path[: index + 1])
    match path[index + 1 :]:
        case ("error", *parts):  # a failed step has an error in place of its result
            if parts:
                _check_key(parts, ERROR_FIELDS, path, index + 2)
        case _:
            _check_value(member, path, index + 1)


def _is_text_join(step: TemplateStep) -> bool:
    """Returns whether the result is the text of a join, which is never JSON."""
    last = _last(step)
    return _is_text_join(last) if last is not None else step.kind == "join" and not is_structured(step)


def _offered_fields(step: TemplateStep) -> str:
    """Returns the end of a sentence: the fields of the step that can be read."""
    outputs = ["result", *step.members, *step.inner, *_properties(step.schema or {})]
    if step.kind in {"run", "verify"}:
        outputs += COMMAND_FIELDS
    if _is_text_join(step):
        advice = "; fields need an output_schema on the join or on all its dependencies"
        return f"there are {_list_names(['result', *step.inner])}{advice}"
    advice = "" if is_structured(step) else "; fields need an output_schema on the step"
    return f"there are {_list_names([*outputs, 'json'])}{advice}"


def _last(step: TemplateStep) -> TemplateStep | None:
    """Returns the step of a nested pipeline that provides the result of the whole."""
    return next(reversed(list(step.inner.values())), None)


# Schemas


def _check_against_schema(schema: object, path: Path, index: int) -> None:
    for place in range(index, len(path)):
        if not isinstance(schema, Mapping):
            return  # true, false or unknown
        schema = _subschema(cast("Schema", schema), path, place)


def _subschema(schema: Schema, path: Path, index: int) -> object:
    """Returns the schema of the value under the key, if known; raises if there can be no such key."""
    key, kind = path[index], schema.get("type")
    if isinstance(kind, str) and kind in _SCALARS:
        _check_end(path, index, f"is {_SCALARS[kind]}")
    if isinstance(key, int):
        if kind == "object":
            raise _Unknown(
                f"'{written(path[:index])}' is an object, its fields have names, not the number {key}"
            )
        return _item(schema, key)
    if kind == "array":
        raise _Unknown(f"'{written(path[:index])}' is a list: it has no '{key}', only numbers from [0]")
    properties = _properties(schema)
    # An open schema allows further properties, so an unlisted key may exist.
    if _is_closed(schema):
        _check_key([key], properties, path, index)
    return properties.get(key)


def _is_closed(schema: Schema) -> bool:
    return schema.get("additionalProperties") is False and "patternProperties" not in schema


def _properties(schema: Schema) -> Schema:
    properties = schema.get("properties")
    return cast("Schema", properties) if isinstance(properties, Mapping) else {}


def _item(schema: Schema, index: int) -> object:
    first = schema.get("prefixItems")
    if not isinstance(first, list):
        return schema.get("items")
    listed = cast("list[object]", first)
    if index < 0:
        return None  # counted from the end of a list of unknown length
    return listed[index] if index < len(listed) else schema.get("items")


# Wording


def _check_key(keys: list[str | int], allowed: Iterable[str], path: Path, index: int) -> None:
    whole = written(path[:index])
    names = tuple(allowed)
    if not keys:
        raise _Unknown(f"'{whole}' is not a value; name a field of it; there are {_list_names(names)}")
    if keys[0] not in names:
        hint = _did_you_mean(keys[0], names)
        raise _Unknown(f"'{whole}' has no '{keys[0]}'; {hint}{_there_are('fields', names)}")


def _check_text(path: Path, index: int) -> None:
    # A number selects a character, and the length of the text is unknown.
    if any(isinstance(key, str) for key in path[index:]):
        _check_end(path, index, "is text")


def _check_end(path: Path, index: int, description: str) -> None:
    if index < len(path):
        raise _Unknown(f"'{written(path[:index])}' {description}: it has no '{path[index]}'")


def _did_you_mean(key: str | int, names: Iterable[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only for mistakes

    near = get_close_matches(str(key)[:LONGEST_NAME], list(names), 1)
    return f"did you mean '{near[0]}'? " if near else ""


def _there_are(noun: str, names: Iterable[str]) -> str:
    listed = _list_names(names)
    return f"there are {listed}" if listed else f"there are no {noun} to read here"


def _list_names(names: Iterable[str]) -> str:
    ordered = sorted(names)
    return ", ".join(ordered[:MOST_LISTED]) + (", …" if ordered[MOST_LISTED:] else "")
