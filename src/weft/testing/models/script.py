"""Scripts of answers: a list of rules, each with steps. Each request gets the answer of one step.

A script is JSON: a list of rules, or for short an object of lists of steps by name.

    [{"name": "fix", "times": 1, "steps": [{"http": 429, "retry_after": 1}]},
     {"name": "fix", "prompt_contains": "failed", "steps": [{"shell": "echo ok > a"}, {"text": "Fixed."}]},
     {"name": "fix", "steps": [{"text": "Nothing to do."}]}]

The first rule with the requested name that fits answers: a message of the user contains `prompt_contains`, and
the rule has answered fewer than `times` requests. The request itself determines the step, see `conversation`;
the last step is repeated.

    text      what the model says; alone, it ends its turn
    shell     calls whatever tool the request offers for commands
    write     {"path": …, "content": …}: the same for files
    tool      {"name": …, "arguments": …}: calls exactly this; arguments that are text are sent unchanged, even if
              they are invalid
    actions   several of these three in one answer
    usage     {"input": …, "output": …, "cached": …}: the tokens it claims to have used
    delay     seconds before it answers
    together  so many requests must have reached this step before any of them is answered
    after     the step waits until a user message in any request has contained this text
    slow      seconds between the pieces of a stream
    http      an error with this status; `message`, `retry_after` and `headers` say more
    raw       this text instead of JSON
    drop      begins to answer, and cuts the line
    hang      never answers
"""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from weft.errors import InputError
from weft.testing.models.values import list_of, table


class ReportedUsage(NamedTuple):
    """The usage that an answer reports unless its step sets it. Round numbers make sums easy to read."""

    input: int = 1000
    output: int = 50
    cached: int = 0


class ScriptStep(NamedTuple):
    text: str = ""
    actions: tuple[Mapping[str, Any], ...] = ()
    usage: ReportedUsage = ReportedUsage()
    delay: float = 0
    together: int = 0
    after: str = ""
    slow: float = 0
    http: int | None = None
    message: str | None = None
    headers: Mapping[str, str] = {}
    raw: str | None = None
    drop: bool = False
    hang: bool = False


class ScriptRule(NamedTuple):
    name: str
    steps: tuple[ScriptStep, ...]
    prompt_contains: str | None = None
    times: int | None = None

    def fits(self, messages: tuple[str, ...], played: int) -> bool:
        required_text = self.prompt_contains
        return (self.times is None or played < self.times) and (
            required_text is None or any(required_text in text for text in messages)
        )


def read_script(text: str) -> tuple[ScriptRule, ...]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the script is not JSON: {error}") from None
    return rules_of(value)


def rules_of(value: object) -> tuple[ScriptRule, ...]:
    rules = list_of(value) or [{"name": name, "steps": steps} for name, steps in table(value).items()]
    if not rules:
        raise InputError("a script is a list of rules, or an object of lists of steps by name")
    return tuple(_rule(rule, f"rule {number}") for number, rule in enumerate(rules, 1))


def _rule(value: object, where: str) -> ScriptRule:
    keys = _check_keys(value, _RULE, where)
    if not {"name", "steps"} <= keys.keys():
        raise InputError(f"{where}: it needs a `name` and `steps`")
    steps = tuple(_step(step, f"{where}, step {number}") for number, step in enumerate(keys["steps"], 1))
    return ScriptRule(
        name=keys["name"],
        steps=steps,
        prompt_contains=keys.get("prompt_contains"),
        times=keys.get("times"),
    )


def _step(value: object, where: str) -> ScriptStep:
    keys = _check_keys(value, _STEP, where)
    actions = [{name: keys.pop(name)} for name in _ACTIONS if name in keys]
    actions += [_check_keys(action, _ACTIONS, f"{where}, `actions`") for action in keys.pop("actions", ())]
    if "usage" in keys:
        keys["usage"] = ReportedUsage(**_check_keys(keys["usage"], _TOKENS, f"{where}, `usage`"))
    headers = {name: str(text) for name, text in keys.pop("headers", {}).items()}
    if "retry_after" in keys:
        headers["retry-after"] = str(keys.pop("retry_after"))
    return ScriptStep(**keys, actions=tuple(actions), headers=headers)


# --- kinds of values ---


class _Kind(NamedTuple):
    words: str
    fits: Callable[[Any], bool]


def _check_keys(value: object, kinds: Mapping[str, _Kind], where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{where}: must be an object with any of {', '.join(kinds)}")
    entries = cast("dict[str, Any]", value)
    for name, entry in entries.items():
        # A misspelled key must not be ignored: the test would pass without testing anything.
        if name not in kinds:
            raise InputError(f"{where}: unknown key {name!r}; allowed are {', '.join(kinds)}")
        if not kinds[name].fits(entry):
            raise InputError(f"{where}: `{name}` must be {kinds[name].words}")
    return dict(entries)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    # `True` is an `int` in Python, but it is no count in JSON.
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_status(value: object) -> bool:
    return isinstance(value, int) and 400 <= value <= 599  # noqa: PLR2004


def _is_seconds(value: object) -> bool:
    return _is_count(value) or (isinstance(value, float) and 0 <= value < math.inf)


def _is_switch(value: object) -> bool:
    return isinstance(value, bool)


def _is_list(value: object) -> bool:
    return bool(list_of(value))


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


def _is_file(value: object) -> bool:
    return table(value).keys() == {"path", "content"} and all(map(_is_text, table(value).values()))


def _is_call(value: object) -> bool:
    return table(value).keys() == {"name", "arguments"} and _is_text(table(value)["name"])


_TEXT = _Kind("text", _is_text)
_COUNT = _Kind("a whole number from 0 on", _is_count)
_SECONDS = _Kind("a number of seconds", _is_seconds)
_SWITCH = _Kind("true or false", _is_switch)
_LIST = _Kind("a list that is not empty", _is_list)
_TABLE = _Kind("an object", _is_table)

_RULE = {"name": _TEXT, "prompt_contains": _TEXT, "times": _COUNT, "steps": _LIST}
_TOKENS = dict.fromkeys(ReportedUsage._fields, _COUNT)
_ACTIONS = {
    "shell": _TEXT,
    "write": _Kind('{"path": text, "content": text}', _is_file),
    "tool": _Kind('{"name": text, "arguments": anything}', _is_call),
}
_STEP = {
    "text": _TEXT,
    **_ACTIONS,
    "actions": _LIST,
    "usage": _TABLE,
    "delay": _SECONDS,
    "together": _COUNT,
    "after": _TEXT,
    "slow": _SECONDS,
    "http": _Kind("a status from 400 to 599", _is_status),
    "message": _TEXT,
    "retry_after": _SECONDS,
    "headers": _TABLE,
    "raw": _TEXT,
    "drop": _SWITCH,
    "hang": _SWITCH,
}
