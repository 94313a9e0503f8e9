"""Mappings with known keys: which there are, what each may hold, which go together.

A record is read in one pass over what is written; whatever is wrong is told, and what is right is kept, so that
one slip does not hide the next. Its rules are data with three faces: a check, a piece of JSON Schema, a sentence.
"""

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Any, Protocol

from msgspec import Struct

from weft.plan.language.kinds import Choice
from weft.plan.language.kinds_of_many import Json
from weft.plan.language.reader import BAD, Kind, Reader, Schema, mismatch
from weft.plan.text.document import Items, Node, Scalar, Table, read_document
from weft.plan.text.problems import nearest, suggestion

_NAMES_SHOWN = 4


class Key(Struct, frozen=True, kw_only=True):
    name: str
    kind: Kind
    doc: str
    """A sentence or two, for the reference and for editors."""
    required: bool = False
    default: str | None = None
    """What holds without it: a value as it would be written, or `Words`."""
    example: str | None = None
    """A value, as it would be written."""


class Words(str):
    """A default that no single value says."""

    __slots__ = ()


class Values:
    """What was read of a record: the values that are right, and the table they stand in."""

    __slots__ = ("given", "table")

    def __init__(self, given: dict[str, Any], table: Table) -> None:
        self.given = given
        self.table = table

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - as the key's kind says
        return self.given.get(name, default)


class Record(Struct, frozen=True, eq=False, dict=True):
    name: str
    doc: str
    keys: tuple[Key, ...]
    rules: "tuple[Rule, ...]" = ()

    @cached_property
    def _known(self) -> dict[str, Key]:
        return {key.name: key for key in self.keys}

    @cached_property
    def _required(self) -> list[Key]:
        return [key for key in self.keys if key.required]

    def __repr__(self) -> str:
        # By its name: records hold each other, and all of them are long.
        return f"Record({self.name!r})"

    @property
    def words(self) -> str:
        names = [key.name for key in self.keys]
        more = ", …" if len(names) > _NAMES_SHOWN else ""
        return f"a mapping with the keys {', '.join(names[:_NAMES_SHOWN])}{more}"

    @property
    def title(self) -> str:
        """The name, as a heading: without its article."""
        article, _, rest = self.name.partition(" ")
        return rest if article in {"a", "an", "the"} else self.name

    def key(self, name: str) -> Key:
        return self._known[name]

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401 - Values, or BAD
        if type(node) is not Table:
            return mismatch(self, node, reader, name, self._as_mapping(node, reader))
        known = self._known
        if not node.entries.keys() <= known.keys():
            node = self._understood(node, reader)
        given: dict[str, Any] = {}
        for written, (_, value) in node.entries.items():
            read = known[written].kind.read(value, reader, written)
            if read is not BAD:
                given[written] = read
        for key in self._required:
            if key.name not in node.entries:
                reader.wrong(node, f"{self.name} needs the key {key.name!r} ({key.kind.words})")
        for rule in self.rules:
            rule.check(node, reader, self.name)
        return Values(given, node)

    @property
    def key_names(self) -> Collection[str]:
        return self._known.keys()

    def _as_mapping(self, node: Node, reader: Reader) -> str:
        """Advice, if it is clear which key has this value: the one that is needed, or that has such values."""
        if not isinstance(node, Scalar) or not node.text.isprintable():
            return ""
        keys = self._required or [key for key in self.keys if isinstance(key.kind, Choice)]
        fitting = [
            key.name for key in keys if key.kind.read(node, Reader(reader.document), key.name) is not BAD
        ]
        is_clear = len(fitting) == 1 and len(self._required) <= 1
        return f"; write {{{fitting[0]}: {node.text}}}" if is_clear else ""

    def _understood(self, table: Table, reader: Reader) -> Table:
        """The table without unknown keys; a slip stands for what was meant, so that it is told only once."""
        understood = Table(table.line, table.column)
        for written, entry in table.entries.items():
            if written in self._known:
                understood.entries[written] = entry
                continue
            near = None if reader.full else nearest(written, self._known)
            hint = "" if reader.full else suggestion(written, list(self._known))
            reader.wrong(entry[0], f"unknown key {written!r} in {self.name}{hint}")
            if near is not None:  # what is really there counts
                understood.entries.setdefault(near, entry)
        return understood

    def schema(self) -> Schema:
        return {"$ref": f"#/$defs/{self.title}"}

    def definition(self) -> Schema:
        schema: Schema = {
            "title": self.title,
            "description": self.doc,
            "type": "object",
            "properties": {key.name: _described(key) for key in self.keys},
        }
        if self._required:
            schema["required"] = [key.name for key in self._required]
        schema["additionalProperties"] = False
        if self.rules:
            schema["allOf"] = [rule.schema() for rule in self.rules]
        return schema


