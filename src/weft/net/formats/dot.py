"""A net as a drawing for Graphviz: places round, pools doubly so, transitions square."""

from collections.abc import Iterator

from weft.net.formats.labels import drawn_arcs, drawn_tokens, visible
from weft.net.model import Net, PlaceKind
from weft.net.plain import PlainNet

# Graphviz interprets entities inside labels, so `&` must be escaped too.
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "&": "&amp;"})


def to_dot(net: Net | PlainNet) -> str:
    """Returns the net in the DOT language; the arcs of an outcome carry its name."""
    return "".join(f"{line}\n" for line in _lines(net))


def _lines(net: Net | PlainNet) -> Iterator[str]:
    yield "digraph net {"
    yield "  rankdir=LR;"
    for number, (id_, kind, tokens) in enumerate(
        zip(net.place_ids, net.place_kinds, net.initial, strict=True)
    ):
        shape = "doublecircle" if kind is PlaceKind.POOL else "circle"
        below = f"\\n{drawn_tokens(tokens)}" if tokens else ""
        yield f'  p{number} [shape={shape}, label="{escaped(id_)}{below}"];'
    for number, transition_id in enumerate(net.transition_ids):
        yield f'  t{number} [shape=box, label="{escaped(transition_id)}"];'
    for source, target, text in drawn_arcs(net):
        label = f' [label="{escaped(text)}"]' if text else ""
        yield f"  {source} -> {target}{label};"
    yield "}"


def escaped(text: str) -> str:
    return visible(text).translate(_ESCAPES)
