"""The parts of a drawing that DOT and Mermaid share: arcs with labels, tokens, and printable names."""

import re
from collections.abc import Iterator

from weft.net.model import Arcs, Net
from weft.net.plain import PlainNet

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_MAX_DOTS = 3


def visible(text: str) -> str:
    """Replaces each character that cannot be drawn, or that would break a line, by a symbol."""
    return _UNPRINTABLE.sub(lambda match: _replacement(match.group()), text)


def _replacement(character: str) -> str:
    code = ord(character)
    return chr(0x2400 + code) if code < 0x20 else "\ufffd"  # noqa: PLR2004  the control pictures


def drawn_tokens(tokens: int) -> str:
    return "●" * tokens if tokens <= _MAX_DOTS else f"{tokens} ●"


def drawn_arcs(net: Net | PlainNet) -> Iterator[tuple[str, str, str]]:
    """Yields source, target and label of each arc; the nodes are p0, p1, … and t0, t1, … in order."""
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
