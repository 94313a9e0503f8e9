from textwrap import dedent

import pytest
import yaml

from weft.plan.convert import ConvertError, called_files, convert
from weft.plan.loader.load import load_plan

AGENT = "flow.ail.yaml:1: where no runner is named, the agent is 'claude': change `use` under `agents` in the plan"
NOT_FIRST = (
    "flow.ail.yaml:1: the prompt of ail's command line is not run first: "
    "no step reads its answer; add a step if they build upon its work"
)
REACH = "how an agent reaches its model is set up with the agent"
KINDS = "exactly one of prompt, skill, pipeline, action, context, do_while, for_each is needed"
NO_REGEX = "of regular expressions, Weft's conditions know texts and choices of texts only"
NO_CONDITION = "is not a condition; use `always`, `never` or `LEFT operator RIGHT`"
REVIEW = """\
version: "0.1"
defaults: {max_concurrency: 2}
pipeline:
  - id: brief
    prompt: Which files does this branch change?
  - id: bugs
    async: true
    prompt: "Look for bugs in {{ step.brief.response }}"
  - id: docs
    async: true
    condition: "{{ step.brief.response }} contains 'README'"
    prompt: Is the README still true?
  - id: findings
    depends_on: [bugs, docs]
    action: join
    on_error: wait_for_all
    on_result:
      - {contains: BLOCKER, action: abort_pipeline}
      - {always: true, action: continue}
  - id: verdict
    prompt: |
      Sum up:
      {{ step.findings.response }}
"""
ESTIMATES = """\
version: "0.1"
pipeline:
  - id: careful
    async: true
    model: large
    prompt: How many days? JSON only.
    output_schema: &estimate
      type: object
      properties: {days: {type: number}, risk: {type: string}}
      required: [days, risk]
  - {id: quick, async: true, model: small, prompt: "How many days? JSON only.", output_schema: *estimate}
  - id: both
    depends_on: [careful, quick]
    action: join
    output_schema: {type: object, required: [careful, quick]}
  - id: settle
    condition: "{{ step.both.careful.risk }} != low"
    prompt: "One says {{ step.both.careful.days }}, the other {{ step.both.quick.days }}."
"""
STEP = "pipeline: [{id: first, prompt: Begin}, {id: it, "


def converted(text):
    result = convert({"flow.ail.yaml": dedent(text)}, "ail")
    load_plan(result.text)
    return yaml.safe_load(result.text)


def steps(text):
    return converted(text)["subplans"][0]["steps"]


def notes(text):
    return [str(note) for note in convert({"flow.ail.yaml": dedent(text)}, "ail").notes]


def faults(text):
    with pytest.raises(ConvertError) as error:
        convert({"flow.ail.yaml": dedent(text)}, "ail")
    return [f"{problem.at}: {problem.message}" for problem in error.value.problems]


def step(entry):
    """What becomes of the second step of a pipeline, which is named `it`."""
    [_, *result] = steps(f"{STEP}{entry}}}]\n")
    return result[-1]


def told(entry):
    """What is told about it, beyond what is told about every pipeline."""
    return [note for note in notes(f"{STEP}{entry}}}]\n") if note not in {AGENT, NOT_FIRST}]


def condition(message):
    return step(f"prompt: Go on, condition: {message}")["condition"]


def test_the_pipeline_becomes_the_steps_of_one_subplan():
    agent = {"agent": "coder"}
    assert converted(REVIEW) == {
        "weft": 1,
        "plan": "flow",
        "max_concurrency": 2,
        "agents": {"coder": {"use": "claude"}},
        "subplans": [
            {
                "id": "main",
                "steps": [
                    {"id": "brief", **agent, "prompt": "Which files does this branch change?"},
                    {
                        "id": "bugs",
                        "async": True,
                        **agent,
                        "prompt": "Look for bugs in {{ step.brief.result }}",
                    },
                    {
                        "id": "docs",
                        "async": True,
                        "condition": "'readme' in (step.brief.result | lower)",
                        **agent,
                        "prompt": "Is the README still true?",
                    },
                    {
                        "id": "findings",
                        "depends_on": ["bugs", "docs"],
                        "action": "join",
                        "on_error": "wait_for_all",
                        "on_result": [
                            {"when": "'blocker' in (step.findings.result | lower)", "action": "abort"},
                            {"when": "true", "action": "continue"},
                        ],
                    },
                    {"id": "verdict", **agent, "prompt": "Sum up:\n{{ step.findings.result }}\n"},
                ],
            }
        ],
    }
    assert notes(REVIEW) == [AGENT, NOT_FIRST]


def test_schemas_are_kept_also_where_they_are_repeated():
    careful, quick, both, settle = steps(ESTIMATES)
    assert careful["output_schema"]["properties"] == {"days": {"type": "number"}, "risk": {"type": "string"}}
    assert quick["output_schema"] == careful["output_schema"]
    assert (careful["model"], quick["model"]) == ("large", "small")
    assert both["output_schema"] == {"type": "object", "required": ["careful", "quick"]}
    assert settle["condition"] == "(step.both.careful.risk | trim) != 'low'"
    assert settle["prompt"] == "One says {{ step.both.careful.days }}, the other {{ step.both.quick.days }}."


def test_values_in_a_schema_keep_their_types():
    schema = "{enum: [1, 0x1F, -2.5, true, null, '1', yes], properties: {}}"
    result = step(f"prompt: Go, output_schema: {schema}")["output_schema"]
    assert result == {"enum": [1, 31, -2.5, True, None, "1", "yes"], "properties": {}}


