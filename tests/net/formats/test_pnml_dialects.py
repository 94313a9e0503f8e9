"""The dialects of PNML in use are read as the net that they mean; everything else is refused at its line."""

import re
from pathlib import Path
from xml.parsers import expat

import pytest

from weft.errors import FileFormatError
from weft.net.formats import read_pnml
from weft.net.plain import PlainNet
from weft.testing.nets import net_of

FILES = Path(__file__).parent / "dialects"
DIALECTS = ["iso.pnml", "tapaal.xml", "verifypn.xml", "woped.pnml", "untyped.pnml", "pipe.xml", "yasper.pnml"]
PLAIN = "only plain place/transition nets can be read"
UNKNOWN = "is not known and could change the behaviour; allowed there: "

PARCELS = net_of("start > 2 parts\nparts > packed\n2 packed > done", {"start": 1})


def read(name: str) -> PlainNet:
    return read_pnml((FILES / name).read_bytes(), file=name)


def message(text: str) -> str:
    with pytest.raises(FileFormatError) as caught:
        read_pnml(text.encode(), file="net.pnml")
    return str(caught.value).removeprefix("net.pnml:")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("net", ["parcels", "crossing"])
def test_a_net_is_the_same_in_each_dialect(net: str, dialect: str) -> None:
    assert read(f"{net}.{dialect}") == read(f"{net}.iso.pnml")


def test_the_net_of_the_files_has_its_weights_and_tokens() -> None:
    net = read("parcels.iso.pnml")
    assert (net.inputs, net.outputs, net.initial) == (PARCELS.inputs, PARCELS.outputs, PARCELS.initial)


def changed(file: str, old: str, new: str) -> str:
    text = (FILES / file).read_text()
    assert old in text
    return text.replace(old, new, 1)


def line_of(file: str, old: str) -> int:
    text = (FILES / file).read_text()
    return text[: text.index(old)].count("\n") + 1


TIMED, COLOURED, GAME = "a timed net", "a coloured net", "a game"
INHIBITOR = "a net with inhibitor arcs"
TOKEN = '<token id="red" enabled="true" red="9" green="0" blue="0"/>'
CLASSES = {
    "an inhibitor arc of verifypn": ("verifypn.xml", "inputArc", "inhibitorArc", INHIBITOR),
    "a transport arc of verifypn": ("verifypn.xml", "inputArc", "transportArc", TIMED),
    "an inhibitor arc of TAPAAL": ("tapaal.xml", 'type="timed"', 'type="tapnInhibitor"', INHIBITOR),
    "a transport arc of TAPAAL": ("tapaal.xml", 'type="timed"', 'type="transport"', TIMED),
    "an interval of TAPAAL": ("tapaal.xml", "[0,inf)", "[2,inf)", TIMED),
    "an interval of verifypn": ("verifypn.xml", "[0,inf)", "(0,4]", TIMED),
    "an invariant": ("tapaal.xml", "&lt; inf", "&lt;= 3", TIMED),
    "an urgent transition": ("tapaal.xml", 'urgent="false"', 'urgent="true"', TIMED),
    "a transition of the other player": ("tapaal.xml", 'player="0"', 'player="1"', GAME),
    "a player as an element": (
        "verifypn.xml",
        'urgent="false"/>',
        'urgent="false"><player><value>1</value></player></transition>',
        GAME,
    ),
    "a shared place": ("tapaal.xml", "<constant", '<shared-place name="p"/><constant', "a net in components"),
    "a component that is switched off": (
        "tapaal.xml",
        'active="true"',
        'active="false"',
        "a net in components",
    ),
    "a second class of tokens": ("pipe.xml", "<token", f"{TOKEN}<token", COLOURED),
    "tokens of two classes": ("pipe.xml", "Default,1", "Default,1,red,2", COLOURED),
    "tokens of another class": ("pipe.xml", "Default,1", "red,1", COLOURED),
    "a capacity": (
        "pipe.xml",
        "<value>0</value>\n</capacity>",
        "<value>3</value></capacity>",
        "a net with cap",
    ),
    "a tagged arc": (
        "pipe.xml",
        "<tagged>\n<value>false",
        "<tagged>\n<value>true",
        "a net with tagged tokens",
    ),
    "an inhibitor arc of PIPE": (
        "pipe.xml",
        '<type value="normal"/>',
        '<type value="inhibitor"/>',
        INHIBITOR,
    ),
    "an XOR transition of Yasper": ("yasper.pnml", "<text>AND</text>", "<text>XOR</text>", "a net with XOR"),
    "a reset arc of Yasper": (
        "yasper.pnml",
        "<text>normal</text>",
        "<text>reset</text>",
        "a net with reset arcs",
    ),
    "a coloured marking": (
        "iso.pnml",
        "<initialMarking><text>1</text></initialMarking>",
        "<hlinitialMarking><text>1</text></hlinitialMarking>",
        COLOURED,
    ),
    "a sort": ("iso.pnml", "<initialMarking>", "<type><structure/></type><initialMarking>", COLOURED),
    "a condition": ("iso.pnml", "<transition", "<declaration/><transition", COLOURED),
    "a delay": ("woped.pnml", '<trigger id=""', "</toolspecific><delay/><toolspecific><a", TIMED),
    "a subprocess of WoPeD": (
        "woped.pnml",
        "</net>",
        '<page id="pack"><net/></page></net>',
        "a net with subp",
    ),
    "a net inside a page": ("woped.pnml", "</net>", '<page id="x"><net/></page></net>', "a net with subp"),
}


