"""Text about parts and files for people and agents."""

from collections.abc import Iterator, Sequence

from weft.decompose.model import Risk

_LONGEST = 60


def shown(text: str) -> str:
    """Returns untrusted text in a form that fits into a sentence, shortened if it is long."""
    cut = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return as_line(cut)


def as_line(text: str) -> str:
    """Returns a printable name unchanged, and any other as a Python literal."""
    return text if text.isprintable() and text else repr(text)


def risk_lines(risks: Sequence[Risk], *, most: int, inside: str = "") -> Iterator[str]:
    """Yields a line for each of the greatest risks. `inside` is the prefix of the parts' paths."""
    for risk in sorted(risks, key=lambda risk: (not risk.circle, -risk.links))[:most]:
        relation = "refer to each other" if risk.circle else "often change together"
        pair = " with ".join(map(as_line, risk.files[0]))
        more = f" and {risk.links - 1:,} more" if risk.links > 1 else ""
        yield f"{inside}{risk.first} and {inside}{risk.second} {relation}: {pair}{more}"
