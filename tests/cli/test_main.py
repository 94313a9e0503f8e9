"""The root command: exit codes, one-line errors, streams kept apart, and how it behaves as a process."""

import importlib.metadata
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import sysconfig
import termios
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from weft.app.inspect import nets
from weft.cells import clean
from weft.cli import commands
from weft.cli.main import COMMANDS, EXIT_BUG, cli, exit_code
from weft.cli.output import PROGRESS_AFTER, PROGRESS_EVERY, ProgressLine, progress_on_terminal, write_text
from weft.errors import StateError
from weft.net.formats import write_pnml
from weft.testing.nets import net_of, philosophers

WEFT = str(Path(sysconfig.get_path("scripts")) / "weft")
NET_COMMANDS = {
    "explore": ["net", "explore"],
    "check": ["net", "check", "--json"],
    "invariants": ["net", "invariants", "--json"],
    "convert": ["net", "convert", "--to", "dot", "--out", "out"],
}


def pnml(*body: str) -> str:
    return f'<pnml><net id="n" type="P/T net"><place id="p"/><transition id="t"/>{"".join(body)}</net></pnml>'


def arc(weight: str) -> str:
    return f'<arc id="a" source="p" target="t"><inscription><text>{weight}</text></inscription></arc>'


NODES = '{"weft": 1, "net": {"places": [{"id": "p"}, {"id": "p"}], "transitions": []}}'
BAD: dict[str, tuple[str, str | bytes]] = {
    "a missing place": ("n.pnml", pnml('<arc id="a" source="nowhere" target="t"/>')),
    "a negative weight": ("n.pnml", pnml(arc("-1"))),
    "a DTD": ("n.pnml", "<!DOCTYPE pnml><pnml/>"),
    "an external entity": (
        "n.pnml",
        '<!DOCTYPE pnml [<!ENTITY e SYSTEM "file:///etc/passwd">]><pnml>&e;</pnml>',
    ),
    "deep nesting": ("n.pnml", pnml("<a>" * 100_000)),
    "duplicate ids in PNML": ("n.xml", pnml('<place id="p"/>')),
    "duplicate ids in JSON": ("n.json", NODES),
    "deep nesting in JSON": ("n.json", "[" * 1_000_000),
    "a long number in JSON": ("n.json", f'{{"weft": {"9" * 100_000}}}'),
    "garbage": ("n.json", "{]"),
    "another JSON": ("n.json", '{"name": "package"}'),
    "not UTF-8": ("n.json", b'{"\xe9": 1}'),
    "binary": ("n.pnml", bytes(range(256)) * 10),
    "binary without a suffix": ("n", bytes(range(256)) * 10),
    "empty": ("n.pnml", b""),
    "a name of two lines": ("one\ntwo\x1b[31m.json", "{]"),
}


def run(*args: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, args, input=stdin)


@pytest.fixture
def net(tmp_path: Path) -> str:
    path = tmp_path / "net.pnml"
    path.write_text(write_pnml(net_of("i > a\na > o", {"i": 1})))
    return str(path)


@pytest.mark.parametrize("command", NET_COMMANDS.values(), ids=NET_COMMANDS)
@pytest.mark.parametrize(("name", "content"), BAD.values(), ids=BAD)
def test_a_bad_file_is_one_line_on_stderr_and_exit_code_2(
    tmp_path: Path, command: list[str], name: str, content: str | bytes
) -> None:
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    result = run("-C", str(tmp_path), *command, name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert re.fullmatch(r"error: [^\n\x1b]+\n", result.stderr)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("command", NET_COMMANDS.values(), ids=NET_COMMANDS)
def test_a_file_that_is_not_there_or_a_folder_is_exit_code_2(tmp_path: Path, command: list[str]) -> None:
    for name in ("no.pnml", "."):
        result = run("-C", str(tmp_path), *command, name)
        assert (result.exit_code, result.stdout) == (2, "")
        assert re.fullmatch(rf"error: cannot read {re.escape(name)}: [a-z ]+\n", result.stderr)


@pytest.mark.parametrize("words", [["hosts", "\ud800"], ["check", "\ud800"], ["-C", "\ud800", "status"]])
def test_an_argument_that_no_system_can_pass_is_a_usage_error(words: list[str]) -> None:
    refused = run(*words)
    assert refused.exit_code == 2
    assert "is not valid text: '\\ud800'" in refused.stderr


def test_a_mistyped_command_gets_a_suggestion() -> None:
    for args, meant in ((["nte"], "net"), (["net", "explroe"], "explore")):
        result = run(*args)
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"Did you mean '{meant}'?" in result.stderr


def test_each_module_of_commands_is_listed_in_its_folder() -> None:
    folder = Path(str(commands.__file__)).parent
    modules = sorted(
        (path.parent.name, path.stem) for path in folder.glob("*/*.py") if path.stem != "__init__"
    )
    assert modules == sorted((room, name) for room, names in COMMANDS.items() for name in names)


def test_the_help_lists_each_command_once_except_hidden_ones() -> None:
    names = {name for folder in COMMANDS.values() for name in folder} | {"completion"}
    output = CliRunner().invoke(cli, ["--help"]).output
    listed = re.findall(r"^  ([a-z]+)  +[A-Z]", output[output.index("Projects:") :], re.MULTILINE)
    assert sorted(listed) == sorted(names - {"coordinate"})


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_that_of_the_package(option: str) -> None:
    assert run(option).stdout == f"weft {importlib.metadata.version('weft')}\n"


@pytest.mark.parametrize(
    "words", [[], ["run"], ["net"], ["net", "check"], ["completion"], ["help"]], ids=" ".join
)
def test_the_help_of_a_command_can_be_asked_for_first(words: list[str]) -> None:
    shown = run("help", *words)
    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout == run(*words, "--help").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["chekc"], "No such command 'chekc'. Did you mean 'check'?"),
        (["net", "explroe"], "No such command 'explroe'. Did you mean 'explore'?"),
        (["run", "store"], "weft run has no commands of its own; type: weft help run"),
    ],
)
def test_help_for_an_unknown_command_is_a_usage_error(words: list[str], said: str) -> None:
    shown = run("help", *words)
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert shown.stderr.endswith(f"Error: {said}\n")