def _described(key: Key) -> Schema:
    default = "" if key.default is None else f" Default: {key.default}."
    schema = key.kind.schema() | {"description": key.doc + default}
    if key.default is not None and not isinstance(key.default, Words):
        schema["default"] = written_value(key.default)
    if key.example is not None:
        schema["examples"] = [written_value(key.example)]
    return schema


def written_value(text: str) -> Any:  # noqa: ANN401 - any value of JSON
    """The value that this text of the tables is in a plan."""
    document = read_document(text, "the language")
    return Json().read(document.root, Reader(document), "a value")


class Later(Struct, frozen=True):
    """A record that is defined further down, or that this one is a part of."""

    record: Callable[[], Record]

    @property
    def words(self) -> str:
        return self.record().words

    @property
    def key_names(self) -> Collection[str]:
        return self.record().key_names

    def read(self, node: Node, reader: Reader, name: str) -> Any:  # noqa: ANN401
        return self.record().read(node, reader, name)

    def schema(self) -> Schema:
        return self.record().schema()


# Rules.


class Rule(Protocol):
    def check(self, table: Table, reader: Reader, name: str) -> None: ...

    def schema(self) -> Schema: ...

    @property
    def sentence(self) -> str: ...


class Has(Struct, frozen=True):
    key: str

    def holds(self, table: Table) -> bool:
        return self.key in table.entries

    def schema(self) -> Schema:
        return {"required": [self.key]}

    def __str__(self) -> str:
        return f"`{self.key}`"


class Is(Struct, frozen=True):
    key: str
    value: str

    def holds(self, table: Table) -> bool:
        node = table.get(self.key)
        return isinstance(node, Scalar) and node.text == self.value

    def schema(self) -> Schema:
        return {"required": [self.key], "properties": {self.key: {"const": self.value}}}

    def __str__(self) -> str:
        return f"`{self.key}: {self.value}`"


class AnyOf(Struct, frozen=True):
    conditions: "tuple[Has | Is, ...]"

    def holds(self, table: Table) -> bool:
        return any(condition.holds(table) for condition in self.conditions)

    def schema(self) -> Schema:
        return {"anyOf": [condition.schema() for condition in self.conditions]}

    def __str__(self) -> str:
        return " or ".join(map(str, self.conditions))


Condition = Has | Is | AnyOf


class ExactlyOne(Struct, frozen=True):
    keys: tuple[str, ...]

    @property
    def sentence(self) -> str:
        return f"Exactly one of {_listed(self.keys)}."

    def check(self, table: Table, reader: Reader, name: str) -> None:
        there = [key for key in self.keys if key in table.entries]
        if not there:
            reader.wrong(table, f"{name} needs exactly one of: {', '.join(self.keys)}")
        for extra in there[1:]:
            reader.wrong(
                table.key(extra), f"{extra!r} cannot stand beside {there[0]!r}; one of them says what is done"
            )

    def schema(self) -> Schema:
        return {"oneOf": [{"required": [key]} for key in self.keys]}


