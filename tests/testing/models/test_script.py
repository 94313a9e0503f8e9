from typing import Any

import pytest

from weft.errors import InputError
from weft.testing.models.scenarios import SCENARIOS
from weft.testing.models.script import ReportedUsage, ScriptRule, ScriptStep, read_script, rules_of


def test_a_script_may_be_steps_by_name_for_short() -> None:
    assert read_script('{"a": [{"text": "x"}]}') == (ScriptRule("a", (ScriptStep(text="x"),)),)
    assert read_script('[{"name": "a", "steps": [{"text": "x"}]}]') == read_script('{"a": [{"text": "x"}]}')


def test_all_that_a_step_can_say_is_read() -> None:
    write = {"path": "a", "content": "b"}
    (rule,) = rules_of(
        [
            {
                "name": "a",
                "prompt_contains": "p",
                "times": 2,
                "steps": [
                    {
                        "shell": "ls",
                        "actions": [{"write": write}, {"tool": {"name": "t", "arguments": "{"}}],
                        "usage": {"cached": 5},
                    },
                    {"http": 429, "retry_after": 1.5, "headers": {"x": 1}, "message": "no"},
                ],
            }
        ]
    )
    assert rule[2:] == ("p", 2)
    calls = ({"shell": "ls"}, {"write": write}, {"tool": {"name": "t", "arguments": "{"}})
    assert rule.steps[0] == ScriptStep(actions=calls, usage=ReportedUsage(1000, 50, 5))
    assert rule.steps[1] == ScriptStep(http=429, headers={"x": "1", "retry-after": "1.5"}, message="no")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ([], "a script is a list of rules"),
        ("x", "a script is a list of rules"),
        ([1], "rule 1: must be an object"),
        ([{"name": "a"}], "rule 1: it needs a `name` and `steps`"),
        ([{"name": 1, "steps": [{}]}], "rule 1: `name` must be text"),
        ({"a": []}, "rule 1: `steps` must be a list that is not empty"),
        ({"a": [{"shout": 1}]}, "rule 1, step 1: unknown key 'shout'; allowed are text, shell"),
        ({"a": [{"http": 200}]}, "`http` must be a status from 400 to 599"),
        ({"a": [{"delay": float("inf")}]}, "`delay` must be a number of seconds"),
        ({"a": [{"drop": 1}]}, "`drop` must be true or false"),
        ({"a": [{"usage": {"input": True}}]}, "`usage`: `input` must be a whole number"),
        ({"a": [{"usage": 1}]}, "`usage` must be an object"),
        ({"a": [{"write": {"path": "a"}}]}, "`write` must be"),
        ({"a": [{"actions": [{"text": "x"}]}]}, "`actions`: unknown key 'text'"),
        ({"a": [{"tool": {"name": 1, "arguments": {}}}]}, "`tool` must be"),
    ],
)
def test_what_is_wrong_is_reported_with_its_place(value: Any, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        rules_of(value)
    assert problem in str(caught.value)


def test_what_is_no_json_is_reported() -> None:
    with pytest.raises(InputError, match="the script is not JSON"):
        read_script("[")


def test_a_rule_fits_if_some_message_has_its_words_and_it_was_not_played_too_often() -> None:
    rule = ScriptRule("a", (), prompt_contains="red", times=2)
    assert [rule.fits(("is red", "more"), played) for played in (0, 1, 2)] == [True, True, False]
    assert not rule.fits(("green",), 0)


def test_the_scenarios_are_by_names_and_edit_is_the_first() -> None:
    names = {rule.name for rule in SCENARIOS}
    assert SCENARIOS[0].name == "edit"
    assert names >= {
        "text",
        "err401",
        "err429",
        "err500",
        "err529",
        "drop",
        "hang",
        "loop",
        "slow",
        "garbage",
    }
