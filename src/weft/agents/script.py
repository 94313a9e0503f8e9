"""Scripts of the scripted agent: a list of rules, each with conditions and actions.

This module and `player` are loaded at each step, so they import little: a script in JSON is read without YAML.
"""

import json
import math
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, cast

from weft.errors import FileFormatError

MOST_BYTES = 10_000_000
_MOST_CODE = 255


class ValueKind(NamedTuple):
    """A kind of value in a script."""

    words: str
    """A description that completes "must be …"."""
    fits: Callable[[Any], bool]


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_code(value: object) -> bool:
    return _is_whole(value) and cast("int", value) <= _MOST_CODE


def _is_amount(value: object) -> bool:
    # Python's JSON reader accepts NaN, for which both comparisons are false.
    return _is_whole(value) or (isinstance(value, float) and 0 <= value < math.inf)


def _is_text_or_list(value: object) -> bool:
    if not isinstance(value, list):
        return _is_text(value)
    texts = cast("list[object]", value)
    return bool(texts) and all(map(_is_text, texts))


def _is_files(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    texts = cast("dict[str, object]", value).values()
    return bool(texts) and all(map(_is_text, texts))


def _is_switch(value: object) -> bool:
    return isinstance(value, bool)


def _is_anything(_value: object) -> bool:
    return True


TEXT = ValueKind("text", _is_text)
WHOLE = ValueKind("a whole number from 0 on", _is_whole)
AMOUNT = ValueKind("a number from 0 on", _is_amount)
FILES = ValueKind("a mapping of files to their text", _is_files)
PATHS = ValueKind("a file or a list of files", _is_text_or_list)
COMMAND = ValueKind("text for a shell, or a list of texts", _is_text_or_list)
CODE = ValueKind(f"a whole number from 0 to {_MOST_CODE}", _is_code)
SWITCH = ValueKind("true or false", _is_switch)
ANYTHING = ValueKind("text or JSON", _is_anything)

CONDITIONS = {
    "subplan": TEXT,
    "step": TEXT,
    "attempt": WHOLE,
    "prompt_contains": TEXT,
    "unless_exists": TEXT,
}
ACTIONS = {
    "say": TEXT,
    "write": FILES,
    "append": FILES,
    "delete": PATHS,
    "touch": PATHS,
    "echo_prompt": TEXT,
    "run": COMMAND,
    "spawn_child": COMMAND,
    "wait_for": TEXT,
    "sleep": AMOUNT,
    "ignore_sigterm": SWITCH,
    "result": ANYTHING,
    "cost_usd": AMOUNT,
    "tokens": WHOLE,
    "session": TEXT,
    "fail": TEXT,
    "exit": CODE,
    "limit_for": AMOUNT,
}
FINAL_ACTIONS = ("fail", "exit", "limit_for")
"""Actions that end the performance; no other may follow them."""


class Action(NamedTuple):
    """One action of a rule."""

    where: str
    """Its place in the script, such as `rule 2, action 1`."""
    name: str
    value: Any


class Rule(NamedTuple):
    """Conditions on a step, and the actions to perform if all of them hold."""

    where: str
    conditions: dict[str, Any]
    actions: tuple[Action, ...]

    def fits(self, step: "ScriptedStep", exists: Callable[[str], bool]) -> bool:
        conditions = self.conditions
        return (
            # The first rule that fits is played, so a rule without conditions, at the end, is the default.
            fnmatchcase(step.subplan, conditions.get("subplan", "*"))
            and fnmatchcase(step.step, conditions.get("step", "*"))
            and conditions.get("attempt", step.attempt) == step.attempt
            and conditions.get("prompt_contains", "") in step.prompt
            and not ("unless_exists" in conditions and exists(conditions["unless_exists"]))
        )


class ScriptedStep(NamedTuple):
    """The step for which the process was started."""

    subplan: str
    step: str
    attempt: int
    prompt: str


# --- reading ---


def read_script(file: str) -> list[Rule]:
    """Returns the rules of a script; raises `InputError` if the file is invalid."""
    values = _load_values(file)
    if not isinstance(values, list) or not values:
        raise FileFormatError("a script is a list of rules, at least one", file=file)
    try:
        return [
            _rule(f"rule {number}", value) for number, value in enumerate(cast("list[object]", values), 1)
        ]
    except ValueError as error:
        raise FileFormatError(str(error), file=file) from None


def _load_values(file: str) -> object:
    try:
        with open(file, "rb") as stream:  # noqa: PTH123 - to import pathlib would take as long as all the rest
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise FileFormatError(f"cannot read it: {(error.strerror or '').lower()}", file=file) from None
    # One byte more than allowed was read, to tell a long file from one of exactly that size.
    if len(data) > MOST_BYTES:
        raise FileFormatError(f"the file is too large; allowed are {MOST_BYTES:,} bytes", file=file)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise FileFormatError("the file is not text in UTF-8", file=file) from None
    return _from_json(text, file) if file.endswith(".json") else _from_yaml(text, file)


def _from_json(text: str, file: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_reject_duplicates)
    except json.JSONDecodeError as error:
        message = f"this is not JSON: {error.msg}"
        raise FileFormatError(message, file=file, line=error.lineno, column=error.colno) from None
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"this is not JSON that can be used: {error}", file=file) from None


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        names = [name for name, _ in pairs]
        duplicate = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {duplicate!r} stands twice in one object")
    return table


