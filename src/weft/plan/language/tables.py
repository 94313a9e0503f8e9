"""The plan language: every key, with what it may hold and what it means.

The loader, the JSON Schema and the reference are generated from these tables.
"""

from weft.plan.language.agent_programs import AGENT_PROGRAMS
from weft.plan.language.hosts import HOST, HOST_KEY, HOST_LABELS, HOSTS_KEY, STEP_HOST_KEY, TLS
from weft.plan.language.isolation import AGENT_ISOLATION_KEYS, ISOLATION_KEYS, SANDBOX, STEP_SANDBOX_KEY
from weft.plan.language.kinds import (
    Boolean,
    Choice,
    Duration,
    Integer,
    Money,
    Share,
    Span,
    Text,
    Word,
)
from weft.plan.language.kinds_of_many import Either, JsonObject, ListOf, MapOf
from weft.plan.language.merge import MERGE
from weft.plan.language.money import BUDGET, BUDGET_KEYS, MAX_TOKENS_KEY, PRICE, PRICES_KEY
from weft.plan.language.notify import NOTIFY, NOTIFY_KEY
from weft.plan.language.records import (
    AnyOf,
    AtMostOne,
    ExactlyOne,
    Has,
    Is,
    Key,
    Later,
    Needs,
    OneValueSet,
    OnlyWith,
    Record,
    Words,
)
from weft.plan.language.values import (
    BRANCH,
    COMMAND,
    COMMANDS,
    ENVIRONMENT,
    EXPRESSION,
    FOLDER,
    GLOB,
    ID,
    NAME,
    PATH,
    PLACE,
    PLAIN_COMMAND,
    SOME_TEXT,
    TEMPLATE,
)

VERSION = 1
PROCESS = AnyOf((Has("prompt"), Has("run"), Is("action", "verify")))
"""Steps that start a process."""

ESTIMATE = Record(
    "an estimate",
    "A guess of what one attempt needs, for forecasts: the critical path and the simulation.",
    (
        Key(
            name="minutes",
            kind=Span(),
            doc="Minutes for one attempt, or the least and the most of them.",
            example="5..20",
        ),
        Key(name="cost", kind=Money(), doc="Dollars for one attempt."),
        Key(name="fail", kind=Share(), doc="How likely an attempt fails: 0.2 is one in five."),
    ),
)

SETTINGS = (
    Key(
        name="max_parallel", kind=Integer(1, 32), default="4",
        doc="The most slices of this plan or subplan that run at once.",
    ),
    Key(
        name="max_concurrency", kind=Integer(1), default=Words("as the pools allow"),
        doc="The most async steps of one slice that run at once.",
    ),
    Key(
        name="failure_mode", kind=Choice(("fail_fast", "continue_on_error")), default="fail_fast",
        doc="What a failed subplan does to its siblings: `fail_fast` cancels them, `continue_on_error` "
            "lets them continue.",
    ),
    Key(
        name="policy", kind=Choice(("serial", "parallel")), default="parallel",
        doc="`serial` runs one step at a time, in the order of the plan; `parallel` as many as possible.",
    ),
    Key(
        name="agent", kind=ID, default=Words("the first entry of `agents`, else the one of the configuration"),
        doc="Which agent does the steps with a prompt: an entry of `agents`, or an adapter's name.",
    ),
    Key(name="model", kind=SOME_TEXT, default=Words("the agent's own"),
        doc="Which model the agent uses, by the agent's own name for it."),
    Key(
        name="retries", kind=Integer(0, 10), default="2",
        doc="How often a failed check sends the work back, if `on_fail` has no `max`; also how often an agent "
        "that fails or times out is retried.",
    ),
    Key(
        name="infra_retries", kind=Integer(0, 10), default="2",
        doc="How often a step that was lost, or could not be started, is restarted; this is not a failure.",
    ),
    Key(name="timeout", kind=Duration(), default="30m", doc="How long a step may take."),
    Key(
        name="idle_timeout", kind=Duration(), default=Words("no limit"),
        doc="How long an agent may write nothing. An agent that is silent for longer is ended, and has timed out.",
    ),
    Key(
        name="grace", kind=Duration(), default="10s",
        doc="How long a process has between SIGTERM and SIGKILL.",
    ),
    *BUDGET_KEYS,
    Key(name="merge", kind=MERGE, doc="How results are merged and land."),
    Key(
        name="strict_files", kind=Boolean(), default="false",
        doc="Whether a slice that changes files outside its `files` is rejected.",
    ),
    Key(
        name="overlap", kind=Choice(("warn", "serialize")), default="warn",
        doc="What to do about subplans with overlapping `files`: `warn` warns, `serialize` never runs them "
            "together.",
    ),
    Key(
        name="isolation", kind=Choice(("worktree", "clone", "dir", "none")),
        default=Words("worktree in a git repository, else dir"),
        doc="Where a slice works: in a git `worktree`; in a `clone` (a worktree with a git directory of its own, "
            "which sandboxed steps always use); in a `dir` of its own, which starts with the files of its "
            "dependencies; with `none` in the plan's own directory (agents then need `policy: serial`).",
    ),
    Key(
        name="worktrees", kind=PLACE, default=".weft/worktrees/{{ plan.id }}/{{ slice.path }}",
        doc="Where worktrees are created.",
    ),
    Key(
        name="keep_worktrees", kind=Choice(("never", "failed", "always")), default="failed",
        doc="Which worktrees are kept when their slices have ended: `failed` keeps those of slices that are not "
            "merged, `always` all, `never` none. Uncommitted work is never removed, unless git ignores it; "
            "`weft open` recreates a worktree.",
    ),
    Key(name="branch_prefix", kind=BRANCH, default="weft/", doc="The prefix of branch names."),
    Key(
        name="setup", kind=COMMANDS, default=Words("none"),
        doc="Commands that run once in a new worktree.",
    ),
    Key(
        name="copy", kind=ListOf(GLOB), default="[]",
        doc="Untracked files that are copied into a new worktree, such as .env.",
    ),
    Key(
        name="link", kind=ListOf(GLOB), default="[]",
        doc="Untracked files and directories that are linked into a new worktree, such as node_modules.",
    ),
    Key(
        name="sparse", kind=ListOf(FOLDER), default="[]",
        doc="The only directories that are checked out, with the files in their parent directories; for large "
            "repositories.",
    ),
    HOST_KEY, *ISOLATION_KEYS,
)  # fmt: skip