# Kinds of steps.


def test_a_command_is_run_and_its_failure_is_a_result():
    assert step("context: {shell: make test}") == {"id": "it", "run": "make test", "on_error": "continue"}
    assert told("context: {shell: make}") == [
        "flow.ail.yaml:1: step 'it': commands have on_error: continue: a failing command is no error in ail"
    ]


def test_braces_in_a_command_are_no_template():
    result = step("context: {shell: \"docker ps --format '{{.Names}}'\"}")
    assert result["run"] == "{% raw %}docker ps --format '{{.Names}}'{% endraw %}"


def test_a_command_is_not_retried():
    result = step("context: {shell: make}, on_error: retry, max_retries: 2")
    assert result == {"id": "it", "run": "make", "on_error": "continue"}
    assert (
        "flow.ail.yaml:1: step 'it': on_error is not carried over: a failing command is no error in ail"
    ) in told("context: {shell: make}, on_error: retry, max_retries: 2")


def test_a_pause_asks_a_person():
    assert step("action: pause_for_human, message: 'Ship {{ last_response }}?'") == {
        "id": "it",
        "action": "ask",
        "question": "Ship {{ step.first.result }}?",
    }
    assert step("action: pause_for_human")["question"] == "ail paused here for a person. Continue?"


def test_a_named_pipeline_is_called_and_its_last_answer_is_read_where_it_was_given():
    text = """\
    pipelines:
      Deep Check:
        - {id: look, prompt: Look}
        - {id: tests, context: {shell: make}}
      outer:
        - {id: inner, pipeline: Deep Check}
    pipeline:
      - {id: check, pipeline: outer}
      - {id: sum, prompt: "{{ step.check.response }} {{ last_response }}"}
    """
    result = converted(text)
    assert result["pipelines"] == {
        "deep-check": [
            {"id": "look", "agent": "coder", "prompt": "Look"},
            {"id": "tests", "run": "make", "on_error": "continue"},
        ],
        "outer": [{"id": "inner", "pipeline": "deep-check"}],
    }
    check, summed = result["subplans"][0]["steps"]
    assert check == {"id": "check", "pipeline": "outer"}
    assert summed["prompt"] == "{{ step.check.inner.look.result }} {{ step.check.inner.look.result }}"
    rule = "an id has only lowercase letters, digits, _ and -"
    assert f"flow.ail.yaml:1: pipeline 'Deep Check' is now 'deep-check': {rule}" in notes(text)


def test_the_answer_of_a_pipeline_without_one_cannot_be_read():
    text = """\
    pipelines: {quiet: [{id: a, context: {shell: make}}]}
    pipeline: [{id: b, pipeline: quiet}, {id: c, prompt: "Read {{ step.b.response }}"}]
    """
    assert steps(text)[1]["prompt"] == "Read <step.b.response>"
    assert (
        "flow.ail.yaml:2: step 'c': {{ step.b.response }} in prompt is not carried over; "
        "it stands there as <step.b.response>: no step of pipeline 'quiet' has an answer"
    ) in notes(text)


def test_a_prompt_beside_a_pipeline_is_reported():
    text = "pipelines: {p: [{id: a, prompt: A}]}\npipeline: [{id: b, pipeline: p, prompt: Other}]\n"
    assert (
        "flow.ail.yaml:2: step 'b': prompt is not carried over: "
        "a pipeline in line has no prompt of its own in Weft"
    ) in notes(text)


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("skill: ./skills/review", "what a skill says stands in a file of its own"),
        ("for_each: {over: x}", "Weft has no loops over a list"),
        ("pipeline: ./other.yaml", "pipeline 'other.yaml' is not in this file, nor in a file beside it"),
        ("pipeline: ~/other.yaml", "pipeline '~/other.yaml' is not in this file, nor in a file beside it"),
        ("action: reload_self", "Weft has no action 'reload_self'"),
        ("context: {mcp: x}", "of contexts, Weft knows shell commands only"),
        ("prompt: ./prompts/a.md", "its prompt stands in a file of its own"),
        ("prompt: ~/a.md", "its prompt stands in a file of its own"),
    ],
)
def test_in_place_of_what_weft_cannot_do_a_person_is_asked(entry, why):
    assert step(f"{entry}, depends_on: [first]") == {
        "id": "it",
        "depends_on": ["first"],
        "action": "ask",
        "question": f"ail had a step here that is not carried over: {why}.",
    }
    assert f"flow.ail.yaml:1: step 'it': it is not carried over; a person is asked: {why}" in told(entry)


# Agents.


def test_a_runner_is_an_agent():
    text = """\
    defaults: {model: large}
    pipeline:
      - {id: a, runner: codex, prompt: A}
      - {id: b, runner: ollama, prompt: B}
    """
    result = converted(text)
    assert result["agents"] == {
        "codex": {"use": "codex", "model": "large"},
        "coder": {"use": "claude", "model": "large"},
    }
    assert [entry["agent"] for entry in result["subplans"][0]["steps"]] == ["codex", "coder"]
    assert (
        "flow.ail.yaml:4: step 'b': runner 'ollama' is not carried over: Weft has no such agent; 'claude' is used"
    ) in notes(text)


def test_resume_is_kept():
    assert step("prompt: Go on, resume: true")["resume"] is True
    assert step("prompt: Go on, resume: false")["resume"] is False


# Defaults.


