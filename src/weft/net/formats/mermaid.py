"""A net as a Mermaid flowchart, for pages that draw it: places round, pools doubly so, transitions square."""

from collections.abc import Iterator

from weft.net.formats.labels import drawn_arcs, drawn_tokens, visible
from weft.net.model import Net, PlaceKind
from weft.net.plain import PlainNet

# All other characters are written as entity codes. Mermaid searches its source with patterns before it parses it
# (directives, comments, styles, Markdown), so a character with any special meaning is escaped everywhere.
_PLAIN = frozenset(" _-/.,()=●")


def to_mermaid(net: Net | PlainNet) -> str:
    """Returns the net as a flowchart from left to right; the arcs of an outcome carry its name."""
    return "".join(f"{line}\n" for line in _lines(net))


def _lines(net: Net | PlainNet) -> Iterator[str]:
    yield "flowchart LR"
    for number, (id_, kind, tokens) in enumerate(
        zip(net.place_ids, net.place_kinds, net.initial, strict=True)
    ):
        opened, closed = ("(((", ")))") if kind is PlaceKind.POOL else ("((", "))")
        below = f"<br/>{drawn_tokens(tokens)}" if tokens else ""
        yield f'  p{number}{opened}"{escaped(id_)}{below}"{closed}'
    for number, transition_id in enumerate(net.transition_ids):
        yield f'  t{number}["{escaped(transition_id)}"]'
    for source, target, text in drawn_arcs(net):
        label = f'|"{escaped(text)}"|' if text else ""
        yield f"  {source} -->{label} {target}"


def escaped(text: str) -> str:
    """Returns the text with entity codes; at least a space, because a label must not be empty."""
    return "".join(c if c in _PLAIN or c.isalnum() else f"#{ord(c)};" for c in visible(text)) or " "
