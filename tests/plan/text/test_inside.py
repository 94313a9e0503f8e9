"""Where the names of templates stand in the file, however the text is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plan.problem_texts import AGENT, HEAD
from weft.plan.loader.load import load_plan
from weft.plan.text.document import Scalar, Table, read_document
from weft.plan.text.inside import inside
from weft.plan.text.problems import PlanError


def caret(value: str) -> tuple[str, str]:
    """The line told for a prompt written so, and what stands above the marks."""
    pipeline = f"pipelines:\n  p:\n    - id: a\n      prompt: {value}\n"
    text = f"{HEAD}{AGENT}subplans: [{{id: s, pipeline: p}}]\n{pipeline}"
    with pytest.raises(PlanError) as raised:
        load_plan(text)
    (problem,) = raised.value.problems
    start = problem.at.column - 1
    assert problem.excerpt == text.splitlines()[problem.at.line - 1]
    return problem.excerpt.strip(), problem.excerpt[start : start + problem.width]


HOLE = "{{ slice.pth }}"


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (f"do {HOLE}", f"prompt: do {HOLE}"),
        (f"'it''s {HOLE}'", f"prompt: 'it''s {HOLE}'"),
        (f'"a \\"b\\" \\u00e9\\x41\\n\\t\\\\ {HOLE}"', f'prompt: "a \\"b\\" \\u00e9\\x41\\n\\t\\\\ {HOLE}"'),
        (f"&anchor do {HOLE}", f"prompt: &anchor do {HOLE}"),
        (f'&anchor "do\\n{HOLE}"', f'prompt: &anchor "do\\n{HOLE}"'),
        (f"|\n        one\n\n          two {HOLE}\n        three", f"two {HOLE}"),
        (f"|2-  # why\n          one\n         two {HOLE}", f"two {HOLE}"),
        (f">\n        one\n        two {HOLE}\n\n        three", f"two {HOLE}"),
        (f"&anchor >-\n\n        one {HOLE}", f"one {HOLE}"),
        (f"one\n        two\n\n        three {HOLE}", f"three {HOLE}"),
        (f"'one\n        two {HOLE}\n        three'", f"two {HOLE}"),
        (f'"one \\\n        two {HOLE}\n        three"', f"two {HOLE}"),
        ("é 日本 😀 " + HOLE, "prompt: é 日本 😀 " + HOLE),
    ],
)
def test_the_caret_is_under_the_name(value: str, line: str) -> None:
    assert caret(value) == (line, "slice.pth")


def test_the_caret_is_under_the_name_in_a_flow_of_arguments() -> None:
    text = (
        f"{HEAD}subplans: [{{id: s, steps: [{{id: a, run: [echo, 'it''s', \"{{{{ slice['pth'] }}}}\"]}}]}}]"
    )
    with pytest.raises(PlanError) as raised:
        load_plan(text)
    (problem,) = raised.value.problems
    assert (problem.at.line, problem.at.column - 1) == (3, text.splitlines()[2].index("slice["))
    assert problem.width == len("slice['pth']")


def test_each_name_is_reported_where_it_stands() -> None:
    run = "    run: |\n      {{ slce.id }}\n      {{ slce.id }}\n"
    text = f"{HEAD}subplans:\n- id: s\n  steps:\n  - id: a\n{run}"
    with pytest.raises(PlanError) as raised:
        load_plan(text)
    assert [(problem.at.line, problem.at.column) for problem in raised.value.problems] == [(8, 10), (9, 10)]


def test_what_is_no_template_is_reported_where_it_breaks() -> None:
    assert caret("'two {{ slice.id '")[0] == "prompt: 'two {{ slice.id '"


def value_of(text: str) -> tuple[Scalar, int]:
    document = read_document(text, "f")
    assert isinstance(document.root, Table)
    node = document.root.get("k")
    assert isinstance(node, Scalar)
    return node, node.text.index("NAME")


WORDS = st.lists(
    st.sampled_from(["a", "bc", "it's", '"q"', "\\", "é", ":", "#", "{{ x }}", "- d"]), max_size=6
)


@given(st.sampled_from("|>"), st.lists(WORDS.map(" ".join), max_size=5), WORDS, st.integers(1, 4))
def test_a_word_in_a_block_is_found(style: str, before: list[str], words: list[str], indent: int) -> None:
    lines = ["start", *before, " ".join([*words, "NAME"]), "end"]
    text = f"# c\nk: {style}\n" + "".join(" " * indent + line + "\n" for line in lines)
    node, offset = value_of(text)
    part = inside(read_document(text, "f"), node, offset, 4)
    assert text.splitlines()[part.line - 1][part.column - 1 :].startswith("NAME")


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), st.booleans())
def test_a_word_behind_any_escapes_is_found(before: str, plain: bool) -> None:
    escaped = "".join(sign if plain and sign.isalnum() else f"\\U{ord(sign):08x}" for sign in before)
    text = f'k: "{escaped}NAME"'
    node, offset = value_of(text)
    part = inside(read_document(text, "f"), node, offset)
    assert text[part.column - 1 :].startswith("NAME")


def test_what_is_not_in_the_file_is_reported_at_the_beginning_of_the_value() -> None:
    document = read_document("k: |", "f")
    node = Scalar("NAME", 1, 4, "|")
    assert inside(document, node, 0) is node
