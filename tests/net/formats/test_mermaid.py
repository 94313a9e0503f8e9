import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parts import arc, one_place, outcome, place, plain, transition
from weft.net.formats import to_mermaid
from weft.net.model import Net, PlaceKind

TEXT = r'"(?:[\w /.,()=●-]|<br/>|#[0-9]+;|[^\W_])+"'
LINE = re.compile(
    rf"  (?:p[0-9]+\(\({TEXT}\)\)|p[0-9]+\(\(\({TEXT}\)\)\)|t[0-9]+\[{TEXT}\]"
    rf"|[pt][0-9]+ -->(?:\|{TEXT}\|)? [pt][0-9]+)"
)


def test_a_net_is_drawn_with_its_outcomes_weights_and_tokens():
    net = Net(
        [
            place("i", tokens=2),
            place("slots", kind=PlaceKind.POOL, tokens=10),
            place("o", kind=PlaceKind.END),
        ],
        [
            transition(
                "a/work",
                (arc("i"), arc("slots", 2)),
                outcome("ok", arc("o"), arc("slots", 2)),
                outcome("", arc("i")),
            )
        ],
    )
    assert to_mermaid(net).splitlines() == [
        "flowchart LR",
        '  p0(("i<br/>●●"))',
        '  p1((("slots<br/>10 ●")))',
        '  p2(("o"))',
        '  t0["a/work"]',
        "  p0 --> t0",
        '  p1 -->|"2"| t0',
        '  t0 -->|"ok"| p2',
        '  t0 -->|"ok#58; 2"| p1',
        "  t0 --> p0",
    ]


def test_a_plain_net_is_drawn_without_outcomes():
    drawn = plain(
        place_ids=("p",), transition_ids=("t",), inputs=(((0, 1),),), outputs=(((0, 2),),), initial=(0,)
    )
    assert to_mermaid(drawn).splitlines()[3:] == ["  p0 --> t0", '  t0 -->|"2"| p0']


@pytest.mark.parametrize(
    ("id_", "label"),
    [
        ('say "a"', "say #34;a#34;"),
        ("a]|#;", "a#93;#124;#35;#59;"),
        ("<b>&amp;", "#60;b#62;#38;amp#59;"),
        ("%%{init}%%", "#37;#37;#123;init#125;#37;#37;"),
        ("`*x*`", "#96;#42;x#42;#96;"),
        ("style a:b", "style a#58;b"),
        ("a\nb\0", "a#9226;b#9216;"),
        ("\ud800", "#65533;"),
        ("été 中", "été 中"),
        ("", " "),
    ],
)
def test_an_id_of_any_characters_stays_inside_its_quotes(id_, label):
    assert to_mermaid(one_place(id_)).splitlines()[1] == f'  p0(("{label}"))'


@given(st.text(), st.text(), st.text())
def test_the_drawing_has_only_known_signs_and_can_be_stored(of_place, of_transition, of_outcome):
    pool = place(f"p{of_place}", kind=PlaceKind.POOL)
    drawn = outcome(of_outcome, arc(f"p{of_place}"))
    lines = to_mermaid(Net([pool], [transition(f"t{of_transition}", (), drawn)])).split("\n")
    assert lines[0] == "flowchart LR"
    assert len(lines) == 5
    assert all(LINE.fullmatch(line) for line in lines[1:-1])
    assert "\n".join(lines).encode()
