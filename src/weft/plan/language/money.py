"""The keys of plans and configurations about money and tokens: ceilings, reservations, prices of models."""

from weft.plan.language.kinds import Choice, Money, Text, Tokens
from weft.plan.language.kinds_of_many import Either, MapOf
from weft.plan.language.reader import Kind
from weft.plan.language.records import AtLeastOne, Key, Record, Words
from weft.plan.text.document import Node, Scalar, Table

BUDGET = Record(
    "a budget",
    "An amount of dollars, of tokens, or of both; each is a separate limit.",
    (
        Key(name="usd", kind=Money(), doc="Dollars."),
        Key(name="tokens", kind=Tokens(), doc="Tokens of any kind."),
    ),
    (AtLeastOne(("usd", "tokens")),),
)
_DOLLARS = "an amount of dollars above 0, such as 20 or 0.50"
PLAIN_AMOUNT = Money(f"{_DOLLARS}, or both as in {{usd: 20, tokens: 5M}}")
AMOUNT = Either(scalar=PLAIN_AMOUNT, table=BUDGET)
_AMOUNT_IN_SHELL = Either(scalar=Money(f"{_DOLLARS}, or both as in usd=20,tokens=5M"), table=BUDGET)

BUDGET_KEYS = (
    Key(
        name="budget", kind=AMOUNT, default=Words("none"), example="{usd: 20, tokens: 5M}",
        doc="A ceiling on what agents may spend in this plan or subplan; every ceiling applies. "
            "A number is dollars.",
    ),
    Key(
        name="on_budget", kind=Choice(("stop", "drain")), default="stop",
        doc="What happens to running agents at the ceiling: `stop` ends them, `drain` lets them finish.",
    ),
    Key(
        name="reserve", kind=AMOUNT, default=Words("nothing"), example="0.50",
        doc="The reservation for an agent step without `max_cost` or `max_tokens`, as long as too few steps of "
            "its agent have reported their cost.",
    ),
)  # fmt: skip

MAX_TOKENS_KEY = Key(name="max_tokens", kind=Tokens(), doc="The same as `max_cost`, in tokens.")

PRICE = Record(
    "a price",
    "What a million tokens cost, in dollars.",
    (
        Key(name="input", kind=Money.from_zero(), required=True, doc="For the input of a model."),
        Key(name="output", kind=Money.from_zero(), required=True, doc="For its output."),
        Key(name="cached_input", kind=Money.from_zero(), default=Words("the same as `input`"),
            doc="For input read from a cache."),
    ),
)  # fmt: skip
PRICES_KEY = Key(
    name="prices",
    kind=MapOf(
        Text("the name of a model or an agent, in which * stands for any text", pattern="[!-~]+"), PRICE
    ),
    default="{}",
    doc="Prices by the names of models or agents, for agents that report tokens and not costs. The first name "
    "that matches counts; those of the plan come before the project's, and these before the user's.",
    example="{claude-sonnet*: {input: 3, output: 15, cached_input: 0.3}}",
)


def kind_in_shell(kind: Kind) -> Kind:
    """Returns the kind of a value in a flag or a variable, with a description that fits a shell."""
    return _AMOUNT_IN_SHELL if kind is AMOUNT else kind


def amounts_in(text: str) -> Node:
    """Returns the node for an amount as written on a command line: `20`, or `usd=20,tokens=5M`."""
    parts = [part.partition("=") for part in text.split(",")]
    table = Table(1, 1)
    for name, equals, value in parts:
        if equals:
            table.entries[name.strip()] = (Scalar(name.strip(), 1, 1, ""), Scalar(value.strip(), 1, 1, ""))
    # A mixture such as `20,tokens=5M` is passed on as it is, so that the message shows what was typed.
    return table if len(table.entries) == len(parts) else Scalar(text, 1, 1, "")
