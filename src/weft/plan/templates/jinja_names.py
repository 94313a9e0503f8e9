"""Which names does a Jinja template read, and where do they stand? Told by Jinja's own parser.

Three things make it work.

*Offsets.* Jinja's nodes remember a line, and nothing smaller. The parser copies that number from the tokens and
never looks at it, so here the tokens carry their offset in the text in its place, and every node and every
syntax error comes back with the offset.

*Scopes.* A name is free where no `for`, `set`, `with` or macro around or before it has surely given it a value. A
name that is set in one branch of an `if` only is still free afterwards: without that branch it would be looked
up outside.

*What cannot be checked is refused.* `step[x]` may be any step; an import may hold anything.

Whoever needs this pays for importing Jinja; `weft.plan.templates.parse` does without it where it can.
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
"""Names that are only a way to others, and how many steps that way must be told in so many words."""

_OF_JINJA = frozenset({"loop", "caller", "varargs", "kwargs", "self", "super"})
_IN_MACROS = frozenset({"caller", "varargs", "kwargs"})

# Filters that are given the name of another filter or test, and as which argument.
_FILTER_AS_ARGUMENT = {"map": 0}
_TEST_AS_ARGUMENT = {"select": 0, "reject": 0, "selectattr": 1, "rejectattr": 1}


class Use(NamedTuple):
    offset: int
    path: tuple[Key, ...]


class JinjaFaultError(Exception):
    """Not a template, or one that cannot be checked."""

    def __init__(self, message: str, *, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


def names_in_template(text: str) -> list[Use]:
    return _uses(text, expression=False)


def names_in_expression(text: str) -> list[Use]:
    return _uses(text, expression=True)


def _uses(text: str, *, expression: bool) -> list[Use]:
    # Jinja makes one character of each end of line; so do we, but without moving what follows.
    text = text.replace("\r\n", " \n").replace("\r", "\n")
    reader = _Reader()
    try:
        if expression:
            reader.expression(_parsed_expression(text), frozenset())
        else:
            reader.block(_parser(text, state=None).parse().body, frozenset())
    except TemplateSyntaxError as error:
        raise JinjaFaultError(_in_words(error.message or ""), offset=error.lineno) from error
    except RecursionError as error:
        raise JinjaFaultError("this template is nested too deeply", offset=0) from error
    except ValueError as error:  # Python refuses to read a number of thousands of digits
        raise JinjaFaultError("a number in this template is too long to be read", offset=0) from error
    return sorted(reader.uses, key=lambda use: use.offset)


def _parsed_expression(text: str) -> nodes.Expr:
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


NOT_OPEN = ("random", "attr")
"""Filters of Jinja that are not there: equal values must give equal texts, and values have no attributes."""


@cache
def _environment() -> SandboxedEnvironment:
    environment = SandboxedEnvironment(keep_trailing_newline=True, undefined=StrictUndefined)
    environment.filters["raw"] = str
    for name in NOT_OPEN:
        del environment.filters[name]
    return environment


def _tokens_with_offsets(text: str, state: str | None) -> Iterator[tuple[int, str, str]]:
    """Jinja's tokens, each with its offset where Jinja has the number of its line."""
    end = 0
    try:
        for _, kind, value in _environment().lexer.tokeniter(text, None, state=state):
            # Only white space is ever left out between two tokens, by `{%-`: the next one is the first found.
            offset = text.index(value, end)
            end = offset + len(value)
            yield offset, kind, value
    except TemplateSyntaxError as error:
        raise JinjaFaultError(_in_words(error.message or ""), offset=end) from error


def _in_words(complaint: str) -> str:
    if complaint == "Missing end of comment tag":
        return "'{#' begins a comment, and it does not end; for the characters themselves write {{ '{#' }}"
    return f"this is not a valid template: {re.sub(r' at [0-9]+$', '', complaint)}"


