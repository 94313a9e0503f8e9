"""Plain data for every kind and record of the plan language, made from its tables.

`good` gives what is read without a problem, `bad` what is refused. `plans` gives whole plans, in which moreover
every reference leads somewhere and no async step is left alone.
"""

import json
from copy import deepcopy
from functools import cache
from typing import Any

from hypothesis import strategies as st

from weft.plan.language import tables, values
from weft.plan.language.agent_programs import AGENT_PROGRAMS
from weft.plan.language.hosts import NeedsOneOf
from weft.plan.language.kinds import (
    Boolean,
    Choice,
    Duration,
    Glob,
    Integer,
    Money,
    RemoteName,
    Share,
    Span,
    Switch,
    Text,
    Tokens,
    Word,
)
from weft.plan.language.kinds_of_many import Either, JsonObject, ListOf, MapOf, Single
from weft.plan.language.reader import Reader
from weft.plan.language.records import (
    AnyOf,
    AtLeastOne,
    AtMostOne,
    ExactlyOne,
    Has,
    Is,
    Later,
    Needs,
    OneValueSet,
    OnlyWith,
    Record,
)
from weft.plan.text.document import read_document

ALPHABET = st.characters(
    exclude_categories=["Cs", "Cc", "Zl", "Zp"], exclude_characters="{}%#\ufeff\ufffe\uffff"
)
"""What stands in YAML as it is, and has no meaning in a template."""
TEXTS = st.text(ALPHABET, min_size=1, max_size=8)
GLOBS = st.from_regex(r"[a-z]{1,3}(?:/[a-z*]{1,3}){0,2}", fullmatch=True)
SCHEMAS = [{}, {"type": "object"}, {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}}]
JUNK: list[Any] = [
    None, True, False, 0, -1, 1, 33, 10**19, 0.5, -0.5, "", " ", "a", "A", "..", "/", "/a", "a/b", "a:b", "a\nb",
    "x" * 65, "1", "true", "30", "30m", "0s", "5..20", "fail_fast", "claude", "join", "retry", "none", "--a",
    [], [[]], [""], ["a"], ["A"], [1], [None], {}, {"a": 1}, {"A": 1}, {"a": 0}, {"id": "a"}, [{"id": "a"}],
    [{"id": "a", "run": "b"}], {"values": []}, {"values": ["x", 1]}, {"retry_from": "a"}, {"use": "claude"},
]  # fmt: skip
"""Values of all shapes; most are wrong in most places."""

