"""What a scripted model answers: rules, each a list of steps, and one answer plays one step.

A script is JSON: a list of rules, or for short an object of lists of steps by name.

    [{"name": "mend", "times": 1, "steps": [{"http": 429, "retry_after": 1}]},
     {"name": "mend", "prompt_contains": "failed", "steps": [{"shell": "echo ok > a"}, {"text": "Mended."}]},
     {"name": "mend", "steps": [{"text": "Nothing to do."}]}]

The first rule of its name is played that fits: some message of the user contains `prompt_contains`, and it was not
played `times` times yet. Which step of it, the request tells by itself, see `conversation`; the last is repeated.

    text      what the model says; alone, it ends its turn
    shell     calls whatever tool the request offers for commands
    write     {"path": …, "content": …}: the same for files
    tool      {"name": …, "arguments": …}: calls exactly this; arguments that are text are sent as they are, right
              or wrong
    actions   several of these three in one answer
    usage     {"input": …, "output": …, "cached": …}: the tokens it claims to have used
    delay     seconds before it answers
    together  so many requests must have come to this step before any of them is answered
    after     it is answered only when some message of a user, in whatever request, has contained this text
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
from weft.testing.models.values import listed, table


class Tokens(NamedTuple):
    """What each answer claims unless its step says otherwise; round, so that sums are seen at a glance."""

    input: int = 1000
    output: int = 50
    cached: int = 0


class Step(NamedTuple):
    text: str = ""
    actions: tuple[Mapping[str, Any], ...] = ()
    usage: Tokens = Tokens()
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


class Rule(NamedTuple):
    name: str
    steps: tuple[Step, ...]
    prompt_contains: str | None = None
    times: int | None = None

    def fits(self, said: tuple[str, ...], played: int) -> bool:
        looked_for = self.prompt_contains
        return (self.times is None or played < self.times) and (
            looked_for is None or any(looked_for in text for text in said)
        )


def read_script(text: str) -> tuple[Rule, ...]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"the script is not JSON: {error}") from None
    return rules_of(value)


def rules_of(value: object) -> tuple[Rule, ...]:
    rules = listed(value) or [{"name": name, "steps": steps} for name, steps in table(value).items()]
    if not rules:
        raise InputError("a script is a list of rules, or an object of lists of steps by name")
    return tuple(_rule(rule, f"rule {number}") for number, rule in enumerate(rules, 1))


def _rule(value: object, where: str) -> Rule:
    given = _checked(value, _RULE, where)
    if not {"name", "steps"} <= given.keys():
        raise InputError(f"{where}: it needs a `name` and `steps`")
    steps = tuple(_step(step, f"{where}, step {number}") for number, step in enumerate(given["steps"], 1))
    return Rule(
        name=given["name"],
        steps=steps,
        prompt_contains=given.get("prompt_contains"),
        times=given.get("times"),
    )


def _step(value: object, where: str) -> Step:
    given = _checked(value, _STEP, where)
    actions = [{name: given.pop(name)} for name in _ACTIONS if name in given]
    actions += [_checked(action, _ACTIONS, f"{where}, `actions`") for action in given.pop("actions", ())]
    if "usage" in given:
        given["usage"] = Tokens(**_checked(given["usage"], _TOKENS, f"{where}, `usage`"))
    headers = {name: str(text) for name, text in given.pop("headers", {}).items()}
    if "retry_after" in given:
        headers["retry-after"] = str(given.pop("retry_after"))
    return Step(**given, actions=tuple(actions), headers=headers)


# --- what values may be ---


class _Kind(NamedTuple):
    words: str
    fits: Callable[[Any], bool]


def _checked(value: object, known: Mapping[str, _Kind], where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{where}: must be an object with any of {', '.join(known)}")
    given = cast("dict[str, Any]", value)
    for name, one in given.items():
        if name not in known:
            raise InputError(f"{where}: there is no key {name!r}; the keys are {', '.join(known)}")
        if not known[name].fits(one):
            raise InputError(f"{where}: `{name}` must be {known[name].words}")
    return dict(given)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_status(value: object) -> bool:
    return isinstance(value, int) and 400 <= value <= 599  # noqa: PLR2004


def _is_seconds(value: object) -> bool:
    return _is_count(value) or (isinstance(value, float) and 0 <= value < math.inf)


def _is_switch(value: object) -> bool:
    return isinstance(value, bool)


def _is_list(value: object) -> bool:
    return bool(listed(value))


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
_TOKENS = dict.fromkeys(Tokens._fields, _COUNT)
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
