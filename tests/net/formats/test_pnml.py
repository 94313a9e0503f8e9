"""What is written comes back, and what other tools write is understood."""

from xml.parsers import expat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parts import plain
from weft.errors import NetError
from weft.ids import OutcomeName, PlaceId, TransitionId
from weft.net.formats import read_pnml, write_pnml
from weft.net.formats.pnml_dialects import TYPES
from weft.net.model import Arc, Net, Outcome, Place, PlaceKind, Transition
from weft.net.plain import PlainNet, unfold

PTNET = "http://www.pnml.org/version-2009/grammar/ptnet"
NAMESPACE = "http://www.pnml.org/version-2009/grammar/pnml"

nasty = st.sampled_from(
    ["p1", "t1", "a1", "net1", "page1", "a/b", "a.b", "a b", "1a", "<&>", "\"'", "é", "]]>"]
)
ids = nasty | st.text(
    st.sampled_from("pta12é√😀/.:# \t\r\n<&>\"'\x7f\x85\u2028-_") | st.characters(codec="utf-8"), min_size=1
).filter(lambda text: all(c in "\t\n\r" or c >= " " for c in text) and not {"\ufffe", "\uffff"} & set(text))
numbers = st.integers(1, 3) | st.integers(1, 10**40)


@st.composite
def plain_nets(draw):
    every = draw(st.lists(ids, unique=True, max_size=10))
    split = draw(st.integers(0, len(every)))
    places, transitions = tuple(every[:split]), tuple(every[split:])
    arcs = st.dictionaries(st.integers(0, split - 1), numbers) if places else st.just({})
    side = st.tuples(*[arcs.map(lambda found: tuple(found.items()))] * len(transitions))
    return plain(
        place_ids=places,
        transition_ids=transitions,
        inputs=draw(side),
        outputs=draw(side),
        initial=draw(st.tuples(*[st.just(0) | numbers] * len(places))),
        place_kinds=draw(st.tuples(*[st.sampled_from(PlaceKind)] * len(places))),
    )


def read(*body: str, type_: str = PTNET, pnml: str = "pnml") -> PlainNet:
    text = f'<{pnml}><net id="n" type="{type_}">{"".join(body)}</net></{pnml.split(maxsplit=1)[0]}>'
    return read_pnml(text.encode(), file="net.pnml")


def place(id_: str, inside: str = "") -> str:
    return f'<place id="{id_}">{inside}</place>'


def transition(id_: str, inside: str = "") -> str:
    return f'<transition id="{id_}">{inside}</transition>'


def arc(id_: str, source: str, target: str, inside: str = "") -> str:
    return f'<arc id="{id_}" source="{source}" target="{target}">{inside}</arc>'


@given(plain_nets(), st.integers(1, 300))
def test_a_net_comes_back_as_it_was_whatever_the_chunks(net, size):
    data = write_pnml(net).encode()
    assert read_pnml(data, file="net.pnml") == net
    assert read_pnml((data[at : at + size] for at in range(0, len(data), size)), file="net.pnml") == net


@given(plain_nets())
def test_ids_in_the_file_are_xml_names_and_differ(net):
    ids = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda tag, attributes: (
        ids.append(attributes["id"]) if "id" in attributes and tag != "node" else None
    )
    parser.Parse(write_pnml(net).encode(), True)
    assert len(set(ids)) == len(ids)
    assert all(id_.isascii() and (id_[0].isalpha() or id_[0] == "_") for id_ in ids)
    assert not any(set(id_) & set(" :/\t\n#<>&\"'") for id_ in ids)


def test_an_id_that_is_an_xml_name_is_kept_and_others_are_noted():
    net = plain(place_ids=("p1", "a/b"), transition_ids=(), inputs=(), outputs=(), initial=(0, 0))
    text = write_pnml(net, name="some & more")
    assert '<place id="p1"><name><text>p1</text></name></place>' in text
    assert (
        '<place id="p2"><name><text>a/b</text></name>'
        '<toolspecific tool="weft" version="1"><node id="a/b"/></toolspecific></place>'
    ) in text
    assert "<name><text>some &amp; more</text></name>" in text


def test_an_unfolded_net_comes_back_with_its_kinds():
    start, slots, end = PlaceId("i"), PlaceId("slots"), PlaceId("o")
    ok = Outcome(name=OutcomeName("ok"), outputs=(Arc(slots, 2), Arc(end)))
    again = Outcome(name=OutcomeName("again"), outputs=(Arc(slots, 2), Arc(start)))
    work = Transition(
        id=TransitionId("work"), inputs=(Arc(start), Arc(slots, 2)), outcomes=(ok, again), action="do"
    )
    places = [Place(id=start, tokens=1), Place(id=slots, kind=PlaceKind.POOL, tokens=3), Place(id=end)]
    net = unfold(Net(places, [work]))
    copy = read_pnml(write_pnml(net).encode(), file="net.pnml")
    assert copy == net
    assert copy.place_kinds == (PlaceKind.CONTROL, PlaceKind.POOL, PlaceKind.CONTROL, PlaceKind.RUNNING)


@pytest.mark.parametrize("bad", ["\0", "\x1b", "\x0b", "\ud800", "\ufffe"])
def test_a_character_that_xml_forbids_is_refused(bad):
    net = plain(place_ids=(f"a{bad}",), transition_ids=(), inputs=(), outputs=(), initial=(0,))
    with pytest.raises(NetError) as caught:
        write_pnml(net)
    assert (
        str(caught.value) == f"the place id {f'a{bad}'!r} has the character {bad!r}, which XML does not allow"
    )
    with pytest.raises(NetError, match="the name of the net"):
        write_pnml(plain(place_ids=(), transition_ids=(), inputs=(), outputs=(), initial=()), name=bad)


