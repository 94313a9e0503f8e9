"""Templates rendered by Jinja, in its sandbox.

The code that Jinja makes of a template is changed in a few places, so that a template means the same whether Jinja
renders it or not:

*Pieces.* The result is not a text but the pieces of it: values are told apart from the template's own text, so
that whoever needs it can quote them. What a macro or a `set` block has put together keeps its pieces.

*Values are JSON*, and are written as such. So `.name` is a key, never a method, even if there is a method of that
name; what is called, as in `feedback.strip()`, is always a method.

*Nothing is computed when a template is compiled*, and what is computed later is bounded: see `bounds`.
"""

from collections.abc import (
    Callable,
    Generator,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    Sequence,
    ValuesView,
)
from contextlib import contextmanager
from functools import cache, lru_cache, partial
from typing import Any, Self, cast

import msgspec
from jinja2 import (
    StrictUndefined,
    Template,
    TemplateRuntimeError,
    Undefined,
    UndefinedError,
    nodes,
    pass_environment,
)
from jinja2.compiler import CodeGenerator, Frame
from jinja2.environment import TemplateExpression
from jinja2.filters import make_attrgetter
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import missing as nothing

from weft.plan.templates import bounds
from weft.plan.templates.bounds import MOST_REPEATED
from weft.plan.templates.jinja_names import NOT_OPEN
from weft.plan.templates.parse import Name
from weft.plan.templates.values import Missing, Put, RenderError, Values, json_text, text_of, where_missing

Names = Callable[[], Sequence[Name]]

MOST_TEMPLATES = 256
MOST_BITS = 10_000
"""Of a number that a `**` may make."""
MOST_TOLD = 300
"""Characters of what Python says about an error."""


def pieces_by_jinja(text: str, names: Names, values: Values) -> list[str]:
    """The pieces of a template; `names` tells those that it reads, if one is missing."""
    bounds.begin()
    with _told(names, values):
        template = _template(text)
        return list(_flat(template.root_render_func(template.new_context(dict(values)))))


def truth_by_jinja(expression: str, names: Names, values: Values) -> bool:
    bounds.begin()
    with _told(names, values):
        return bool(_settled(_expression(expression)(dict(values))))


@contextmanager
def _told(names: Names, values: Values) -> Generator[None]:
    """Whatever goes wrong is a `RenderError`."""
    try:
        yield
    except RenderError:
        raise
    except _MissingError as error:
        owner, key = error.missing.owner, error.missing.key
        if key is None:
            raise RenderError(error.message or "") from error
        missing = Missing(values if owner is nothing else owner, key)
        raise where_missing(missing, names(), values) from error
    except Exception as error:  # Jinja's compiler, and what it compiles, can raise anything
        said = f"{type(error).__name__}: {error}"[:MOST_TOLD]
        raise RenderError(f"this template cannot be evaluated: {said}") from error


@lru_cache(maxsize=MOST_TEMPLATES)
def _template(text: str) -> Template:
    return _environment().from_string(text)


@lru_cache(maxsize=MOST_TEMPLATES)
def _expression(text: str) -> TemplateExpression:
    return _environment().compile_expression(text, undefined_to_none=False)


# Pieces


class _Raw(str):
    """A value that counts as the template's own text."""

    __slots__ = ()


class _Captured(str):
    """What a part of a template has been rendered to; knows its pieces."""

    __slots__ = ("pieces",)
    pieces: tuple[str, ...]

    def __new__(cls, pieces: Iterable[str]) -> Self:
        kept = tuple(_flat(pieces))
        self = super().__new__(cls, "".join(kept))
        self.pieces = kept
        return self


def _flat(pieces: Iterable[str]) -> Iterator[str]:
    for piece in pieces:
        if isinstance(piece, _Captured):
            yield from piece.pieces
        else:
            yield piece


# Values that are not there


class _MissingError(UndefinedError):
    def __init__(self, missing: Missing, message: str | None = None) -> None:
        super().__init__(message)
        self.missing = missing


class _Unknown(StrictUndefined):
    """Remembers where it was looked for."""

    __slots__ = ()

    def __init__(
        self,
        hint: str | None = None,
        obj: object = nothing,
        name: str | None = None,
        exc: type[TemplateRuntimeError] = UndefinedError,
    ) -> None:
        # What is raised is called with a message; that it is a class, Jinja does not ask.
        how: Any = partial(_MissingError, Missing(obj, name)) if exc is UndefinedError else exc
        super().__init__(hint, obj, name, how)


# Filters, and how values become text


def _settled(value: object) -> object:
    """What is computed while it is looked at, as a list."""
    if isinstance(value, Iterator | KeysView | ValuesView | ItemsView) and not isinstance(value, LoopContext):
        return list(cast("Iterable[object]", value))
    return value


def _text(value: object) -> str:
    if isinstance(value, Undefined):
        return str(value)  # raises
    return text_of(_settled(value))


def _raw(value: object) -> str:
    return _Raw(_text(value))