_SIMPLE: dict[type, st.SearchStrategy[object]] = {
    Word: TEXTS | st.integers(0, 99_999),
    Money: st.integers(1, 10**6).map(lambda cents: cents / 100 if cents % 100 else cents // 100),
    Tokens: st.integers(1, 10**9) | st.builds("{}{}".format, st.integers(1, 999), st.sampled_from("kKMB")),
    Share: st.integers(0, 99).map(lambda percent: percent / 100 if percent else 0),
    Boolean: st.booleans(),
    RemoteName: st.sampled_from(["origin", "up.stream-2", True, False]),
    Switch: st.sampled_from(["auto", True, False]),
    Glob: GLOBS,
    JsonObject: st.sampled_from(SCHEMAS).map(deepcopy),
    Span: st.integers(0, 50) | st.builds("{}..{}".format, st.integers(0, 50), st.integers(50, 99)),
    Duration: st.builds("{}{}".format, st.integers(1, 500), st.sampled_from(["ms", "s", "m", "h", "d"])),
}


def good(kind: Any, depth: int = 1) -> st.SearchStrategy[Any]:
    """Values that the kind reads; subplans go `depth` levels further down."""
    return _good(kind, depth)


@cache  # to make them takes longer than to draw from them
def _good(kind: Any, depth: int) -> st.SearchStrategy[Any]:
    match kind:
        case Text():
            return _texts(kind)
        case Integer():
            return st.integers(kind.low, kind.low + 40 if kind.high is None else kind.high)
        case Choice():
            return st.sampled_from(kind.values)
        case ListOf():
            return st.lists(good(kind.item, depth), min_size=kind.least, max_size=2)
        case MapOf():
            return st.dictionaries(good(kind.key), good(kind.value, depth), max_size=2)
        case Either():
            return st.one_of(*(good(inner, depth) for inner in kind.kinds()))
        case Record() | Later():
            return records(kind, depth) if isinstance(kind, Record) else records(kind.record(), depth - 1)
        case _:
            return good(kind.item) if isinstance(kind, Single) else _SIMPLE[type(kind)]


def _texts(kind: Text) -> st.SearchStrategy[str]:
    if kind is values.PLACE:
        return st.sampled_from(["../{{ slice.path }}", "{{ plan.id }}-{{ slice.path }}"])
    if kind is values.EXPRESSION:
        return st.sampled_from(["always", "never", "attempt > 1", "'no' in feedback"])
    if kind.pattern is None:
        return TEXTS
    return st.from_regex(kind.pattern, fullmatch=True, alphabet=ALPHABET)


def bad(kind: Any) -> st.SearchStrategy[Any]:
    """Values that the kind refuses."""
    return st.sampled_from([value for value in JUNK if not accepted(kind, value)])


def accepted(kind: Any, value: Any) -> bool:
    """Whether a value, written as JSON, is read without a problem."""
    document = read_document(json.dumps(value, ensure_ascii=False), "plan.json")
    reader = Reader(document)
    kind.read(document.root, reader, "the value")
    return not reader.problems


@cache
def records(record: Record, depth: int = 1) -> st.SearchStrategy[dict[str, Any]]:
    """Mappings that the record reads: what is required, a few other keys, and what its rules then want."""
    optional = [key.name for key in record.keys if not key.required and (depth > 0 or key.name != "subplans")]

    # Without arguments, since Hypothesis shows them, and a record is long.
    @st.composite
    def mappings(draw: st.DrawFn) -> dict[str, Any]:
        chosen = draw(_some(optional))
        names = [key.name for key in record.keys if key.required or key.name in chosen]
        data = {name: draw(good(record.key(name).kind, depth)) for name in names}
        before = None
        while data != before:
            before = dict(data)
            for rule in record.rules:
                _fix(draw, rule, data, record)
        return data

    return mappings()


def _fix(draw: st.DrawFn, rule: Any, data: dict[str, Any], record: Record) -> None:
    match rule:
        case AtMostOne(keys):
            for extra in [key for key in keys if key in data][1:]:
                del data[extra]
        case ExactlyOne(keys):
            _fix(draw, AtMostOne(keys), data, record)
            _fix(draw, AtLeastOne(tuple(draw(st.permutations(keys)))), data, record)
        case AtLeastOne(keys) if not any(key in data for key in keys):
            data[keys[0]] = draw(good(record.key(keys[0]).kind))
        case _:
            _fix_condition(draw, rule, data, record)


def _fix_condition(draw: st.DrawFn, rule: Any, data: dict[str, Any], record: Record) -> None:
    match rule:
        case OnlyWith(keys, condition) if not holds(condition, data):
            for key in keys:
                data.pop(key, None)
        case NeedsOneOf(condition, keys) if holds(condition, data):
            _fix(draw, ExactlyOne(keys), data, record)
        case Needs(condition, key) if holds(condition, data) and data.get(key) in (None, []):
            kind = record.key(key).kind
            data[key] = [draw(good(kind.item))] if isinstance(kind, ListOf) else draw(good(kind))
        case OneValueSet(key, condition, then, otherwise) if key in data:
            allowed = then if holds(condition, data) else otherwise
            data[key] = data[key] if data[key] in allowed else allowed[0]
        case _:
            pass


def holds(condition: Any, data: dict[str, Any]) -> bool:
    match condition:
        case Has(key):
            return key in data
        case Is(key, value):
            return bool(data.get(key) == value)
        case AnyOf(conditions):
            return any(holds(inner, data) for inner in conditions)
        case _:
            raise AssertionError(condition)


# Whole plans


@st.composite
def plans(draw: st.DrawFn, *, depth: int = 2) -> dict[str, Any]:
    """Plans whose ids are unique and whose references lead somewhere."""
    plan = draw(records(tables.PLAN, depth))
    names = _Names(plan)
    for number, name in enumerate(names.pipelines):
        _resolve_steps(draw, plan["pipelines"][name], names, names.pipelines[:number])
    plan["agent"] = draw(st.sampled_from(names.agents))
    plan["hosts"] = {name: _host(name, host) for name, host in plan.get("hosts", {}).items()}
    plan.setdefault("model", "some")  # there are agents that have none of their own
    _resolve_settings(draw, plan, names)
    _resolve_subplans(draw, plan["subplans"], names)
    return plan


def _host(name: str, host: dict[str, Any]) -> dict[str, Any]:
    if name == "local":
        return {key: value for key, value in host.items() if key in {"slots", "labels"}}
    return host if host.get("use", "local") != "local" else {"use": "ssh", "machine": "big"}


class _Names:
    def __init__(self, plan: dict[str, Any]) -> None:
        self.agents = [*plan.get("agents", {}), *(name for name in AGENT_PROGRAMS if name not in _NEED_MORE)]
        self.pools = list(plan.get("pools", {}))
        self.pipelines = list(plan.get("pipelines", {}))


_NEED_MORE = {"command", "acp", "scripted"}
"""Adapters that an entry of `agents` must say more about."""


def _resolve_settings(draw: st.DrawFn, data: dict[str, Any], names: _Names) -> None:
    if "agent" in data:
        data["agent"] = draw(st.sampled_from(names.agents))
    if "host" in data:  # work without a branch, or in a sandbox, stays on this machine
        data["host"] = draw(st.sampled_from(["local", ["local"]]))
    if data.get("isolation") == "none":  # is refused wherever agents may work side by side
        data["isolation"] = "dir"


def _resolve_subplans(draw: st.DrawFn, subplans: list[dict[str, Any]], names: _Names) -> None:
    ids_used: list[str] = []
    for number, subplan in enumerate(subplans):
        subplan["id"] = f"n{number}" if subplan["id"] in ids_used else subplan["id"]
        if "depends_on" in subplan:
            subplan["depends_on"] = draw(_some(ids_used))
        _resolve_settings(draw, subplan, names)
        if "subplans" not in subplan:
            subplan.setdefault("prompt", "Do it.")
        if "pipeline" in subplan:
            subplan["pipeline"] = draw(st.sampled_from(["direct", "tdd", *names.pipelines]))
        _resolve_steps(draw, subplan.get("steps", []), names, names.pipelines)
        _resolve_subplans(draw, subplan.get("subplans", []), names)
        ids_used.append(subplan["id"])


def _resolve_steps(draw: st.DrawFn, steps: list[dict[str, Any]], names: _Names, pipelines: list[str]) -> None:
    ids_used: list[str] = []
    for number, step in enumerate(steps):
        step["id"] = f"n{number}" if step["id"] in ids_used else step["id"]
        _resolve_step(draw, step, ids_used)
        _resolve_settings(draw, step, names)
        if "pipeline" in step:
            step["pipeline"] = draw(st.sampled_from(["direct", "tdd", *pipelines]))
        for key in ("pool", "pools"):
            if key in step:
                del step[key]
                step.update({"pools": draw(_some(names.pools, least=1))} if names.pools else {})
        ids_used.append(step["id"])


def _resolve_step(draw: st.DrawFn, step: dict[str, Any], earlier: list[str]) -> None:
    step.pop("async", None)
    if not earlier:
        step.pop("depends_on", None)
        step.pop("on_fail", None)
        if step.get("action") == "join":
            step["action"] = "verify"
            step.pop("on_error", None)
    if "depends_on" in step:
        step["depends_on"] = draw(_some(earlier, least=1))
    if "on_fail" in step:
        step["on_fail"]["retry_from"] = draw(st.sampled_from(earlier))


def _some(names: list[str], least: int = 0) -> st.SearchStrategy[list[str]]:
    if not names:
        return st.just([])
    return st.lists(st.sampled_from(names), min_size=least, max_size=4, unique=True)