class AtMostOne(Struct, frozen=True):
    keys: tuple[str, ...]

    @property
    def sentence(self) -> str:
        return f"At most one of {_listed(self.keys)}."

    def check(self, table: Table, reader: Reader, name: str) -> None:
        there = [key for key in self.keys if key in table.entries]
        for extra in there[1:]:
            reader.wrong(table.key(extra), f"{name} cannot have both {there[0]!r} and {extra!r}")

    def schema(self) -> Schema:
        pairs = [(a, b) for number, a in enumerate(self.keys) for b in self.keys[number + 1 :]]
        return {"not": {"anyOf": [{"required": list(pair)} for pair in pairs]}}


class AtLeastOne(Struct, frozen=True):
    keys: tuple[str, ...]

    @property
    def sentence(self) -> str:
        return f"At least one of {_listed(self.keys)}."

    def check(self, table: Table, reader: Reader, name: str) -> None:
        if not any(key in table.entries for key in self.keys):
            reader.wrong(table, f"{name} needs at least one of: {', '.join(self.keys)}")

    def schema(self) -> Schema:
        return {"anyOf": [{"required": [key]} for key in self.keys]}


class OnlyWith(Struct, frozen=True):
    """The keys have a meaning only where the condition holds."""

    keys: tuple[str, ...]
    condition: Condition

    @property
    def sentence(self) -> str:
        verb = "has" if len(self.keys) == 1 else "have"
        return f"{_listed(self.keys)} {verb} a meaning only with {self.condition}."

    def check(self, table: Table, reader: Reader, name: str) -> None:
        if not self.condition.holds(table):
            for key in self.keys:
                if key in table.entries:
                    needed = _quoted(self.condition)
                    reader.wrong(table.key(key), f"{key!r} has no meaning in {name} without {needed}")

    def schema(self) -> Schema:
        return {
            "if": {"not": self.condition.schema()},
            "then": {"properties": dict.fromkeys(self.keys, False)},
        }


class Needs(Struct, frozen=True):
    """Where the condition holds, the key must be there, and not be an empty list."""

    condition: Condition
    key: str

    @property
    def sentence(self) -> str:
        return f"{self.condition} needs `{self.key}`."

    def check(self, table: Table, reader: Reader, name: str) -> None:
        if not self.condition.holds(table):
            return
        node = table.get(self.key)
        needs = f"{name} with {_quoted(self.condition)} needs the key {self.key!r}"
        if node is None:
            reader.wrong(table, needs)
        elif isinstance(node, Items) and not node.nodes:
            reader.wrong(node, f"{needs}, and not an empty list")

    def schema(self) -> Schema:
        then: Schema = {"required": [self.key], "properties": {self.key: {"minItems": 1}}}
        return {"if": self.condition.schema(), "then": then}


class OneValueSet(Struct, frozen=True):
    """Which values a key may have depends on a condition."""

    key: str
    condition: Condition
    then: tuple[str, ...]
    otherwise: tuple[str, ...]

    @property
    def sentence(self) -> str:
        return (
            f"`{self.key}` is {_listed(self.then, 'or')} with {self.condition}, "
            f"else {_listed(self.otherwise, 'or')}."
        )

    def check(self, table: Table, reader: Reader, name: str) -> None:
        node = table.get(self.key)
        if not isinstance(node, Scalar):
            return
        allowed, other, where = self.then, self.otherwise, "with"
        if not self.condition.holds(table):
            allowed, other, where = other, allowed, "without"
        if node.text in other and node.text not in allowed:
            context = f"{name} {where} {_quoted(self.condition)}"
            reader.wrong(node, f"{self.key} is {node.text!r}; allowed in {context} is {' | '.join(allowed)}")

    def schema(self) -> Schema:
        def one_of(values: Sequence[str]) -> Schema:
            return {"properties": {self.key: {"enum": list(values)}}}

        return {"if": self.condition.schema(), "then": one_of(self.then), "else": one_of(self.otherwise)}


def _quoted(condition: Condition) -> str:
    return str(condition).replace("`", "'")


def _listed(keys: Sequence[str], last: str = "and") -> str:
    names = [f"`{key}`" for key in keys]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"