@pass_environment
def _join(
    environment: "_Environment", value: Iterable[object], d: object = "", attribute: str | int | None = None
) -> str:
    if attribute is not None:
        value = map(make_attrgetter(environment, attribute), value)
    texts, between = list(map(_text, value)), _text(d)
    bounds.refuse_join(between, texts)
    return between.join(texts)


def _tojson(value: object, indent: int = 0) -> str:
    text = json_text(_settled(value))
    return msgspec.json.format(text, indent=indent) if indent else text


# The sandbox


@cache
def _environment() -> "_Environment":
    environment = _Environment(keep_trailing_newline=True, undefined=_Unknown, optimized=False)
    environment.globals.clear()
    for name in NOT_OPEN:
        del environment.filters[name]
    filters: dict[str, Any] = {"raw": _raw, "string": _text, "join": _join, "tojson": _tojson}
    environment.filters.update(filters)
    bounded = {name: bounds.bounded(name, apply) for name, apply in environment.filters.items()}
    environment.filters.update(bounded)
    return environment


class _Generator(CodeGenerator):
    """Jinja's code, but for what the head of this module tells of."""

    callee: nodes.Node | None = None

    def _output_child_to_const(self, node: nodes.Expr, *_args: object, **_more: object) -> str:
        if isinstance(node, nodes.TemplateData):
            return node.data
        raise nodes.Impossible

    def _output_child_pre(self, *_args: object, **_more: object) -> None:
        self.write("environment.put(")

    def _output_child_post(self, *_args: object, **_more: object) -> None:
        self.write(")")

    def start_write(self, frame: Frame, node: nodes.Node | None = None) -> None:
        super().start_write(frame, node)
        self.write("environment.put(")

    def end_write(self, frame: Frame) -> None:
        self.write(")")
        super().end_write(frame)

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802 - Jinja's name
        self.write("environment.joined((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")

    def visit_For(self, node: nodes.For, frame: Frame) -> None:  # noqa: N802
        node.iter = nodes.Call(nodes.EnvironmentAttribute("metered"), [node.iter], [], None, None)
        super().visit_For(node, frame)

    def visit_Call(self, node: nodes.Call, frame: Frame, forward_caller: bool = False) -> None:  # noqa: FBT001, FBT002, N802
        self.callee = node.node
        super().visit_Call(node, frame, forward_caller=forward_caller)  # by name: it is decorated

    def visit_Getattr(self, node: nodes.Getattr, frame: Frame) -> None:  # noqa: N802
        self.write("environment.method(" if node is self.callee else "environment.getattr(")
        self.visit(node.node, frame)
        self.write(f", {node.attr!r})")


class _Environment(ImmutableSandboxedEnvironment):
    code_generator_class = _Generator
    concat: Any = _Captured
    intercepted_binops = frozenset({"*", "**", "+", "%"})

    def put(self, value: object) -> str:
        text = value if isinstance(value, _Captured | _Raw) else Put(_text(value))
        bounds.put(text)
        return text

    def metered(self, items: Iterable[object]) -> Iterable[object]:
        """The items of a loop, counted."""
        return bounds.metered(items)

    def joined(self, parts: Iterable[object]) -> str:
        texts = list(map(_text, parts))
        bounds.refuse_join("", texts)
        return "".join(texts)

    def call(self, context: Context, obj: Any, *args: Any, **more: Any) -> Any:  # noqa: ANN401 - as Jinja has it
        method: object = getattr(obj, "__wrapped__", obj)  # the sandbox has a format of its own
        bounds.refuse_call(getattr(method, "__self__", None), getattr(method, "__name__", ""), args, more)
        return super().call(context, obj, *args, **more)

    def getitem(self, obj: object, argument: object) -> object:
        bounds.step(obj if isinstance(argument, slice) else None)
        try:
            return cast("Mapping[object, object]", obj)[argument]
        except (TypeError, LookupError):
            return self.undefined(obj=obj, name=cast("str", argument))

    def getattr(self, obj: object, attribute: str) -> object:
        if isinstance(obj, LoopContext):
            return super().getattr(obj, attribute)
        return self.getitem(obj, attribute)

    def method(self, obj: object, attribute: str) -> object:
        return super().getattr(obj, attribute)

    def call_binop(self, context: Context, operator: str, left: object, right: object) -> object:
        bounds.step()
        if _is_too_much(operator, left, right):
            raise OverflowError(f"the result of this {operator} would be too large")
        if operator == "+":
            bounds.refuse_sum(left, right)
        elif operator == "%" and isinstance(left, str):
            bounds.refuse_format(left, (right,))
        return super().call_binop(context, operator, left, right)


def _is_too_much(operator: str, left: object, right: object) -> bool:
    match operator, left, right:
        case "**", int(), int():
            return left.bit_length() * right > MOST_BITS
        case ("*", str() | list() | tuple(), int()):
            return len(cast("str", left)) * right > MOST_REPEATED
        case ("*", int(), str() | list() | tuple()):
            return len(cast("str", right)) * left > MOST_REPEATED
        case _:
            return False
