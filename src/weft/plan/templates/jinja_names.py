"""Finds the names that a Jinja template reads, and their positions, with Jinja's own parser.

Three ideas make it work.

*Offsets.* Jinja's nodes have a line number, and nothing finer. The parser copies that number from the tokens and
never looks at it. Here the tokens carry their offset in the text instead, so every node and every syntax error
comes back with an offset.

*Scopes.* A name is free if no `for`, `set`, `with` or macro around or before it is certain to have set it. A name
that is set in only one branch of an `if` is still free afterwards: without that branch it would be looked up
outside.

*What cannot be checked is refused.* `step[x]` can be any step; an import can contain anything.

Importing this module imports Jinja; `weft.plan.templates.parse` avoids that where it can.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import takewhile
from typing import NamedTuple

from jinja2 import StrictUndefined, TemplateSyntaxError, nodes
from jinja2.lexer import TokenStream
from jinja2.parser import Parser
from jinja2.sandbox import SandboxedEnvironment

from weft.plan.text.problems import suggestion

Key = str | int
Bound = frozenset[str]

KEYED_BY_NAME = {"slice": 1, "plan": 1, "run": 1, "env": 1, "step": 2}
"""Names that only lead to other names, and the number of keys after them that must be constant."""

_OF_JINJA = frozenset({"loop", "caller", "varargs", "kwargs", "self", "super"})
_IN_MACROS = frozenset({"caller", "varargs", "kwargs"})

# Filters that take the name of another filter or test, and the position of that argument.
_FILTER_AS_ARGUMENT = {"map": 0}
_TEST_AS_ARGUMENT = {"select": 0, "reject": 0, "selectattr": 1, "rejectattr": 1}


class NameUse(NamedTuple):
    """One use of a free name."""

    offset: int
    path: tuple[Key, ...]


class JinjaFaultError(Exception):
    """A text is not a template, or is one that cannot be checked."""

    def __init__(self, message: str, *, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


def names_in_template(text: str) -> list[NameUse]:
    return _uses(text, expression=False)


def names_in_expression(text: str) -> list[NameUse]:
    return _uses(text, expression=True)


def _uses(text: str, *, expression: bool) -> list[NameUse]:
    # Jinja reads each line break as one character. The same is done here, without changing offsets.
    text = text.replace("\r\n", " \n").replace("\r", "\n")
    collector = _NameCollector()
    try:
        if expression:
            collector.expression(_parse_expression(text), frozenset())
        else:
            collector.block(_parser(text, state=None).parse().body, frozenset())
    except TemplateSyntaxError as error:
        raise JinjaFaultError(_explain(error.message or ""), offset=error.lineno) from error
    except RecursionError as error:
        raise JinjaFaultError("this template is nested too deeply", offset=0) from error
    except ValueError as error:  # Python refuses to parse numbers with thousands of digits
        raise JinjaFaultError("a number in this template is too long to be read", offset=0) from error
    return sorted(collector.uses, key=lambda use: use.offset)


def _parse_expression(text: str) -> nodes.Expr:
    parser = _parser(text, state="variable")
    expression = parser.parse_expression()
    if not parser.stream.eos:
        parser.fail("the expression should end here")
    return expression


def _parser(text: str, *, state: str | None) -> Parser:
    environment = _environment()
    parser = Parser(environment, "")
    tokens = environment.lexer.wrap(_tokens_with_offsets(text, state))
    parser.stream = TokenStream(tokens, None, None)
    return parser


REMOVED_FILTERS = ("random", "attr")
"""Filters of Jinja that are not available: equal values must give equal texts, and values have no attributes."""


@cache
def _environment() -> SandboxedEnvironment:
    environment = SandboxedEnvironment(keep_trailing_newline=True, undefined=StrictUndefined)
    # `| raw` is Weft's own filter; the parser only has to know its name.
    environment.filters["raw"] = str
    for name in REMOVED_FILTERS:
        del environment.filters[name]
    return environment


def _tokens_with_offsets(text: str, state: str | None) -> Iterator[tuple[int, str, str]]:
    """Yields Jinja's tokens, with offsets in place of line numbers."""
    end = 0
    try:
        for _, kind, value in _environment().lexer.tokeniter(text, None, state=state):
            # Jinja drops only white space between two tokens, for `{%-`, so the next occurrence is the token.
            offset = text.index(value, end)
            end = offset + len(value)
            yield offset, kind, value
    except TemplateSyntaxError as error:
        raise JinjaFaultError(_explain(error.message or ""), offset=end) from error


