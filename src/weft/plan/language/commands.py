"""What a configuration has us run: each command in it, with the keys that lead there.

A project's configuration comes with its repository and is somebody else's text. Most of it is harmless; what the
table here names is not: its value is run, decides what is run, or says where things are sent. Nothing else in it
is, so this is the one place that says what a person has to agree to.
"""

from collections.abc import Iterator

from msgspec import Struct

from weft.plan.language.kinds_of_many import Either, ListOf, MapOf
from weft.plan.language.reader import Kind
from weft.plan.language.records import Record
from weft.plan.language.tables import CONFIG
from weft.plan.text.document import Items, Node, Scalar, Table
from weft.plan.text.emit import Plain

DANGEROUS = {
    "the configuration": frozenset({"setup"}),
    "an agent": frozenset({"command", "script", "args", "env"}),
    "notify": frozenset({"run", "webhook"}),
}
"""Keys by the record that they stand in."""
BESIDE = {"an agent": frozenset({"use"})}
"""Those that say what a dangerous key beside them means. Alone they only name what the user has installed."""


class ConfiguredCommand(Struct, frozen=True):
    path: str
    """The keys that lead to it: `agents.coder.command`."""
    value: Plain
    """As it is written; what would be read as a number is text, too, since to a process it is."""

    def to_json(self) -> dict[str, Plain]:
        return {"path": self.path, "value": self.value}


def configured_commands(root: Node) -> tuple[ConfiguredCommand, ...]:
    """Those of a configuration that has been read without an error, in the order of the file."""
    return tuple(_within(root, CONFIG, ""))


def _within(node: Node, kind: Kind | None, path: str) -> Iterator[ConfiguredCommand]:
    match kind, node:
        case Record(), Table():
            yield from _of_record(node, kind, path)
        case MapOf(), Table():
            for name, (_, value) in node.entries.items():
                yield from _within(value, kind.value, _joined(path, name))
        case ListOf(), Items():
            for number, item in enumerate(node.nodes):
                yield from _within(item, kind.item, f"{path}[{number}]")
        case Either(), Items():
            yield from _within(node, kind.items, path)
        case Either(), Table():
            yield from _within(node, kind.table, path)
        case _:
            return


def _of_record(table: Table, record: Record, path: str) -> Iterator[ConfiguredCommand]:
    dangerous = DANGEROUS.get(record.name, frozenset())
    if not dangerous.isdisjoint(table.entries):
        dangerous |= BESIDE.get(record.name, frozenset())
    for name, (_, value) in table.entries.items():
        inner = _joined(path, name)
        if name in dangerous:
            yield ConfiguredCommand(inner, plain(value))
        else:
            yield from _within(value, record.key(name).kind, inner)


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def plain(node: Node) -> Plain:
    """As it is written, all single values as text."""
    match node:
        case Scalar():
            return node.text
        case Items():
            return [plain(item) for item in node.nodes]
        case Table():
            return {name: plain(value) for name, (_, value) in node.entries.items()}