def test_defaults_become_settings():
    text = """\
    defaults:
      max_concurrency: 0
      timeout_seconds: 90
      tools: {allow: [Bash]}
      provider:
        model: small
        auth_token: secret
    pipeline: [{id: a, prompt: A}]
    """
    result = converted(text)
    assert result["timeout"] == "90s"
    assert "max_concurrency" not in result
    assert result["agents"]["coder"]["model"] == "small"
    assert notes(text)[2:] == [
        "flow.ail.yaml:2: defaults: max_concurrency: 0 is not carried over: no limit is what Weft has without it",
        "flow.ail.yaml:3: defaults: timeout_seconds becomes 90s: ail does not end a step by it, Weft does",
        "flow.ail.yaml:4: defaults: tools is not carried over: what an agent may do is set up with the agent",
        f"flow.ail.yaml:7: defaults: provider: auth_token is not carried over: {REACH}",
    ]


def test_a_provider_that_is_only_named_is_reported():
    assert (f"flow.ail.yaml:1: defaults: provider is not carried over: {REACH}") in notes(
        "defaults: {provider: groq}\npipeline: [{id: a, prompt: A}]"
    )


# Templates.


@pytest.mark.parametrize(
    ("written", "result"),
    [
        ("{{ step.first.response }}", "{{ step.first.result }}"),
        ("{{step.first.result}}", "{{ step.first.result }}"),
        ("{{ last_response }}", "{{ step.first.result }}"),
        ("{{ pipeline.run_id }}", "{{ run.id }}"),
        ('{{ env.MODE | default("it is") }}', "{{ env.MODE | default('it is') }}"),
        ('{{ step.first.response|default("") }}', "{{ step.first.result | default('') }}"),
        ("{{ step.first.a.b-c.0._d }}", "{{ step.first.json.a['b-c'][0]['_d'] }}"),
        ("a {% b {# c", "a {% raw %}{%{% endraw %} b {% raw %}{#{% endraw %} c"),
        ("a {{ b", "a {% raw %}{{{% endraw %} b"),
    ],
)
def test_templates_are_those_of_weft(written, result):
    assert step(f"prompt: '{written}'")["prompt"] == result


@pytest.mark.parametrize(
    "path",
    ["session.cwd", "session.tool", "do_while.iteration", "for_each.item", "step.loop::x.response",
     "step.a__on_result.response", "step.first.tool_calls", "step.invocation.cost"],
)  # fmt: skip
def test_what_templates_of_weft_cannot_say_stands_there_in_words(path):
    assert step(f"prompt: 'In {{{{ {path} }}}}.'")["prompt"] == f"In <{path}>."
    assert [note for note in told(f"prompt: 'In {{{{ {path} }}}}.'") if f"stands there as <{path}>: " in note]


def test_a_command_s_output_can_be_read():
    text = """\
    pipeline:
      - {id: run-it, context: {shell: make}}
      - {id: b, prompt: "{{ step.run-it.stdout }}{{ step.run-it.stderr }}{{ step.run-it.exit_code }}"}
    """
    path = "step['run-it']"
    assert (
        steps(text)[1]["prompt"]
        == f"{{{{ {path}.stdout }}}}{{{{ {path}.stderr }}}}{{{{ {path}.exit_code }}}}"
    )


def test_the_answer_of_a_branch_can_be_read_through_the_join():
    text = REVIEW.replace("{{ step.findings.response }}", "{{ step.findings.bugs.response }}")
    assert steps(text)[-1]["prompt"] == "Sum up:\n{{ step.bugs.result }}\n"


def test_environment_variables_are_allowed_by_name():
    result = converted("pipeline: [{id: a, prompt: '{{ env.HOME }} {{ env.USER }} {{ env.HOME }}'}]")
    assert result["env_allow"] == ["HOME", "USER"]
    assert result["subplans"][0]["steps"][0]["prompt"] == "{{ env.HOME }} {{ env.USER }} {{ env.HOME }}"


def test_the_prompt_of_the_command_line_is_the_subplan_s():
    text = "pipeline: [{id: invocation, prompt: 'Do {{ step.invocation.prompt }}'}]"
    [main] = converted(text)["subplans"]
    assert main["prompt"] == "Write here what ail was given on its command line."
    assert main["steps"] == [{"id": "invocation", "agent": "coder", "prompt": "Do {{ slice.prompt }}"}]
    assert notes(text) == [
        AGENT,
        "flow.ail.yaml:1: the prompt of ail's command line is the prompt of 'main': write it there",
    ]


@pytest.mark.parametrize("path", ["step.invocation.response", "last_response"])
def test_the_step_that_runs_it_is_written_if_its_answer_is_read(path):
    [main] = converted(f"pipeline: [{{id: a, prompt: 'Check {{{{ {path} }}}}'}}]")["subplans"]
    assert main["steps"] == [
        {"id": "invocation", "agent": "coder", "prompt": "{{ slice.prompt }}"},
        {"id": "a", "agent": "coder", "prompt": "Check {{ step.invocation.result }}"},
    ]


def test_a_declared_invocation_is_read_as_any_step():
    text = "pipeline: [{id: invocation, prompt: Do}, {id: a, prompt: '{{ step.invocation.response }}'}]"
    assert steps(text)[1]["prompt"] == "{{ step.invocation.result }}"
    assert notes(text) == [AGENT]


@pytest.mark.parametrize("path", ["step.invocation.prompt", "last_response"])
def test_a_named_pipeline_has_no_prompt_of_its_own(path):
    text = (
        f"pipelines: {{p: [{{id: a, prompt: 'Do {{{{ {path} }}}}'}}]}}\npipeline: [{{id: b, pipeline: p}}]\n"
    )
    assert converted(text)["pipelines"]["p"][0]["prompt"] == f"Do <{path}>"


