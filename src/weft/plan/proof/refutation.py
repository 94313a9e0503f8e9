"""What is wrong with a shape that is not sound, in the plan's own words."""

from weft.ids import TransitionId
from weft.net.behaviour import sound_by_states
from weft.net.model import PlaceKind
from weft.net.plain import PlainNet
from weft.net.trace import fire, replay
from weft.net.verdict import Answer, Verdict
from weft.plan.compile.parts import Shape
from weft.plan.proof.words import in_words

MOST_STATES = 2_000
"""So many states are searched for a shorter trace than the one there is."""


def explained(net: PlainNet, shape: Shape, path: str, verdict: Verdict) -> tuple[str, tuple[str, ...]]:
    """Why the verdict is no proof, and the shortest run that shows it; `net` is the skeleton of the shape."""
    if verdict.answer is Answer.REFUTED:
        verdict = _nearest(net, verdict)
    why = f"{path} {_fault(net, verdict.trace)}" if verdict.trace else f"{path}: {verdict.why}"
    return why, tuple(in_words(shape, path, verdict.trace))


def _nearest(net: PlainNet, verdict: Verdict) -> Verdict:
    """The same with a shortest trace, if a short search finds one; from a hopeless start none leads anywhere."""
    found = sound_by_states(net, final=_end(net), max_states=MOST_STATES)
    return found if found.answer is Answer.REFUTED and found.trace else verdict


def _fault(net: PlainNet, trace: tuple[TransitionId, ...]) -> str:
    tokens = replay(net, trace)
    if tokens[_end(net)] > 1:
        return "can end twice"
    if tokens[_end(net)]:
        return "can end while something in it is still under way"
    if any(fire(net, tokens, number) for number in range(len(net.transition_ids))):
        return "can come to where it has no way to its end any more"
    return "can get stuck: nothing more can happen in it, and it has not ended"


def _end(net: PlainNet) -> int:
    return net.place_kinds.index(PlaceKind.END)
