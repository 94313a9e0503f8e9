import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.calls import NOW
from weft.agents.shared.result_file import Report, read_report
from weft.plan.prices import Usage

WEEK = 7 * 24 * 3600


def report(**values) -> Report:
    return read_report(json.dumps(values), at=NOW)


def test_no_file_says_nothing() -> None:
    assert read_report(None, at=NOW) == Report()


def test_all_keys_are_read() -> None:
    assert report(result="done", cost_usd=1.5, tokens=7, session="s", error="e", limited_for=5) == Report(
        result="done", cost=1_500_000, tokens=7, session="s", error="e", until=NOW + 5
    )


@pytest.mark.parametrize(
    "name", ["result", "cost_usd", "tokens", "session", "error", "limited_until", "limited_for"]
)
def test_null_is_the_same_as_nothing(name: str) -> None:
    assert report(**{name: None}) == Report()


@pytest.mark.parametrize(
    ("value", "text"),
    [("", ""), (0, "0"), (False, "false"), ([1.5, "ä"], '[1.5, "ä"]'), ({"a": {}}, '{"a": {}}')],
)
def test_a_result_that_is_no_text_is_its_json(value: object, text: str) -> None:
    assert report(result=value).result == text


def test_halves_of_characters_do_not_get_through() -> None:
    read = read_report(r'{"result": "a\ud800", "error": "\udfff", "session": "\ud800"}', at=NOW)
    assert (read.result, read.error, read.session) == ("a?", "?", None)


# --- money ---


@pytest.mark.parametrize(
    ("written", "micro_dollars"),
    [
        ("0", 0),
        ("0.1", 100_000),
        ("0.29", 290_000),
        ("1.005", 1_005_000),
        ("0.30000000000000004", 300_000),
        ("1e-6", 1),
        ("0.0000004", 0),
        ("0.0000025", 2),
        ("0.0000035", 4),
        ("4.35e0", 4_350_000),
        ("999999.999999", 999_999_999_999),
        ("1000000", 1_000_000_000_000),
    ],
)
def test_dollars_are_counted_exactly(written: str, micro_dollars: int) -> None:
    assert read_report(f'{{"cost_usd": {written}}}', at=NOW) == Report(cost=micro_dollars)


@given(st.integers(0, 10**12))
def test_no_amount_of_micro_dollars_is_changed_by_writing_it(amount: int) -> None:
    text = f'{{"cost_usd": {amount // 10**6}.{amount % 10**6:06}}}'
    assert read_report(text, at=NOW).cost == amount


@pytest.mark.parametrize("written", ["-0.01", "NaN", "Infinity", "1e400", "1000000.01", "true", '"1"', "[1]"])
def test_an_amount_that_cannot_be_is_left_out_and_reported(written: str) -> None:
    read = read_report(f'{{"cost_usd": {written}, "tokens": 5}}', at=NOW)
    assert (read.cost, read.tokens) == (None, 5)
    (problem,) = read.problems
    assert problem.startswith("`cost_usd` must be a number from 0 to 1,000,000, not ")


@pytest.mark.parametrize("value", [-1, 1.0, True, 10**12 + 1, "5"])
def test_tokens_are_a_whole_number(value: object) -> None:
    read = report(tokens=value)
    assert read.tokens is None
    assert "`tokens` must be a whole number" in read.problems[0]


@pytest.mark.parametrize("value", ["", "a\nb", "a\0b", "x" * 1_001, 5])
def test_a_session_is_one_line_that_can_be_handed_on(value: object) -> None:
    read = report(session=value)
    assert read.session is None
    assert "`session` must be text" in read.problems[0]


def test_a_value_that_is_reported_is_cut() -> None:
    assert len(report(session=["x" * 1_000]).problems[0]) < 200


# --- errors ---


@pytest.mark.parametrize("value", ["", False, 0, [], {}])
def test_an_error_that_says_nothing_is_none(value: object) -> None:
    assert report(error=value) == Report()


@pytest.mark.parametrize(("value", "text"), [("x", "x"), (True, "true"), ({"code": 5}, '{"code": 5}')])
def test_any_other_error_is_one(value: object, text: str) -> None:
    assert report(error=value) == Report(error=text)


def test_an_error_may_even_be_what_json_does_not_have() -> None:
    assert read_report('{"error": [NaN]}', at=NOW).error == "[NaN]"


def test_a_result_may_not() -> None:
    read = read_report('{"result": [NaN]}', at=NOW)
    assert read.result is None
    assert read.problems == ("`result` must be JSON, which has no such number, not [NaN]",)


# --- limits ---


@pytest.mark.parametrize(
    "value", [NOW + 60, "2027-01-15T08:01:00Z", "2027-01-15T08:01:00", "2027-01-15T10:01:00+02:00"]
)
def test_a_time_may_be_text_or_a_number(value: object) -> None:
    assert report(limited_until=value) == Report(until=NOW + 60)