ON_FAIL = Record(
    "on_fail",
    "Go back to an earlier step when this one fails; that step gets the reason as `feedback`.",
    (
        Key(name="retry_from", kind=ID, required=True, doc="The step to go back to."),
        Key(
            name="max", kind=Integer(0, 10), default=Words("the setting `retries`"),
            doc="How often; after that the slice has failed.",
        ),
    ),
)  # fmt: skip

ON_RESULT = Record(
    "on_result",
    "What to do when the result meets a condition; the first match counts.",
    (
        Key(name="when", kind=EXPRESSION, required=True,
            doc="The condition, with the same names as a template."),
        Key(
            name="action", kind=Choice(("continue", "abort", "fail", "ask")), required=True,
            doc="`continue` continues, `abort` ends the pipeline as failed, `fail` counts the step as "
                "failed, `ask` asks a person."),
        Key(name="question", kind=TEMPLATE, doc="What to ask with `ask`; the condition and the end of the "
            "result are shown below it."),
    ),
    (OnlyWith(("question",), Is("action", "ask")),),
)  # fmt: skip

BODIES = ("prompt", "run", "action", "pipeline")
ACTIONS = ("verify", "join", "ask")
JOIN_ERRORS = ("fail_fast", "wait_for_all")
STEP_ERRORS = ("abort", "continue", "retry")