@pytest.mark.parametrize(("file", "old", "new", "class_"), CLASSES.values(), ids=CLASSES)
def test_a_net_that_is_more_than_plain_is_refused_by_name(file: str, old: str, new: str, class_: str) -> None:
    error_message = message(changed(f"parcels.{file}", old, new))
    assert f": this is {class_}" in error_message
    assert error_message.endswith(f"; {PLAIN}")


SKIPPED_BEFORE = {
    "an input arc with an unknown label": ("verifypn.xml", "<inscription>", "<multiplicity/><inscription>"),
    "a multiplicity": (
        "yasper.pnml",
        "<type><text>n",
        "<multiplicity><text>2</text></multiplicity><type><text>n",
    ),
    "an unknown attribute": ("tapaal.xml", "initialMarking=", "marking="),
    "a capacity by attribute": ("iso.pnml", '<place id="start"', '<place id="start" capacity="2"'),
    "a guard by attribute": ("iso.pnml", '<transition id="pack"', '<transition id="pack" guard="x"'),
    "an element of another namespace": ("iso.pnml", "<place", '<x:arc xmlns:x="urn:x"/><place'),
    "a marking by attribute of the label": ("iso.pnml", "<initialMarking>", '<initialMarking value="2">'),
}


@pytest.mark.parametrize(("file", "old", "new"), SKIPPED_BEFORE.values(), ids=SKIPPED_BEFORE)
def test_what_could_change_the_behaviour_and_is_not_known_is_refused_at_its_line(
    file: str, old: str, new: str
) -> None:
    error_message = message(changed(f"parcels.{file}", old, new))
    assert UNKNOWN in error_message
    assert error_message.startswith(f"{line_of(f'parcels.{file}', old)}:")


REMARKS = {
    *("name", "description", "graphics", "toolspecific", "labels", "arcpath", "orientation", "rate"),
    *("infiniteServer", "query", "k-bound", "feature", "constant"),
}


def opening_tags(text: str) -> list[tuple[int, int]]:
    """Where each tag of an element that is read begins, and where its name ends."""
    tags: list[tuple[int, int]] = []
    remarks: list[str] = []
    parser = expat.ParserCreate("utf-8")

    def start(name: str, _attributes: dict[str, str]) -> None:
        if remarks or name in REMARKS:
            remarks.append(name)
        else:
            begin = parser.CurrentByteIndex
            tags.append((begin, begin + len(name) + 1))

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _name: remarks.pop() if remarks else None
    parser.Parse(text, True)
    return tags[1:]  # without <pnml>, whose attributes name versions and schemas


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_unknown_is_skipped_anywhere_in_a_net(dialect: str) -> None:
    text = (FILES / f"parcels.{dialect}").read_text()
    tags = opening_tags(text)
    assert len(tags) > 10
    for begin, end in tags:
        for at, unknown in ((end, ' wibble="1"'), (begin, "<wibble/>")):
            assert "'wibble'" in message(text[:at] + unknown + text[at:])


