"""Each field of the engine's state is changed in one module: by the state's own methods, or by a single rule."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import weft.engine
from weft.engine.state.engine_state import EngineState

ENGINE = Path(weft.engine.__file__).parent
HOME = Path("state/engine_state.py")
FIELDS = frozenset(EngineState.__struct_fields__)
CHANGES = frozenset(
    {"add", "append", "appendleft", "clear", "discard", "extend", "pop", "popitem", "popleft", "remove"}
    | {"setdefault", "update"}
)


def changed_expressions(tree: ast.AST) -> Iterator[ast.expr]:
    """Yields each expression that a statement assigns, deletes or changes with a method of collections."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets) | ast.Delete(targets=targets):
                yield from targets
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                yield target
            case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in CHANGES:
                yield value
            case _:
                pass


def changed_fields(tree: ast.AST, holder: str) -> set[str]:
    """Returns the fields of the state that a module changes; `holder` is the name of the state there."""
    fields: set[str] = set()
    waiting = list(changed_expressions(tree))
    while waiting:
        match waiting.pop():
            case ast.Tuple(elts=parts):
                waiting += parts
            case ast.Subscript(value=value):
                waiting.append(value)
            case ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr=field):
                fields |= {field} if name in {holder, f"_{holder}"} else set()
            case _:
                pass
    return fields & FIELDS


def modules_that_change() -> dict[str, set[str]]:
    modules: dict[str, set[str]] = defaultdict(set)
    for file in sorted(ENGINE.rglob("*.py")):
        path = file.relative_to(ENGINE)
        holder = "self" if path == HOME else "state"
        for field in changed_fields(ast.parse(file.read_text("utf-8")), holder):
            modules[field].add(str(path))
    return modules


def test_each_field_is_changed_in_one_module() -> None:
    assert {field: modules for field, modules in modules_that_change().items() if len(modules) > 1} == {}


@pytest.mark.parametrize(
    "statement",
    [
        "state.landed = set()",
        "self._state.landed.add(1)",
        "state.failures[1] = failure",
        "del self._state.failures[1]",
        "state.serial += 1",
        "a, state.ended = state.ended, b",
    ],
)
def test_the_check_sees_every_kind_of_change(statement: str) -> None:
    assert len(changed_fields(ast.parse(statement), "state")) == 1
