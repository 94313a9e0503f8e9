"""Renders templates with Jinja, in its sandbox.

The code that Jinja generates is changed in a few places, so that a template means the same whether or not Jinja
renders it:

*Pieces.* The result is not a text but a list of pieces: values are distinguished from the template's own text, so
that the caller can quote them. Text that a macro or a `set` block has put together keeps its pieces.

*Values are JSON*, and are written as JSON. So `.name` is a key, never a method, even if there is a method of that
name; a called attribute, as in `feedback.strip()`, is always a method.

*Nothing is computed when a template is compiled*, and everything computed later is limited: see `bounds`.
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
from weft.plan.templates.jinja_names import REMOVED_FILTERS
from weft.plan.templates.parse import Name
from weft.plan.templates.values import MissingKey, Put, RenderError, Values, json_text, text_of, where_missing

Names = Callable[[], Sequence[Name]]

MOST_TEMPLATES = 256
MOST_BITS = 10_000
"""The most bits of a number that a `**` may produce."""
MOST_DETAIL = 300
"""The most characters quoted of Python's message about an error."""


def pieces_by_jinja(text: str, names: Names, values: Values) -> list[str]:
    """Returns the pieces of a template. `names` returns those that it reads; it is called if one is missing."""
    bounds.begin()
    with _render_errors(names, values):
        template = _template(text)
        return list(_flat(template.root_render_func(template.new_context(dict(values)))))


def truth_by_jinja(expression: str, names: Names, values: Values) -> bool:
    bounds.begin()
    with _render_errors(names, values):
        return bool(_as_list(_expression(expression)(dict(values))))


@contextmanager
def _render_errors(names: Names, values: Values) -> Generator[None]:
    """Turns every error into a `RenderError`."""
    try:
        yield
    except RenderError:
        raise
    except _MissingError as error:
        owner, key = error.missing.owner, error.missing.key
        if key is None:
            raise RenderError(error.message or "") from error
        missing = MissingKey(values if owner is nothing else owner, key)
        raise where_missing(missing, names(), values) from error
    except Exception as error:  # Jinja's compiler and the code it generates can raise anything
        detail = f"{type(error).__name__}: {error}"[:MOST_DETAIL]
        raise RenderError(f"this template cannot be evaluated: {detail}") from error


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


class _RenderedText(str):
    """The rendered text of a part of a template, with its pieces."""

    __slots__ = ("pieces",)
    pieces: tuple[str, ...]

    def __new__(cls, pieces: Iterable[str]) -> Self:
        flat_pieces = tuple(_flat(pieces))
        self = super().__new__(cls, "".join(flat_pieces))
        self.pieces = flat_pieces
        return self


def _flat(pieces: Iterable[str]) -> Iterator[str]:
    for piece in pieces:
        if isinstance(piece, _RenderedText):
            yield from piece.pieces
        else:
            yield piece


# Missing values


class _MissingError(UndefinedError):
    def __init__(self, missing: MissingKey, message: str | None = None) -> None:
        super().__init__(message)
        self.missing = missing


class _Unknown(StrictUndefined):
    """An undefined value that remembers where it was looked up."""

    __slots__ = ()

    def __init__(
        self,
        hint: str | None = None,
        obj: object = nothing,
        name: str | None = None,
        exc: type[TemplateRuntimeError] = UndefinedError,
    ) -> None:
        # Jinja calls `exc` with a message and does not check that it is a class.
        error: Any = partial(_MissingError, MissingKey(obj, name)) if exc is UndefinedError else exc
        super().__init__(hint, obj, name, error)


# Filters, and how values become text


def _as_list(value: object) -> object:
    """Returns a lazily computed value as a list; other values unchanged."""
    if isinstance(value, Iterator | KeysView | ValuesView | ItemsView) and not isinstance(value, LoopContext):
        return list(cast("Iterable[object]", value))
    return value


def _text(value: object) -> str:
    if isinstance(value, Undefined):
        return str(value)  # raises
    return text_of(_as_list(value))


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
    text = json_text(_as_list(value))
    return msgspec.json.format(text, indent=indent) if indent else text


# The sandbox


