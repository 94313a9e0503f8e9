"""A net as a drawing for Graphviz: places round, pools doubly so, transitions square.

`drawn_arcs`, `drawn_tokens` and `visible` say what is drawn, for this format and for Mermaid.
"""

import re
from collections.abc import Iterator

from weft.net.model import Arcs, Net, PlaceKind
from weft.net.plain import PlainNet

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
# Graphviz reads entities inside labels, so `&` is no letter either.
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "&": "&amp;"})
_MAX_DOTS = 3


def to_dot(net: Net | PlainNet) -> str:
    """The net in the DOT language; the arcs of an outcome carry its name."""
    return "".join(f"{line}\n" for line in _lines(net))


def _lines(net: Net | PlainNet) -> Iterator[str]:
    yield "digraph net {"
    yield "  rankdir=LR;"
    for number, (id_, kind, tokens) in enumerate(
        zip(net.place_ids, net.place_kinds, net.initial, strict=True)
    ):
        shape = "doublecircle" if kind is PlaceKind.POOL else "circle"
        below = f"\\n{drawn_tokens(tokens)}" if tokens else ""
        yield f'  p{number} [shape={shape}, label="{_escaped(id_)}{below}"];'
    for number, transition_id in enumerate(net.transition_ids):
        yield f'  t{number} [shape=box, label="{_escaped(transition_id)}"];'
    for source, target, text in drawn_arcs(net):
        label = f' [label="{_escaped(text)}"]' if text else ""
        yield f"  {source} -> {target}{label};"
    yield "}"


def _escaped(text: str) -> str:
    return visible(text).translate(_ESCAPES)


def visible(text: str) -> str:
    """The text with a sign for each character that cannot be drawn, or would break a line."""
    return _UNPRINTABLE.sub(lambda found: _sign(found.group()), text)


def _sign(character: str) -> str:
    code = ord(character)
    return chr(0x2400 + code) if code < 0x20 else "\ufffd"  # noqa: PLR2004  the control pictures


def drawn_tokens(tokens: int) -> str:
    return "●" * tokens if tokens <= _MAX_DOTS else f"{tokens} ●"


def drawn_arcs(net: Net | PlainNet) -> Iterator[tuple[str, str, str]]:
    """Source, target and label of each arc; the nodes are p0, p1, … and t0, t1, … in order."""
    for number, inputs in enumerate(net.inputs):
        for place, weight in inputs:
            yield f"p{place}", f"t{number}", _label("", weight)
        for name, outputs in _outcomes(net, number):
            for place, weight in outputs:
                yield f"t{number}", f"p{place}", _label(name, weight)


def _outcomes(net: Net | PlainNet, number: int) -> Iterator[tuple[str, Arcs]]:
    if isinstance(net, Net):
        yield from zip(net.outcomes[number], net.outputs[number], strict=True)
    else:
        yield "", net.outputs[number]


def _label(name: str, weight: int) -> str:
    return ": ".join(part for part in (name, str(weight) if weight > 1 else "") if part)