def test_seconds_count_from_the_end_of_the_process() -> None:
    assert report(limited_for=0.5 * 60) == Report(until=NOW + 30)


def test_of_two_times_the_later_one_counts() -> None:
    assert report(limited_until=NOW + 60, limited_for=90).until == NOW + 90
    assert report(limited_until=NOW + 60, limited_for=30).until == NOW + 60


@pytest.mark.parametrize(
    ("value", "until"),
    [(0, NOW + 1), ("1970-01-01", NOW + 1), (10**400, NOW + WEEK), ("9999-12-31", NOW + WEEK)],
)
def test_a_limit_ends_neither_at_once_nor_in_the_distant_future(value: object, until: float) -> None:
    assert report(limited_until=value).until == until


@pytest.mark.parametrize(
    "values",
    [
        {"limited_until": "soon"},
        {"limited_until": True},
        {"limited_for": -1},
        {"limited_for": "5"},
        {"limited_for": 1e300},
    ],
)
def test_a_limit_whose_end_is_not_understood_is_a_limit_with_an_unknown_end(
    values: dict[str, object],
) -> None:
    read = report(**values)
    assert read.until == NOW + 900
    assert f"`{next(iter(values))}` must be" in read.problems[0]


# --- what is no report ---


@pytest.mark.parametrize("text", ["", "{", "nonsense", "[" * 100_000, '{"tokens": ' + "1" * 5_000 + "}"])
def test_what_is_not_json_says_only_that(text: str) -> None:
    assert read_report(text, at=NOW) == Report(problems=("the contents are not JSON",))


@pytest.mark.parametrize("text", ["[]", '"done"', "null", "5"])
def test_what_is_no_object_says_only_that(text: str) -> None:
    assert read_report(text, at=NOW) == Report(problems=("the contents are not a JSON object",))


def test_a_key_that_is_not_known_is_reported_and_the_others_count() -> None:
    assert report(cost=1, error="no") == Report(error="no", problems=('unknown key "cost"',))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
keys = st.sampled_from([*Report.__struct_fields__, "cost_usd", "limited_until", "limited_for", "other"])


@given(st.dictionaries(keys, json_values))
def test_no_report_breaks_anything(values: dict[str, object]) -> None:
    read = read_report(json.dumps(values), at=NOW)
    assert read.cost is None or 0 <= read.cost <= 10**12
    assert read.until is None or NOW < read.until <= NOW + WEEK
    assert json.dumps([read.result, read.error, read.session], ensure_ascii=False).encode()


# --- tokens by kind ---


def test_tokens_may_be_reported_by_kind() -> None:
    read = report(tokens={"input": 5, "output": 7, "cached_input": 9})
    assert (read.tokens, read.usage) == (21, Usage(input=5, output=7, cached_input=9))
    assert report(tokens={"output": 7}).usage == Usage(output=7)


@pytest.mark.parametrize(
    "value", [{}, {"input": -1}, {"input": 1.5}, {"input": True}, {"other": 1}, {"input": None}]
)
def test_kinds_of_tokens_that_are_wrong_are_left_out_and_reported(value: object) -> None:
    read = report(tokens=value, cost_usd=1)
    assert (read.tokens, read.usage, read.cost) == (None, None, 1_000_000)
    assert read.problems[0].startswith(
        "`tokens` must be a whole number from 0 to 1,000,000,000,000, or an object"
    )


# --- line by line ---


def test_of_several_lines_the_last_that_has_a_key_counts() -> None:
    text = '{"cost_usd": 1, "session": "s"}\n\n{"cost_usd": 2.5, "tokens": 7}\n'
    assert read_report(text, at=NOW) == Report(cost=2_500_000, tokens=7, session="s")


def test_a_line_that_is_cut_off_is_reported_and_the_others_count() -> None:
    read = read_report('{"cost_usd": 1}\n{"cost_usd": 2}\n{"cost_', at=NOW)
    assert read == Report(cost=2_000_000, problems=("line 3 is not a JSON object",))


def test_only_a_few_lines_are_reported() -> None:
    read = read_report('{"cost_usd": 1}\n' + "no\n" * 50, at=NOW)
    assert (read.cost, len(read.problems)) == (1_000_000, 3)


@pytest.mark.parametrize("text", ['no\n{"cost_usd": 1}', '[1]\n{"cost_usd": 1}', "{}\n{", "{\n1\n"])
def test_lines_that_do_not_begin_with_an_object_are_no_report(text: str) -> None:
    assert read_report(text, at=NOW) == Report(problems=("the contents are not JSON",))


@given(st.lists(st.integers(0, 10**6), min_size=2), st.integers(0, 40))
def test_wherever_the_lines_are_cut_no_cost_is_made_up(costs: list[int], cut: int) -> None:
    lines = "\n".join(json.dumps({"cost_usd": cost}) for cost in costs)
    read = read_report(lines[: len(lines) - cut], at=NOW)
    assert read.cost is None or read.cost // 10**6 in costs
