"""Writes the types of the API for the page, `ui/src/api/types.ts`, from the Python ones. `make format` runs it."""

import ast
import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec.inspect as kinds
from msgspec import Struct

from weft.app.read_model import chart_shapes, report_shapes, run_shapes, subplan_shapes
from weft.app.views import finish_forecast, needs_model, snapshot_model
from weft.app.views.wording import signs
from weft.web.api import envelope

TYPES = Path(__file__).parents[2] / "ui" / "src" / "api" / "types.ts"
MODULES = (
    signs,
    needs_model,
    finish_forecast,
    snapshot_model,
    run_shapes,
    subplan_shapes,
    chart_shapes,
    report_shapes,
    envelope,
)
_HEAD = "// The answers of the API; generated from the Python types by `make format`.\n"
_PLAIN = {
    kinds.IntType: "number",
    kinds.FloatType: "number",
    kinds.StrType: "string",
    kinds.BoolType: "boolean",
    kinds.NoneType: "null",
    kinds.AnyType: "unknown",
}


def types_text() -> str:
    """The whole file."""
    parts = (
        *(f"\nexport type {name} = {_values(values)};\n" for values, name in _ALIASES.items()),
        *(_interface(shape) for module in MODULES for shape in _shapes(module)),
    )
    return _HEAD + "".join(parts)


def _aliases() -> dict[frozenset[object], str]:
    """The names of sets of values, such as `ShownState`."""
    return {
        frozenset(get_args(value)): name
        for module in MODULES
        for name, value in vars(module).items()
        if get_origin(value) is Literal and isinstance(get_args(value)[0], str)
    }


_ALIASES = _aliases()


def _values(values: Iterable[object]) -> str:
    return " | ".join(sorted(f'"{value}"' if isinstance(value, str) else str(value) for value in values))


def _shapes(module: Any) -> Iterator[type[Struct]]:
    for shape in vars(module).values():
        if inspect.isclass(shape) and issubclass(shape, Struct) and shape.__module__ == module.__name__:
            yield shape


def _interface(shape: type[Struct]) -> str:
    info = kinds.type_info(shape)
    assert isinstance(info, kinds.StructType)
    notes = _notes(shape)
    omits = shape.__struct_config__.omit_defaults
    lines = [f"\n/** {inspect.getdoc(shape)} */" if shape.__doc__ else ""]
    lines.append(f"export interface {shape.__name__} {{")
    for field in info.fields:
        if field.name in notes:
            # The page's linter and readers know `null`, not `None`.
            lines.append(f"  /** {notes[field.name].replace('None', 'null')} */")
        # A request may leave out what has a default; an answer has it, unless its class says otherwise.
        is_request = shape.__module__ == envelope.__name__ and shape.__name__.endswith(("Request", "Body"))
        optional = "?" if not field.required and (omits or is_request) else ""
        lines.append(f"  {field.encode_name}{optional}: {_type(field.type)};")
    return "\n".join([*lines, "}", ""])


def _notes(shape: type[Struct]) -> dict[str, str]:
    """The docstrings of the fields."""
    (definition,) = ast.parse(inspect.getsource(shape)).body
    assert isinstance(definition, ast.ClassDef)
    notes = {}
    for before, after in zip(definition.body, definition.body[1:], strict=False):
        match before, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(note))):
                notes[name] = " ".join(note.split())
            case _:
                pass
    return notes


def _type(info: kinds.Type) -> str:
    match info:
        case kinds.StructType(cls=shape):
            return shape.__name__
        case kinds.LiteralType(values=values):
            return _ALIASES.get(frozenset(values)) or _values(values)
        case kinds.UnionType(types=types):
            return " | ".join(_type(part) for part in types)
        case kinds.TupleType(item_types=parts):
            return f"[{', '.join(map(_type, parts))}]"
        case (
            kinds.ListType(item_type=item)
            | kinds.VarTupleType(item_type=item)
            | kinds.CollectionType(item_type=item)
        ):
            return f"ReadonlyArray<{_type(item)}>"
        case kinds.DictType(key_type=key, value_type=value):
            # Not every key is there, and the checker of the page should say so.
            return f"Readonly<Partial<Record<{_type(key)}, {_type(value)}>>>"
        case _:
            return _PLAIN[type(info)]


if __name__ == "__main__":
    TYPES.parent.mkdir(parents=True, exist_ok=True)
    TYPES.write_text(types_text(), encoding="utf-8")