@pytest.mark.parametrize(
    "args", [[], ["net"], *(command[:2] for command in NET_COMMANDS.values()), ["completion"]]
)
def test_every_help_has_an_example(args: list[str]) -> None:
    result = run(*args, "--help")
    assert result.exit_code == 0
    assert re.search(r"\n  Examples?:\n    .*weft ", result.stdout)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["events", "--after", "x"],
            "'--after': 'x' is not a whole number; allowed is a whole number from 0 on.",
        ),
        (
            ["decompose", "--max-files", "few"],
            "'--max-files': 'few' is not a whole number; allowed is a whole number, such as 25.",
        ),
        (
            ["decompose", "--timeout", "5m"],
            "'--timeout': '5m' is not a number; allowed is a number from 0.1 to 3600.",
        ),
        (["graph", "--format", "png"], "'--format': 'png' is not one of 'mermaid', 'dot', 'svg', 'pnml'."),
    ],
)
def test_a_bad_value_of_an_option_is_refused_with_what_is_allowed(words: list[str], said: str) -> None:
    result = run(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.endswith(f"Error: Invalid value for {said}\n")


def test_the_directory_is_what_names_are_relative_to(net: str) -> None:
    assert run("-C", str(Path(net).parent), "net", "check", "net.pnml").exit_code == 0
    assert run("-C", f"{net}/no", "net", "check", "net.pnml").exit_code == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script_names_the_command(shell: str) -> None:
    result = run("completion", shell)
    assert result.exit_code == 0
    assert f"_WEFT_COMPLETE={shell}_complete" in result.stdout


def test_a_bug_in_weft_is_not_hidden(net: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def buggy(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(nets, "check_net", buggy)
    result = run("net", "check", net, "--json")
    assert (result.exit_code, result.stdout) == (EXIT_BUG, "")
    assert result.stderr.startswith(
        "error: this is a bug in Weft; please report it with the lines below\nTraceback"
    )
    assert result.stderr.endswith("ZeroDivisionError: oops\n")


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (StateError("it is\nover"), 1, "error: it is\\nover\n"),
        (MemoryError(), 1, "error: out of memory\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (click.Abort(), 130, "interrupted\n"),
    ],
)
def test_an_error_has_its_exit_code(
    error: BaseException, code: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(error) == code
    assert capsys.readouterr() == ("", text)


def test_what_would_command_a_terminal_is_shown_and_not_sent() -> None:
    assert clean("\x1b[2J\n\ud800é") == "\\x1b[2J\\n\\ud800é"


def test_progress_begins_late_is_drawn_rarely_and_goes_away() -> None:
    class Screen(io.StringIO):
        """Remembers what was on it after each time it was drawn."""

        def __init__(self) -> None:
            super().__init__()
            self.drawn: list[str] = []

        def write(self, text: str) -> int:
            self.drawn.append(text)
            return len(text)

    now = 0.0
    screen = Screen()
    progress = ProgressLine(screen, clock=lambda: now)
    progress(1)
    progress.clear()
    assert screen.drawn == []
    now = PROGRESS_AFTER
    progress(12_345)
    progress(12_346)
    now += PROGRESS_EVERY
    progress(2_000_000)
    progress.clear()
    assert screen.drawn == ["\r12,345 states so far", "\r2,000,000 states so far", "\r" + " " * 23, "\r"]


def test_progress_stays_on_one_line_of_a_narrow_terminal() -> None:
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 12))
    with os.fdopen(slave, "w") as screen:
        progress = ProgressLine(screen, clock=iter((0.0, 1.0)).__next__)
        progress(1_000_000)
    assert os.read(master, 100) == b"\r1,000,000 s"
    os.close(master)


def test_a_standard_output_that_takes_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def write(self, _data: object, /) -> int:
            return None  # type: ignore[return-value]  # as a raw stream that would have to wait

    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(Full()))
    with pytest.raises(BlockingIOError):
        write_text("x")