def test_the_last_response_is_that_of_the_last_step_that_has_one_and_ended():
    text = """\
    pipeline:
      - {id: a, prompt: A}
      - {id: b, async: true, prompt: B}
      - {id: c, context: {shell: make}}
      - {id: d, prompt: "{{ last_response }}"}
      - {id: e, action: join, depends_on: [b]}
      - {id: f, prompt: "{{ last_response }}"}
    """
    assert [entry.get("prompt") for entry in steps(text)][3] == "{{ step.a.result }}"
    assert [entry.get("prompt") for entry in steps(text)][5] == "{{ step.e.result }}"


# Conditions.


@pytest.mark.parametrize(
    ("message", "result"),
    [
        ("always", "always"),
        ("never", "never"),
        ("'{{ last_response }} == yes '", "(step.first.result | trim) == 'yes'"),
        ("'{{ last_response }}!=\"it''s\"'", "(step.first.result | trim) != 'it\\'s'"),
        ("'{{ step.first.ok.now }} == true'", "(step.first.json.ok.now | lower | trim) == 'true'"),
        ("'{{ last_response }} contains ''A == B'''", "'a == b' in (step.first.result | lower)"),
        ("'{{ last_response }} starts_with OK'", "(step.first.result | lower).startswith('ok')"),
        ("'{{ last_response }} ends_with OK'", "(step.first.result | lower).endswith('ok')"),
        ("'x {{ last_response }} == x'", "(('x ' ~ step.first.result) | trim) == 'x'"),
        ("'a contains {{ last_response }}'", "(step.first.result | lower) in 'a'"),
        ("'{{ last_response }} == '", "(step.first.result | trim) == ''"),
        ("'{{ last_response }} matches /A\\.b/'", "'A.b' in (step.first.result | string)"),
        ("'{{ last_response }} matches /A/i'", "'a' in (step.first.result | lower)"),
        ("'{{ last_response }} matches /^A/'", "(step.first.result | string).startswith('A')"),
        ("'{{ last_response }} matches /A$/'", "(step.first.result | string).endswith('A')"),
        ("'{{ last_response }} matches /^A$/'", "(step.first.result | string) == 'A'"),
        ("'{{ last_response }} matches /.*A.*/s'", "'A' in (step.first.result | string)"),
        ("'{{ last_response }} matches /A/m'", "'A' in (step.first.result | string)"),
        (
            "'{{ last_response }} matches /PASS|^ok$/i'",
            "('pass' in (step.first.result | lower) or (step.first.result | lower) == 'ok')",
        ),
        (
            "'{{ last_response }} matches /(?:a|b)/'",
            "('a' in (step.first.result | string) or 'b' in (step.first.result | string))",
        ),
        ("'{{ env.MODE | default(\"fast\") }} == slow'", "(env.MODE | default('fast') | trim) == 'slow'"),
    ],
)
def test_conditions_are_expressions(message, result):
    assert condition(message) == result


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ("{{ last_response }} matches /a+/", NO_REGEX),
        ("{{ last_response }} matches /^a/m", NO_REGEX),
        ("{{ last_response }} matches /a|b+/", NO_REGEX),
        ("{{ last_response }} matches /a/x", NO_REGEX),
        ("{{ session.tool }} == claude", "Weft's templates know nothing of it"),
    ],
)
def test_before_a_step_whose_condition_weft_cannot_decide_a_person_is_asked(message, why):
    text = f"{STEP}prompt: Go on, condition: '{message}'}}, {{id: it_gate, prompt: Other}}]\n"
    question = f"ail ran the next step only if: {message}. Continue?"
    assert steps(text)[1:3] == [
        {"id": "it_gate-2", "action": "ask", "question": f"{{% raw %}}{question}{{% endraw %}}"},
        {"id": "it", "agent": "coder", "prompt": "Go on"},
    ]
    assert f"flow.ail.yaml:1: step 'it': condition is not carried over; a person is asked: {why}" in notes(
        text
    )


# Errors and results.


@pytest.mark.parametrize(
    ("entry", "result"),
    [
        ("on_error: abort_pipeline", {"on_error": "abort"}),
        ("on_error: continue", {"on_error": "continue"}),
        ("on_error: retry, max_retries: 2", {"on_error": "retry", "max_retries": 2}),
        ("on_error: retry, max_retries: 50", {"on_error": "retry", "max_retries": 10}),
        ("on_error: pause_for_human", {}),
    ],
)
def test_what_an_error_does(entry, result):
    assert step(f"prompt: Go on, {entry}") == {"id": "it", "agent": "coder", "prompt": "Go on", **result}


def test_what_cannot_be_done_about_an_error_is_reported():
    assert told("prompt: Go on, on_error: pause_for_human") == [
        "flow.ail.yaml:1: step 'it': on_error: pause_for_human is not carried over: a failed step ends its slice"
    ]
    assert told("prompt: Go on, on_error: retry, max_retries: 11") == [
        "flow.ail.yaml:1: step 'it': max_retries is now 10: that is Weft's limit"
    ]


