"""Nets in the dialects of other tools, as we read them, against pm4py.

pm4py reads the files of the standard, of WoPeD and of Yasper itself. It skips the weights and tokens of PIPE and
TAPAAL; for those it judges the same net in the standard's grammar. Its Woflan does not know weights, so soundness
is decided here by its definition, in the states that pm4py reaches.
"""

from pathlib import Path

import pytest
from pm4py.objects.petri_net import semantics
from pm4py.objects.petri_net.importer.variants import pnml as pm4py_pnml
from pm4py.objects.petri_net.obj import Marking

from weft.net.explore import explore
from weft.net.formats import read_pnml
from weft.net.soundness import soundness
from weft.net.verdict import Answer

FILES = Path(__file__).parent.parent / "net" / "formats" / "dialects"
READ_BY_PM4PY = ("iso", "woped", "untyped", "yasper")
SOUND = {"parcels": True, "crossing": False}


def judged_by_pm4py(file: Path) -> tuple[bool, int, int]:
    """Whether the net is sound, and how many states and firings there are."""
    net, initial, _ = pm4py_pnml.import_net_from_string(file.read_text())
    final = Marking({next(place for place in net.places if not place.out_arcs): 1})
    firings: dict[Marking, dict[object, Marking]] = {}
    waiting = [initial]
    while waiting:
        marking = waiting.pop()
        if marking not in firings:
            enabled = semantics.enabled_transitions(net, marking)
            firings[marking] = {
                transition: semantics.execute(transition, net, marking) for transition in enabled
            }
            waiting.extend(firings[marking].values())
    ending = {final} & firings.keys()
    while more := {m for m, after in firings.items() if m not in ending and ending & set(after.values())}:
        ending |= more
    fired = {transition for after in firings.values() for transition in after}
    clean = all(marking == final or not final <= marking for marking in firings)
    sound = ending == firings.keys() and fired == net.transitions and clean
    return sound, len(firings), sum(map(len, firings.values()))


@pytest.mark.parametrize("file", sorted(FILES.iterdir()), ids=lambda file: file.name)
def test_a_net_of_another_tool_has_the_same_verdict(file: Path) -> None:
    name, dialect, _ = file.name.split(".")
    net = read_pnml(file.read_bytes(), file=file.name)
    ours, states = soundness(net).verdict, explore(net)
    assert ours.answer is (Answer.PROVED if SOUND[name] else Answer.REFUTED)
    judged = file if dialect in READ_BY_PM4PY else file.with_name(f"{name}.iso.pnml")
    assert judged_by_pm4py(judged) == (SOUND[name], states.states, states.edges)
