"""What is fuzzed: each file that Weft reads, and its command line.

A trial puts a mutated file where a sound one belongs, and has Weft read it. Weft may refuse the file with a
message; it may not end with a traceback, with the exit code of a bug, or with an error of another kind, nor hang.
"""

import os
import shutil
import signal
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from hypothesis import strategies as st
from msgspec import Struct

from agents.calls import NOW, ended
from agents.recorded import LEAVE_A_FILE, OUTPUTS, USES, call_of
from faults.journal_damage import make_project
from fuzz import corpus
from fuzz.mutations import mutated
from weft.agents.acp.messages import LineDecoder
from weft.agents.adapters import adapter_of
from weft.agents.script import read_script
from weft.agents.shared.result_file import read_report
from weft.cli.main import COMMANDS, cli
from weft.errors import InputError
from weft.hosts.supervisor.log import LogHistory
from weft.hosts.supervisor.reaper import read_exits
from weft.plan.results.validation import TooManyStepsError, validator
from weft.testing.models.script import read_script as read_model_script

SECONDS = 180
"""A trial that takes longer counts as a hang; most take a hundredth of a second."""
CODES = frozenset({0, 1, 2, 3, 4})
STATES = ("--max-states", "200")
NOT_TYPED = frozenset({"coordinate", "start", "init", "open", "ui"})
"""Commands that would leave something behind: a process, files, a window; or that never end."""


class HangError(BaseException):
    """A trial took too long. No command catches it."""


class Target(Struct, frozen=True, kw_only=True):
    name: str
    inputs: st.SearchStrategy[Any]
    trial: Callable[[Path, Any], None]
    """Takes the directory of the campaign and an input; raises `AssertionError` or whatever Weft raised."""


