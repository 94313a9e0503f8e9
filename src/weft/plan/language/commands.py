"""The commands that a configuration makes Weft run, each with the keys that lead to it.

A project's configuration comes with its repository and was written by someone else. Most of it is harmless. The
keys in the table here are not: their values are run, decide what is run, or say where data is sent. No other key
does that, so this is the one place that defines what a person has to approve.
"""

from collections.abc import Iterator

from msgspec import Struct

from weft.plan.language.hosts import HOSTS_KEY
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
    "a host": frozenset(
        {
            "machine",
            "command",
            "address",
            "ssh",
            "cluster",
            "options",
            "tls",
            "directory",
            "python",
            "fetch",
        }
    ),
}
"""The dangerous keys, by the record that contains them."""
BESIDE = {"an agent": frozenset({"use"}), "a host": frozenset({"use"})}
"""Keys that give a dangerous key its meaning. Alone, they only name what the user has installed."""


class ConfiguredCommand(Struct, frozen=True):
    """A dangerous value of a configuration."""

    path: str
    """The keys that lead to it, as `agents.coder.command`."""
    value: Plain
    """The value as written. A number is text, as it is to a process."""

    def to_json(self) -> dict[str, Plain]:
        return {"path": self.path, "value": self.value}


def configured_hosts(root: Node) -> tuple[ConfiguredCommand, ...]:
    """Returns where the hosts of a valid plan or configuration are and how they are reached."""
    hosts = root.get("hosts") if isinstance(root, Table) else None
    return () if hosts is None else tuple(_within(hosts, HOSTS_KEY.kind, "hosts"))


def configured_commands(root: Node) -> tuple[ConfiguredCommand, ...]:
    """Returns the commands of a valid configuration, in the order of the file."""
    return tuple(_within(root, CONFIG, ""))


def _within(node: Node, kind: Kind | None, path: str) -> Iterator[ConfiguredCommand]:
    match kind, node:
        case Record(), Table():
            yield from _of_record(node, kind, path)
        case MapOf(), Table():
            for name, (_, value) in node.entries.items():
                yield from _within(value, kind.value, _join_path(path, name))
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
        # `use` says how a dangerous `command` is run, so it is approved together with it.
        dangerous |= BESIDE.get(record.name, frozenset())
    for name, (_, value) in table.entries.items():
        inner = _join_path(path, name)
        if name in dangerous:
            yield ConfiguredCommand(inner, plain(value))
        else:
            # The kind says how to go on: the same node can be a list of agents, a mapping of them, or plain text.
            yield from _within(value, record.key(name).kind, inner)


def _join_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def plain(node: Node) -> Plain:
    """Returns the node as plain data, with all single values as text."""
    match node:
        case Scalar():
            return node.text
        case Items():
            return [plain(item) for item in node.nodes]
        case Table():
            return {name: plain(value) for name, (_, value) in node.entries.items()}
