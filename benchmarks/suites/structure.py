"""What is decided from the structure of a net, without its states."""

from random import Random

from benchmarks import shapes
from weft.engine.compile import compile_tree
from weft.engine.subplans import ParallelExecutionConfig
from weft.engine.tree import read_tree
from weft.net.formats import read_pnml, write_pnml
from weft.net.plain import PlainNet, unfold
from weft.net.soundness import Soundness, soundness
from weft.net.verdict import Answer
from weft.testing.skeletons import mutated


def proved(net: PlainNet) -> Soundness:
    found = soundness(net)
    assert found.verdict.answer is Answer.PROVED, found.verdict.why
    return found


class SoundnessOfPlans:
    """1,000 slices are 38,000 transitions."""

    params = (10, 100, 1_000)
    param_names = ("slices",)
    timeout = 300

    def setup(self, slices: int) -> None:
        self.net = shapes.large_skeleton(slices)
        self.spoiled = mutated(self.net, Random(2), 1)

    def time_proved(self, *_: object) -> Soundness:
        return proved(self.net)

    def time_spoiled_by_an_arc(self, *_: object) -> Soundness:
        return soundness(self.spoiled)

    def peakmem_proved(self, *_: object) -> Soundness:
        return proved(self.net)


class CompiledPlans:
    params = (10, 1_000)
    param_names = ("subplans",)
    timeout = 300

    def setup(self, subplans: int) -> None:
        self.plan = next(shapes.random_dags(subplans, 1))
        self.net = self._compiled()
        self.pnml = write_pnml(self.net).encode()

    def _compiled(self) -> PlainNet:
        return unfold(compile_tree(read_tree(self.plan, ParallelExecutionConfig())).net)

    def time_compile(self, *_: object) -> PlainNet:
        return self._compiled()

    def time_soundness(self, *_: object) -> Soundness:
        return proved(self.net.skeleton())

    def time_write_pnml(self, *_: object) -> str:
        return write_pnml(self.net)

    def time_read_pnml(self, *_: object) -> PlainNet:
        return read_pnml(self.pnml, file="plan.pnml")
