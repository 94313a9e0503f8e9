"""The key `notify` of plans and configurations: whom to notify when a run needs a person or ends."""

from weft.plan.language.kinds import Boolean, Choice, Text
from weft.plan.language.kinds_of_many import Either, ListOf
from weft.plan.language.records import AtLeastOne, Key, Record, Words

EVENTS = ("finished", "failed", "conflict", "gate", "budget")
URL = Text(
    "a URL that starts with http:// or https://",
    pattern=r"https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:[/?][!-~]*)?",
)
_COMMAND = Either(
    scalar=Text("a command for /bin/sh"),
    items=ListOf(Text("an argument", empty=True), least=1),
    description="a command for /bin/sh, or a list of arguments",
)

NOTIFY = Record(
    "notify",
    "When and how to notify someone about a run.",
    (
        Key(name="on", kind=ListOf(Choice(EVENTS), least=1), default=Words("all of them"),
            doc="The events: `finished`, the run is completed; `failed`, a subplan or the run has failed; "
                "`conflict`, a merge is held until a person resolves it; `gate`, a question or a landing "
                "waits for a person; `budget`, 75, 90 or 100 % of a ceiling is spent."),
        Key(name="run", kind=_COMMAND,
            doc="A command that gets the notice as JSON on its standard input, and in WEFT_NOTIFY_EVENT, "
                "WEFT_NOTIFY_TITLE, WEFT_NOTIFY_TEXT and WEFT_RUN."),
        Key(name="desktop", kind=Boolean(), default="false",
            doc="Whether to show a desktop notification, with notify-send or osascript."),
        Key(name="webhook", kind=URL, doc="The URL that receives the notice as JSON, by POST."),
    ),
    (AtLeastOne(("run", "desktop", "webhook")),),
)  # fmt: skip

NOTIFY_KEY = Key(
    name="notify",
    kind=Either(items=ListOf(NOTIFY), table=NOTIFY),
    default=Words("no notifications"),
    doc="Notifications when a run needs a person or ends; one or several. The plan's own count, else the "
    "project's, else the user's.",
    example="{on: [failed, gate], desktop: true}",
)
