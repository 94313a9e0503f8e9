"""Files that are broken, misleading or hostile end in one sentence that says where and why."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from weft.errors import FileFormatError
from weft.net.formats import pnml_dialects as dialects
from weft.net.formats import read_pnml
from weft.net.formats.pnml_read import _Reader

PTNET = "http://www.pnml.org/version-2009/grammar/ptnet"
NODES = '<place id="p"/><place id="q"/><transition id="t"/><transition id="u"/>'


def message(data) -> str:
    with pytest.raises(FileFormatError) as caught:
        read_pnml(data, file="net.pnml")
    error = caught.value
    text = str(error)
    assert text.startswith(f"net.pnml:{error.line}:{error.column}: ")
    return text.removeprefix("net.pnml:")


def document(*lines: str) -> bytes:
    """A net whose nodes are in line 3 and whose further lines begin with line 4."""
    head = ["<pnml>", f'<net id="n" type="{PTNET}"><page id="g">', NODES]
    return "\n".join([*head, *lines, "</page></net></pnml>"]).encode()


def marking(inside: str) -> bytes:
    return document(f'<place id="x"><initialMarking>{inside}</initialMarking></place>')


def arc(inside: str, attributes: str = "") -> bytes:
    return document(f'<arc id="a" source="p" target="t"{attributes}>', f"  {inside}", "</arc>")


WHOLE = "a whole number ≥ {} is needed"
JOIN = "it must join a place and a transition"
PLAIN = "only plain place/transition nets can be read"
NORMAL = "only 'normal' is allowed"
LONG = "2000 characters are allowed"
UNKNOWN = "is not known and could change the behaviour; allowed there"
REMARKS = "name, description, graphics, toolspecific"
TRANSITION = (
    f"type, timed, priority, player, toolspecific, {REMARKS[:-14]}, orientation, rate, infiniteServer"
)
TYPES = ", ".join(map(repr, dialects.TYPES))
ROOT = "'pnml' of namespace 'http://www.pnml.org/version-2009/grammar/pnml' or '' is needed"
ENCODINGS = "utf-8, utf-16, us-ascii, iso-8859-1, iso-8859-15, windows-1252"

CASES = {
    "an inhibitor arc": (
        arc('<type value="inhibitor"/>'),
        f"5:3: arc 'a' has the type 'inhibitor': this is a net with inhibitor arcs; {PLAIN}",
    ),
    "a reset arc": (
        arc("<type><text>reset</text></type>"),
        f"5:3: arc 'a' has the type 'reset': this is a net with reset arcs; {PLAIN}",
    ),
    "an inhibitor arc as pm4py writes it": (
        arc("<arctype><text>inhibitor</text></arctype>"),
        f"5:3: arc 'a' has the type 'inhibitor': this is a net with inhibitor arcs; {PLAIN}",
    ),
    "a read arc by attribute": (
        arc("", ' type="read"'),
        f"4:1: arc 'a' has the type 'read': this is a net with read arcs; {PLAIN}",
    ),
    "an arc type that says nothing readable": (
        arc("<type>inhibitor</type>"),
        f"5:3: arc 'a' has the type ''; {NORMAL}",
    ),
    "an arc type said twice": (
        arc('<type value="normal"><text>reset</text></type>'),
        "5:24: a second text in <type> of arc 'a'; one is allowed",
    ),
    "an arc from place to place": (
        document('<arc id="a" source="p" target="q"/>'),
        f"4:1: arc 'a' leads from place 'p' to place 'q'; {JOIN}",
    ),
    "an arc from transition to transition": (
        document("", '   <arc id="a" source="t" target="u"/>'),
        f"5:4: arc 'a' leads from transition 't' to transition 'u'; {JOIN}",
    ),
    "an arc from nowhere": (
        document('<arc id="a" source="no" target="t"/>'),
        f"4:1: arc 'a' leads from 'no' (no such node) to transition 't'; {JOIN}",
    ),
    "an arc to nowhere": (
        document('<arc id="a" source="p" target="no"/>'),
        f"4:1: arc 'a' leads from place 'p' to 'no' (no such node); {JOIN}",
    ),
    "an arc to a page": (
        document('<arc id="a" source="p" target="g"/>'),
        f"4:1: arc 'a' leads from place 'p' to page 'g'; {JOIN}",
    ),
    "an arc between references to places": (
        document('<referencePlace id="r" ref="p"/>', '<arc id="a" source="r" target="q"/>'),
        f"5:1: arc 'a' leads from referencePlace 'r' to place 'q'; {JOIN}",
    ),
    "an arc without source": (
        document('<arc id="a" target="t"/>'),
        "4:1: <arc> 'a' has no source; it needs one",
    ),
    "an arc without target": (
        document('<arc id="a" source="p"/>'),
        "4:1: <arc> 'a' has no target; it needs one",
    ),
    "an arc without id": (document('<arc source="p" target="t"/>'), "4:1: <arc> has no id; it needs one"),
    "a place without id": (document("<place/>"), "4:1: <place> has no id; it needs one"),
    "a transition with an empty id": (
        document('<transition id=""/>'),
        "4:1: <transition> has no id; it needs one",
    ),
    "a page without id": (document("<page/>"), "4:1: <page> has no id; it needs one"),
    "an id taken by a node": (
        document('<transition id="p"/>'),
        "4:1: transition 'p' has the id of line 3; ids must differ",
    ),
    "an id taken by the net": (
        document('<place id="n"/>'),
        "4:1: place 'n' has the id of line 2; ids must differ",
    ),
    "an id taken in a note of ours": (
        document('<place id="x"><toolspecific tool="weft" version="1"><node id="t"/></toolspecific></place>'),
        "3:31: transition 't' has the id of line 4; ids must differ",
    ),
    "weight 0": (
        arc("<inscription><text>0</text></inscription>"),
        f"5:16: <inscription> of arc 'a' is '0'; {WHOLE.format(1)}",
    ),
    "weight 1.5": (
        arc("<inscription><text>1.5</text></inscription>"),
        f"5:16: <inscription> of arc 'a' is '1.5'; {WHOLE.format(1)}",
    ),
    "a weight that is a term": (
        arc("<inscription><text>x+y</text></inscription>"),
        f"5:16: <inscription> of arc 'a' is 'x+y'; {WHOLE.format(1)}",
    ),
    "a weight without text": (
        arc("<inscription>2</inscription>"),
        "5:3: <inscription> of arc 'a' has no <text>; it needs one",
    ),
    "two weights": (
        arc("<inscription><text>1</text></inscription><inscription><text>2</text></inscription>"),
        "5:44: a second <inscription> of arc 'a'; one is allowed",
    ),
    "marking -1": (
        marking("<text>-1</text>"),
        f"4:31: <initialMarking> of place 'x' is '-1'; {WHOLE.format(0)}",
    ),
    "a marking in other digits": (
        marking("<text>٣</text>"),
        f"4:31: <initialMarking> of place 'x' is '٣'; {WHOLE.format(0)}",
    ),
    "a marking with underscore": (
        marking("<text>1_0</text>"),
        f"4:31: <initialMarking> of place 'x' is '1_0'; {WHOLE.format(0)}",
    ),
    "an empty marking": (marking("<text/>"), f"4:31: <initialMarking> of place 'x' is ''; {WHOLE.format(0)}"),
    "a marking without text": (
        marking("3"),
        "4:15: <initialMarking> of place 'x' has no <text>; it needs one",
    ),
    "a marking with two texts": (
        marking("<text>1</text><text>2</text>"),
        "4:45: a second text in <initialMarking> of place 'x'; one is allowed",
    ),
    "an element inside a number": (
        marking("<text>1<b>0</b></text>"),
        "4:38: the element 'b' inside <text>; only characters are allowed",
    ),
    "a marking of 1001 digits": (
        marking(f"<text>{'9' * 1001}</text>"),
        f"4:31: <initialMarking> of place 'x' is '{'9' * 57}...{'9' * 58}'; {WHOLE.format(0)}",
    ),
    "a marking that goes on and on": (
        marking(f"<text>{' ' * 1001}{'9' * 1000}</text>"),
        f"4:31: the text '{' ' * 57}...{'9' * 58}' in <initialMarking> of place 'x'; {LONG}",
    ),
    "a place inside a transition": (
        document('<transition id="x"><place id="y"/></transition>'),
        f"4:20: the element 'place' inside <transition> {UNKNOWN}: {TRANSITION}",
    ),
    "a place inside a reference": (
        document('<referencePlace id="x" ref="p"><place id="y"/></referencePlace>'),
        f"4:32: the element 'place' inside <referencePlace> {UNKNOWN}: {REMARKS}",
    ),
    "a reference to nothing": (
        document('<referencePlace id="r" ref="no"/>'),
        "4:1: referencePlace 'r' refers to 'no' (no such node); a place or referencePlace is needed",
    ),
    "a reference to a node of the other sort": (
        document('<referenceTransition id="r" ref="p"/>'),
        "4:1: referenceTransition 'r' refers to place 'p'; a transition or referenceTransition is needed",
    ),
    "a reference to a reference of the other sort": (
        document('<referencePlace id="r" ref="s"/>', '<referenceTransition id="s" ref="t"/>'),
        "4:1: referencePlace 'r' refers to referenceTransition 's'; a place or referencePlace is needed",
    ),
    "a reference without ref": (
        document('<referencePlace id="r"/>'),
        "4:1: <referencePlace> 'r' has no ref; it needs one",
    ),
    "a reference to itself": (
        document('<referencePlace id="r" ref="r"/>'),
        "4:1: referencePlace 'r' closes a circle; a place is needed",
    ),
    "references in a circle": (
        document(*(f'<referenceTransition id="r{n}" ref="r{(n + 1) % 3}"/>' for n in range(3))),
        "6:1: referenceTransition 'r2' closes a circle; a transition is needed",
    ),
    "a kind that is none": (
        document(
            '<place id="x"><toolspecific tool="weft" version="1"><node kind="odd"/></toolspecific></place>'
        ),
        "4:53: place 'x' has the kind 'odd'; allowed: control, running, pool, end",
    ),
    "a note of a later version of ours": (
        document('<place id="x"><toolspecific tool="weft" version="2"/></place>'),
        "4:15: <toolspecific> of weft has the version '2'; allowed: '1'",
    ),
    "several nets": (
        b'<pnml><net id="a" type="P/T net"/>\n <net id="b" type="x"><place/></net><net id="c"/></pnml>',
        "2:2: 3 nets in one file: ['a', 'b', 'c']; only one is allowed",
    ),
    "no net": (b"<pnml/>", "1:1: no <net> inside <pnml>; one is needed"),
    "a type that nothing is known about": (
        b'<pnml><net id="a" type="my net"/></pnml>',
        f"1:7: net 'a' has the type 'my net'; allowed: {TYPES}",
    ),
    "another root": (
        b"<html><body/></html>",
        f"1:1: the root element 'html' of namespace ''; {ROOT}",
    ),
    "another namespace": (
        b'<pnml xmlns="urn:old"/>',
        f"1:1: the root element 'pnml' of namespace 'urn:old'; {ROOT}",
    ),
    "nothing": (b"", "1:1: not well-formed XML: no element found; PNML is needed"),
    "no XML": (b"\n\nplaces: 3", "3:1: not well-formed XML: syntax error; PNML is needed"),
    "tags that do not match": (
        document("  <place id='x'></plaice>"),
        "4:19: not well-formed XML: mismatched tag; PNML is needed",
    ),
    "a file cut off": (
        document()[:-8],
        "4:8: not well-formed XML: unclosed token; PNML is needed",
    ),
    "an entity nobody declared": (
        document("&who;"),
        "4:1: not well-formed XML: undefined entity; PNML is needed",
    ),
    "bytes that are not UTF-8": (
        document() + b"\xff",
        "4:21: not well-formed XML: not well-formed (invalid token); PNML is needed",
    ),
    "an encoding that Python does not know": (
        b'<?xml version="1.0" encoding="klingon"?><pnml/>',
        f"1:1: the encoding 'klingon'; allowed: {ENCODINGS}",
    ),
    "an encoding that expat cannot do": (
        b'<?xml version="1.0" encoding="utf-7"?><pnml/>',
        f"1:1: the encoding 'utf-7'; allowed: {ENCODINGS}",
    ),
    "a DTD": (
        b"<!DOCTYPE pnml>\n<pnml/>",
        "1:15: a DOCTYPE ('pnml'); no DTD and no entities are allowed",
    ),
    "an external entity": (
        b'<!DOCTYPE pnml [ <!ENTITY e SYSTEM "file:///etc/passwd"> ]>\n<pnml>&e;</pnml>',
        "1:16: a DOCTYPE ('pnml'); no DTD and no entities are allowed",
    ),
    "an external DTD": (
        b'<!DOCTYPE pnml SYSTEM "file:///etc/passwd">\n<pnml/>',
        "1:43: a DOCTYPE ('pnml'); no DTD and no entities are allowed",
    ),
}


@pytest.mark.parametrize(("data", "said"), CASES.values(), ids=CASES.keys())
def test_refuses(data, said):
    assert message(data) == said


@pytest.mark.parametrize("kind", ["symmetricnet", "highlevelnet", "pt-hlpng"])
def test_other_types_of_nets_are_refused_by_name(kind):
    type_ = f"http://www.pnml.org/version-2009/grammar/{kind}"
    error_message = message(f'<pnml>\n<net id="n" type="{type_}"/></pnml>'.encode())
    assert error_message == f"2:1: net 'n' has the type '{type_}': this is a coloured net; {PLAIN}"


class Counted:
    """Chunks made one at a time, and how many were asked for."""

    def __init__(self, first: bytes, chunk: bytes, count: int) -> None:
        self.taken = 0
        self._chunks = [first, chunk]
        self._count = count

    def __iter__(self):
        for number in range(self._count):
            self.taken += 1
            yield self._chunks[min(number, 1)]


@pytest.mark.parametrize(
    ("first", "depth_there"),
    [(b"<pnml><name>", 2), (b'<pnml><net id="n" type="P/T net"><page id="g"><graphics>', 4)],
    ids=["skipped elements", "skipped elements in a page"],
)
def test_a_hundred_megabytes_of_nesting_end_at_the_65th_element(first, depth_there):
    chunks = Counted(first, b"<a>" * 1000, 33_000)
    column = len(first) + 3 * (64 - depth_there) + 1
    assert message(chunks) == f"1:{column}: 65 elements, one in the other; 64 are allowed"
    assert chunks.taken == 2


def test_a_hundred_megabytes_of_pages_end_at_the_65th_element():
    pages = b"".join(b'<page id="g%d">' % n for n in range(1000))
    chunks = Counted(b'<pnml><net id="n" type="P/T net">', pages, 7000)
    assert message(chunks).endswith(": 65 elements, one in the other; 64 are allowed")
    assert chunks.taken == 2


@pytest.mark.parametrize("first", [b"<!-- ", b"<pnml><!-- ", b"<pnml a='", b"<pnml><net id='", b"<pnml><?a "])
def test_markup_without_end_is_given_up_after_a_megabyte(first):
    chunks = Counted(first, b"x" * 10_000, 10_000)
    assert message(chunks).endswith(": a tag or comment without end; 1048576 bytes are allowed")
    assert chunks.taken < 350  # what waits doubles with each piece


def test_long_characters_between_elements_are_no_markup_without_end():
    chunks = [b'<pnml><net id="n" type="P/T net">', *[b"x" * 100_000] * 30, b"</net></pnml>"]
    assert read_pnml(chunks, file="net.pnml").place_ids == ()


def test_an_entity_that_grows_a_billionfold_is_refused_where_the_doctype_starts():
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    bomb = f'<!DOCTYPE pnml [<!ENTITY l0 "lol">{laughs}]><pnml>&l9;</pnml>'.encode()
    assert message(bomb) == "1:16: a DOCTYPE ('pnml'); no DTD and no entities are allowed"
    reader = _Reader("net.pnml")
    with pytest.raises(FileFormatError):
        reader.feed(bomb)
    assert reader._fed == 64  # expat has not been given the rest, to which it would have run on


TOKENS = [
    "<", ">", "/>", "</", '"', "&", "&#0;", "&#55296;", "]]>", "<![CDATA[", "<!--", "-->", "<?", "\0",
    "\ufffe", "é", "<text>", "</text>", "<type/>", "<arc>", "<net>", "</net>", "<!DOCTYPE a [",
    "<!ENTITY b 'c'>", "xmlns='urn:a'", "xmlns:a='b'", "a:", "id", "ref", "p", "t", "r", "-1",
    "9" * 5000, "<toolspecific tool='weft' version='1'>",
    "<node id='p' kind='pool'/>", '<?xml version="1.0" encoding="utf-7"?>', "encoding='x'",
]  # fmt: skip
GOOD = document(
    '<referencePlace id="r" ref="p"/><arc id="a" source="r" target="t"><type value="normal"/></arc>',
    '<arc id="b" source="t" target="q"><inscription><text>2</text></inscription></arc>',
    '<place id="x"><name><text>X</text></name><initialMarking><text>3</text></initialMarking>',
    '<toolspecific tool="weft" version="1"><node id="a/b" kind="pool"/></toolspecific></place>',
).decode()
PIECES = re.findall(r"<[/?]?|/?>|[\w.:-]+|\s+|.", GOOD)


@st.composite
def mutants(draw):
    pieces = list(PIECES)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(pieces) - 1))
        until = at + draw(st.integers(0, 5))
        pieces[at:until] = draw(st.lists(st.sampled_from(TOKENS) | st.sampled_from(PIECES), max_size=3))
        if not pieces:
            break
    encoding = draw(st.sampled_from(["utf-8", "utf-16", "iso-8859-1"]))
    return "".join(pieces).encode(encoding, "replace")


@given(mutants() | st.binary())
@example(b'<?xml version="1.0" encoding="utf-7"?>')
@example(GOOD.encode("utf-16"))
def test_a_mutilated_file_is_read_or_refused_and_nothing_else(data):
    error_message = None
    try:
        read_pnml(data, file="net.pnml")
    except FileFormatError as error:
        error_message = str(error)
    assert error_message is None or re.match(r"net\.pnml:[0-9]+:[0-9]+: ", error_message)


def test_the_file_that_is_mutilated_is_good_before():
    assert read_pnml(GOOD.encode(), file="net.pnml").place_ids == ("p", "q", "a/b")
