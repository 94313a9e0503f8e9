"""What it costs to look at a run that is large."""

import gzip
import json
import re
import subprocess
from http.cookiejar import CookieJar
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import HTTPCookieProcessor, Request, build_opener

from benchmarks.compare.going import WEFT, going, steps_plan, write_plan
from benchmarks.compare.measuring import Sizes
from benchmarks.compare.processes import cost_of, cpu_of, median_costs
from benchmarks.compare.table import Row, at_most
from benchmarks.large_run import write_large_run

_STATUS = (*WEFT[:-1], "status")
_SLEEPERS = "".join(f"  - {{id: z{number}, steps: [{{id: t, run: sleep 600}}]}}\n" for number in range(2))


def status(sizes: Sizes) -> list[Row]:
    """`weft status`, whole process, when all is done but two steps that sleep."""
    few, many = 10, sizes(10_000, 100)
    rounds = sizes(7, 1)
    small, large = _seconds(few, rounds), _seconds(many, rounds)
    return [
        Row(name=f"`weft status`, {many:,} slices in the journal, whole process", figure=1e3 * large,
            bar=at_most(120, "ms"), ours=f"{1e6 * (large - small) / (many - few):.1f} us a slice",
            beside=f"{few} slices: {1e3 * small:.0f} ms"),
    ]  # fmt: skip


def _seconds(slices: int, rounds: int) -> float:
    with TemporaryDirectory() as parent:
        folder = Path(parent, "plan")
        write_plan(folder, steps_plan(slices) + _SLEEPERS)
        with going(folder, "--quiet") as run:
            run.until("step_finished", slices)
            (cost,) = median_costs(rounds, lambda: cost_of(_STATUS, folder))
        run.wait()
    return cost.cpu


def page(sizes: Sizes) -> list[Row]:
    """The server of `weft ui` with a run that is half done: its memory, and its CPU for snapshots."""
    groups = sizes(100, 2)
    with TemporaryDirectory() as parent:
        plain, detailed = Path(parent, "plain"), Path(parent, "detailed")
        write_large_run(plain, groups=groups)
        write_large_run(detailed, groups=groups, is_detailed=True)
        slices = f"{groups * 100:,} slices"
        return [*_page_rows(plain, slices), *_page_rows(detailed, f"{slices} with prompts, files and costs")]


def _page_rows(folder: Path, run: str) -> list[Row]:
    command = (*WEFT[:-1], "ui", "--no-open", "--json", "--port", "0")
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        try:
            assert server.stdout is not None
            url = json.loads(server.stdout.readline())["data"]["url"]
            opener = build_opener(HTTPCookieProcessor(CookieJar()))
            opener.open(url).read()
            snapshot = Request(
                url.partition("?")[0] + "api/v1/runs/last/snapshot", headers={"Accept-Encoding": "gzip"}
            )
            seconds: list[float] = []
            answer = b""
            for _ in range(5):
                before = cpu_of(server.pid)
                answer = opener.open(snapshot).read()
                seconds.append(cpu_of(server.pid) - before)
            memory = Path(f"/proc/{server.pid}/status").read_text()
        finally:
            server.terminate()
    resident = re.search(r"VmRSS:\s+(\d+)", memory)
    assert resident is not None
    size = f"{len(answer) / 1e3:.0f} KB gzipped, {len(gzip.decompress(answer)) / 1e3:.0f} KB"
    return [
        Row(name=f"server of `weft ui`, {run}: memory", figure=int(resident[1]) / 1024,
            bar=at_most(60, "MB"), ours=size),
        Row(name=f"server of `weft ui`, {run}: a snapshot, when the run is open", figure=1e3 * min(seconds),
            bar=at_most(300, "ms of CPU"), ours=f"the first one {seconds[0]:.2f} s"),
    ]  # fmt: skip