STEP = Record(
    "a step",
    "One action in a pipeline: an agent call, a command, a check, a join, a question, or another pipeline.",
    (
        Key(name="id", kind=ID, required=True, doc="Its name, unique in its pipeline."),
        Key(name="prompt", kind=TEMPLATE, doc="The task for an agent in the slice's worktree."),
        Key(name="agent", kind=ID, doc="Which agent does it: an entry of `agents`, or an adapter's name.",
            default=Words("the setting `agent`")),
        Key(name="model", kind=SOME_TEXT,
            doc="Which model the agent uses.", default=Words("the setting `model`")),
        Key(name="resume", kind=Boolean(), default="false",
            doc="Whether the agent continues its last conversation in the slice, and a further attempt that of "
                "the attempt before; an async step continues a fork of it."),
        Key(name="max_cost", kind=Money(),
            doc="What one attempt may cost; this amount is reserved before it starts."),
        MAX_TOKENS_KEY,
        Key(name="read_only", kind=Boolean(), default="false",
            doc="Whether the agent may only read, and not change files."),
        Key(name="run", kind=COMMAND,
            doc="A command. Text goes to /bin/sh, with values from templates quoted; a list runs without a "
                "shell. Any exit code but 0 is a failure."),
        Key(name="action", kind=Choice(ACTIONS),
            doc="`verify` runs the slice's own verify commands; `join` waits for `depends_on` and merges their "
                "results; `ask` waits for a person's answer."),
        Key(name="question", kind=TEMPLATE, doc="The question to a person."),
        Key(name="pipeline", kind=ID,
            doc="The name of a pipeline to run; its steps are addressed as `id.inner`."),
        Key(name="async", kind=Boolean(), default="false",
            doc="Whether the next step starts without waiting for this one."),
        Key(name="depends_on", kind=ListOf(ID), default="[]",
            doc="Earlier steps that must have ended before this one starts."),
        Key(name="condition", kind=EXPRESSION, default="always",
            doc="Whether the step runs; if not, it is skipped and its dependents continue."),
        Key(name="output_schema", kind=JsonObject(),
            doc="A JSON Schema (2020-12). The result must be JSON that conforms to it, otherwise the step fails."),
        Key(name="on_error", kind=Choice((*STEP_ERRORS, *JOIN_ERRORS)),
            default=Words("abort; on a join fail_fast"),
            doc="What a failure does: `abort` ends the pipeline, `continue` runs the next step, `retry` "
                "retries. Without it, an agent that fails or times out is retried within `retries`. On a "
                "join: `fail_fast` cancels the other branches at the first failure, `wait_for_all` waits for "
                "them."),
        Key(name="max_retries", kind=Integer(1, 10), doc="How often `on_error: retry` retries."),
        Key(name="on_fail", kind=ON_FAIL, doc=ON_FAIL.doc),
        Key(name="on_result", kind=ListOf(ON_RESULT, least=1), doc=ON_RESULT.doc),
        Key(name="pool", kind=ID, doc="A pool from which the step takes one token."),
        Key(name="pools", kind=Either(items=ListOf(ID, least=1), table=MapOf(ID, Integer(1))),
            doc="Several pools, or several tokens of one; they are taken all at once."),
        Key(name="timeout", kind=Duration(), doc="How long the step may take.",
            default=Words("the setting `timeout`")),
        Key(name="idle_timeout", kind=Duration(), doc="How long its agent may write nothing.",
            default=Words("the setting `idle_timeout`")),
        Key(name="grace", kind=Duration(), doc="How long its process has between SIGTERM and SIGKILL.",
            default=Words("the setting `grace`")),
        Key(name="env", kind=ENVIRONMENT, default="{}", doc="Environment variables of its process."),
        STEP_HOST_KEY, STEP_SANDBOX_KEY, Key(name="estimate", kind=ESTIMATE, doc=ESTIMATE.doc),
    ),
    (
        ExactlyOne(BODIES),
        OnlyWith(
            ("agent", "model", "resume", "max_cost", "max_tokens", "read_only", "idle_timeout"),
            Has("prompt"),
        ),
        OnlyWith(("question",), Is("action", "ask")),
        OnlyWith(("env", "pool", "pools", "timeout", "grace", "host", "sandbox"), PROCESS),
        OnlyWith(("max_retries",), Is("on_error", "retry")),
        AtMostOne(("pool", "pools")),
        Needs(Is("action", "join"), "depends_on"),
        Needs(Is("action", "ask"), "question"),
        Needs(Is("on_error", "retry"), "max_retries"),
        OneValueSet("on_error", Is("action", "join"), JOIN_ERRORS, STEP_ERRORS),
    ),
)  # fmt: skip
STEPS = ListOf(STEP, least=1)

SUBPLAN: Record = Record(
    "a subplan",
    "A part of the plan: a group of subplans, or a slice, which a pipeline of steps does.",
    (
        Key(name="id", kind=ID, required=True, doc="Its name, unique among its siblings."),
        Key(name="title", kind=SOME_TEXT, default=Words("the id"), doc="A line for people."),
        Key(name="prompt", kind=SOME_TEXT,
            doc="The task; templates read it as `slice.prompt`. It is not a template itself: `{{` is kept."),
        Key(name="depends_on", kind=ListOf(PATH), default="[]",
            doc="Subplans that must be completed first: ids of siblings, or paths from the root."),
        Key(name="files", kind=ListOf(GLOB), default="[]",
            doc="The files it expects to change; its agents see the list.", example="[src/store/**]"),
        Key(name="verify", kind=COMMANDS,
            doc="Commands that must pass: for a slice in its worktree, for a group on the merged result of its "
                "children."),
        Key(name="subplans", kind=ListOf(Later(lambda: SUBPLAN), least=1), doc="The parts of a group."),
        Key(name="pipeline", kind=ID, default="direct", doc="How a slice is done: the name of a pipeline."),
        Key(name="steps", kind=STEPS, doc="How a slice is done: the steps themselves."),
        Key(name="estimate", kind=ESTIMATE, doc=ESTIMATE.doc),
        *SETTINGS,
    ),
    (AtMostOne(("subplans", "pipeline", "steps")), AtMostOne(("subplans", "estimate"))),
)  # fmt: skip