@cache
def _environment() -> "_Environment":
    environment = _Environment(keep_trailing_newline=True, undefined=_Unknown, optimized=False)
    # `range`, `lipsum` and the like are functions, not values of a plan.
    environment.globals.clear()
    for name in REMOVED_FILTERS:
        del environment.filters[name]
    filters: dict[str, Any] = {"raw": _raw, "string": _text, "join": _join, "tojson": _tojson}
    environment.filters.update(filters)
    bounded = {name: bounds.bound_filter(name, apply) for name, apply in environment.filters.items()}
    environment.filters.update(bounded)
    return environment


class _Generator(CodeGenerator):
    """Jinja's code generator, with the changes that the module's docstring describes."""

    callee: nodes.Node | None = None

    def _output_child_to_const(self, node: nodes.Expr, *_args: object, **_more: object) -> str:
        if isinstance(node, nodes.TemplateData):
            return node.data
        # Jinja then writes the value at run time. A constant that is computed at compile time would escape the
        # limits.
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
        # Every loop is counted, also one over a generator.
        node.iter = nodes.Call(nodes.EnvironmentAttribute("metered"), [node.iter], [], None, None)
        super().visit_For(node, frame)

    def visit_Call(self, node: nodes.Call, frame: Frame, forward_caller: bool = False) -> None:  # noqa: FBT001, FBT002, N802
        # `visit_Getattr` distinguishes the called attribute by identity.
        self.callee = node.node
        super().visit_Call(node, frame, forward_caller=forward_caller)  # by name: it is decorated

    def visit_Getattr(self, node: nodes.Getattr, frame: Frame) -> None:  # noqa: N802
        self.write("environment.method(" if node is self.callee else "environment.getattr(")
        self.visit(node.node, frame)
        self.write(f", {node.attr!r})")


class _Environment(ImmutableSandboxedEnvironment):
    """The sandbox in which templates run."""

    code_generator_class = _Generator
    concat: Any = _RenderedText
    intercepted_binops = frozenset({"*", "**", "+", "%"})

    def put(self, value: object) -> str:
        """Returns a value as a piece of the result."""
        text = value if isinstance(value, _RenderedText | _Raw) else Put(_text(value))
        bounds.put(text)
        return text

    def metered(self, items: Iterable[object]) -> Iterable[object]:
        """Returns the items of a loop, counted."""
        return bounds.metered(items)

    def joined(self, parts: Iterable[object]) -> str:
        texts = list(map(_text, parts))
        bounds.refuse_join("", texts)
        return "".join(texts)

    def call(self, context: Context, obj: Any, *args: Any, **more: Any) -> Any:  # noqa: ANN401 - Jinja's signature
        method: object = getattr(obj, "__wrapped__", obj)  # the sandbox wraps str.format
        # A method can produce much more than it is given, as `'{:>9999999}'.format` does.
        bounds.refuse_call(getattr(method, "__self__", None), getattr(method, "__name__", ""), args, more)
        return super().call(context, obj, *args, **more)

    def getitem(self, obj: object, argument: object) -> object:
        bounds.step(obj if isinstance(argument, slice) else None)
        try:
            return cast("Mapping[object, object]", obj)[argument]
        except (TypeError, LookupError):
            return self.undefined(obj=obj, name=cast("str", argument))

    def getattr(self, obj: object, attribute: str) -> object:
        """Returns the key of this name; only loop variables have attributes."""
        # Only `loop` has attributes that are not keys of JSON.
        if isinstance(obj, LoopContext):
            return super().getattr(obj, attribute)
        return self.getitem(obj, attribute)

    def method(self, obj: object, attribute: str) -> object:
        """Returns a method, for an attribute that is called."""
        return super().getattr(obj, attribute)

    def call_binop(self, context: Context, operator: str, left: object, right: object) -> object:
        bounds.step()
        if _is_too_large(operator, left, right):
            raise OverflowError(f"the result of this {operator} would be too large")
        if operator == "+":
            bounds.refuse_sum(left, right)
        elif operator == "%" and isinstance(left, str):
            bounds.refuse_format(left, (right,))
        return super().call_binop(context, operator, left, right)


def _is_too_large(operator: str, left: object, right: object) -> bool:
    match operator, left, right:
        case "**", int(), int():
            # The size of a power is known before it is computed.
            return left.bit_length() * right > MOST_BITS
        case ("*", str() | list() | tuple(), int()):
            return len(cast("str", left)) * right > MOST_REPEATED
        case ("*", int(), str() | list() | tuple()):
            return len(cast("str", right)) * left > MOST_REPEATED
        case _:
            return False