class _Reader:
    """Walks a parsed template and gathers the uses of free names."""

    def __init__(self) -> None:
        self.uses: list[Use] = []

    # Statements: each takes the names bound before it and gives those bound after it.

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
            if node.filter.find(nodes.Name):  # Jinja's compiler does not look there and fails later
                raise JinjaFaultError("the filter of a set block cannot read names", offset=node.lineno)

    def _branches(self, node: nodes.If, bound: Bound) -> Bound:
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
        self.block(node.else_, bound)

    def _callable(self, node: nodes.Macro | nodes.CallBlock, bound: Bound) -> None:
        self._expressions(node.defaults, bound)
        self.block(node.body, bound.union(*map(_targets, node.args)))

    # Expressions

    def _expressions(self, found: Iterable[nodes.Node], bound: Bound) -> None:
        for node in found:
            self.expression(node, bound)

    def expression(self, node: nodes.Node, bound: Bound) -> None:
        match node:
            case nodes.Name() | nodes.Getattr() | nodes.Getitem():
                self._chain(node, bound)
            case nodes.Call(node=nodes.Getattr() as method):
                # `feedback.strip()`: what is called belongs to the value, it is not a field to look up.
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
        """The attribute or subscript if it is constant, else None."""
        if isinstance(node, nodes.Getattr):
            return _check_attribute(node)
        key = _constant(node.arg)
        if isinstance(key, str) and key.startswith("__"):
            raise JinjaFaultError(f"{key!r} is not open to templates", offset=node.lineno)
        if key is None:
            self.expression(node.arg, bound)
        return key


def _use(root: nodes.Name, keys: list[Key | None]) -> Use:
    told = [key for key in takewhile(lambda key: key is not None, keys) if key is not None]
    if len(told) < min(len(keys), KEYED_BY_NAME.get(root.name, 0)):
        message = (
            f"what '{root.name}[…]' reads is known only when it is evaluated, so it cannot be checked"
            " beforehand; write the name out"
        )
        raise JinjaFaultError(message, offset=root.lineno)
    return Use(root.lineno, (root.name, *told))


def _constant(node: nodes.Node) -> Key | None:
    match node:
        case nodes.Neg(node=nodes.Const(value=int() as value)):
            return -value
        case nodes.Const(value=bool()):
            return None
        case nodes.Const(value=str() | int() as value):
            return value
        case _:
            return None


def _check_attribute(node: nodes.Getattr) -> str:
    if node.attr.startswith("_"):
        hint = "" if node.attr.startswith("__") else f"; a field is read by ['{node.attr}']"
        message = f"'.{node.attr}': attributes that begin with '_' are not open to templates{hint}"
        raise JinjaFaultError(message, offset=node.lineno)
    return node.attr


def _targets(node: nodes.Node) -> Bound:
    """The names that an assignment or a loop gives values to."""
    match node:
        case nodes.Name():
            return frozenset({_bindable(node.name, node)})
        case nodes.Tuple():
            return frozenset[str]().union(*map(_targets, node.items))
        case _:
            raise JinjaFaultError("only a name can be set, not a part of a value", offset=node.lineno)


def _bindable(name: str, node: nodes.Node) -> str:
    if name in _OF_JINJA:
        raise JinjaFaultError(f"'{name}' has a meaning in Jinja and cannot be set", offset=node.lineno)
    return name


def _refused_statement(node: nodes.Node) -> JinjaFaultError:
    if isinstance(node, nodes.Include | nodes.Import | nodes.FromImport | nodes.Extends):
        message = "a template in a plan stands alone: include, import, from and extends are not available"
    else:
        message = "only for, if, set, with, filter, call and macro are available between {% and %}"
    # Some statements are wrapped by nodes without a place of their own.
    places = [part.lineno for part in (node, *node.find_all(nodes.Node)) if hasattr(part, "lineno")]
    return JinjaFaultError(message, offset=next(filter(None, places), 0))


def _check_filter_or_test(node: nodes.Filter | nodes.Test) -> None:
    filters, tests = _environment().filters, _environment().tests
    if isinstance(node, nodes.Test):
        _check_known("test", node.name, tests, node)
        return
    _check_known("filter", node.name, filters, node)
    for kind, known, places in (
        ("filter", filters, _FILTER_AS_ARGUMENT),
        ("test", tests, _TEST_AS_ARGUMENT),
    ):
        match node.args[places.get(node.name, len(node.args)) :]:
            case [nodes.Const(value=str() as name), *_]:
                _check_known(kind, name, known, node)
            case _:
                pass


def _check_known(kind: str, name: str, known: Iterable[str], node: nodes.Node) -> None:
    if name not in known:
        message = f"there is no {kind} '{name}'{suggestion(name, sorted(known))}"
        raise JinjaFaultError(message, offset=node.lineno)