@pytest.mark.parametrize(
    ("branch", "result"),
    [
        ("contains: It's Bad, action: abort_pipeline", ("'it\\'s bad' in (step.it.result | lower)", "abort")),
        ("exit_code: 3, action: pause_for_human", ("step.it.exit_code == 3", "ask")),
        ("exit_code: any, action: abort_pipeline", ("step.it.exit_code != 0", "abort")),
        ("matches: /^ok$/i, action: continue", ("(step.it.result | lower) == 'ok'", "continue")),
        ("matches: ok, action: continue", ("'ok' in (step.it.result | string)", "continue")),
        (
            "expression: '{{ step.it.stdout }} == a', action: continue",
            ("(step.it.stdout | trim) == 'a'", "continue"),
        ),
        ("expression: always, action: continue", ("true", "continue")),
        ("expression: never, action: continue", ("false", "continue")),
        ("always: true, action: abort_pipeline", ("true", "abort")),
    ],
)
def test_what_a_result_does(branch, result):
    when, action = result
    assert step(f"context: {{shell: make}}, on_result: [{{{branch}}}]")["on_result"] == [
        {"when": when, "action": action}
    ]


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ("[{matches: /a+/, action: abort_pipeline}]", NO_REGEX),
        ("[{contains: a, always: true, action: continue}]",
         "exactly one of contains, exit_code, matches, expression, always is needed"),
        ("{field: a, equals: b}", "only its list form is known"),
    ],
)  # fmt: skip
def test_where_weft_cannot_decide_about_a_result_a_person_is_asked(rules, why):
    [rule] = step(f"prompt: Go on, on_result: {rules}")["on_result"]
    assert (rule["when"], rule["action"]) == ("true", "ask")
    assert (
        f"flow.ail.yaml:1: step 'it': an entry of on_result is not carried over; a person is asked: {why}"
    ) in told(f"prompt: Go on, on_result: {rules}")


@pytest.mark.parametrize("action", ["action: break", "action: repeat_step", "pipeline: x"])
def test_a_rule_whose_action_weft_lacks_asks_only_if_its_condition_holds(action):
    entry = f"prompt: Go on, on_result: [{{contains: a, {action}}}, {{always: true, action: abort_pipeline}}]"
    question, after = step(entry)["on_result"]
    assert (question["when"], question["action"]) == ("'a' in (step.it.result | lower)", "ask")
    assert after == {"when": "true", "action": "abort"}
    assert [note for note in told(entry) if "a person is asked: Weft has no action" in note]


def test_the_message_of_a_rule_that_asks_is_its_question():
    entry = "prompt: Go on, on_result: [{contains: a, action: pause_for_human, message: 'See {{ x }}'}]"
    assert step(entry)["on_result"][0]["question"] == "{% raw %}See {{ x }}{% endraw %}"
    entry = "prompt: Go on, on_result: [{contains: a, action: continue, message: Hm}]"
    assert "question" not in step(entry)["on_result"][0]
    assert told(entry) == ["flow.ail.yaml:1: step 'it': message is not carried over: nothing is asked"]


# Steps that hold steps.


LOOP = """\
pipeline:
  - {id: start, prompt: Begin}
  - id: fix
    condition: "{{ step.start.response }} contains bug"
    do_while:
      max_iterations: 4
      exit_when: "{{ step.test.exit_code }} == 0"
      steps:
        - id: work
          prompt: "Round {{ do_while.iteration }} of {{ do_while.max_iterations }}: {{ step.start.response }}"
        - id: test
          async: true
          condition: "{{ step.work.response }} != skip"
          context: {shell: make test}
        - {id: use, depends_on: [test], prompt: Use it}
  - {id: end, prompt: "{{ step.fix::work.response }} {{ step.fix.response }} {{ last_response }}"}
"""


def test_a_loop_becomes_its_steps_and_a_check_that_goes_back():
    bug = "'bug' in (step.start.result | lower)"
    _, work, test, use, check, end = steps(LOOP)
    assert work == {
        "id": "fix_work",
        "condition": bug,
        "agent": "coder",
        "prompt": "Round {{ (attempt - 1) }} of {{ 4 }}: {{ step.start.result }}",
    }
    assert test == {
        "id": "fix_test",
        "condition": f"({bug}) and ((step.fix_work.result | trim) != 'skip')",
        "run": "make test",
        "on_error": "continue",
    }
    assert use["id"] == "fix_use"
    assert check == {
        "id": "fix",
        "condition": bug,
        "run": "true",
        "on_result": [
            {"when": "(step.fix_test.exit_code | trim) == '0'", "action": "continue"},
            {"when": "true", "action": "fail"},
        ],
        "on_fail": {"retry_from": "fix_work", "max": 3},
    }
    assert end["prompt"] == "{{ step.fix_work.result }} {{ step.fix_use.result }} {{ step.fix_use.result }}"


def loop(body, *more):
    return f"pipeline: [{{id: l, do_while: {{{body}}}}}{''.join(more)}]\n"


def test_a_loop_may_call_a_pipeline():
    text = "pipelines: {p: [{id: a, prompt: A}]}\n" + loop("max_iterations: 2, exit_when: never, pipeline: p")
    run, check = steps(text)
    assert run == {"id": "l_run", "pipeline": "p"}
    assert check["on_fail"] == {"retry_from": "l_run", "max": 1}
    assert check["on_result"][0] == {"when": "false", "action": "continue"}


def test_rounds_beyond_those_of_weft_and_ends_without_success_are_reported():
    text = loop(
        "max_iterations: 40, exit_when: never, on_max_iterations: continue, steps: [{id: a, prompt: A}]"
    )
    assert (steps(text)[1]["on_fail"]["max"], steps(text)[1]["on_error"]) == (10, "continue")
    assert "flow.ail.yaml:1: step 'l': max_iterations is now 11: that is Weft's limit" in notes(text)
    text = text.replace("continue", "pause_for_human")
    assert "on_error" not in steps(text)[1]
    assert [note for note in notes(text) if "on_max_iterations: pause_for_human is not carried over" in note]


