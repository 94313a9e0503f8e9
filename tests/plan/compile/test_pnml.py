from hypothesis import given, settings

from plan.compile.compiled_plans import compiled
from plan.plan_strategies import SMALL, plan_texts
from weft.net.formats import read_pnml, write_pnml
from weft.net.plain import unfold


@settings(max_examples=30)
@given(plan_texts(SMALL))
def test_the_net_of_a_plan_is_the_same_when_it_has_been_written_as_pnml_and_read_again(text):
    plain = unfold(compiled(text).net)
    assert read_pnml(write_pnml(plain).encode(), file="net.pnml") == plain
