"""What is decided from the structure of a net, without its states."""

from msgspec.structs import replace

from benchmarks import shapes
from weft.ids import PlaceId, TransitionId
from weft.net.formats import read_pnml, write_pnml
from weft.net.plain import PlainNet, unfold
from weft.net.soundness import Soundness, soundness
from weft.net.verdict import Answer
from weft.subplans.compile import compile_tree
from weft.subplans.model import ParallelExecutionConfig
from weft.subplans.tree import read_tree


def proved(net: PlainNet) -> Soundness:
    return answered(net, Answer.PROVED)


def answered(net: PlainNet, answer: Answer) -> Soundness:
    found = soundness(net)
    assert found.verdict.answer is answer, found.verdict.why
    return found


def skipping_without_a_word(net: PlainNet) -> PlainNet:
    """The plan in which slice 0, if skipped, is closed at once: those that wait for it wait for ever."""
    skip = net.transition_ids.index(TransitionId("0.skip"))
    closed = ((net.place_ids.index(PlaceId("0.closed")), 1),)
    return replace(net, outputs=(*net.outputs[:skip], closed, *net.outputs[skip + 1 :]))


class SoundnessOfPlans:
    """1,000 slices are 38,000 transitions."""

    params = (10, 100, 1_000)
    param_names = ("slices",)
    timeout = 300

    def setup(self, slices: int) -> None:
        self.net = shapes.large_skeleton(slices)
        self.spoiled = skipping_without_a_word(self.net)

    def time_proved(self, *_: object) -> Soundness:
        return proved(self.net)

    def time_refuted(self, *_: object) -> Soundness:
        return answered(self.spoiled, Answer.REFUTED)

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
