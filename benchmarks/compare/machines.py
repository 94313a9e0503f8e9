"""Steps on other machines, which are network namespaces of this one: the price of a step there, over ssh and Dask.

The overhead of a step is the difference between the same step there and here, without the price of connecting
(a plan with many steps is compared with one with few). The steps of a slice run one after the other, so each pays
the whole way: the workspace goes there, the process starts, and its end, its output and its work come back.
"""

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from benchmarks.compare.measuring import Sizes
from benchmarks.compare.processes import Cost, cost_of
from benchmarks.compare.slices import repository
from benchmarks.compare.table import Row, at_most
from examples.cluster.demo import over_dask, over_ssh, programs_of
from examples.cluster.lab import Lab, NoLabError, laboratory

_WEFT = (sys.executable, "-m", "weft")
_SLOTS = 10
_FEW_STEPS, _MANY_STEPS = 5, 30
"""Steps of one slice."""

Hosts = Mapping[str, Mapping[str, Any]]


def overhead(sizes: Sizes) -> list[Row]:
    few, many = sizes(_FEW_STEPS, 1), sizes(_MANY_STEPS, 2)
    here = _step({}, few, many)
    return _in_lab(lambda lab, hosts, name: _overhead(lab, hosts, name, here, (few, many)))


def _step(hosts: Hosts, few: int, many: int, lab: Lab | None = None) -> float:
    """Returns the seconds that a step of one slice takes, without the start and the end of the run."""
    walls = [_run(hosts, slices=1, steps=steps, command="true", lab=lab).wall for steps in (few, many)]
    return (walls[1] - walls[0]) / (many - few)


def spread(sizes: Sizes) -> list[Row]:
    """300 steps of a second on three machines with ten slots each."""
    slices, steps, seconds = sizes(30, 2), sizes(10, 1), sizes(1_000, 10) / 1e3
    ideal = steps * seconds

    def measure(lab: Lab, hosts: Hosts, name: str) -> list[Row]:
        cost = _run(hosts, slices=slices, steps=steps, command=f"sleep {seconds}", lab=lab)
        return [
            Row(name=f"{slices * steps} steps of {seconds} s on 3 machines over {name}: wall", bar=at_most(1.15),
                figure=cost.wall / ideal, ours=f"{cost.wall:.2f} s", beside=f"{ideal:.2f} s"),
            Row(name=f"the same: a core of the coordinator and its git, over {name}", bar=at_most(0.1),
                figure=cost.cpu / cost.wall, ours=f"{cost.cpu:.2f} s of CPU"),
        ]  # fmt: skip

    return _in_lab(measure)


def _overhead(lab: Lab, hosts: Hosts, name: str, here: float, steps: tuple[int, int]) -> list[Row]:
    there = _step(dict([next(iter(hosts.items()))]), *steps, lab)
    most, more = {"ssh": 60, "Dask": 100}[name], 1e3 * (there - here)
    return [
        Row(name=f"a step over {name}, beyond the same step here", figure=more, bar=at_most(most, "ms"),
            ours=f"{there * 1e3:.0f} ms", beside=f"{here * 1e3:.0f} ms")
    ]  # fmt: skip


def _in_lab(measure: Callable[[Lab, Hosts, str], list[Row]]) -> list[Row]:
    rows: list[Row] = []
    with TemporaryDirectory() as folder, ExitStack() as stack:
        try:
            lab = stack.enter_context(laboratory(Path(folder), "big1", "big2", "big3"))
            lab.start_sshd()
        except NoLabError as error:
            return [Row(name=f"not measured: {error}", figure=0.0, bar=None, ours="")]
        ssh = {name: {**host, "slots": _SLOTS} for name, host in over_ssh(lab).items()}
        rows += measure(lab, ssh, "ssh")
        dask = stack.enter_context(over_dask(lab))
        rows += measure(lab, {name: {**host, "slots": 3 * _SLOTS} for name, host in dask.items()}, "Dask")
    return rows


def _run(hosts: Hosts, *, slices: int, steps: int, command: str, lab: Lab | None = None) -> Cost:
    with repository() as top:
        pipeline = [{"id": f"t{number}", "run": command} for number in range(steps)]
        plan: dict[str, Any] = {
            "weft": 1,
            "plan": "machines",
            "max_parallel": max(1, min(32, slices)),
            "subplans": [{"id": f"s{number}", "steps": pipeline} for number in range(slices)],
        }
        if hosts:
            plan |= {"hosts": {name: dict(host) for name, host in hosts.items()}, "host": [*hosts]}
        (top / "weft.yaml").write_text(yaml.safe_dump(plan, sort_keys=False), "utf-8")
        more: dict[str, str] = {}
        if lab is not None:
            more["PATH"] = f"{programs_of(lab)}{os.pathsep}{os.environ['PATH']}"
            cost_of((*_WEFT, "config", "approve", "--plan", "weft.yaml", "--yes"), top, more=more)
        return cost_of((*_WEFT, "run", "--quiet", "--merge", "auto"), top, more=more)