def _from_yaml(text: str, file: str) -> object:
    """Reads YAML with the reader of plans, so that the same dialect and limits apply to all of a user's files."""
    from weft.plan.language.kinds_of_many import Json  # noqa: PLC0415 - not needed for JSON, and slow
    from weft.plan.language.reader import Reader  # noqa: PLC0415
    from weft.plan.text.document import read_document  # noqa: PLC0415
    from weft.plan.text.problems import PlanError  # noqa: PLC0415

    document = read_document(text, file)
    reader = Reader(document)
    values = Json().read(document.root, reader, "the script")
    if reader.problems:
        raise PlanError(reader.problems, unsaid=reader.unsaid)
    return values


# --- checks; each message starts with the place in the script ---


def _rule(where: str, value: object) -> Rule:
    if not isinstance(value, dict):
        raise ValueError(f"{where} must be a mapping with `do`, the list of actions")  # noqa: TRY004
    conditions = dict(cast("dict[str, object]", value))
    actions = conditions.pop("do", None)
    if not isinstance(actions, list):
        raise ValueError(f"{where} needs `do`, the list of actions")  # noqa: TRY004
    for name, condition in conditions.items():
        _check(where, name, condition, {**CONDITIONS, "do": ANYTHING})
    return Rule(where, conditions, tuple(_actions(where, cast("list[object]", actions))))


def _actions(where: str, values: list[object]) -> Iterator[Action]:
    final_action = ""
    for number, value in enumerate(values, 1):
        place = f"{where}, action {number}"
        if not isinstance(value, dict):
            raise ValueError(f"{place} must be a mapping such as {{say: Hello}}")  # noqa: TRY004
        for name, argument in cast("dict[str, object]", value).items():
            if final_action:
                raise ValueError(f"{place}: `{name}` would never happen, for `{final_action}` ends the play")
            _check(place, name, argument, ACTIONS)
            final_action = name if name in FINAL_ACTIONS else ""
            yield Action(place, name, argument)


def _check(where: str, name: str, value: object, kinds: dict[str, ValueKind]) -> None:
    kind = kinds.get(name)
    if kind is None:
        raise ValueError(f"{where}: unknown key {name!r}; allowed are {', '.join(kinds)}")
    if not kind.fits(value):
        raise ValueError(f"{where}: `{name}` must be {kind.words}, not {json.dumps(value)[:60]}")