def test_a_closed_standard_output_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    write_text("x")


def test_no_progress_is_shown_when_stderr_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with progress_on_terminal() as progress:
        assert progress is None


# --- as a process ---


def test_the_command_keeps_data_and_chatter_apart(net: str, tmp_path: Path) -> None:
    good = subprocess.run([WEFT, "net", "check", net, "--json"], capture_output=True, text=True, check=False)
    assert (good.returncode, good.stderr) == (0, "")
    assert json.loads(good.stdout)["weft"] == 1
    bad = subprocess.run(
        [WEFT, "net", "check", tmp_path, "--json"], capture_output=True, text=True, check=False
    )
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == f"error: cannot read {tmp_path}: is a directory\n"


def test_python_m_weft_is_the_same_command() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "weft", "--version"], capture_output=True, text=True, check=True
    )
    assert result.stdout.startswith("weft ")


def test_help_loads_nothing_heavy() -> None:
    script = "import sys; import weft.cli; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(result.stdout.split())
    assert "click" in loaded
    assert not loaded & {"numpy", "anyio", "asyncio", "rich", "weft.app.inspect.nets", "weft.net.model"}


def test_what_goes_with_the_process_is_not_searched_for_garbage_when_it_ends() -> None:
    script = """
import gc
from weft.cli import main
try:
    main(["--version"])
finally:
    print(gc.isenabled(), gc.get_freeze_count() > len(gc.get_objects()))
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[1:] == ["True True"]


@pytest.mark.parametrize("args", [["--help"], ["net", "explore", "net.pnml"]])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_an_output_that_cannot_be_written_is_said_once(net: str, args: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [WEFT, *args], stdout=full, stderr=subprocess.PIPE, cwd=Path(net).parent, text=True, check=False
        )
    words = "No space left on device; free some space (df -h, df -i), then type the command again"
    assert (done.returncode, done.stderr) == (1, f"error: {words}\n")


BUFFERING = pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])


def large_net(folder: Path) -> Path:
    """One whose drawing is more than a pipe holds."""
    path = folder / "large.pnml"
    path.write_text(write_pnml(philosophers(500)))
    return path


@BUFFERING
def test_a_large_output_arrives_as_a_whole(tmp_path: Path, unbuffered: str) -> None:
    path = large_net(tmp_path)
    done = subprocess.run(
        [WEFT, "net", "convert", path, "--to", "dot"],
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        capture_output=True,
        check=True,
    )
    assert done.stdout == run("net", "convert", str(path), "--to", "dot").stdout_bytes


@BUFFERING
def test_a_closed_pipe_ends_quietly(tmp_path: Path, unbuffered: str) -> None:
    command = [WEFT, "net", "convert", str(large_net(tmp_path)), "--to", "dot"]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline() == b"digraph net {\n"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_ctrl_c_ends_a_long_search_with_exit_code_130(tmp_path: Path) -> None:
    path = tmp_path / "endless.pnml"
    path.write_text(write_pnml(net_of("> p\n > q", {})))
    watching, terminal = pty.openpty()
    with subprocess.Popen(
        [WEFT, "net", "explore", str(path), "--json", "--no-numpy"],
        stdout=subprocess.PIPE,
        stderr=terminal,
        # A test run in the background of a shell ignores SIGINT, and so would what it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        # What measures coverage waits for itself if it is interrupted at the wrong moment.
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")},
    ) as process:
        os.close(terminal)
        first = os.read(watching, 1000)  # comes when the search is under way
        process.send_signal(signal.SIGINT)
        text = first + read_to_end(watching)
        assert process.stdout
        assert process.stdout.read() == b""
    os.close(watching)
    assert process.returncode == 130
    assert re.match(rb"\r[0-9,]+ states so far", first)
    assert text.endswith(b"interrupted\r\n")
    assert b"Traceback" not in text
    assert b"\x1b" not in text


def read_to_end(terminal: int) -> bytes:
    read = b""
    while True:
        try:
            chunk = os.read(terminal, 1000)
        except OSError:  # how a terminal says that the other side has gone
            return read
        if not chunk:
            return read
        read += chunk
