"""Whether the names that a template reads are all right in the place where it stands.

A name is followed key by key, for as long as something is known about what it leads to: the names that Weft
gives, then a step, then the JSON Schema that the step declares for its result. Where nothing more is known the
rest of the path is left to the evaluation, which is strict.
"""

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Literal, assert_never, cast

from msgspec import Struct, field

from weft.plan.templates.parse import Name, Path, Template

StepKind = Literal["agent", "run", "verify", "join", "ask", "pipeline"]
Schema = Mapping[str, object]


class StepSeen(Struct, frozen=True, kw_only=True):
    """A step as a template sees it."""

    id: str
    kind: StepKind
    ended: bool
    """Whether it has certainly ended, or been skipped, when the template is evaluated."""
    schema: Schema | None = None
    """Its output_schema."""
    members: Mapping[str, "StepSeen"] = field(default_factory=dict[str, "StepSeen"])
    """Of a join: the steps it depends on."""
    inner: Mapping[str, "StepSeen"] = field(default_factory=dict[str, "StepSeen"])
    """Of a nested pipeline: its steps, in their order."""


class Scope(Struct, frozen=True, kw_only=True):
    """What a template may read where it stands."""

    steps: Mapping[str, StepSeen]
    env_allow: frozenset[str]
    later: frozenset[str]
    """Steps of the same pipeline that stand at or after this one."""


class Wrong(Struct, frozen=True, kw_only=True):
    offset: int
    message: str


FIELDS = {
    "slice": ("id", "path", "prompt", "verify", "title"),
    "plan": ("id", "goal"),
    "run": ("id",),
}
ROOTS = ("slice", "plan", "feedback", "attempt", "run", "env", "step")
OF_EVERY_STEP = ("result", "json")
OUTPUTS_OF_A_COMMAND = ("stdout", "stderr", "exit_code")
PARTS_OF_AN_ERROR = ("kind", "message")

MOST_LISTED = 20
LONGEST_NAME = 100
"""Characters of a name for which similar ones are looked for."""

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_SCALARS = {
    "string": "text",
    "number": "a number",
    "integer": "a number",
    "boolean": "true or false",
    "null": "null",
}


class _Unknown(Exception):  # noqa: N818 - never leaves this module
    """What is wrong with a path."""


def unknown_names(template: Template, scope: Scope) -> list[Wrong]:
    wrongs: list[Wrong] = []
    for name in template.names:
        try:
            _check(name, scope)
        except _Unknown as unknown:
            wrongs.append(Wrong(offset=name.offset, message=str(unknown)))
    return wrongs


def is_structured(step: StepSeen) -> bool:
    """Whether the result is known to be JSON."""
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
    """A path as one writes it in a template."""
    parts: list[str] = []
    for key in path:
        if isinstance(key, str) and _PLAIN.fullmatch(key):
            parts.append(f".{key}" if parts else key)
        else:
            parts.append(f"[{key!r}]")
    return "".join(parts)


# The names that Weft gives


def _check(name: Name, scope: Scope) -> None:
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


def _unknown_root(root: str, scope: Scope) -> _Unknown:
    owners = [owner for owner, fields in FIELDS.items() if root in fields]
    if root in scope.steps:
        hint = f"did you mean '{written(('step', root))}'? "
    elif owners:
        hint = f"did you mean '{owners[0]}.{root}'? "
    else:
        hint = _did_you_mean(root, ROOTS)
    return _Unknown(f"there is no name '{root}' here; {hint}there are {_listed(ROOTS)}")


def _check_environment(keys: list[str | int], path: Path, scope: Scope) -> None:
    if not keys:
        raise _Unknown("'env' alone is no value: say which variable, as in env.NAME")
    if keys[0] not in scope.env_allow:
        hint = _did_you_mean(keys[0], scope.env_allow)
        raise _Unknown(
            f"'{written(path[:2])}' is not open to this plan; {hint}to open it, add {keys[0]} to env_allow"
        )
    _check_text(path, 2)


# Steps


def _check_step_path(keys: list[str | int], path: Path, scope: Scope) -> None:
    if not keys:
        raise _Unknown("'step' alone is no value: say which step and what of it, as in step.ID.result")
    if keys[0] in scope.later:
        raise _Unknown(
            f"'{written(path)}' reads step '{keys[0]}', which comes later and has not run when this is evaluated"
        )
    _check_step(_step_called(keys[0], scope.steps, path[:2]), path, 2)


def _step_called(key: str | int, steps: Mapping[str, StepSeen], path: Path) -> StepSeen:
    step = steps.get(key) if isinstance(key, str) else None
    if step is None:
        raise _Unknown(f"'{written(path)}': there is no step '{key}'; {_step_hint(key, steps)}")
    return step


def _step_hint(key: str | int, steps: Mapping[str, StepSeen]) -> str:
    # `step.a-b.result` is, to Jinja, a difference: it reads `step.a` and `b.result`.
    dashed = [other for other in steps if other.startswith(f"{key}-") or other == str(key)]
    if dashed:
        return f"if you mean '{dashed[0]}', write {written(('step', dashed[0]))}"
    return f"{_did_you_mean(key, steps)}{_there_are('steps', steps)}"


def _check_step(step: StepSeen, path: Path, at: int) -> None:
    """Check `path[at:]`, which is read from this step."""
    inner = step.inner.get(str(path[at])) if at < len(path) and path[at] not in OF_EVERY_STEP else None
    if inner is not None:
        _check_step(inner, path, at + 1)
        return
    if not step.ended:
        name = ".".join(str(key) for key in path[1:at])
        said = f"'{written(path)}' reads step '{name}', which may still be running then"
        raise _Unknown(f"{said}; add depends_on: [{path[1]}]")
    _check_output(step, path, at)


