"""A project with a plan, run for real: processes, files, a journal on the disk. And what can be seen of it."""

import fcntl
import os
import shlex
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path

from msgspec import Struct, field

from hosts.places import is_reaper, pids, proc
from stored_events import StoredEvent, stored
from weft.app.control.questions import answer
from weft.app.project.files import InputSource
from weft.app.project.places import Places
from weft.app.record.journal import RecordedRun
from weft.app.run.run import run_plan
from weft.app.run.session import RunSetup
from weft.app.run.setup import RunRequest
from weft.engine.messages.events import Recorded
from weft.store.sqlite import open_reader

ENVIRON = {"PATH": os.environ["PATH"], "HOME": "/dev/null/home"}
"""No system has a directory below a device."""
MARK = "echo $WEFT_SUBPLAN $WEFT_STEP $WEFT_ATTEMPT $WEFT_JOB >> {}"

React = Callable[[StoredEvent], None]


class Heard(Struct):
    """An observer that stores all events and may run an action on them."""

    react: React | None = None
    begun: RunSetup | None = None
    events: list[StoredEvent] = field(default_factory=list[StoredEvent])
    stopped: int = 0

    def start(self, run: RunSetup) -> None:
        self.begun = run

    def receive(self, events: Sequence[Recorded]) -> None:
        for item in events:
            event = stored(item.event)
            self.events.append(event)
            if self.react is not None:
                self.react(event)

    def refresh(self) -> None:
        pass

    def show_stop(self, times: int) -> None:
        self.stopped = times


class Outcome(Struct):
    """How a run went."""

    state: str
    events: list[StoredEvent]
    begun: RunSetup | None = None

    def of(self, kind: str, subplan: str | None = None, step: str | None = None) -> list[StoredEvent]:
        return [
            event
            for event in self.events
            if event.kind == kind and subplan in {None, event.subplan} and step in {None, event.step}
        ]

    def ends(self, *kinds: str) -> list[tuple[str, str, str]]:
        """Subplan, step and outcome of the plan's own steps, in the order in which they ended."""
        return [
            (event.subplan, event.step, event.outcome)
            for event in self.events
            if event.kind in (kinds or ("step_finished",)) and not event.step.startswith("@")
        ]

    def order(self) -> list[str]:
        """The plan's own steps in the order in which they began, as `subplan:step`."""
        started = self.of("step_started")
        return [f"{item.subplan}:{item.step}" for item in started if not item.step.startswith("@")]

    def states(self) -> dict[str, str]:
        """The last reported state of each subplan, with the reason if it failed."""
        messages = self.of("subplan_state")
        return {
            item.subplan: " ".join(filter(None, (item.outcome, item.data.get("reason")))) for item in messages
        }

    def message(self, subplan: str) -> str:
        return str(self.of("subplan_state", subplan)[-1].data.get("message", ""))


class Project:
    environ: Mapping[str, str] = ENVIRON
    """The environment of the process that runs it."""
    head = "weft: 1\nplan: tried\nisolation: dir\n"
    """The text at the start of its plans."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.root.mkdir(exist_ok=True)
        self.outside = root.with_name(f"{root.name}.outside")
        """What steps leave here is no work of theirs."""
        self.outside.mkdir(exist_ok=True)
        self._gates: dict[str, int] = {}

    # --- making ---

    def plan(self, text: str, **files: str) -> "Project":
        """`MARK` in the text is a command that notes that a step was here; `GATE(x)` one that waits for `open`."""
        (self.root / "weft.yaml").write_text(f"{self.head}{self._filled(text)}")
        for name, content in files.items():
            (self.root / name.replace("__", ".")).write_text(self._filled(content))
        return self

    def _filled(self, text: str) -> str:
        outside = shlex.quote(str(self.outside))
        return text.replace("MARK", MARK.format(f"{outside}/marks")).replace("OUTSIDE", outside)

    # --- running ---

    @property
    def source(self) -> InputSource:
        return InputSource(name="weft.yaml", directory=self.root, holds="plan")

    def run(self, react: React | None = None, **wish: object) -> Outcome:
        """In this process."""
        heard = Heard(react=react)
        state = run_plan(RunRequest(source=self.source, **wish), heard, environ=self.environ)  # type: ignore[arg-type]
        return Outcome(state=state, events=heard.events, begun=heard.begun)

    def answer(self, name: str, *, accepted: bool = True, text: str = "") -> None:
        """As a person at another terminal does."""
        places = Places(self.root)
        with closing(open_reader(places.journal)) as journal:
            recorded_run = RecordedRun(places, journal, journal.runs()[0])
            answer(recorded_run, name, accepted=accepted, text=text)

    def story(self) -> Outcome:
        """The contents of the journal for all runs; the state is that of the last."""
        with closing(open_reader(Places(self.root).journal)) as journal:
            runs = journal.runs()
            events = [stored(item.event) for run in reversed(runs) for item in journal.events(run.run)]
        return Outcome(state=runs[0].state, events=events)

    # --- what was left ---

    def marks(self) -> list[str]:
        """`subplan step attempt job` of each step that left its mark, as they did."""
        file = self.outside / "marks"
        return file.read_text().splitlines() if file.exists() else []

    def lines(self, name: str) -> list[str]:
        file = self.outside / name
        return file.read_text().splitlines() if file.exists() else []

    def result(self) -> dict[str, str]:
        """The files that came out of it."""
        top = self.root / ".weft" / "workspaces" / "tried" / "_plan"
        files = [file for file in top.rglob("*") if file.is_file()]
        return {
            str(file.relative_to(top)): file.read_text().replace(str(self.outside), "OUTSIDE")
            for file in files
        }

    # --- processes ---

    def hosts(self) -> list[Path]:
        return [*self.root.glob(".weft/runs/*/host")]

    def processes(self) -> list[int]:
        """Of steps."""
        tokens = {b"WEFT_HOST=" + os.fsencode(host) for host in self.hosts()}
        return [pid for pid in pids() if tokens & set(proc(pid, "environ").split(b"\0"))]

    def supervisors(self) -> list[int]:
        names = {os.fsencode(host) for host in self.hosts()}
        values = [pid for pid in pids() if names & set(proc(pid, "cmdline").split(b"\0"))]
        return [pid for pid in values if not is_reaper(pid)]

    def end(self) -> None:
        """Nothing of it is alive any more, and nothing but the supervisor was."""
        left = self.processes()
        self.kill_supervisors()
        assert left == []

    def kill_processes(self) -> None:
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def kill_supervisors(self) -> None:
        """At once, and then none is alive."""
        for pid in self.supervisors():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for host in self.hosts():
            if (host / "lock").exists():
                with (host / "lock").open("w") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX)
