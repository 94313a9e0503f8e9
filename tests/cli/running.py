"""A project whose plan is run by the real command, in this process or in another; and gates for its steps."""

import fcntl
import os
import re
import shlex
import signal
import subprocess
import sysconfig
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

from click.testing import CliRunner, Result
from msgspec import structs

from cli.suggestions import check_suggestions
from hosts.places import is_reaper, pids, proc
from stored_events import StoredEvent, all_stored
from weft.cli.main import cli
from weft.store.sqlite import open_journal, open_reader

WEFT = str(Path(sysconfig.get_path("scripts")) / "weft")
KEPT = ("PATH", "COVERAGE_PROCESS_CONFIG", "COVERAGE_FILE")


class Project:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.root.mkdir()
        self.outside = root.with_name(f"{root.name}.outside")
        """What steps leave here is no work of theirs."""
        self.outside.mkdir()
        self.env = {name: os.environ[name] for name in KEPT if name in os.environ} | {
            "HOME": str(self.outside)
        }
        self._started: list[subprocess.Popen[str]] = []

    # --- making ---

    def plan(self, text: str, name: str = "weft.yaml") -> "Project":
        """`MARK` in it is a command that notes that a step was here, and `GATE x` one that waits at a gate."""
        (self.root / name).write_text(self.filled(text))
        return self

    def filled(self, text: str) -> str:
        outside = shlex.quote(str(self.outside))
        text = text.replace("MARK", self._mark)
        for gate in ("x", "y"):
            if f"GATE {gate}" in text:
                for kind in ("reached", "open"):
                    with suppress(FileExistsError):
                        os.mkfifo(self.outside / f"{gate}.{kind}")
                waits = f"echo > {outside}/{gate}.reached; read _ < {outside}/{gate}.open"
                text = text.replace(f"GATE {gate}", waits)
        return f"weft: 1\nplan: tried\nisolation: dir\n{text}"

    @property
    def _mark(self) -> str:
        return f"echo $WEFT_SUBPLAN:$WEFT_STEP >> {self.outside}/marks"

    # --- gates ---

    def reached(self, gate: str = "x") -> None:
        """Waits until a step stands there."""
        (self.outside / f"{gate}.reached").read_text()

    def let_through(self, gate: str = "x") -> None:
        (self.outside / f"{gate}.open").write_text("\n")

    # --- running ---

    def weft(self, *arguments: str, input: str | None = None) -> Result:  # noqa: A002 - as click has it
        """In this process."""
        keys = {name: None for name in os.environ if name.startswith("WEFT_")}
        done = CliRunner(env=keys | {"HOME": str(self.outside)}).invoke(
            cli, ["-C", str(self.root), *arguments], input=input
        )
        if "--help" not in arguments:
            check_suggestions(done.output)
        return done

    def process(
        self, *arguments: str, env: dict[str, str] | None = None, **more: object
    ) -> subprocess.CompletedProcess[str]:
        options: dict[str, object] = {
            "cwd": self.root, "env": self.env | (env or {}), "capture_output": True, "text": True,
        }  # fmt: skip
        return subprocess.run([WEFT, *arguments], check=False, **(options | more))  # type: ignore[call-overload, no-any-return]

    def start(self, *arguments: str, **more: object) -> subprocess.Popen[str]:
        options: dict[str, object] = {
            "cwd": self.root, "env": self.env, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE, "text": True,
        }  # fmt: skip
        started: subprocess.Popen[str] = subprocess.Popen([WEFT, *arguments], **(options | more))  # type: ignore[call-overload]
        self._started.append(started)
        return started

    def die_before_anything_happens(self) -> None:
        """As if a coordinator had been killed after it had written down a new run, and before its first event."""
        with closing(open_journal(self.journal, now=0.0)) as journal:
            journal.add_run(structs.replace(journal.runs()[0], run="dead", state="running"))

    # --- what can be seen ---

    def marks(self) -> list[str]:
        file = self.outside / "marks"
        return file.read_text().splitlines() if file.exists() else []

    @property
    def journal(self) -> Path:
        return self.root / ".weft" / "weft.db"

    def runs(self) -> list[str]:
        """The oldest first."""
        with closing(open_reader(self.journal)) as journal:
            return [record.run for record in reversed(journal.runs())]

    def events(self) -> list[StoredEvent]:
        """Of the last run."""
        with closing(open_reader(self.journal)) as journal:
            return all_stored(item.event for item in journal.events(journal.runs()[0].run))

    def result(self, name: str) -> str:
        return (self.root / ".weft" / "workspaces" / "tried" / "_plan" / name).read_text()

    def told(self, text: str) -> list[str]:
        """The lines without what is different each time."""
        text = re.sub(r"^\d\d:\d\d:\d\d ", "", text, flags=re.MULTILINE)
        text = re.sub(r"\d+\.\d s", "N s", text)
        text = re.sub(r"\b\d:\d\d$", "TIME", text, flags=re.MULTILINE)
        text = re.sub(r"\d{8}-\d{6}-[0-9a-f]{4}", "RUN", text)
        return text.replace(self._mark, "MARK").replace(str(self.root), "PROJECT").splitlines()

    # --- processes ---

    def step_processes(self) -> list[int]:
        tokens = {b"WEFT_HOST=" + os.fsencode(host) for host in self._hosts()}
        return [pid for pid in pids() if tokens & set(proc(pid, "environ").split(b"\0"))]

    def supervisors(self) -> list[int]:
        names = {os.fsencode(host) for host in self._hosts()}
        values = [pid for pid in pids() if names & set(proc(pid, "cmdline").split(b"\0"))]
        return [pid for pid in values if not is_reaper(pid)]

    def coordinators(self) -> list[int]:
        """Those in the background. `weft start` names the project as the user did, which may be `.`."""
        return [pid for pid in pids() if b"coordinate" in self._words_of(pid) and self._is_here(pid)]

    def _is_here(self, pid: int) -> bool:
        if os.fsencode(self.root) in self._words_of(pid):
            return True
        with suppress(OSError):
            return Path(f"/proc/{pid}/cwd").readlink() == self.root.resolve()
        return False

    def _words_of(self, pid: int) -> set[bytes]:
        return set(proc(pid, "cmdline").split(b"\0"))

    def _hosts(self) -> Sequence[Path]:
        return [*self.root.glob(".weft/runs/*/host")]

    def end(self) -> None:
        """Nothing of it is alive any more. Who starts others ends before these, or it might start one more."""
        for started in self._started:
            with suppress(ProcessLookupError):
                started.kill()
            started.communicate()
        for alive in (self.coordinators, self.supervisors, self.step_processes):
            while result := alive():
                for pid in result:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
        for host in self._hosts():
            with (host / "lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
