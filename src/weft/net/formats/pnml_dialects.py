"""The elements and attributes that tools write into PNML, and their effect on the behaviour of a net.

The reader fails closed. An element or attribute is read, or known to be descriptive only (skipped), or belongs
to a known class of nets beyond place/transition nets (refused, with the name of the class), or unknown (refused
as such). A net without its inhibitor arcs or its weights would behave differently, and the verdict on it would
be wrong.

Four dialects are read besides the standard (ISO 15909-2, grammar of 2009):

- TAPAAL and verifypn: `<inputArc>` and `<outputArc>`, attributes `initialMarking`, `weight`, `inscription`;
- WoPeD, LoLA and others of the grammar of 2003: type `…/pntd/ptNetb` or none, no page;
- PIPE: `<value>` instead of `<text>`, `<token>`, `Default,2`, and labels of stochastic nets;
- Yasper and EPNML: `<description>`, `<type>` of a transition.
"""

from typing import NamedTuple

from weft.net.formats.pnml_write import NAMESPACE, PTNET

_GRAMMAR_2009 = "http://www.pnml.org/version-2009/grammar"
_GRAMMAR_2003 = "http://www.informatik.hu-berlin.de/top"

NAMESPACES = (NAMESPACE, "", f"{_GRAMMAR_2003}/pnml/ptNetb", f"{_GRAMMAR_2003}/pnml")
"""The namespaces of elements that are PNML."""

TYPES = (
    PTNET,
    f"{_GRAMMAR_2009}/pnmlcoremodel",
    f"{_GRAMMAR_2003}/pntd/ptNetb",
    f"{_GRAMMAR_2003}/pnml/ptNetb",
    f"{_GRAMMAR_2003}/pnml/basicPNML.rng",
    "http://www.yasper.org/specs/epnml-1.1",
    "http://www.petriweb.org/specs/epnml11",
    "P/T net",
    "PTNet",
    "",
)
"""The types of place/transition nets; WoPeD and others omit the type."""

COLOURED = "a coloured net"
TIMED = "a timed net"
INHIBITOR = "a net with inhibitor arcs"
GAME = "a game"
COMPONENTS = "a net in components"
PLAIN_ONLY = "only plain place/transition nets can be read"

REFUSED_TYPES = {
    f"{_GRAMMAR_2009}/{name}": COLOURED for name in ("symmetricnet", "highlevelnet", "hlpng", "pt-hlpng")
}

REFUSED = {
    **dict.fromkeys(("inhibitorArc", "tapnInhibitorArc"), INHIBITOR),
    **dict.fromkeys(("transportArc", "delay", "interval", "timeInterval", "age"), TIMED),
    **dict.fromkeys(
        ("hlinitialMarking", "hlinscription", "declaration", "declarations", "condition", "structure"),
        COLOURED,
    ),
    **dict.fromkeys(("colorinvariant", "tokencolors", "tokenclass"), COLOURED),
    **dict.fromkeys(("shared-place", "shared-transition"), COMPONENTS),
}
"""For an element that is not read: the class of nets that it belongs to."""

ARC_TYPES = {
    "normal": None,
    "timed": None,  # TAPAAL marks every arc to a transition as timed; its interval decides
    "inhibitor": INHIBITOR,
    "tapnInhibitor": INHIBITOR,
    "transport": TIMED,
    "reset": "a net with reset arcs",
    "read": "a net with read arcs",
    "test": "a net with read arcs",
}
"""The types of arcs, and the class of a net with such an arc; None for a plain one."""


class Label(NamedTuple):
    """A label with few allowed texts, because others change the behaviour."""

    allowed: frozenset[str]
    """In lowercase."""
    otherwise: str
    """The class of a net with any other text."""


UNTIMED = Label(frozenset({"[0,inf)", "[0,infinity)", "[0,∞)"}), TIMED)
"""The interval of an arc, without spaces."""
FIXED_ATTRIBUTES = {
    "invariant": Label(frozenset({"<inf", "< inf"}), TIMED),
    "urgent": Label(frozenset({"false"}), TIMED),
    "player": Label(frozenset({"0"}), GAME),
    "active": Label(frozenset({"true"}), COMPONENTS),
}
FIXED_LABELS = {
    # In PIPE, 0 means that there is no bound.
    "capacity": Label(frozenset({"0"}), "a net with capacities"),
    "tagged": Label(frozenset({"false"}), "a net with tagged tokens"),
    "player": Label(frozenset({"0"}), GAME),
}
TRANSITION_TYPES = Label(frozenset({"and", "normal"}), "a net with XOR transitions")

