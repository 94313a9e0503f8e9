"""How parts and files are told to people and agents."""

from collections.abc import Iterator, Sequence

from weft.decompose.model import Risk

_LONGEST = 60


def shown(text: str) -> str:
    """For a sentence: somebody else's text, not all of it if it is long."""
    cut = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return as_line(cut)


def as_line(text: str) -> str:
    """A name as it is, if it is one on a line; else what a person would type for it."""
    return text if text.isprintable() and text else repr(text)


def risk_lines(risks: Sequence[Risk], *, most: int, inside: str = "") -> Iterator[str]:
    """Those with most behind them; `inside` is what comes before the ids in the paths of parts."""
    for risk in sorted(risks, key=lambda risk: (not risk.circle, -risk.links))[:most]:
        why = "refer to each other" if risk.circle else "often change together"
        pair = " with ".join(map(as_line, risk.files[0]))
        more = f" and {risk.links - 1:,} more" if risk.links > 1 else ""
        yield f"{inside}{risk.first} and {inside}{risk.second} {why}: {pair}{more}"