def test_a_loop_whose_end_weft_cannot_decide_is_run_once_and_a_person_is_asked():
    text = loop(
        "max_iterations: 3, exit_when: '{{ step.a.response }} matches /x+/', steps: [{id: a, prompt: A}]"
    )
    work, check = steps(text)
    assert work["prompt"] == "A"
    assert (check["on_result"][0]["when"], check["on_result"][0]["action"]) == ("true", "ask")
    assert "on_fail" not in check
    assert [note for note in notes(text) if f"a person is asked after the first round: {NO_REGEX}" in note]


def test_loops_in_loops_and_async_ones_are_asked_about():
    inner = "{id: i, do_while: {max_iterations: 2, exit_when: never, steps: [{id: a, prompt: A}]}}"
    result = steps(loop(f"max_iterations: 2, exit_when: never, steps: [{inner}]"))
    assert result[0]["question"].endswith("Weft has no loops within loops.")
    text = (
        "pipeline: [{id: l, async: true, do_while: {max_iterations: 2, exit_when: never, "
        "steps: [{id: a, prompt: A}]}}, {id: j, depends_on: [l], action: join}]\n"
    )
    assert steps(text)[0]["question"].endswith("Weft has no loops that are async.")


def test_what_the_round_before_said_stands_there_in_words():
    text = loop(
        "max_iterations: 2, exit_when: never, "
        "steps: [{id: a, prompt: 'See {{ step.b.result }}'}, {id: b, context: {shell: x}}]"
    )
    assert steps(text)[0]["prompt"] == "See <step.b.result>"
    assert [note for note in notes(text) if "it reads a step of the round before" in note]


def test_the_rules_and_the_errors_of_a_loop_are_reported():
    text = loop("max_iterations: 2, exit_when: never, steps: [{id: a, prompt: A}]").replace(
        "{id: l,", "{id: l, on_error: continue, on_result: [{contains: a, action: continue}],"
    )
    message = "flow.ail.yaml:1: step 'l': {} is not carried over: the check of a loop"
    for key in ("on_result", "on_error"):
        assert [note for note in notes(text) if note.startswith(message.format(key))]


def test_the_answer_of_a_loop_of_commands_cannot_be_read():
    text = loop(
        "max_iterations: 2, exit_when: never, steps: [{id: a, context: {shell: x}}]",
        ", {id: b, prompt: '{{ step.l.response }}'}",
    )
    assert steps(text)[-1]["prompt"] == "<step.l.response>"


def test_steps_before_and_after_a_step_stand_there_with_its_condition():
    entry = (
        "condition: '{{ last_response }} contains x', prompt: Work, "
        "before: [{context: {shell: git fetch}}, ail/janitor], then: [{prompt: 'Sum up {{ last_response }}'}]"
    )
    condition_ = "'x' in (step.first.result | lower)"
    _, fetch, janitor, work, summed = steps(f"{STEP}{entry}}}]\n")
    assert fetch == {"id": "it_before_0", "condition": condition_, "run": "git fetch", "on_error": "continue"}
    assert (janitor["id"], janitor["action"]) == ("it_before_1", "ask")
    assert (work["id"], work["condition"], work["prompt"]) == ("it", condition_, "Work")
    assert summed["id"] == "it_then_0"
    assert (summed["condition"], summed["prompt"]) == (condition_, "Sum up {{ step.it.result }}")
    assert (
        "flow.ail.yaml:1: step 'it': before becomes steps before this one: "
        "what they answer does not take the place of its prompt"
    ) in told(entry)


def test_an_undecided_condition_is_asked_about_once_for_all_parts_of_a_step():
    entry = "condition: '{{ last_response }} matches /x+/', prompt: Work, then: [{prompt: More}]"
    assert [result["id"] for result in steps(f"{STEP}{entry}}}]\n")] == [
        "first",
        "it_gate",
        "it",
        "it_then_0",
    ]


def test_steps_before_an_async_step_are_a_part_of_its_branch():
    text = """\
    pipeline:
      - {id: a, prompt: A}
      - {id: b, async: true, depends_on: [a], before: [{prompt: P}, {prompt: Q}], then: [{prompt: T}], prompt: B}
      - {id: j, depends_on: [b], action: join}
    """
    _, first, second, work, join = steps(text)
    assert [(entry["id"], entry["async"], entry["depends_on"]) for entry in (first, second, work)] == [
        ("b_before_0", True, ["a"]),
        ("b_before_1", True, ["b_before_0"]),
        ("b", True, ["a", "b_before_1"]),
    ]
    assert join["depends_on"] == ["b"]
    assert [note for note in notes(text) if "step 'b': then is not carried over: what waits" in note]


def test_what_a_person_makes_of_an_answer_can_be_read():
    text = """\
    pipeline:
      - {id: draft, prompt: Draft}
      - {id: edit, action: modify_output}
      - {id: first, action: modify_output, message: Better?}
      - {id: use, prompt: "{{ step.edit.modified }}"}
    """
    _, edit, first, use = steps(text)
    assert edit["action"] == "ask"
    assert edit["question"].endswith("{{ step.draft.result }}")
    assert first["question"] == "Better?"
    assert use["prompt"] == "{{ step.edit.result }}"