NUMBER_LABELS = {"initialMarking": 0, "inscription": 1}
"""The labels that are numbers, and the smallest allowed."""
TYPE_LABELS = ("type", "arctype")
TRAIT_LABELS = ("timed", "priority")
"""Labels that do not affect the behaviour if all transitions have the same text."""
LABELS = (*NUMBER_LABELS, *TYPE_LABELS, *TRAIT_LABELS, *FIXED_LABELS)

REQUIRED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("page", "place", "transition"), ("id",)),
    **dict.fromkeys(("referencePlace", "referenceTransition"), ("id", "ref")),
    "arc": ("id", "source", "target"),
    **dict.fromkeys(("inputArc", "outputArc"), ("source", "target")),
}
"""The parts of a net, and the attributes that each needs."""
ARCS = ("arc", "inputArc", "outputArc")

_ARC_LABELS = ("inscription", *TYPE_LABELS, "tagged")
CONTENT: dict[str, tuple[str, ...]] = {
    "": ("pnml",),
    "pnml": ("net",),
    "net": (*REQUIRED, "token"),  # without a page in between, as many tools write it
    "page": tuple(REQUIRED),
    "place": ("initialMarking", "capacity", "toolspecific"),
    "transition": ("type", *TRAIT_LABELS, "player", "toolspecific"),
    **dict.fromkeys(ARCS, _ARC_LABELS),
    "toolspecific": ("node",),
    **dict.fromkeys(LABELS, ("text", "value")),
    **dict.fromkeys(("referencePlace", "referenceTransition", "token", "text", "value", "node"), ()),
}
"""For each element that is read: the elements inside it that are read too."""

_REMARKS = ("name", "description", "graphics", "toolspecific")
_NET_REMARKS = (*_REMARKS, "labels", "definition", "stategroup", "finalmarkings")
DESCRIPTIVE: dict[str, tuple[str, ...]] = {
    # The queries and bounds of TAPAAL; its constants stand in intervals, which must be [0,inf).
    "pnml": (*_REMARKS, "constant", "query", "queries", "k-bound", "feature"),
    "net": _NET_REMARKS,
    "page": _NET_REMARKS,
    "transition": (*_REMARKS, "orientation", "rate", "infiniteServer"),
    **dict.fromkeys(ARCS, (*_REMARKS, "arcpath")),
    **dict.fromkeys(("place", "referencePlace", "referenceTransition", *LABELS), _REMARKS),
    "token": (),
}
"""For each element that is read: the elements inside it that have no effect and are skipped entirely."""

_LAYOUT = ("name", "displayName", "positionX", "positionY", "nameOffsetX", "nameOffsetY", "angle", "tapered")
# Probabilities of TAPAAL's statistical simulation; without time, they do not make any firing impossible.
_CHANCES = (
    "weight",
    "firingMode",
    "distribution",
    "rate",
    "value",
    "a",
    "b",
    "mean",
    "stddev",
    "shape",
    "scale",
)
_ARC_ATTRIBUTES = ("id", "source", "target", "type", "inscription", "weight", *_LAYOUT)
ATTRIBUTES: dict[str, frozenset[str]] = {
    "net": frozenset({"id", "type", "active", *_LAYOUT}),
    "page": frozenset({"id", *_LAYOUT}),
    "place": frozenset({"id", "initialMarking", "invariant", *_LAYOUT}),
    "transition": frozenset({"id", "urgent", "player", *TRAIT_LABELS, "infiniteServer", *_CHANCES, *_LAYOUT}),
    **dict.fromkeys(("referencePlace", "referenceTransition"), frozenset({"id", "ref", *_LAYOUT})),
    **dict.fromkeys(ARCS, frozenset(_ARC_ATTRIBUTES)),
    **dict.fromkeys((*LABELS, "text", "value"), frozenset[str]()),
    **dict.fromkeys(TYPE_LABELS, frozenset({"value"})),
    "token": frozenset({"id", "enabled", "red", "green", "blue"}),
}
"""The attributes that are read or have no effect. Elements that are not listed may have any."""
