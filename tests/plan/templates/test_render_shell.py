"""Values in a command for a shell arrive as they are, or the command is refused; a shell is the judge."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from weft.plan.templates.render import check_arguments, check_command, render
from weft.plan.templates.shell import shell_text
from weft.plan.templates.values import Put, RenderError

SHELLS = [shell for shell in ("/bin/sh", shutil.which("bash")) if shell]
HOSTILE = [
    "",
    " ",
    "it's",
    '"',
    "$(echo x)",
    "`echo x`",
    "a\nb\n",
    "*",
    "~",
    "\\",
    "$HOME",
    "-n",
    "é\u2028ß",
    "a;b|c&d>e",
    "#x",
    "'",
]


def arguments(command: str, shell: str = "/bin/sh") -> list[str]:
    """What the command `show` in it is given."""
    text = f"show() {{ printf '%s\\0' \"$@\"; }}\n{command}"
    ended = subprocess.run([shell, "-c", text], check=True, capture_output=True)
    assert ended.stderr == b""
    return ended.stdout.decode().split("\0")[:-1]


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("value", HOSTILE)
def test_each_value_is_one_argument_as_it_is(value: str, shell: str) -> None:
    quoted = """"a {{ v }} b" 'c {{ v }}' "$(printf %s. {{ v }})" "$(printf %s. "{{ v }}")" end"""
    command = render(f"show {{{{ v }}}} -x={{{{ v }}}} {quoted}", {"v": value}, quote=True)
    expected = [value, f"-x={value}", f"a {value} b", f"c {value}", f"{value}.", f"{value}.", "end"]
    assert arguments(command, shell) == expected


@pytest.mark.parametrize(
    "template",
    [
        "show {{ v ~ '' }}",
        "show {{ v | replace('no', 'such') }}",
        "{% for one in [v] %}show {{ one }}{% endfor %}",
        "{% macro call(x) %}show {{ x }}{% endmacro %}{{ call(v) }}",
        "{% macro m() %}show {{ caller() }}{% endmacro %}{% call m() %}{{ v }}{% endcall %}",
        "{% set one %}show {{ v }}{% endset %}{{ one }}",
        "{% set one %}{{ v }}{% endset %}show {{ one ~ '' }}",
        "show {% filter string %}{{ v }}{% endfilter %}",
        "show {% call '{}'.format(v) %}{% endcall %}",
        "show {{ v | safe }}",
        "show {{ (v | raw) ~ '' }}",
        "show {{ v | raw | string | list | join }}",
    ],
)
def test_it_is_so_however_jinja_comes_to_the_value(template: str) -> None:
    for value in HOSTILE:
        assert arguments(render(template, {"v": value}, quote=True)) == [value]


def test_what_is_no_text_is_one_argument_of_json() -> None:
    values = {"a": [1, "it's"], "b": {"x": None}, "c": True, "d": None, "e": 1.5}
    template = "show {{ a }} {{ b }} {{ c }} {{ d }} {{ e }} {{ 'x y' }} {{ [c] }}"
    expected = ['[1,"it\'s"]', '{"x":null}', "true", "null", "1.5", "x y", "[true]"]
    assert arguments(render(template, values, quote=True)) == expected


@pytest.mark.parametrize(
    "template",
    ["{{ v | raw }}", "{{ v | trim | raw }}", "{% if 1 %}{{ v | raw }}{% endif %}"],
)
def test_what_goes_through_raw_is_a_part_of_the_command(template: str) -> None:
    assert arguments(render(template, {"v": "show 'a b' c"}, quote=True)) == ["a b", "c"]


def test_right_behind_a_value_no_comment_begins() -> None:
    command = render("show {{ v }}#it {{ v }}; show {{ v }} # it's", {"v": "a b"}, quote=True)
    assert arguments(command) == ["a b#it", "a b", "a b"]


def test_without_quote_nothing_is_quoted() -> None:
    assert render("{{ v }} {{ v ~ '' }}", {"v": "a 'b"}) == "a 'b a 'b"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("show a#", ""),
        ("show a\\\\", ""),
        ('show "\\"" ', ""),
        ("show '\\' ", ""),
        ("# it's\nshow ", ""),
        ("show \"$HOME ${HOME} $(echo 'a)' \\) \"(\")\" ", ""),
        ("(show ", ")"),
        ("show `echo '\"'` ", ""),
        ("show $((2 * (1 + 1))) ", ""),
        ('show "$(echo $((1)) ', ')"'),
        ("case a in a) show ", ";; esac"),
        ('show "$(case_=1; echo)" ', ""),
        ('show "cost: $', '"'),
    ],
)  # fmt: skip
def test_what_stands_around_a_value_is_read_as_the_shell_reads_it(before: str, after: str) -> None:
    result = arguments(shell_text([before, Put("it's $(v)"), after]))
    assert "it's $(v)" in result[-1]


@pytest.mark.parametrize(
    ("before", "place"),
    [
        ("show # ", "in a comment"),
        ("# ", "in a comment"),
        ("show `echo ", "between backticks"),
        ('show "`echo ', "between backticks"),
        ("show ${x:-", "within ${…}"),
        ('show "${x:-', "within ${…}"),
        ("show ${x:-'a'} ", "after quotes within ${…}"),
        ("show $((1 + ", "within $((…))"),
        ('show "$((1 + (2) + ', "within $((…))"),
        ("cat <<END\n", "after <<"),
        ("show $'a' ", "after $'"),
        ('show "$(case a in a) echo ', "after a case within $(…)"),
    ],
)
def test_where_no_quotes_would_hold_a_value_it_is_refused(before: str, place: str) -> None:
    with pytest.raises(RenderError) as caught:
        shell_text([before, Put("x")])
    assert caught.value.message == (
        f"in a command, a value cannot be {place}: no quotes protect it there;"
        ' pass it in an environment variable, with env, and read it as "$NAME"'
    )


@pytest.mark.parametrize("before", ["show \\", 'show "\\', "show $", "show $(echo $"])
def test_a_value_does_not_stand_behind_a_sign_that_would_take_its_quote(before: str) -> None:
    with pytest.raises(RenderError, match="cannot come right after a"):
        shell_text([before, Put("x")])


def test_a_value_with_a_nul_is_refused() -> None:
    with pytest.raises(RenderError, match="NUL"):
        render("show {{ v }}", {"v": "a\0b"}, quote=True)


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
@settings(max_examples=50, deadline=None)
@example("'\"'\"'")
def test_any_text_arrives(value: str) -> None:
    assert arguments(render("show {{ v }} \"{{ v }}\" '{{ v }}'", {"v": value}, quote=True)) == [value] * 3


SIGNS = [
    "sh -c ",
    "eval ",
    *"'\"`\\$(){}# \n;|=",
    "$(",
    "${x:-",
    "${x}",
    "$((",
    "))",
    "<<E\n",
    "\nE\n",
    "echo ",
    "case a in a) ",
    "esac",
]
EVIL = [
    "$(: >ran)`: >ran`';: >ran;'\";: >ran;\"\n: >ran #",
    "\\'; : >ran #",
    "E\n: >ran\n",
    "}; : >ran; {",
    ")); : >ran; ((",
    "x[$(: >ran)]",
    "\\`: >ran\\`",
]


@given(st.lists(st.sampled_from(SIGNS) | st.just(None), min_size=2, max_size=9), st.sampled_from(EVIL))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(["echo ", '"', "$(", "echo ", '"', None, '"', ")", '"'], EVIL[0])
@example(["# ", None], EVIL[0])
@example(["${x:-", None, "}"], EVIL[3])
def test_no_shell_runs_what_is_in_a_value(tmp_path: Path, signs: list[str | None], value: str) -> None:
    try:
        command = shell_text([Put(value) if sign is None else sign for sign in signs])
    except RenderError:
        return
    for shell in SHELLS:
        subprocess.run(
            [shell, "-c", command], cwd=tmp_path, check=False, capture_output=True, stdin=subprocess.DEVNULL
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text", ["echo {{ a }}", "echo \"{{ a.b }}\" '{{ c }}'", "echo # {{ a | raw }}", "echo {{", "x"]
)
def test_a_command_whose_values_have_their_place_is_in_order(text: str) -> None:
    check_command(text)


def test_a_value_without_a_place_is_reported_before_there_is_one() -> None:
    with pytest.raises(RenderError, match="a value cannot be in a comment") as raised:
        check_command("echo {{ a }} # {{ b }}")
    assert raised.value.offset == len("echo {{ a }} # {{ ")


NESTED = [
    'sh -c "echo {{ v }}"',
    "bash -ec 'echo {{ v }}'",
    "sh -c {{ v }}",
    "sh -c echo\\ {{ v }}",
    'A=b; if true; then /bin/sh -c "{{ v }}"; fi',
    'x=$(sh -c "echo {{ v }}")',
    '(cd . && sh \\\n -c "echo {{ v }}")',
    'true | sh -c "cat; echo {{ v }}"',
    "eval echo {{ v }}",
    'eval "echo {{ v }}"',
    'sh 2>&1 -c "echo {{ v }}"',
    'sh 2> /dev/null </dev/null -c "echo {{ v }}"',
    'sh &>out -c "echo {{ v }}"',
]


@pytest.mark.parametrize("command", NESTED)
def test_a_value_in_the_code_of_another_shell_is_refused(command: str) -> None:
    with pytest.raises(
        RenderError, match="reads this text as code and would run what is in the value"
    ) as raised:
        check_command(command)
    assert command[raised.value.offset] == "v"
    with pytest.raises(RenderError, match="reads this text as code"):
        render(command, {"v": "$(touch x)"}, quote=True)


@pytest.mark.parametrize(
    "name", ["slice.id", "slice.path", "plan.id", "run.id", "attempt", "step.a.exit_code"]
)
@pytest.mark.parametrize("command", NESTED)
def test_an_id_or_a_number_may_stand_there(command: str, name: str) -> None:
    check_command(command.replace("{{ v }}", f"{{{{ {name} }}}}"))


@pytest.mark.parametrize(
    "command",
    [
        """sh -c 'printf "%s\\0" "$@"' sh {{ v }}""",
        """sh -c 'printf "%s\\0" "$1"' sh "{{ v }}"; true""",
        """eval true; printf '%s\\0' {{ v }}""",
        """eval true\nprintf '%s\\0' {{ v }}""",
        """x=$(eval true); printf '%s\\0' {{ v }}""",
        """printf '%s\\0' {{ v }} > out; cat out; sh -c true""",
    ],
)
@pytest.mark.parametrize("value", HOSTILE)
def test_a_value_outside_of_the_code_arrives_as_it_is(tmp_path: Path, command: str, value: str) -> None:
    check_command(command)
    text = render(command, {"v": value}, quote=True)
    ended = subprocess.run(["/bin/sh", "-c", text], check=True, capture_output=True, cwd=tmp_path)
    assert ended.stdout.decode().split("\0")[:-1] == [value]


def test_a_template_that_cannot_be_checked_before_is_refused_with_a_value_that_would_be_run() -> None:
    command = '{% if true %}sh -c "echo {{ v }}"{% endif %}'
    check_command(command)
    assert render(command, {"v": "a-b/c.d"}, quote=True) == 'sh -c "echo "a-b/c.d""'
    with pytest.raises(RenderError, match="sh -c reads this text as code"):
        render(command, {"v": "a b"}, quote=True)


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ('sh -c "{{ v }}"', "as an argument after the code, as in sh -c 'echo \"$1\"' sh {{ … }}, or in"),
        ("eval {{ v }}", 'pass the value in an environment variable, with env, and read it as "$NAME"'),
        ("trap 'rm {{ v }}' EXIT", "pass the value in an environment variable, with env"),
        ("ssh host rm {{ v }}", "pass the value on standard input, as in printf %s {{ … }} | ssh HOST COMMAND"),
    ],
)  # fmt: skip
def test_the_advice_fits_the_program(command: str, advice: str) -> None:
    with pytest.raises(RenderError) as raised:
        check_command(command)
    assert advice in str(raised.value)


def test_through_raw_the_author_answers_for_it() -> None:
    check_command('sh -c "echo {{ v | raw }}"')
    assert render('sh -c "echo {{ v | raw }}"', {"v": "$(x)"}, quote=True) == 'sh -c "echo $(x)"'


@pytest.mark.parametrize(
    ("command", "number", "offset"),
    [
        (["sh", "-c", "echo {{ v }}"], 2, 8),
        (["sudo", "bash", "-lc", "{{ v }}"], 3, 3),
        (["ssh", "host", "ls", "{{ v }}"], 3, 3),
        (["sh", "-c", "{% if v %}x{% endif %}"], 2, 6),
    ],
)
def test_a_value_in_the_code_of_an_argv_is_refused(command: list[str], number: int, offset: int) -> None:
    wrong = check_arguments(command)
    assert wrong is not None
    assert (wrong[0], wrong[1].offset) == (number, offset)


@pytest.mark.parametrize(
    "command",
    [
        ["sh", "-c", 'echo "$1"', "sh", "{{ v }}"],
        ["sh", "-c", "echo {{ slice.id }}"],
        ["sh", "-c", "echo {{ v | raw }}"],
        ["sh", "-c", "echo {{"],
        ["echo", "-c", "{{ v }}"],
    ],
)
def test_a_value_elsewhere_in_an_argv_is_in_order(command: list[str]) -> None:
    assert check_arguments(command) is None