def test_where_no_answer_can_be_read_a_person_still_writes_one():
    text = "pipelines: {p: [{id: e, action: modify_output}]}\npipeline: [{id: c, pipeline: p}]\n"
    [edit] = converted(text)["pipelines"]["p"]
    assert edit["question"] == "Answer with the text to continue with (weft answer … --text)."


# Files beside it.


MAIN = """\
defaults: {model: large}
pipeline:
  - {id: check, pipeline: ./checks/review.ail.yaml}
  - {id: sum, prompt: "{{ step.check.response }}"}
"""
REVIEWED = """\
defaults: {model: small, timeout_seconds: 9}
pipelines: {look: [{id: a, prompt: A}]}
pipeline:
  - {id: look, pipeline: look}
  - {id: deep, pipeline: ../deep.yaml}
  - {id: judge, prompt: Judge}
"""
DEEP = "pipeline: [{id: d, prompt: D}]\n"
BESIDE = {"x/flow.ail.yaml": MAIN, "x/checks/review.ail.yaml": REVIEWED, "x/deep.yaml": DEEP}


def test_a_pipeline_in_a_file_beside_it_becomes_a_named_one():
    result = convert(BESIDE, "ail")
    load_plan(result.text)
    plan = yaml.safe_load(result.text)
    assert plan["pipelines"] == {
        "review": [
            {"id": "look", "pipeline": "review_look"},
            {"id": "deep", "pipeline": "deep"},
            {"id": "judge", "agent": "coder", "model": "small", "prompt": "Judge"},
        ],
        "review_look": [{"id": "a", "agent": "coder", "model": "small", "prompt": "A"}],
        "deep": [{"id": "d", "agent": "coder", "prompt": "D"}],
    }
    assert plan["subplans"][0]["steps"][0] == {"id": "check", "pipeline": "review"}
    assert plan["subplans"][0]["steps"][1]["prompt"] == "{{ step.check.judge.result }}"
    assert plan["plan"] == "flow"
    assert "timeout" not in plan
    assert (
        "x/checks/review.ail.yaml:1: defaults: timeout_seconds is not carried over: "
        "the plan has what the first file says"
    ) in map(str, result.notes)


def test_the_files_that_a_pipeline_calls_are_found_by_their_paths():
    assert called_files("x/flow.ail.yaml", MAIN) == ["x/checks/review.ail.yaml"]
    assert called_files("x/checks/review.ail.yaml", REVIEWED) == ["x/deep.yaml"]
    for none in (
        "pipeline: {{ x }}.yaml",
        "pipeline: /etc/a.yaml",
        "pipeline: ~/a.yaml",
        "pipeline: name",
        "a: [",
    ):
        assert called_files("flow.yaml", none) == []


def test_files_that_call_each_other_are_a_fault():
    files = {
        "a.yaml": DEEP.replace("prompt: D", "pipeline: b.yaml"),
        "b.yaml": "pipeline: [{id: x, pipeline: b.yaml}]",
    }
    with pytest.raises(ConvertError, match="pipelines call each other in a cycle"):
        convert(files, "ail")


# What is told, and what is wrong.


def test_each_key_that_is_not_carried_over_is_reported_with_its_line():
    text = """\
    meta: {x: 1}
    pipeline:
      - id: a
        prompt: A
        input_schema: {type: object}
        tools: {allow: [Bash]}
        tags: []
        on_headless: skip
        model:
    """
    assert [note for note in notes(text) if note not in {AGENT, NOT_FIRST}] == [
        "flow.ail.yaml:1: meta is not carried over: Weft has no such key",
        "flow.ail.yaml:5: step 'a': input_schema is not carried over: Weft checks results, not what is read",
        "flow.ail.yaml:6: step 'a': tools is not carried over: what an agent may do is set up with the agent",
        "flow.ail.yaml:7: step 'a': tags is not carried over: Weft has no such key",
        "flow.ail.yaml:8: step 'a': on_headless is not carried over: Weft has no such key",
    ]


