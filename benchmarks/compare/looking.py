"""What it costs to look at a run that is large, while it goes on."""

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.compare.going import WEFT, going, steps_plan, write_plan
from benchmarks.compare.measuring import Sizes
from benchmarks.compare.processes import cost_of, median_costs
from benchmarks.compare.table import Row, at_most

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
