"""Braces in texts that are not templates: they stay, and a warning says so where a template was meant."""

import pytest

from plan.problem_texts import with_steps
from weft.plan.loader.load import load_plan

HEAD = "weft: 1\nplan: p\nagent: claude\n"
END = "Templates are the prompt, run and question of a step"


def warnings(text: str) -> list[str]:
    warnings_ = load_plan(HEAD + text).warnings
    return [
        f"{problem.at.line}:{problem.at.column} {problem.message}"
        for problem in warnings_
        if "is not replaced" in problem.message
    ]


def of_prompt(prompt: str) -> list[str]:
    return warnings(f"subplans:\n  - id: a\n    verify: v\n    prompt: {prompt}\n")


@pytest.mark.parametrize(
    ("hole", "column"),
    [
        ("{{ slice.promt }}", 17),
        ("{{slice.path}}", 17),
        ("{{ feedback }}", 17),
        ("{{ step['a'].result }}", 17),
    ],
)
def test_a_prompt_that_reads_as_a_template_gets_a_warning(hole: str, column: int) -> None:
    message = f"7:{column} {hole} is not replaced: prompt is not a template. {END}"
    assert of_prompt(f'"Do {hole} now"') == [message]


@pytest.mark.parametrize(
    "code",
    [
        "{{ .Values.image }}", "{{ user.name }}", "{{.Dir}}", "{% if x %}", "{{{ plan }}}", "${{ env.HOME }}",
        "{{ slices.length }}", "{{ attempts }}", "a {{ b", "{{ slice }}",
    ],
)  # fmt: skip
def test_code_that_is_quoted_gets_none(code: str) -> None:
    assert of_prompt(f"'{code}'") == []


def test_the_texts_of_a_subplan_and_the_goal_are_no_templates() -> None:
    text = """\
goal: All of {{ plan.id }}
verify: [[make, "{{ plan.id }}"]]
subplans:
  - id: a
    title: "{{ slice.id }}"
    verify: [make, "pytest {{ slice.path }}"]
    prompt: |
      One line.
      Then {{ slice.path }}
"""
    assert [message.partition(" is not replaced")[0] for message in warnings(text)] == [
        "4:14 {{ plan.id }}",
        "5:18 {{ plan.id }}",
        "8:13 {{ slice.id }}",
        "9:28 {{ slice.path }}",
        "12:12 {{ slice.path }}",
    ]


def test_braces_in_a_step_can_be_kept() -> None:
    prompt = '"{% raw %}{{ slice.promt }}{% endraw %} {{ slice.path }}"'
    assert load_plan(with_steps(f"{{id: s, prompt: {prompt}, agent: claude}}")).warnings == ()