def test_ids_that_do_not_fit_are_changed_wherever_they_are_named():
    text = """\
    pipeline:
      - {id: Read Me, async: true, prompt: A}
      - {id: b, depends_on: [Read Me], prompt: "{{ step.Read Me.response }}"}
    """
    assert steps(text)[0]["id"] == "read-me"
    assert steps(text)[1]["depends_on"] == ["read-me"]
    assert steps(text)[1]["prompt"] == "{{ step['read-me'].result }}"
    rule = "an id has only lowercase letters, digits, _ and -"
    assert f"flow.ail.yaml:2: step 'Read Me': its id is now 'read-me': {rule}" in notes(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pipeline: []", "1:11: pipeline must be a list of at least one step"),
        ("version: 1", "1:1: pipeline must be a list of at least one step"),
        ("pipeline: [{prompt: A}]", "1:12: id is missing"),
        ("pipeline: [{id: a}]", f"1:12: step 'a': {KINDS}; found: none"),
        ("pipeline: [{id: a, prompt: A, skill: b}]", f"1:12: step 'a': {KINDS}; found: prompt, skill"),
        ("pipeline: [{id: a, prompt: A}, {id: a, prompt: A}]", "1:37: step 'a': id was already given in line 1"),
        ("pipeline: [{id: a, prompt: A, async: true}]",
         "1:38: step 'a': async has no effect: no step depends on this one"),
        ("pipeline: [{id: a, prompt: A, async: 1}]", "1:38: step 'a': async must be true or false"),
        ("pipeline: [{id: a, action: join}]", "1:28: step 'a': action is a join, and so depends_on is needed"),
        ("pipeline: [{id: a, prompt: A, depends_on: [b]}]",
         "1:44: step 'a': it depends on step 'b', which does not exist"),
        ("pipeline: [{id: a, prompt: A, depends_on: [a]}]",
         "1:44: step 'a': it depends on step 'a', which is this step or a later one"),
        ("pipeline: [{id: a, prompt: A, depends_on: b}]", "1:43: step 'a': depends_on must be a list of words"),
        ("pipeline: [{id: a, prompt: A, condition: maybe}]",
         f"1:42: step 'a': condition has no meaning: 'maybe' {NO_CONDITION}"),
        ("pipeline: [{id: a, prompt: A, condition: '== x'}]",
         f"1:42: step 'a': condition has no meaning: '== x' {NO_CONDITION}"),
        ("pipeline: [{id: a, prompt: A, condition: a matches b}]",
         "1:42: step 'a': condition has no meaning: 'b' is no /regular expression/"),
        ("pipeline: [{id: a, prompt: '{{ step.b.response }}'}]",
         "1:28: step 'a': prompt has no meaning: it reads step 'b', which does not exist"),
        ("pipeline: [{id: a, prompt: '{{ step.b.response }}'}, {id: b, prompt: B}]",
         "1:28: step 'a': prompt has no meaning: it reads step 'b', which may not have ended by then"),
        ("pipeline: [{id: a, prompt: A}, {id: b, prompt: '{{ step.a.stdout }}'}]",
         "1:48: step 'b': prompt has no meaning: it reads stdout of step 'a', which is no command"),
        ("pipeline: [{id: a, prompt: '{{ nothing }}'}]",
         "1:28: step 'a': prompt has no meaning: {{ nothing }} is no template of ail"),
        ("pipeline: [{id: a, prompt: A},{id: j, action: join, depends_on: [a]},\n{id: b, prompt: '{{step.j.a}}'}]",
         "2:17: step 'b': prompt has no meaning: it reads a field of step 'j', a join without an output_schema"),
        ("pipeline: [{id: invocation, prompt: '{{ last_response }}'}]",
         "1:37: step 'invocation': prompt has no meaning: it reads last_response, and no step before it has one"),
        ("pipeline: [{id: a, prompt: A}, {id: invocation, prompt: B}]",
         "1:37: step 'invocation': id is that of the first step, and of no other"),
        ("pipeline: [{id: a, prompt: A, output_schema: ./schema.json}]",
         "1:46: step 'a': output_schema must be a mapping"),
        ("pipeline: [{id: a, prompt: ' '}]", "1:28: step 'a': prompt is empty"),
        ("pipeline: [{id: a, prompt: A, on_error: perhaps}]",
         "1:41: step 'a': on_error is 'perhaps'; one of abort_pipeline, continue, retry is needed"),
        ("pipeline: [{id: a, prompt: A, on_error: retry}]",
         "1:12: step 'a': max_retries is missing; on_error: retry needs it"),
        ("pipeline: [{id: a, prompt: A, on_error: retry, max_retries: 0}]",
         "1:61: step 'a': max_retries must be a whole number ≥ 1"),
        ("pipeline: [{id: a, prompt: A}, {id: j, action: join, depends_on: [a], on_error: continue}]",
         "1:81: step 'j': on_error is 'continue'; one of fail_fast, wait_for_all is needed"),
        ("pipeline: [{id: a, prompt: A, on_result: [{exit_code: 1, action: continue}]}]",
         "1:55: step 'a': exit_code has no meaning: only a command has an exit code"),
        ("pipeline: [{id: a, context: {shell: b}, on_result: [{exit_code: x, action: continue}]}]",
         "1:65: step 'a': exit_code has no meaning: 'x' is not an exit code; use a number or `any`"),
        ("defaults: {max_concurrency: -1}\npipeline: [{id: a, prompt: A}]",
         "1:29: defaults: max_concurrency must be a whole number ≥ 0"),
        ("defaults: 3\npipeline: [{id: a, prompt: A}]", "1:11: defaults must be a mapping"),
        ("pipeline: [{id: a, prompt: A, then: b}]", "1:37: step 'a': then must be a list of steps"),
        ("pipeline: [{id: a, do_while: 3}]", "1:30: step 'a': do_while must be a mapping"),
        ("pipeline: [{id: a, do_while: {exit_when: never, steps: [{id: b, prompt: B}]}}]",
         "1:30: step 'a': max_iterations is missing"),
        ("pipeline: [{id: a, do_while: {max_iterations: 2, exit_when: never}}, {id: c, prompt: C}]",
         "1:30: step 'a': steps must be a list of at least one step"),
        ("pipeline: [{id: a, do_while: {max_iterations: 2, exit_when: x, steps: [{id: b, prompt: B}]}}]",
         f"1:61: step 'a': exit_when has no meaning: 'x' {NO_CONDITION}"),
        ("FROM: ./base.yaml\npipeline: [{id: a, prompt: A}]",
         "1:7: FROM continues another file; convert what `ail materialize` makes of it"),
        ("pipelines: {p: [{id: a, pipeline: q}], q: [{id: b, pipeline: p}]}\npipeline: [{id: c, pipeline: p}]",
         "1:1: pipelines call each other in a cycle: pipeline 'p' waits for pipeline 'q' waits for pipeline 'p'"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_a_fault(text, message):
    assert f"flow.ail.yaml:{message}" in faults(text)
