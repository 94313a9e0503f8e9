"""Damages the journal of a finished project in one way after another, and judges every command from outside.

A trial copies the project, damages the journal by its seed, and types commands. No command may end with a
traceback. A damage that a reader could be misled by is reported by `weft doctor`; `weft doctor --fix` makes a
sound journal, and keeps the damaged one; afterwards the project can be run. A log that was cut off is no damage:
that is what a power cut leaves.
"""

import os
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from click.testing import CliRunner, Result

from e2e.projects import Project
from weft.cli.main import cli

PLAN = """\
weft: 1
plan: tried
isolation: dir
subplans:
  - {id: a, steps: [{id: work, run: "seq 300"}]}
  - {id: b, steps: [{id: work, run: "echo done > b.txt"}]}
  - {id: c, depends_on: [a, b], steps: [{id: work, run: "true"}, {id: check, run: "false"}]}
"""
READS = (("status",), ("status", "--json"), ("events",), ("logs", "c"), ("check",), ("replay",))
BUG = 70
OTHERS = ("it was written by a newer Weft", "it is the database of another program")
"""What the twelve bytes look like that say whose the file is; such a file is left alone."""
Results = dict[tuple[str, ...], Result]


def weft(root: Path, *arguments: str) -> Result:
    keys = {name: None for name in os.environ if name.startswith("WEFT_")}
    return CliRunner(env=keys | {"HOME": str(root.parent)}).invoke(cli, ["-C", str(root), *arguments])


def make_project(root: Path) -> Path:
    """Two runs, of which a slice failed in each; what was written last is in the log of the journal, too."""
    root.mkdir(parents=True)
    (root / "weft.yaml").write_text(PLAN)
    assert weft(root, "run").exit_code == 1
    journal = root / ".weft" / "weft.db"
    with closing(sqlite3.connect(journal)) as holder:  # as long as it is open, SQLite keeps the log
        holder.execute("SELECT count(*) FROM events").fetchone()
        assert weft(root, "run", "--fresh").exit_code == 1
        for name in ("weft.db", "weft.db-wal"):
            shutil.copyfile(journal.with_name(name), root / ".weft" / f"{name}.copy")
    for name in ("weft.db", "weft.db-wal"):
        (root / ".weft" / f"{name}.copy").replace(journal.with_name(name))
    journal.with_name("weft.db-shm").unlink(missing_ok=True)
    Project(root).kill_supervisors()  # at their end, they would remove files that are being copied
    return root


def damaged(data: bytes, rng: random.Random) -> tuple[str, bytes]:
    """What was done, and what it makes of a file."""
    place = rng.randrange(len(data))
    page = place // 4096 * 4096
    match rng.randrange(8):
        case 0:
            return f"cut at {place}", data[:place]
        case 1:
            return f"zeroes in page {page // 4096}", data[:page] + bytes(4096) + data[page + 4096 :]
        case 2:
            noise = rng.randbytes(4096)
            return f"noise in page {page // 4096}", data[:page] + noise + data[page + 4096 :]
        case _:
            bit = 1 << rng.randrange(8)
            return f"bit {bit} of byte {place}", data[:place] + bytes([data[place] ^ bit]) + data[place + 1 :]


def trial(project: Path, folder: Path, seed: int) -> list[str]:
    """What was violated, with the damage that did it."""
    rng = random.Random(seed)
    root = folder / f"trial-{seed}"
    shutil.copytree(project, root, symlinks=True, ignore=shutil.ignore_patterns("host"))
    file = root / ".weft" / rng.choice(["weft.db", "weft.db", "weft.db-wal"])
    name, data = damaged(file.read_bytes(), rng)
    file.write_bytes(data)
    problems = [f"seed {seed}: {file.name}, {name}: {problem}" for problem in _judge(root)]
    if not problems:
        shutil.rmtree(root)
    return problems


def _judge(root: Path) -> list[str]:
    problems: list[str] = []
    results: Results = {command: weft(root, *command) for command in READS}
    before = weft(root, "doctor")
    problems += _tracebacks({**results, ("doctor",): before})
    fixed = weft(root, "doctor", "--fix")
    after: Results = {
        command: weft(root, *command) for command in (("status",), ("doctor",), ("run",), ("events",))
    }
    problems += _tracebacks({("doctor", "--fix"): fixed, **after})
    refused = [command for command, done in results.items() if "is damaged" in done.output]
    is_reported = "problem: journal: " in before.output
    if is_reported and not list((root / ".weft").glob("weft.db.damaged*")):
        problems.append("the damaged journal is not kept")
    if refused and not is_reported:
        problems.append(f"{refused} refuse the journal, and doctor does not: {before.output}")
    if any(words in fixed.output for words in OTHERS):
        return problems
    if after["doctor",].exit_code != 0:
        problems.append(f"not recovered: {after['doctor',].output}")
    if after["run",].exit_code != 1:  # as the plan has a slice that fails
        problems.append(f"weft run exits with {after['run',].exit_code}: {after['run',].output}")
    return problems


def _tracebacks(results: Results) -> list[str]:
    return [
        f"weft {' '.join(command)} exits with {done.exit_code}: {done.output[-1500:]}"
        for command, done in results.items()
        if done.exit_code == BUG or "Traceback" in done.output
    ]
