"""Plan files: from text to proof, beside PyYAML's C loader that only makes plain objects of the text."""

import gc
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory

import yaml

from benchmarks.compare.measuring import Sizes, cpu, in_turn, micro
from benchmarks.compare.table import Row, at_most
from benchmarks.plan_texts import SMALL, plan_text
from weft.garbage import without_gc
from weft.net.verdict import Answer
from weft.plan.compile.compile import compile_plan
from weft.plan.compile.plan_net import CompiledPlan
from weft.plan.loader.load import load_plan
from weft.plan.proof.prove import prove
from weft.plan.report.check import check_report
from weft.plan.text.document import DocumentLimits

NO_LIMITS = DocumentLimits(size=10**9)


def checked(text: str, *, whole_net: bool) -> CompiledPlan:
    """All that `weft check` does, and, with `whole_net`, the one net of the plan put together."""
    with without_gc():
        compiled = compile_plan(load_plan(text, limits=NO_LIMITS))
        proof = prove(compiled)
        assert proof.answer is Answer.PROVED
        assert check_report(compiled, proof).counts.slices
        assert not whole_net or compiled.net.place_ids
        return compiled


def beside_pyyaml(sizes: Sizes) -> list[Row]:
    slices = sizes(10_000, 300)
    text = plan_text(slices)

    def parsed() -> None:
        yaml.load(text, yaml.CSafeLoader)

    def parsed_without_gc() -> None:
        with without_gc():
            parsed()

    whole, check, plain, fast = in_turn(
        3,
        lambda: cpu(lambda: checked(text, whole_net=True)),
        lambda: cpu(lambda: checked(text, whole_net=False)),
        lambda: cpu(parsed),
        lambda: cpu(parsed_without_gc),
    )
    name = f"{slices:,} slices ({len(text) / 1e6:.1f} MB)"
    return [
        Row(name=f"{name} loaded, checked, compiled to one net, proven, beside PyYAML", figure=whole / plain,
            bar=at_most(4), ours=micro(whole / slices), beside=micro(plain / slices)),
        Row(name="the same, beside PyYAML with the garbage collector off", figure=whole / fast, bar=None,
            ours=micro(whole / slices), beside=micro(fast / slices)),
        Row(name="what `weft check` does of it, beside PyYAML", figure=check / plain, bar=at_most(4),
            ours=micro(check / slices), beside=micro(plain / slices)),
    ]  # fmt: skip


def growth(sizes: Sizes) -> list[Row]:
    """The cost of a slice in a large plan beside that in a small one."""
    small, large = sizes(1_000, 100), sizes(100_000, 1_000)
    texts = plan_text(small), plan_text(large)

    def measured(text: str, slices: int, *, whole_net: bool) -> Callable[[], float]:
        return lambda: cpu(lambda: checked(text, whole_net=whole_net)) / slices

    rows: list[Row] = []
    for name, whole_net, bar in (("checked", False, 1.5), ("checked and put together as one net", True, 2)):
        one, many = in_turn(
            3, measured(texts[0], small, whole_net=whole_net), measured(texts[1], large, whole_net=whole_net)
        )
        rows.append(
            Row(
                name=f"a slice of {large:,} beside one of {small:,}, {name}",
                figure=many / one,
                bar=at_most(bar),
                ours=micro(many),
                beside=micro(one),
            )
        )
        gc.collect()
    return rows


def start_up(sizes: Sizes) -> list[Row]:
    """CPU of a whole process, the interpreter's own start included."""
    with TemporaryDirectory() as folder:
        plan = Path(folder, "weft.yaml")
        plan.write_text(SMALL, "utf-8")
        commands = {"weft --help": ["--help"], "weft check, 10 slices": ["check", str(plan)]}
        return [
            Row(name=name, figure=_cpu_of(arguments, sizes(9, 2)), bar=at_most(150, "ms"), ours="median of 9")
            for name, arguments in commands.items()
        ]


def _cpu_of(arguments: list[str], rounds: int) -> float:
    def measured() -> float:
        before = getrusage(RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "weft", *arguments], check=True, stdout=subprocess.DEVNULL)
        after = getrusage(RUSAGE_CHILDREN)
        return 1000 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)

    return in_turn(rounds, measured)[0]
