"""One run, a table of ratios, and exit code 1 if a bar is missed.

Needs SNAKES and pm4py for what is compared with them; --only picks what needs neither.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

from benchmarks.compare import (
    clones,
    endurance,
    firing,
    forecasts,
    landing,
    looking,
    machines,
    plan_files,
    plans,
    running,
    schedules,
    slices,
    states,
    worktrees,
)
from benchmarks.compare.measuring import Sizes
from benchmarks.compare.table import Row, exit_code, table

Comparison = Callable[[Sizes], list[Row]]

COMPARISONS: Mapping[str, Comparison] = {
    "snakes": firing.beside_snakes,
    "scaling": firing.large_beside_small,
    "pool": firing.pool_beside_none,
    "pm4py": states.beside_pm4py,
    "kanban-memory": states.memory_of_kanban,
    "soundness": plans.proof,
    "makespan": plans.makespans,
    "dispatcher": plans.dispatcher_beside_asyncio,
    "memory": plans.memory_of_pending,
    "plan-files": plan_files.beside_pyyaml,
    "plan-growth": plan_files.growth,
    "start-up": plan_files.start_up,
    "ninja": running.beside_ninja,
    "runners": running.beside_others,
    "schedules": schedules.makespans,
    "waiting": endurance.waiting,
    "run-memory": endurance.memory,
    "recovery": endurance.recovery,
    "status": looking.status,
    "page": looking.page,
    "slices": slices.many,
    "agents": slices.agents,
    "worktrees": worktrees.ready,
    "worktrees-at-once": worktrees.at_once,
    "many-worktrees": worktrees.many_at_once,
    "worktree-disk": worktrees.disk,
    "clones": clones.beside_worktrees,
    "landing": landing.landing,
    "foresight": landing.foresight,
    "machines": machines.overhead,
    "machines-spread": machines.spread,
    "forecast-speed": forecasts.speed,
    "forecast-accuracy": forecasts.accuracy,
}


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, in under a minute: a smoke test")
    parser.add_argument("--json", action="store_true", help="rows as JSON")
    parser.add_argument("--only", choices=COMPARISONS, action="append", help="this one; may be given again")
    return parser.parse_args(argv)


def _in_a_process_of_its_own(comparison: Comparison, sizes: Sizes) -> list[Row]:
    """What one comparison leaves in memory must not slow down the next."""
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as pool:
        return pool.submit(comparison, sizes).result()


def main(argv: list[str] | None = None) -> int:
    arguments = _arguments(argv)
    sizes = Sizes(quick=arguments.quick)
    rows: list[Row] = []
    for name in arguments.only or COMPARISONS:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        rows += _in_a_process_of_its_own(COMPARISONS[name], sizes)
    if sizes.quick:
        rows = [replace(row, judged=False) for row in rows]
    if arguments.json:
        print(json.dumps({"quick": sizes.quick, "rows": [row.to_json() for row in rows]}, indent=1))
    else:
        if sizes.quick:
            print(
                "Small sizes, to see that everything runs. The bars are for full size: nothing is judged.\n"
            )
        print(table(rows))
    return exit_code(rows)


if __name__ == "__main__":
    sys.exit(main())
