"""Sound files, from which those of the trials are made."""

# ruff: noqa: E501, ISC004, RUF005 - the files are as they are

import json
from functools import cache
from pathlib import Path
from typing import Any

import click
import yaml

from weft.cli.main import cli

TESTS = Path(__file__).parents[1]
EXAMPLES = TESTS.parent / "examples"


def in_folder(folder: Path) -> tuple[bytes, ...]:
    return tuple(file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file())


SMALL = b"""\
weft: 1
plan: small
budget: 2.5
max_parallel: 3
agents: {coder: {use: claude, model: m, env: {A: b}}, mine: {use: command, command: sh x}}
agent: coder
pipelines: {p: [{id: one, prompt: "Do {{ subplan.title }}"}]}
merge: {mode: confirm, when: slice}
subplans:
  - id: a
    title: First
    files: ["src/*.py", "!src/x"]
    verify: make test
    retries: 2
    timeout: 5m
    steps:
      - {id: x, run: echo a}
      - {id: y, prompt: "Look at {{ steps.x.output }}", output_schema: {type: object, properties: {n: {type: integer}}}}
      - {id: z, action: ask, question: "Sure?"}
  - {id: b, depends_on: [a], when: "true", use: p}
  - id: g
    subplans:
      - {id: c, depends_on: [/a], steps: [{id: x, run: [echo, c]}]}
      - {id: d, steps: [{id: x, run: "true"}, {id: again, repeat: {max: 3, steps: [{id: r, run: "false"}]}}]}
"""
PLANS = (SMALL, *in_folder(EXAMPLES / "plans"), (EXAMPLES / "demo" / "project" / "weft.yaml").read_bytes())
JSON_PLANS = tuple(json.dumps(yaml.safe_load(plan)).encode() for plan in PLANS) + (
    b'{"weft": 1, "plan": "p", "subplans": [{"id": "a", "title": "\\ud83d\\ude80", "steps": [{"id": "x", "run": "\\u00e9"}]}]}',
)
CONFIGS = (
    b"max_parallel: 4\nisolation: worktree\nbudget: 3\n",
    b"agents: {coder: {use: claude, model: x, args: [--a], env: {K: v}}}\nagent: coder\nworktrees: .weft/w\n",
    b"notify: {command: 'true', on: [failed]}\nsandbox: {network: none}\nmerge: {mode: manual, push: origin}\n",
    b"env: [HOME, 'LC_*']\nverify: make test\nretries: 1\ntimeout: 10m\nprices: {m: {input: 1, output: 2}}\n",
)
PNML = in_folder(TESTS / "net" / "formats" / "dialects")
JSON_NETS = tuple(
    json.dumps({"weft": 1, "net": net}).encode()
    for net in (
        {
            "places": [{"id": "p", "tokens": 1}, {"id": "q"}],
            "transitions": [
                {
                    "id": "t",
                    "inputs": [{"place": "p"}],
                    "outcomes": [{"name": "done", "outputs": [{"place": "q", "weight": 1}]}],
                }
            ],
        },
        {"places": [{"id": "pool", "kind": "pool", "tokens": 3}], "transitions": []},
    )
)
BRUNCH = (
    b"epics: [{id: base, summary: Note store}]\nslices:\n"
    b"  - {id: model, epic_id: base, definition: A type, verification: [{target: tests/model.test}]}\n"
    b"  - {id: view, epic_id: base, depends_on: [model], definition: A view, verification: [{target: x}]}\n",
)
AIL = (
    b'version: "0.1"\npipeline:\n  - {id: brief, prompt: Which files?}\n'
    b'  - {id: it, prompt: "See {{ step.brief.response }}", on_result: [{contains: x, action: break}]}\n'
    b"  - {id: loop, do_while: {max_iterations: 2, exit_when: '{{ last_response }} contains ok', steps: []}}\n",
)
GSD = (
    b"# M001: Store\n\n## Slices\n\n- [ ] **S01: Note type** `depends:[]`\n- [x] **S02: View** `depends:[S01]`\n",
    "# M001: Store\n\n| ID | Slice | Risk | Depends | Done |\n|---|---|---|---|---|\n| S01 | Title | low | — | ⬜ |\n".encode(),
)
RESULTS = (
    b'{"result": "ok", "cost_usd": 0.25, "tokens": 12, "session": "s-1"}',
    b'{"cost_usd": 0, "limited_for": 60, "error": "too many"}\n{"tokens": {"input": 1, "output": 2}}',
    b'{"limited_until": "2026-11-18T10:00:00Z", "result": {"a": [1, 2]}}',
)
ANSWERS = (
    b'{"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}\n{"n": 3}',
    b'{"type": "array", "items": {"type": "string", "pattern": "^a+$"}, "uniqueItems": true}\n["aaa", "b"]',
    b'{"$defs": {"x": {"enum": [1, "a", null]}}, "anyOf": [{"$ref": "#/$defs/x"}, {"type": "number"}]}\n1.5',
)
SCRIPTS = (
    b'[{"when": {"subplan": "a*", "attempt": 1}, "do": [{"say": "x"}, {"write": {"f": "y"}}, {"cost_usd": 0.5}]}]',
    b"- when: {prompt_contains: test}\n  do:\n    - run: [echo, x]\n    - result: {a: 1}\n    - exit: 3\n",
)
MODEL_SCRIPTS = (
    json.dumps(yaml.safe_load((EXAMPLES / "demo" / "models.yaml").read_bytes())).encode(),
    b'{"a": [{"text": "x", "usage": {"input": 1}}, {"http": 429, "delay": 0}, {"shell": "ls"}]}',
)
HOST_FILES = (
    b'{"supervisor": 12, "started": 34, "boot": "b"}\n{"start": "j", "mark": 1, "at": 1.5, "outputs": [["f", 3]]}\n'
    b'{"run": "j", "pid": 5, "started": 6}\n{"ended": {"id": "j", "why": "exited", "exit_code": 0}}\n',
    b'{"pid": 5, "started": 6, "boot": "b", "status": 0, "at": 1.0}\n{"forget": ["j"]}\n',
    b'{"weft": 1, "state": "running", "pid": 12, "heartbeat_at": "2026-11-18T00:00:00Z"}',
)
VALUES = (
    *("weft.yaml", "net.json", "missing", "-", "--", "", ".", "/", "..", "a", "b", "c", "a:work", "a/b", "a:", ":"),
    *("0", "1", "-1", "3.5", "1e99", "nan", "inf", "99999999999999999999", "10m", "json", "dot", "svg", "pnml"),
    *("serial", "auto", "claude", "\ud800", "é🚀", "a\nb", "\x1b[2J", "x" * 300, "*", "HEAD", "--json", "2026-11-18"),
)  # fmt: skip


@cache
def options_of(name: str) -> tuple[str, ...]:
    """The options of a command and of those below it, and their names."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return tuple(_options(command))


def _options(command: click.Command) -> list[str]:
    result = [option for parameter in command.params for option in _names(parameter)]
    below: dict[str, Any] = getattr(command, "commands", {})
    for name, inner in below.items():
        result += [name, *_options(inner)]
    return result


def _names(parameter: click.Parameter) -> list[str]:
    return [*parameter.opts, *parameter.secondary_opts] if isinstance(parameter, click.Option) else []
