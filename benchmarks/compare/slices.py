"""Plans of many slices with worktrees, each of which makes one commit: what a slice costs, however many there are.

A slice rewrites one of 200 files, so that the tree does not grow with the number of slices: what grows would be
Weft's own. All slices land on `main`, eight at a time. Beside it a shell does the same with git alone: it makes a
worktree, commits, merges and removes the worktree. The repository lies in memory, where there is such a place.
"""

import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.compare.measuring import Sizes
from benchmarks.compare.processes import Cost, cost_of
from benchmarks.compare.table import Row, at_most

WIDTH = 8
_FILES = 200
_MEMORY = Path("/dev/shm")
_RUN = (sys.executable, "-m", "weft", "run", "--quiet", "--merge", "auto")
_PAUSE = 0.05
_LOOP = """
set -e
for number in $(seq 0 {last}); do
  git worktree add -q -b by-hand/$number .by-hand/$number main
  echo $number > .by-hand/$number/d$((number % 10))/f$((number % {files}))
  (cd .by-hand/$number && git add -A && git commit -qm $number)
  git merge -q --no-ff -m "Merge $number" by-hand/$number
  git worktree remove .by-hand/$number
done
"""


def many(sizes: Sizes) -> list[Row]:
    few, most = sizes(50, 2), sizes(2_000, 6)
    small, (large, worktrees), loop = _run(few)[0], _run(most), _looped(most)
    return [
        Row(name=f"CPU of a slice of {most:,} beside one of {few}", figure=(large.cpu / most) / (small.cpu / few),
            bar=at_most(1.3), ours=f"{1e3 * large.cpu / most:.1f} ms", beside=f"{1e3 * small.cpu / few:.1f} ms"),
        Row(name=f"worktrees at once, {most:,} slices, {WIDTH} at a time", figure=worktrees,
            bar=at_most(2 * WIDTH, "worktrees"), ours=f"at most {worktrees}"),
        Row(name=f"{most:,} slices until all have landed beside a shell: wall", figure=large.wall / loop.wall,
            bar=at_most(2), ours=f"{large.wall:.1f} s, {large.cpu:.1f} s of CPU",
            beside=f"{loop.wall:.1f} s, {loop.cpu:.1f} s of CPU"),
    ]  # fmt: skip


def agents(sizes: Sizes) -> list[Row]:
    """Steps that only wait, as for the model of an agent: what Weft adds until all of them have landed."""
    count, width, seconds = sizes(15, 3), sizes(10, 2), sizes(2_000, 10) / 1e3
    ideal = seconds * -(-count // width)
    with repository() as top:
        work = f"sleep {seconds}; date > d0"
        slices = "\n".join(f"  - {{id: s{n}, steps: [{{id: t, run: {work}/s{n}}}]}}" for n in range(count))
        (top / "weft.yaml").write_text(
            f"weft: 1\nplan: agents\nmax_parallel: {width}\nsubplans:\n{slices}\n", "utf-8"
        )
        cost = cost_of(_RUN, top)
        landed = _git(top, "rev-list", "--count", "--no-merges", "main")
        assert int(landed) == count + 1, f"{landed} commits on main"
    return [
        Row(name=f"{count} agents of {seconds} s, {width} at a time, until all have landed", bar=at_most(1.12),
            figure=cost.wall / ideal, ours=f"{cost.wall:.2f} s, {cost.cpu:.2f} s of CPU", beside=f"{ideal:.2f} s"),
    ]  # fmt: skip


def _run(slices: int) -> tuple[Cost, int]:
    """What it costs, and the most worktrees that were there at once."""
    with repository() as top:
        (top / "weft.yaml").write_text(_plan(slices), "utf-8")
        with _counted(top / ".git" / "worktrees") as seen:
            cost = cost_of(_RUN, top)
        landed = _git(top, "rev-list", "--count", "--no-merges", "main")
        assert int(landed) == slices + 1, f"{landed} commits on main"
    return cost, max(seen)


def _looped(slices: int) -> Cost:
    with repository() as top:
        return cost_of(("bash", "-c", _LOOP.format(last=slices - 1, files=_FILES)), top)


def _plan(slices: int) -> str:
    subplans = "\n".join(
        f"  - {{id: s{number}, steps: [{{id: t, run: echo {number} > d{number % 10}/f{number % _FILES}}}]}}"
        for number in range(slices)
    )
    return f"weft: 1\nplan: many\nmax_parallel: {WIDTH}\nsubplans:\n{subplans}\n"


@contextmanager
def repository() -> Iterator[Path]:
    with TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as parent:
        top = Path(parent, "project")
        for number in range(_FILES):
            file = top / f"d{number % 10}" / f"f{number}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("hello\n" * 20, "utf-8")
        (top / ".gitignore").write_text("/.weft/\n/.by-hand/\n/weft.yaml\n", "utf-8")
        _git(top, "init", "--quiet", "--initial-branch=main")
        for name, value in (("user.name", "Ada"), ("user.email", "ada@example.org"), ("gc.auto", "0")):
            _git(top, "config", name, value)
        _git(top, "add", "--all")
        _git(top, "commit", "--quiet", "--message", "files")
        yield top


def _git(top: Path, *command: str) -> str:
    git = shutil.which("git")
    assert git is not None
    return subprocess.run([git, *command], cwd=top, check=True, capture_output=True, text=True).stdout


@contextmanager
def _counted(folder: Path) -> Iterator[list[int]]:
    """How many entries there are in a folder, again and again."""
    seen, ended = [0], threading.Event()

    def look() -> None:
        while not ended.wait(_PAUSE):
            seen.append(len(list(folder.glob("*"))))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()