def transition(id_: str, inside: str) -> str:
    return f'<transition id="{id_}">{inside}</transition>'


def label(name: str, value: str) -> str:
    return f"<{name}><value>{value}</value></{name}>"


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (
            label("timed", "true"),
            label("timed", "false"),
            "<timed> is 'false' for transition 'u' and 'true' ",
        ),
        (label("priority", "1"), label("priority", "2"), "<priority> is '2' for transition 'u' and '1' "),
        (label("priority", "1"), "", "<priority> is '' for transition 'u' and '1' for transition 't'; all "),
    ],
)
def test_transitions_of_which_some_go_first_are_refused(first: str, second: str, said: str) -> None:
    net = f'<pnml><net id="n">\n{transition("t", first)}\n{transition("u", second)}</net></pnml>'
    assert message(net).startswith(f"3:1: {said}")


@pytest.mark.parametrize("trait", [label("timed", "true"), label("priority", "7"), ""])
def test_transitions_that_are_all_alike_leave_a_plain_net(trait: str) -> None:
    net = f'<pnml><net id="n">{transition("t", trait)}{transition("u", trait)}</net></pnml>'
    assert read_pnml(net.encode(), file="net.pnml").transition_ids == ("t", "u")


TO_TRANSITION = "it must lead from a place to a transition"
TO_PLACE = "it must lead from a transition to a place"
NODES = '<place id="p"/><transition id="t"/>'


@pytest.mark.parametrize(
    ("attributes", "weight"),
    [
        ("", 1),
        ('inscription="2"', 2),
        ('inscription="1" weight="3"', 3),
        ('inscription="[0,inf)" weight="3"', 3),
        ('inscription="[0, inf)"', 1),
        ('inscription="3" weight="3"', 3),
    ],
)
@pytest.mark.parametrize("element", ["inputArc", 'arc id="a"'])
def test_the_weight_of_an_arc_may_be_an_attribute(element: str, attributes: str, weight: int) -> None:
    net = f'<pnml><net id="n">{NODES}<{element} source="p" target="t" {attributes}/></net></pnml>'
    assert read_pnml(net.encode(), file="net.pnml").inputs == (((0, weight),),)


@pytest.mark.parametrize(
    ("arc", "said"),
    [
        (
            '<arc id="a" source="p" target="t" inscription="2" weight="3"/>',
            "arc 'a' has the weights 3 and 2; one is allowed",
        ),
        (
            '<arc id="a" source="p" target="t" weight="k"/>',
            "<weight> of arc 'a' is 'k'; a whole number ≥ 1 is needed",
        ),
        (
            '<inputArc source="t" target="p"/>',
            f"inputArc 't to p' leads from transition 't' to place 'p'; {TO_TRANSITION}",
        ),
        (
            '<outputArc source="p" target="t"/>',
            f"outputArc 'p to t' leads from place 'p' to transition 't'; {TO_PLACE}",
        ),
        ('<inputArc target="t"/>', "<inputArc> has no source; it needs one"),
        (
            '<place id="q" initialMarking="1,5"/>',
            "<initialMarking> of place 'q' is '1,5'; a whole number ≥ 0 is needed",
        ),
        (
            '<place id="q"><initialMarking><value>Default,x</value></initialMarking></place>',
            "<initialMarking> of place 'q' is 'Default,x'; a whole number ≥ 0 is needed",
        ),
        (
            '<arc id="a" source="p" target="t" weight="2"><inscription><text>2</text></inscription></arc>',
            "a second <inscription> of arc 'a'; one is allowed",
        ),
    ],
)
def test_a_dialect_is_read_as_strictly_as_the_standard(arc: str, said: str) -> None:
    error_message = message(f'<pnml><net id="n">{NODES}\n{arc}</net></pnml>')
    assert re.sub(r"^2:[0-9]+: ", "", error_message) == said


def test_classes_of_tokens_that_are_switched_off_or_absent_leave_a_plain_net() -> None:
    text = changed("parcels.pipe.xml", "<token", f"{TOKEN.replace('true', 'false')}<token")
    text = text.replace("Default,1", "Default,1,red,0", 1)
    assert read_pnml(text.encode(), file="net.xml") == read("parcels.iso.pnml")