@contextmanager
def time_limit(seconds: int = SECONDS) -> Generator[None]:
    """Raises `HangError` in the middle of what takes too long."""

    def interrupt(_number: int, _frame: object) -> None:
        raise HangError(f"it took longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def weft(root: Path, *arguments: str, text: bytes | None = None) -> None:
    """Types a command in this process."""
    environment = {name: None for name in os.environ if name.startswith("WEFT_")}
    runner = CliRunner(env=environment | {"HOME": str(root.parent)})
    done = runner.invoke(cli, ["-C", str(root), *arguments], input=text)
    problem = f"weft {arguments} exits with {done.exit_code}: {done.output[-3000:]}"
    assert done.exit_code in CODES, problem
    assert "Traceback" not in done.output, problem


# --- files that are named on the command line ---


def read_by(commands: Sequence[tuple[str, ...]], name: str, folder: Path, data: bytes) -> None:
    """The commands read the file of this name, which has a directory to itself."""
    root = folder / "project"
    shutil.rmtree(root, ignore_errors=True)
    (root / name).parent.mkdir(parents=True)
    (root / name).write_bytes(data)
    if name == ".weft/config.yaml":
        (root / "weft.yaml").write_bytes(corpus.PLANS[0])
    for command in commands:
        weft(root, *command)


def _target(name: str, texts: Sequence[bytes], trial: Callable[[Path, Any], None]) -> Target:
    return Target(name=name, inputs=mutated(texts), trial=trial)


def _file(name: str, texts: Sequence[bytes], file: str, *commands: tuple[str, ...]) -> Target:
    return _target(name, texts, partial(read_by, commands, file))


# --- what agents leave ---


def judge(use: str, _folder: Path, data: bytes) -> None:
    text = data.decode(errors="replace")
    adapter = adapter_of(use)
    call = call_of(use)
    if adapter.progress is not None:
        adapter.progress(call, text)
    stdout = {"stdout": "done\n", "result_file": text} if use in LEAVE_A_FILE else {"stdout": text}
    for code in (0, 1):
        adapter.judge(call, ended(**stdout, exit_code=code))
        adapter.judge(call, ended(stdout="", stderr=text, exit_code=code))


def read_result(_folder: Path, data: bytes) -> None:
    read_report(data.decode(errors="replace"), at=NOW)


def read_messages(_folder: Path, data: bytes) -> None:
    lines = LineDecoder()
    for start in range(0, len(data), 50):
        lines.feed(data[start : start + 50])


def check_answer(_folder: Path, data: bytes) -> None:
    """The first line is a schema, the rest an answer."""
    from msgspec import DecodeError, json  # noqa: PLC0415

    from weft.plan.results.json_schemas import schema_fault  # noqa: PLC0415

    schema, _, answer = data.partition(b"\n")
    with suppress(DecodeError, UnicodeDecodeError, RecursionError):
        wanted, value = json.decode(schema), json.decode(answer)
        if schema_fault(wanted) is None:
            with suppress(TooManyStepsError):
                list(validator(wanted).iter_errors(value))


# --- scripts ---


def read_scripts(folder: Path, data: bytes) -> None:
    for name in ("script.yaml", "script.json"):
        (folder / name).write_bytes(data)
        with suppress(InputError):
            read_script(str(folder / name))


def read_model(_folder: Path, data: bytes) -> None:
    with suppress(InputError):
        read_model_script(data.decode(errors="replace"))


# --- what Weft keeps ---

KEPT = ("host/log", "host/exits", "host/heartbeat.json", "status.json", ".gitignore", "coordinator.lock")
READS = (
    ("status",),
    ("doctor",),
    ("logs", "a"),
    ("events",),
    ("merge", "--list"),
    ("run",),
    ("status", "--json"),
)


def read_kept(folder: Path, given: tuple[int, bytes]) -> None:
    """A finished project one of whose files in `.weft` is not what it was."""
    number, data = given
    original, root = folder / "sound", folder / "kept"
    if not original.exists():
        make_project(original)
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(original, root, ignore=shutil.ignore_patterns("socket"))
    files = sorted(
        file for file in (root / ".weft").rglob("*") if file.is_file() and not file.name.startswith("weft.db")
    )
    files[number % len(files)].write_bytes(data)
    for command in READS:
        weft(root, *command)


def read_host_files(folder: Path, data: bytes) -> None:
    """What a supervisor reads before it listens."""
    for name in ("log", "exits"):
        (folder / name).write_bytes(data)
    LogHistory().read(str(folder / "log"))
    read_exits(str(folder))


# --- the command line ---


def _words() -> st.SearchStrategy[list[str]]:
    names = [name for folder in COMMANDS.values() for name in folder if name not in NOT_TYPED]
    options = sorted({option for name in names for option in corpus.options_of(name)})
    values = st.sampled_from(corpus.VALUES) | st.text(max_size=6)
    word = st.sampled_from(options) | values | st.builds("{}={}".format, st.sampled_from(options), values)
    return st.tuples(st.sampled_from(names), st.lists(word, max_size=5)).map(
        lambda typed: [typed[0], *typed[1]]
    )


def type_words(folder: Path, words: list[str]) -> None:
    root = folder / "typed"
    if not root.exists():
        make_project(root)
        (root / "net.json").write_bytes(corpus.JSON_NETS[0])
    environment = {name: None for name in os.environ if name.startswith("WEFT_")}
    runner = CliRunner(env=environment | {"HOME": str(folder)})
    arguments = [word for word in words if word not in {"-f", "--follow"}]
    done = runner.invoke(cli, ["-C", str(root), *arguments], input="")
    assert done.exit_code in CODES, f"weft {arguments} exits with {done.exit_code}: {done.output[-3000:]}"


TARGETS = (
    _file("plan", corpus.PLANS, "weft.yaml", ("check",), ("show",), ("graph",), ("check", "--json")),
    _file("json-plan", corpus.JSON_PLANS, "weft.json", ("check", "weft.json"), ("show", "weft.json")),
    _file("config", corpus.CONFIGS, ".weft/config.yaml", ("check",), ("config",), ("doctor",)),
    _file("pnml", corpus.PNML, "net.pnml", ("net", "check", "net.pnml", *STATES),
          ("net", "explore", "net.pnml", *STATES), ("net", "convert", "net.pnml", "--to", "json")),
    _file("json-net", corpus.JSON_NETS, "net.json", ("net", "check", "net.json", *STATES),
          ("net", "explore", "net.json", *STATES), ("net", "invariants", "net.json")),
    _file("brunch", corpus.BRUNCH, "old.yaml", ("convert", "old.yaml", "--from", "brunch")),
    _file("ail", corpus.AIL, "old.yaml", ("convert", "old.yaml", "--from", "ail")),
    _file("gsd", corpus.GSD, ".gsd/M001/M001-ROADMAP.md", ("convert", ".gsd", "--from", "gsd")),
    *(_target(f"agent {use}", corpus.in_folder(OUTPUTS / use), partial(judge, use)) for use in USES),
    _target("acp", corpus.in_folder(OUTPUTS.parent / "acp" / "recorded"), read_messages),
    _target("result file", corpus.RESULTS, read_result),
    _target("answer", corpus.ANSWERS, check_answer),
    _target("script", corpus.SCRIPTS, read_scripts),
    _target("model script", corpus.MODEL_SCRIPTS, read_model),
    _target("host files", corpus.HOST_FILES, read_host_files),
    Target(name="kept", inputs=st.tuples(st.integers(0, 999), mutated(corpus.HOST_FILES)), trial=read_kept),
    Target(name="command line", inputs=_words(), trial=type_words),
)  # fmt: skip
