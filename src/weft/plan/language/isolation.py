"""The keys of plans and configurations about what a process can reach: its home, and a sandbox."""

from weft.plan.language.kinds import Boolean, Choice, Text
from weft.plan.language.kinds_of_many import Either, ListOf
from weft.plan.language.records import Key, Record, Words

PLACE_IN_SANDBOX = Text(
    "a path without ..: absolute, in your home as ~/.cargo, or else in the slice's workspace",
    pattern=r"(?!(?:.*/)?\.\.(?:/|$))(?!~[^/])[^\x00\n]+",
)
_USES = Choice(("bwrap", "none"))
_PLACES = ListOf(PLACE_IN_SANDBOX)

SANDBOX = Record(
    "a sandbox",
    "What a process can reach. Of nested paths the deepest counts; for the same path, `hide` comes before "
    "`read`, and `read` before `write`.",
    (
        Key(name="use", kind=_USES, default="bwrap",
            doc="The program: `bwrap` is bubblewrap; with `none` there is no sandbox."),
        Key(name="network", kind=Boolean(), default="true", doc="Whether the process reaches the network."),
        Key(name="hide", kind=_PLACES, default="[]", doc="What is hidden, besides your home and .weft.",
            example="[.env, /srv/data]"),
        Key(name="read", kind=_PLACES, default="[]",
            doc="What is visible but cannot be changed: paths in your home, or parts of the workspace.",
            example="[~/.cargo, tests]"),
        Key(name="write", kind=_PLACES, default="[]", doc="What can be changed, besides the workspace.",
            example="[~/.cache/pip]"),
    ),
)  # fmt: skip

_KIND = Either(scalar=_USES, table=SANDBOX)
SANDBOX_KEY = Key(
    name="sandbox", kind=_KIND, default="none", example="{network: false}",
    doc="Whether processes are confined to the workspace: with `bwrap` they write nowhere else, and see nothing "
        "of your home. They then have an isolated home.",
)  # fmt: skip
ISOLATED_HOME_KEY = Key(
    name="isolated_home", kind=Boolean(), default="false",
    doc="Whether processes have a home of their own, one for each slice of a run, with nothing of yours in it.",
)  # fmt: skip

ISOLATION_KEYS = (ISOLATED_HOME_KEY, SANDBOX_KEY)
"""The keys as settings."""
AGENT_ISOLATION_KEYS = (
    Key(name="isolated_home", kind=Boolean(), default=Words("the setting `isolated_home`"),
        doc="Whether the agent has a home of its own, one for each slice of a run."),
    Key(name="sandbox", kind=_KIND, default=Words("the setting `sandbox`"),
        doc="Whether the agent is confined to the workspace; anything not set here follows the setting."),
)  # fmt: skip
STEP_SANDBOX_KEY = Key(
    name="sandbox", kind=_KIND, default=Words("the setting `sandbox`"),
    doc="Whether its process is confined to the workspace; anything not set here follows the agent, then the "
        "setting.",
)  # fmt: skip
