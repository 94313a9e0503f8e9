"""The same work in other tools: so many times `true`, ten at a time.

Those written in Python are looked for in an environment of their own, that of `make compare`; the others are the
system's. What is not installed is left out, and that is said.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.compare.processes import Cost, cost_of

_HOME = Path(__file__).resolve().parents[2]
_ENVIRONMENT = Path(os.environ.get("RIVALS", _HOME / ".venv-rivals")).resolve() / "bin"

_NINJA = "rule t\n  command = true\n"
_DODO = """\
def task_t():
    for number in range({count}):
        yield {{"name": str(number), "actions": ["true"]}}
"""
_SNAKEFILE = """\
rule all:
    input: expand("done/{{number}}", number=range({count}))
rule one:
    output: touch("done/{{number}}")
    shell: "true"
"""
_DASK = """\
import subprocess
from dask.distributed import Client, LocalCluster

def step(number):
    return subprocess.run("true", shell=True, check=True).returncode

if __name__ == "__main__":
    workers = LocalCluster(n_workers=2, threads_per_worker=5, dashboard_address=None)
    with workers, Client(workers) as client:
        assert not any(client.gather(client.map(step, range({count}), pure=False)))
"""


@dataclass(frozen=True, slots=True)
class Rival:
    name: str
    program: str
    arguments: tuple[str, ...]
    file: str
    """What it reads."""
    text: Callable[[int], str]
    """That file, for so much work."""
    share: float = 1.0
    """The part of the work that it does: the slow ones do less, and what is compared is the cost of each step."""
    judged: bool = True

    def path(self) -> str | None:
        return shutil.which(self.program, path=f"{_ENVIRONMENT}{os.pathsep}{os.environ['PATH']}")

    def steps(self, count: int) -> int:
        return max(1, round(count * self.share))

    def cost(self, folder: Path, count: int) -> Cost:
        """In a directory that is there for this alone."""
        program = self.path()
        assert program is not None
        folder.mkdir()
        (folder / self.file).write_text(self.text(self.steps(count)), "utf-8")
        return cost_of((program, *self.arguments), folder)


def _ninja_file(count: int) -> str:
    return _NINJA + "".join(f"build o{number}: t\n" for number in range(count))


def _numbers(count: int) -> str:
    return "".join(f"{number}\n" for number in range(count))


NINJA = Rival("ninja -j10", "ninja", ("-j10", "--quiet"), "build.ninja", _ninja_file)
SLOWER = (
    Rival("GNU parallel -j10", "parallel", ("-j10", "-n0", "true", "::::", "numbers"), "numbers", _numbers),
    Rival("doit -n10", "doit", ("-n10",), "dodo.py", lambda count: _DODO.format(count=count)),
    Rival(
        "doit -n10 -P thread",
        "doit",
        ("-n10", "-Pthread"),
        "dodo.py",
        lambda count: _DODO.format(count=count),
        judged=False,
    ),
    Rival(
        "Snakemake -j10",
        "snakemake",
        ("-j10", "--quiet", "all"),
        "Snakefile",
        lambda count: _SNAKEFILE.format(count=count),
        share=0.2,
    ),
    Rival(
        "Dask, two worker processes with five threads",
        "python",
        ("steps.py",),
        "steps.py",
        lambda count: _DASK.format(count=count),
    ),
)


def installed(*rivals: Rival) -> Iterator[Rival]:
    for rival in rivals:
        if rival.path() is None or (rival.program == "python" and not _has_dask()):
            print(f"{rival.name}: not installed, left out", file=sys.stderr)
        else:
            yield rival


def _has_dask() -> bool:
    return (_ENVIRONMENT / "dask").exists()
