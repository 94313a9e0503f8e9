"""`write PATH` adds turns of three events for ever, and says the number of the last event of each.

`hold PATH` waits for a line, tries to open the journal, says how that went, and holds it until its input ends.
`spawn PATH` opens the journal, starts a program that shares its input and output, says so, and waits, too.
"""

import itertools
import subprocess
import sys
from pathlib import Path

from weft.engine.messages.events import UnknownEvent
from weft.ports.journal import RunRecord
from weft.store.errors import BusyError
from weft.store.sqlite import SqliteJournal, open_journal


def open_it() -> SqliteJournal:
    return open_journal(Path(sys.argv[2]), now=1_700_000_000.0, command="weft run plan.yaml")


def say(what: object) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def write() -> None:
    journal = open_it()
    fields = dict.fromkeys(("plan", "file", "directory", "text", "digest"), "")
    journal.add_run(RunRecord(run="r1", created_at=0.0, state="running", **fields))
    for turn in itertools.count():
        say(journal.append("r1", [(0.0, UnknownEvent(kind=f"turn {turn}"))] * 3))


def hold() -> None:
    sys.stdin.readline()
    try:
        journal = open_it()
    except BusyError:
        say("busy")
        return
    say(f"epoch {journal.epoch}")
    sys.stdin.read()
    journal.close()


def spawn() -> None:
    open_it()
    child = subprocess.Popen(["cat"], close_fds=False)  # it gets all that is not closed by the system itself
    say(child.pid)
    child.wait()


{"write": write, "hold": hold, "spawn": spawn}[sys.argv[1]]()
