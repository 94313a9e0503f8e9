"""Signs beyond the first 65,536, as JSON writes them."""

import pytest

from weft.plan.loader.load import Surroundings, load_plan
from weft.plan.text.problems import PlanError


def title(escaped: str) -> str:
    step = '{"id": "w", "run": "true"}'
    text = f'{{"weft": 1, "plan": "p", "subplans": [{{"id": "a", "title": "{escaped}", "steps": [{step}]}}]}}'
    return load_plan(text, surroundings=Surroundings(git=False)).subplans[1].title


def test_a_pair_is_one_sign() -> None:
    assert title(r"to \ud83d\ude80 \uD83D\uDE80!") == "to \U0001f680 \U0001f680!"


def test_what_only_looks_like_a_pair_is_text() -> None:
    assert title(r"\\ud83d\\ude80") == r"\ud83d\ude80"


@pytest.mark.parametrize("half", [r"\ud83d", r"\ude80", r"\ud83d\ud83d"])
def test_half_a_pair_is_an_error_of_the_plan(half: str) -> None:
    with pytest.raises(PlanError, match="this is not YAML"):
        title(half)
