import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parts import arc, one_place, outcome, place, plain, transition
from weft.net.formats import to_dot
from weft.net.model import Net, PlaceKind

QUOTED = r'"(?:[^"\\\n]|\\.)*"'
LINE = re.compile(
    rf"  (?:p[0-9]+ \[shape=(?:double)?circle, label={QUOTED}\]|t[0-9]+ \[shape=box, label={QUOTED}\]"
    rf"|[pt][0-9]+ -> [pt][0-9]+(?: \[label={QUOTED}\])?);"
)


def net() -> Net:
    return Net(
        [place("i", tokens=1), place("slots", kind=PlaceKind.POOL, tokens=4), place("o", kind=PlaceKind.END)],
        [
            transition(
                "work",
                (arc("i"), arc("slots", 2)),
                outcome("ok", arc("o"), arc("slots", 2)),
                outcome("", arc("i", 3)),
            )
        ],
    )


def test_a_net_is_drawn_with_its_outcomes_weights_and_tokens():
    assert to_dot(net()).splitlines() == [
        "digraph net {",
        "  rankdir=LR;",
        '  p0 [shape=circle, label="i\\n●"];',
        '  p1 [shape=doublecircle, label="slots\\n4 ●"];',
        '  p2 [shape=circle, label="o"];',
        '  t0 [shape=box, label="work"];',
        "  p0 -> t0;",
        '  p1 -> t0 [label="2"];',
        '  t0 -> p2 [label="ok"];',
        '  t0 -> p1 [label="ok: 2"];',
        '  t0 -> p0 [label="3"];',
        "}",
    ]


def test_a_plain_net_is_drawn_without_outcomes():
    drawn = plain(
        place_ids=("p",), transition_ids=("t",), inputs=(((0, 1),),), outputs=(((0, 2),),), initial=(3,)
    )
    assert to_dot(drawn).splitlines()[2:-1] == [
        '  p0 [shape=circle, label="p\\n●●●"];',
        '  t0 [shape=box, label="t"];',
        "  p0 -> t0;",
        '  t0 -> p0 [label="2"];',
    ]


@pytest.mark.parametrize(
    ("id_", "label"),
    [
        ('say "a"', r"say \"a\""),
        ("a\\N", r"a\\N"),
        ("a\\", r"a\\"),
        ("&lt;", "&amp;lt;"),
        ("a\nb\tc\0", "a␊b␉c␀"),
        ("\ud800\u2028\x85", "���"),
        ("é | { < ] # 😀", "é | { < ] # 😀"),
    ],
)
def test_an_id_of_any_characters_stays_inside_its_quotes(id_, label):
    assert to_dot(one_place(id_)).splitlines()[2] == f'  p0 [shape=circle, label="{label}"];'


@given(st.text(), st.text(), st.text())
def test_the_drawing_always_parses_and_can_be_stored(of_place, of_transition, of_outcome):
    drawn = outcome(of_outcome, arc(f"p{of_place}"))
    lines = to_dot(Net([place(f"p{of_place}")], [transition(f"t{of_transition}", (), drawn)])).split("\n")
    assert lines[:2] == ["digraph net {", "  rankdir=LR;"]
    assert lines[-2:] == ["}", ""]
    assert len(lines) == 7
    assert all(LINE.fullmatch(line) for line in lines[2:-2])
    assert "\n".join(lines).encode()


def test_the_same_net_is_drawn_the_same():
    assert to_dot(net()) == to_dot(net())