def test_what_is_no_net_is_not_written():
    def net(**changed):
        usual = {"place_ids": ("p",), "transition_ids": ("t",), "inputs": (((0, 1),),), "outputs": ((),)}
        return PlainNet(**{**usual, "initial": (0,), **changed})

    for wrong, message in (
        (net(initial=(-1,)), "the marking of place 'p' is -1; a whole number ≥ 0 is needed"),
        (net(inputs=(((0, 0),),)), "the weight of an arc at place 'p' is 0; a whole number ≥ 1 is needed"),
        (net(initial=(True,)), "the marking of place 'p' is True; a whole number ≥ 0 is needed"),
        (
            net(initial=(10**1000,)),
            "the marking of place 'p' has more than 1000 digits; PNML is written with 1000 at most",
        ),
        (net(place_ids=("",)), "the place id '' is empty, which XML does not allow"),
    ):
        with pytest.raises(NetError) as caught:
            write_pnml(wrong)
        assert str(caught.value) == message
    largest = net(initial=(10**1000 - 1,))
    assert read_pnml(write_pnml(largest).encode(), file="net.pnml") == largest


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("pnml", ["pnml", f'pnml xmlns="{NAMESPACE}"'])
def test_the_usual_types_are_read_with_a_namespace_or_none(type_, pnml):
    net = read(place("p"), transition("t"), arc("a", "p", "t"), type_=type_, pnml=pnml)
    assert net == plain(
        place_ids=("p",), transition_ids=("t",), inputs=(((0, 1),),), outputs=((),), initial=(0,)
    )


def test_a_prefix_for_the_namespace_is_understood():
    text = f'<x:pnml xmlns:x="{NAMESPACE}"><x:net id="n" type="{PTNET}"><x:place id="p"/></x:net></x:pnml>'
    assert read_pnml(text.encode(), file="net.pnml").place_ids == ("p",)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1252"])
def test_the_encoding_that_the_file_states_is_used(encoding):
    text = (
        f'<?xml version="1.0" encoding="{encoding}"?>'
        f'<pnml><net id="n" type="{PTNET}"><place id="Prüfung"/></net></pnml>'
    )
    assert read_pnml(text.encode(encoding), file="net.pnml").place_ids == ("Prüfung",)


def test_numbers_may_have_white_space_around_and_a_plus_before():
    net = read(
        place("p", "<initialMarking>\n <text>\n +07 </text></initialMarking>"),
        transition("t"),
        arc("a", "t", "p", "<inscription><text>2<!-- many -->0</text></inscription>"),
    )
    assert net.initial == (7,)
    assert net.outputs == (((0, 20),),)


def test_two_arcs_between_the_same_nodes_add_up():
    three = "<inscription><text>3</text></inscription>"
    net = read(
        arc("a", "p", "t"), arc("b", "p", "t", three), arc("c", "t", "p"), arc("d", "t", "p"),
        place("p"), transition("t"),
    )  # fmt: skip
    assert net.inputs == (((0, 4),),)
    assert net.outputs == (((0, 2),),)


def test_pages_in_pages_and_chains_of_references_make_one_net():
    net = read(
        '<page id="g1">',
        '<page id="g2">', '<referencePlace id="r1" ref="r2"/>', place("q"), "</page>",
        '<referencePlace id="r2" ref="r3"/><referenceTransition id="s" ref="t"/>',
        '<page id="g3">', place("p"), '<referencePlace id="r3" ref="p"/>', transition("t"), "</page>",
        arc("a", "r1", "s"), arc("b", "r2", "t"), arc("c", "s", "q"),
        "</page>",
    )  # fmt: skip
    assert net == plain(
        place_ids=("q", "p"), transition_ids=("t",), inputs=(((1, 2),),), outputs=(((0, 1),),), initial=(0, 0)
    )


def test_a_chain_of_many_references_is_followed_from_either_end():
    many = 20_000
    upwards = [f'<referencePlace id="r{n}" ref="r{n + 1}"/>' for n in range(many)]
    for references in (upwards, upwards[::-1]):
        net = read(*references, place(f"r{many}"), transition("t"), arc("a", "r0", "t"))
        assert net.inputs == (((0, 1),),)


def test_names_graphics_descriptions_and_notes_of_other_tools_are_skipped():
    junk = (
        "<name><text>shown</text><graphics/></name><graphics><position x='1' y='2'/></graphics>"
        "<toolspecific tool='other' version='7'><node id='no' kind='no'/><place id='p'/></toolspecific>"
        "<description><text>7</text></description>"
    )
    net = read(
        junk,
        place("p", junk + f"<initialMarking>{junk}<text>3</text></initialMarking>"),
        transition("t", junk),
        arc("a", "p", "t", junk + "<type value='normal'/><arctype><text> normal </text></arctype>"),
        '<arc id="b" source="t" target="p" type="normal" xml:space="preserve"/>',
    )  # fmt: skip
    assert net == plain(
        place_ids=("p",), transition_ids=("t",), inputs=(((0, 1),),), outputs=(((0, 1),),), initial=(3,)
    )


def test_the_deepest_nesting_allowed_is_read():
    pages = 61  # with pnml, net and the place: 64
    opened = "".join(f'<page id="g{n}">' for n in range(pages))
    assert read(opened, place("p"), "</page>" * pages).place_ids == ("p",)


def test_a_net_of_nothing_comes_back():
    net = plain(place_ids=(), transition_ids=(), inputs=(), outputs=(), initial=())
    assert read_pnml(write_pnml(net).encode(), file="net.pnml") == net