def _check_output(step: StepSeen, path: Path, at: int) -> None:
    match path[at:]:
        case ():
            raise _Unknown(f"'{written(path)}' alone is no value: say what of it; {_offered(step)}")
        case ("result", *_):
            _check_text(path, at + 1)
        case ("stdout" | "stderr", *_) if step.kind in {"run", "verify"}:
            _check_text(path, at + 1)
        case ("exit_code", *_) if step.kind in {"run", "verify"}:
            _check_end(path, at + 1, "is a number")
        case ("json", *_) if not _is_text_join(step):
            _check_value(step, path, at + 1)
        case _:
            _check_fields(step, path, at)


def _check_fields(step: StepSeen, path: Path, at: int) -> None:
    if not is_structured(step):
        raise _Unknown(f"'{written(path)}': step '{step.id}' has no '{path[at]}'; {_offered(step)}")
    _check_value(step, path, at)


def _check_value(step: StepSeen, path: Path, at: int) -> None:
    """Check `path[at:]`, which is read from the JSON that is the step's result."""
    if step.schema is not None:
        _check_against_schema(step.schema, path, at)
    last = _last(step)
    if last is not None:
        _check_value(last, path, at)
    elif step.kind == "join" and is_structured(step) and at < len(path):
        _check_member(step, path, at)


def _check_member(join: StepSeen, path: Path, at: int) -> None:
    member = _step_called(path[at], join.members, path[: at + 1])
    match path[at + 1 :]:
        case ("error", *parts):  # what stands there if the step failed and the join went on
            if parts:
                _check_key(parts, PARTS_OF_AN_ERROR, path, at + 2)
        case _:
            _check_value(member, path, at + 1)


def _is_text_join(step: StepSeen) -> bool:
    """Whether the result is the text of a join, which is never JSON."""
    last = _last(step)
    return _is_text_join(last) if last is not None else step.kind == "join" and not is_structured(step)


def _offered(step: StepSeen) -> str:
    outputs = ["result", *step.members, *step.inner, *_properties(step.schema or {})]
    if step.kind in {"run", "verify"}:
        outputs += OUTPUTS_OF_A_COMMAND
    if _is_text_join(step):
        how = "; fields need an output_schema on the join or on all that it depends on"
        return f"there are {_listed(['result', *step.inner])}{how}"
    how = "" if is_structured(step) else "; fields need an output_schema on the step"
    return f"there are {_listed([*outputs, 'json'])}{how}"


def _last(step: StepSeen) -> StepSeen | None:
    """The step of a nested pipeline whose result is the result of the whole."""
    return next(reversed(list(step.inner.values())), None)


# Schemas


def _check_against_schema(schema: object, path: Path, at: int) -> None:
    for place in range(at, len(path)):
        if not isinstance(schema, Mapping):
            return  # true, false, or nothing known
        schema = _below(cast("Schema", schema), path, place)


def _below(schema: Schema, path: Path, at: int) -> object:
    """The schema of what the key leads to, as far as is known; refuses a key that cannot be there."""
    key, kind = path[at], schema.get("type")
    if isinstance(kind, str) and kind in _SCALARS:
        _check_end(path, at, f"is {_SCALARS[kind]}")
    if isinstance(key, int):
        if kind == "object":
            raise _Unknown(
                f"'{written(path[:at])}' is an object, its fields have names, not the number {key}"
            )
        return _item(schema, key)
    if kind == "array":
        raise _Unknown(f"'{written(path[:at])}' is a list: it has no '{key}', only numbers from [0]")
    properties = _properties(schema)
    if _closed(schema):
        _check_key([key], properties, path, at)
    return properties.get(key)


def _closed(schema: Schema) -> bool:
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
        return None  # counted from the end, and where that is, is not known
    return listed[index] if index < len(listed) else schema.get("items")


# Wording


def _check_key(keys: list[str | int], known: Iterable[str], path: Path, at: int) -> None:
    whole = written(path[:at])
    names = tuple(known)
    if not keys:
        raise _Unknown(f"'{whole}' alone is no value: say what of it; there are {_listed(names)}")
    if keys[0] not in names:
        hint = _did_you_mean(keys[0], names)
        raise _Unknown(f"'{whole}' has no '{keys[0]}'; {hint}{_there_are('fields', names)}")


def _check_text(path: Path, at: int) -> None:
    # A number picks a character, and a text has as many as it has.
    if any(isinstance(key, str) for key in path[at:]):
        _check_end(path, at, "is text")


def _check_end(path: Path, at: int, what: str) -> None:
    if at < len(path):
        raise _Unknown(f"'{written(path[:at])}' {what}: it has no '{path[at]}'")


def _did_you_mean(key: str | int, known: Iterable[str]) -> str:
    near = get_close_matches(str(key)[:LONGEST_NAME], list(known), 1)
    return f"did you mean '{near[0]}'? " if near else ""


def _there_are(what: str, names: Iterable[str]) -> str:
    listed = _listed(names)
    return f"there are {listed}" if listed else f"there are no {what} to read here"


def _listed(names: Iterable[str]) -> str:
    found = sorted(names)
    return ", ".join(found[:MOST_LISTED]) + (", …" if found[MOST_LISTED:] else "")