def _explain(complaint: str) -> str:
    """Returns Jinja's complaint as a sentence."""
    if complaint == "Missing end of comment tag":
        return "'{#' starts a comment that does not end; to write the characters themselves, use {{ '{#' }}"
    return f"this is not a valid template: {re.sub(r' at [0-9]+$', '', complaint)}"


class _NameCollector:
    """Walks a parsed template and collects the uses of free names."""

    def __init__(self) -> None:
        self.uses: list[NameUse] = []

    # Statements: each method takes the names bound before the statement and returns those bound after it.

    def block(self, body: Iterable[nodes.Node], bound: Bound) -> Bound:
        for statement in body:
            bound = self._statement(statement, bound)
        return bound

    def _statement(self, node: nodes.Node, bound: Bound) -> Bound:
        match node:
            case nodes.Output():
                self._expressions(node.nodes, bound)
            case nodes.If():
                return self._branches(node, bound)
            case nodes.Assign():
                self.expression(node.node, bound)
                return bound | _targets(node.target)
            case nodes.For():
                self._loop(node, bound)
            case _:
                return self._block_statement(node, bound)
        return bound

    def _block_statement(self, node: nodes.Node, bound: Bound) -> Bound:
        match node:
            case nodes.AssignBlock():
                self._filter_of_assignment(node, bound)
                self.block(node.body, bound)
                return bound | _targets(node.target)
            case nodes.With():
                self._expressions(node.values, bound)
                self.block(node.body, bound.union(*map(_targets, node.targets)))
            case nodes.FilterBlock():
                self.expression(node.filter, bound)
                self.block(node.body, bound)
            case nodes.CallBlock():
                self.expression(node.call, bound)
                self._callable(node, bound)
            case nodes.Macro():
                bound |= {_bindable(node.name, node)}
                self._callable(node, bound | _IN_MACROS)
            case _:
                raise _refused_statement(node)
        return bound

    def _filter_of_assignment(self, node: nodes.AssignBlock, bound: Bound) -> None:
        if node.filter is not None:
            self.expression(node.filter, bound)
            if node.filter.find(nodes.Name):  # Jinja's compiler ignores names there, and rendering would fail
                raise JinjaFaultError("the filter of a set block cannot read names", offset=node.lineno)

    def _branches(self, node: nodes.If, bound: Bound) -> Bound:
        # A name is bound after an `if` only if every branch sets it.
        # Without an `else` this is an empty block, which binds nothing: the case in which no branch is taken.
        ends = [self.block(node.else_, bound)]
        for branch in (node, *node.elif_):
            self.expression(branch.test, bound)
            ends.append(self.block(branch.body, bound))
        return frozenset[str].intersection(*ends)

    def _loop(self, node: nodes.For, bound: Bound) -> None:
        self.expression(node.iter, bound)
        inside = bound | _targets(node.target)
        self._expressions([node.test] if node.test else [], inside)
        self.block(node.body, inside | {"loop"})
        # The `else` of a loop runs when there are no items, so its variable is not set there.
        self.block(node.else_, bound)

    def _callable(self, node: nodes.Macro | nodes.CallBlock, bound: Bound) -> None:
        self._expressions(node.defaults, bound)
        self.block(node.body, bound.union(*map(_targets, node.args)))

    # Expressions

    def _expressions(self, expressions: Iterable[nodes.Node], bound: Bound) -> None:
        for node in expressions:
            self.expression(node, bound)

    def expression(self, node: nodes.Node, bound: Bound) -> None:
        match node:
            case nodes.Name() | nodes.Getattr() | nodes.Getitem():
                self._chain(node, bound)
            case nodes.Call(node=nodes.Getattr() as method):
                # `feedback.strip()`: a called attribute is a method of the value, not a field.
                _check_attribute(method)
                self.expression(method.node, bound)
                self._expressions(node.iter_child_nodes(exclude=("node",)), bound)
            case nodes.Filter() | nodes.Test():
                _check_filter_or_test(node)
                self._expressions(node.iter_child_nodes(), bound)
            case _:
                self._expressions(node.iter_child_nodes(), bound)

    def _chain(self, node: nodes.Node, bound: Bound) -> None:
        keys: list[Key | None] = []
        while isinstance(node, nodes.Getattr | nodes.Getitem):
            keys.append(self._key(node, bound))
            node = node.node
        if not isinstance(node, nodes.Name):
            self.expression(node, bound)
        elif node.name not in bound:
            self.uses.append(_use(node, keys[::-1]))

    def _key(self, node: nodes.Getattr | nodes.Getitem, bound: Bound) -> Key | None:
        """Returns the attribute or subscript if it is constant; otherwise None."""
        if isinstance(node, nodes.Getattr):
            return _check_attribute(node)
        key = _constant(node.arg)
        if isinstance(key, str) and key.startswith("__"):
            raise JinjaFaultError(f"templates cannot read {key!r}", offset=node.lineno)
        if key is None:
            self.expression(node.arg, bound)
        return key


