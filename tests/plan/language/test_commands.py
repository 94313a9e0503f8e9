"""What a configuration would have run."""

from collections.abc import Iterator
from typing import Any

import pytest

from weft.plan.language.commands import (
    BESIDE,
    DANGEROUS,
    ConfiguredCommand,
    configured_commands,
)
from weft.plan.language.kinds_of_many import Either, ListOf, MapOf
from weft.plan.language.records import Record
from weft.plan.language.tables import CONFIG, RECORDS
from weft.plan.loader.load import read_config
from weft.plan.text.document import read_document

HARMLESS = """\
max_parallel: 8
agent: coder
worktrees: ../{{ slice.path }}
copy: [.env]
merge: {mode: auto}
agents:
  coder: {use: claude, model: sonnet, pool: 3, max_cost: 1}
notify: {on: [failed], desktop: true}
prices: {sonnet: {input: 3, output: 15}}
host: near
hosts: {local: {slots: 3, labels: [small]}}
"""


def commands(text: str) -> list[tuple[str, Any]]:
    read_config(text, "config.yaml", "project")  # is right
    return [
        (command.path, command.value)
        for command in configured_commands(read_document(text, "config.yaml").root)
    ]


def test_settings_and_agents_that_are_only_named_need_no_approval() -> None:
    assert commands(HARMLESS) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("setup: make", [("setup", "make")]),
        (
            "hosts: {near: {use: ssh, machine: big3, slots: 4, lost_after: 5m}}",
            [("hosts.near.use", "ssh"), ("hosts.near.machine", "big3")],
        ),
        (
            "hosts: {box: {use: command, command: docker exec -i box, python: python3.12, directory: /srv/weft}}",
            [
                ("hosts.box.use", "command"),
                ("hosts.box.command", "docker exec -i box"),
                ("hosts.box.python", "python3.12"),
                ("hosts.box.directory", "/srv/weft"),
            ],
        ),
        (
            "hosts: {hpc: {use: dask, cluster: a.B, options: {cores: 4}, scale: 3}}",
            [
                ("hosts.hpc.use", "dask"),
                ("hosts.hpc.cluster", "a.B"),
                ("hosts.hpc.options", {"cores": "4"}),
            ],
        ),
        ("setup: [make, [ls, -l]]", [("setup", ["make", ["ls", "-l"]])]),
        (
            "agents: {a: {use: command, command: run me, model: m}}",
            [("agents.a.use", "command"), ("agents.a.command", "run me")],
        ),
        (
            "agents: {b: {use: claude, args: [--yolo]}}",
            [("agents.b.use", "claude"), ("agents.b.args", ["--yolo"])],
        ),
        (
            "agents: {c: {use: codex, env: {PORT: 80, LD_PRELOAD: x.so}}}",
            [("agents.c.use", "codex"), ("agents.c.env", {"PORT": "80", "LD_PRELOAD": "x.so"})],
        ),
        (
            "agents: {d: {use: scripted, script: s.yaml}}",
            [("agents.d.use", "scripted"), ("agents.d.script", "s.yaml")],
        ),
        ("notify: {run: [a, b]}", [("notify.run", ["a", "b"])]),
        (
            "notify: [{desktop: true}, {webhook: 'https://x.example/y', on: [failed]}]",
            [("notify[1].webhook", "https://x.example/y")],
        ),
        ("notify: [{run: a}, {run: b}]", [("notify[0].run", "a"), ("notify[1].run", "b")]),
    ],
)
def test_all_that_is_run_or_says_where_things_go_is_found(text: str, expected: list[tuple[str, Any]]) -> None:
    assert commands(text) == expected


def test_they_come_in_the_order_of_the_file() -> None:
    text = "notify: {run: n}\nagents:\n  z: {use: pi, args: [1x]}\n  a: {use: pi, args: [y]}\nsetup: s\n"
    assert [path for path, _ in commands(text)] == [
        "notify.run", "agents.z.use", "agents.z.args", "agents.a.use", "agents.a.args", "setup",
    ]  # fmt: skip


def test_what_is_written_with_anchors_is_seen_where_it_counts() -> None:
    text = "agents:\n  a: &a {use: command, command: x}\n  b:\n    <<: *a\n    command: y\n"
    assert dict(commands(text)) == {
        "agents.a.use": "command", "agents.a.command": "x", "agents.b.use": "command", "agents.b.command": "y",
    }  # fmt: skip


def test_the_same_text_is_the_same_value_however_it_is_quoted() -> None:
    assert commands("setup: 'make 1'") == commands('setup: "make 1"') == commands("setup: make 1")


def keys_within(record: Record) -> Iterator[tuple[str, str, Any]]:
    for key in record.keys:
        yield record.name, key.name, key.kind
        yield from within(key.kind)


def within(kind: Any) -> Iterator[tuple[str, str, Any]]:
    match kind:
        case Record():
            yield from keys_within(kind)
        case ListOf():
            yield from within(kind.item)
        case MapOf():
            yield from within(kind.value)
        case Either():
            for inner in kind.kinds():
                yield from within(inner)
        case _:
            pass


def test_no_key_of_a_configuration_that_holds_a_command_is_forgotten() -> None:
    for record, key, kind in keys_within(CONFIG):
        if "/bin/sh" in kind.words:
            assert key in DANGEROUS[record]


def test_the_keys_of_the_table_are_there() -> None:
    records = {record.name: {key.name for key in record.keys} for record in RECORDS}
    for table in (DANGEROUS, BESIDE):
        for name, keys in table.items():
            assert keys <= records[name]


def test_as_json_it_is_its_place_and_value() -> None:
    assert ConfiguredCommand("setup", ["a"]).to_json() == {"path": "setup", "value": ["a"]}
