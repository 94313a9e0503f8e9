"""Writes PNML (ISO 15909-2): a place/transition net of the 2009 grammar, on one page.

PNML asks of an id what XML asks of a name; ours may hold `/`, spaces, anything. A node whose id will not
do gets another one in the file, and the real one stands, with the kind of a place, in a `<toolspecific>`
element of ours. So other tools can load the file, and `read_pnml` gives back the very same net.
"""

import re
from collections.abc import Iterator

from weft.errors import NetError
from weft.net.model import Arcs, PlaceKind
from weft.net.plain import PlainNet

NAMESPACE = "http://www.pnml.org/version-2009/grammar/pnml"
PTNET = "http://www.pnml.org/version-2009/grammar/ptnet"
TOOL, TOOL_VERSION = "weft", "1"
"""Who signs the `<toolspecific>` elements that are ours."""
MAX_DIGITS = 1000
"""Of a weight or a marking: more is an attack or an accident, and slow to convert."""

# XML allows some letters beyond ASCII too, but its editions and tools differ on which.
_XML_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9._-]*")
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# White space as numbers, or the next parser makes blanks of it.
_ESCAPES = str.maketrans({
    "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;",
})  # fmt: skip


def write_pnml(net: PlainNet, *, name: str = "net") -> str:
    """The net as a PNML document, to be stored as UTF-8; `name` is only for people."""
    return "".join(f"{line}\n" for line in _document(net, name))


def _document(net: PlainNet, name: str) -> Iterator[str]:
    ids = _XmlIds(net)
    places = [ids.of(id_, "p") for id_ in net.place_ids]
    transitions = [ids.of(id_, "t") for id_ in net.transition_ids]
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<pnml xmlns="{NAMESPACE}">'
    yield f'  <net id="{ids.fresh("net")}" type="{PTNET}">'
    yield f"    <name><text>{_escaped(name, 'the name of the net')}</text></name>"
    yield f'    <page id="{ids.fresh("page")}">'
    for xml_id, id_, kind, tokens in zip(places, net.place_ids, net.place_kinds, net.initial, strict=True):
        count = _number(tokens, 0, f"the marking of place {id_!r}")
        marking = f"<initialMarking><text>{count}</text></initialMarking>" if tokens else ""
        yield _node("place", xml_id, id_, kind=kind, label=marking)
    for xml_id, own_id in zip(transitions, net.transition_ids, strict=True):
        yield _node("transition", xml_id, own_id)
    for xml_id, taken, given in zip(transitions, net.inputs, net.outputs, strict=True):
        for place, weight in _ends(taken, places):
            yield _arc(ids.fresh("a"), place, xml_id, weight)
        for place, weight in _ends(given, places):
            yield _arc(ids.fresh("a"), xml_id, place, weight)
    yield "    </page>"
    yield "  </net>"
    yield "</pnml>"


class _XmlIds:
    """One id for each element: the node's own where it will do, else a letter and a number."""

    def __init__(self, net: PlainNet) -> None:
        self._taken = {id_ for id_ in (*net.place_ids, *net.transition_ids) if _XML_NAME.fullmatch(id_)}
        self._used: dict[str, int] = {}

    def of(self, id_: str, prefix: str) -> str:
        return id_ if id_ in self._taken else self.fresh(prefix)

    def fresh(self, prefix: str) -> str:
        number = self._used.get(prefix, 0) + 1
        while f"{prefix}{number}" in self._taken:
            number += 1
        self._used[prefix] = number
        return f"{prefix}{number}"


def _node(
    element: str, xml_id: str, id_: str, *, kind: PlaceKind = PlaceKind.CONTROL, label: str = ""
) -> str:
    shown = _escaped(id_, f"the {element} id")
    note = f' id="{shown}"' if xml_id != id_ else ""
    if kind is not PlaceKind.CONTROL:
        note += f' kind="{kind}"'
    if note:
        note = f'<toolspecific tool="{TOOL}" version="{TOOL_VERSION}"><node{note}/></toolspecific>'
    return f'      <{element} id="{xml_id}"><name><text>{shown}</text></name>{note}{label}</{element}>'


def _ends(arcs: Arcs, places: list[str]) -> Iterator[tuple[str, str]]:
    for place, weight in arcs:
        yield places[place], _number(weight, 1, f"the weight of an arc at place {places[place]!r}")


def _arc(xml_id: str, source: str, target: str, weight: str) -> str:
    label = f"<inscription><text>{weight}</text></inscription>" if weight != "1" else ""
    return f'      <arc id="{xml_id}" source="{source}" target="{target}">{label}</arc>'


def _number(value: int, least: int, what: str) -> str:
    if type(value) is not int or value < least:
        raise NetError(f"{what} is {value!r}; a whole number ≥ {least} is needed")
    if value >= 10**MAX_DIGITS:
        raise NetError(f"{what} has more than {MAX_DIGITS} digits; PNML is written with {MAX_DIGITS} at most")
    return str(value)


def _escaped(text: str, what: str) -> str:
    bad = _FORBIDDEN.search(text)
    if bad or not text:
        said = f"has the character {bad.group()!r}" if bad else "is empty"
        raise NetError(f"{what} {text!r} {said}, which XML does not allow")
    return text.translate(_ESCAPES)