def _uses_that_require(key: str) -> Is | AnyOf:
    """Returns the condition that an agent's adapter needs this key; the adapter of the same name comes first."""
    names = [name for name, program in AGENT_PROGRAMS.items() if program.requires == key]
    uses = tuple(Is("use", name) for name in sorted(names, key=lambda name: name != key))
    return uses[0] if len(uses) == 1 else AnyOf(uses)


AGENT = Record(
    "an agent",
    "An agent that steps can name.",
    (
        Key(name="use", kind=Choice(tuple(AGENT_PROGRAMS)), required=True,
            doc="The adapter that drives it, see below."),
        Key(name="model", kind=SOME_TEXT, default=Words("the adapter's own"), doc="Which model it uses."),
        Key(name="pool", kind=Integer(1), default=Words("as many as `max_parallel` allows"),
            doc="How many may work at once."),
        Key(name="command", kind=PLAIN_COMMAND,
            doc="The command to run, for the adapters `command` and `acp`."),
        Key(name="script", kind=SOME_TEXT, doc="The file to play, for the adapter `scripted`."),
        Key(name="args", kind=ListOf(Text("an argument", empty=True)), default="[]",
            doc="More arguments for its command line."),
        Key(name="env", kind=MapOf(NAME, Word()), default="{}", doc="Environment variables for it."),
        Key(name="max_cost", kind=Money(), doc="What one step may cost, if the step does not set it."),
        MAX_TOKENS_KEY, *AGENT_ISOLATION_KEYS,
    ),
    (
        Needs(_uses_that_require("command"), "command"),
        Needs(_uses_that_require("script"), "script"),
        OnlyWith(("command",), _uses_that_require("command")),
        OnlyWith(("script",), _uses_that_require("script")),
    ),
)  # fmt: skip

POOL = Record(
    "a pool",
    "Values that steps share, each with a name or value of its own.",
    (
        Key(name="values", kind=ListOf(Word(), least=1), required=True,
            doc="The values. A step finds the one it took in its environment: for the pool `port` in "
                "WEFT_POOL_PORT. If it takes several, each also has a variable of its own: "
                "WEFT_POOL_PORT_1, WEFT_POOL_PORT_2 and so on.",
            example="[8001, 8002]"),
    ),
)  # fmt: skip

AGENTS = MapOf(ID, AGENT)
POOLS = MapOf(ID, Either(scalar=Integer(1), table=POOL))

PLAN = Record(
    "the plan",
    "A tree of subplans, and how they are done.",
    (
        Key(name="weft", kind=Integer(VERSION, VERSION), required=True, doc="The version of the format."),
        Key(name="plan", kind=ID, required=True, doc="The id of the plan."),
        Key(name="goal", kind=SOME_TEXT, doc="The purpose of the plan; every agent sees it."),
        Key(name="base", kind=BRANCH, default=Words("the branch that is checked out"),
            doc="Where work starts."),
        Key(name="target", kind=BRANCH, default=Words("the base"), doc="Where results land."),
        Key(name="verify", kind=COMMANDS,
            doc="Commands that must pass on the exact tree that lands, before the target moves to it."),
        Key(name="agents", kind=AGENTS, default="{}", doc="The agents that do the work.",
            example="{coder: {use: claude, model: sonnet, pool: 3}}"),
        Key(name="pools", kind=POOLS, default="{}",
            doc="Resources that steps share: a number, or a list of values.",
            example="{staging-db: 1}"),
        Key(name="pipelines", kind=MapOf(ID, STEPS), default=Words("`direct` and `tdd` are built in"),
            doc="Pipelines for slices, by name."),
        Key(name="env_allow", kind=ListOf(NAME), default="[]",
            doc="Environment variables that templates may read as `env.NAME`."),
        PRICES_KEY,
        NOTIFY_KEY,
        HOSTS_KEY,
        Key(name="subplans", kind=ListOf(SUBPLAN, least=1), required=True, doc="The parts of the plan."),
        *SETTINGS,
    ),
)  # fmt: skip

CONFIG = Record(
    "the configuration",
    "Settings for all plans of a user (~/.config/weft/config.yaml) or of a project (.weft/config.yaml).",
    (
        Key(name="agents", kind=AGENTS, default="{}", doc="Agents that any plan can name."),
        *SETTINGS,
        PRICES_KEY,
        NOTIFY_KEY,
        HOSTS_KEY,
    ),
)

RECORDS = (
    PLAN, SUBPLAN, STEP, ON_FAIL, ON_RESULT, AGENT, POOL, MERGE, SANDBOX, ESTIMATE, BUDGET, PRICE, NOTIFY,
    HOST, TLS, HOST_LABELS, CONFIG,
)  # fmt: skip
