"""The names of limits, as the plan writes them where it can."""


def limit_name(limit: str) -> str:
    """Returns the name of a limit that the engine calls `slots`, `slots:GROUP`, `pool:NAME` and so on."""
    kind, _, label = limit.partition(":")
    match kind:
        case "slots":
            return f"{label}.max_parallel" if label else "max_parallel"
        case "host":
            return f"hosts.{label}.slots"
        case "turn":
            return f"{label}.policy" if label else "policy"
        case "branch":
            return f"the branch of {label}" if label else "the target"
        case "step":
            return "max_concurrency"
        case _:
            return f"{kind}s.{label}"
