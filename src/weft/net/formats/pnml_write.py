"""Write PNML (ISO 15909-2): a place/transition net of the 2009 grammar, on one page.

In PNML an id must be an XML name; in Weft it may contain `/`, spaces or any other character. A node with an id
that is not an XML name gets another one in the file, and a `<toolspecific>` element stores the real id and the
kind of a place. Other tools can therefore load the file, and `read_pnml` returns exactly the same net.
"""

import re
from collections.abc import Iterator

from weft.errors import NetError
from weft.net.model import Arcs, PlaceKind
from weft.net.plain import PlainNet

NAMESPACE = "http://www.pnml.org/version-2009/grammar/pnml"
PTNET = "http://www.pnml.org/version-2009/grammar/ptnet"
TOOL, TOOL_VERSION = "weft", "1"
"""The attributes of Weft's own `<toolspecific>` elements."""
MAX_DIGITS = 1000
"""The most digits of a weight or a marking. More is an attack or an accident, and slow to convert."""

# XML allows some letters beyond ASCII too, but its editions and tools differ on which.
_XML_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9._-]*")
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# White space is written as character references, because parsers normalize it to spaces otherwise.
_ESCAPES = str.maketrans({
    "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;",
})  # fmt: skip


def write_pnml(net: PlainNet, *, name: str = "net") -> str:
    """Returns the net as a PNML document, to be stored as UTF-8. `name` is for readers only."""
    return "".join(f"{line}\n" for line in _document(net, name))


def _document(net: PlainNet, name: str) -> Iterator[str]:
    ids = _XmlIds(net)
    places = [ids.of(id_, "p") for id_ in net.place_ids]
    transitions = [ids.of(id_, "t") for id_ in net.transition_ids]
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<pnml xmlns="{NAMESPACE}">'
    yield f'  <net id="{ids.fresh("net")}" type="{PTNET}">'
    yield f"    <name><text>{_escape(name, 'the name of the net')}</text></name>"
    yield f'    <page id="{ids.fresh("page")}">'
    for xml_id, id_, kind, tokens in zip(places, net.place_ids, net.place_kinds, net.initial, strict=True):
        count = _format_number(tokens, 0, f"the marking of place {id_!r}")
        marking = f"<initialMarking><text>{count}</text></initialMarking>" if tokens else ""
        yield _format_node("place", xml_id, id_, kind=kind, label=marking)
    for xml_id, transition_id in zip(transitions, net.transition_ids, strict=True):
        yield _format_node("transition", xml_id, transition_id)
    for xml_id, inputs, outputs in zip(transitions, net.inputs, net.outputs, strict=True):
        for place, weight in _ends(inputs, places):
            yield _format_arc(ids.fresh("a"), place, xml_id, weight)
        for place, weight in _ends(outputs, places):
            yield _format_arc(ids.fresh("a"), xml_id, place, weight)
    yield "    </page>"
    yield "  </net>"
    yield "</pnml>"


class _XmlIds:
    """Assigns an XML id to each element: the node's own id if it is an XML name, else a letter and a number."""

    def __init__(self, net: PlainNet) -> None:
        self._taken = {id_ for id_ in (*net.place_ids, *net.transition_ids) if _XML_NAME.fullmatch(id_)}
        self._used: dict[str, int] = {}

    def of(self, id_: str, prefix: str) -> str:
        return id_ if id_ in self._taken else self.fresh(prefix)

    def fresh(self, prefix: str) -> str:
        number = self._used.get(prefix, 0) + 1
        # The generated id must not be the own id of another node.
        while f"{prefix}{number}" in self._taken:
            number += 1
        self._used[prefix] = number
        return f"{prefix}{number}"


def _format_node(
    element: str, xml_id: str, id_: str, *, kind: PlaceKind = PlaceKind.CONTROL, label: str = ""
) -> str:
    shown = _escape(id_, f"the {element} id")
    note = f' id="{shown}"' if xml_id != id_ else ""
    if kind is not PlaceKind.CONTROL:
        note += f' kind="{kind}"'
    if note:
        note = f'<toolspecific tool="{TOOL}" version="{TOOL_VERSION}"><node{note}/></toolspecific>'
    return f'      <{element} id="{xml_id}"><name><text>{shown}</text></name>{note}{label}</{element}>'


def _ends(arcs: Arcs, places: list[str]) -> Iterator[tuple[str, str]]:
    for place, weight in arcs:
        yield places[place], _format_number(weight, 1, f"the weight of an arc at place {places[place]!r}")


def _format_arc(xml_id: str, source: str, target: str, weight: str) -> str:
    label = f"<inscription><text>{weight}</text></inscription>" if weight != "1" else ""
    return f'      <arc id="{xml_id}" source="{source}" target="{target}">{label}</arc>'


def _format_number(value: int, least: int, subject: str) -> str:
    if type(value) is not int or value < least:
        raise NetError(f"{subject} is {value!r}; a whole number ≥ {least} is needed")
    if value >= 10**MAX_DIGITS:
        raise NetError(
            f"{subject} has more than {MAX_DIGITS} digits; PNML is written with {MAX_DIGITS} at most"
        )
    return str(value)


def _escape(text: str, subject: str) -> str:
    forbidden = _FORBIDDEN.search(text)
    if forbidden or not text:
        problem = f"has the character {forbidden.group()!r}" if forbidden else "is empty"
        raise NetError(f"{subject} {text!r} {problem}, which XML does not allow")
    return text.translate(_ESCAPES)