def _use(root: nodes.Name, keys: list[Key | None]) -> NameUse:
    constant_keys = [key for key in takewhile(lambda key: key is not None, keys) if key is not None]
    if len(constant_keys) < min(len(keys), KEYED_BY_NAME.get(root.name, 0)):
        message = (
            f"'{root.name}[…]' depends on a value, so it cannot be checked beforehand; write the name out"
        )
        raise JinjaFaultError(message, offset=root.lineno)
    return NameUse(root.lineno, (root.name, *constant_keys))


def _constant(node: nodes.Node) -> Key | None:
    match node:
        case nodes.Neg(node=nodes.Const(value=int() as value)):
            return -value
        # A boolean is an int to Python, but no index.
        case nodes.Const(value=bool()):
            return None
        case nodes.Const(value=str() | int() as value):
            return value
        case _:
            return None


def _check_attribute(node: nodes.Getattr) -> str:
    if node.attr.startswith("_"):
        hint = "" if node.attr.startswith("__") else f"; write ['{node.attr}'] to read a field"
        message = f"'.{node.attr}': templates cannot read attributes that start with '_'{hint}"
        raise JinjaFaultError(message, offset=node.lineno)
    return node.attr


def _targets(node: nodes.Node) -> Bound:
    """Returns the names that an assignment or a loop sets."""
    match node:
        case nodes.Name():
            return frozenset({_bindable(node.name, node)})
        case nodes.Tuple():
            return frozenset[str]().union(*map(_targets, node.items))
        case _:
            raise JinjaFaultError("only a name can be set, not a part of a value", offset=node.lineno)


def _bindable(name: str, node: nodes.Node) -> str:
    if name in _OF_JINJA:
        raise JinjaFaultError(f"'{name}' is reserved by Jinja and cannot be set", offset=node.lineno)
    return name


def _refused_statement(node: nodes.Node) -> JinjaFaultError:
    if isinstance(node, nodes.Include | nodes.Import | nodes.FromImport | nodes.Extends):
        message = "templates in a plan cannot use include, import, from or extends"
    else:
        message = "only for, if, set, with, filter, call and macro are available between {% and %}"
    # Some statements are wrapped in nodes without an offset.
    offsets = [inner.lineno for inner in (node, *node.find_all(nodes.Node)) if hasattr(inner, "lineno")]
    return JinjaFaultError(message, offset=next(filter(None, offsets), 0))


def _check_filter_or_test(node: nodes.Filter | nodes.Test) -> None:
    filters, tests = _environment().filters, _environment().tests
    if isinstance(node, nodes.Test):
        _check_known("test", node.name, tests, node)
        return
    _check_known("filter", node.name, filters, node)
    for kind, names, positions in (
        ("filter", filters, _FILTER_AS_ARGUMENT),
        ("test", tests, _TEST_AS_ARGUMENT),
    ):
        match node.args[positions.get(node.name, len(node.args)) :]:
            case [nodes.Const(value=str() as name), *_]:
                _check_known(kind, name, names, node)
            case _:
                pass


def _check_known(kind: str, name: str, names: Iterable[str], node: nodes.Node) -> None:
    if name not in names:
        message = f"unknown {kind} '{name}'{suggestion(name, sorted(names))}"
        raise JinjaFaultError(message, offset=node.lineno)
