"""The far program: what runs of Weft on another machine, beside the supervisor. It uses only the standard library.

`far.pyz serve RUN` speaks frames (`frames.py`) on its standard input and output with one coordinator. `K`, `I` and
`N` are numbers:

  {"ping": N}                                      answered by {"pong": N, "at": the far clock}
  {"open": K, "limits": […]}                       connects to the supervisor of the run, or starts it; answered by
                                                   {"opened": K}, or {"gone": K, "message": …}
  {"lines": K} + payload                           what the supervisor sends or is sent, both ways, unchanged
  {"gone": K, "message": …}                        the supervisor has died or hung up
  {"share": K, "names": […]}                       gives the supervisor the variables with these names
  {"folders": […]}                                 directories of the run to create
  {"call": NAME, "id": I, "arguments": {…}, "size": bytes}
                                                   answered by {"reply": I, "data": {…}, "size": bytes},
                                                   or {"reply": I, "error": {"kind": …, "message": …}}
  {"piece": I} + payload                           a part of the payload of a call or reply, both ways
  {"got": I, "bytes": total}                       that much of the payload has arrived, both ways

A payload follows its call or reply in pieces, so that other frames can pass between them; at most `WINDOW` bytes
of it are sent before they are confirmed.
"""

PROTOCOL = 1
"""Changes when a coordinator and a far program of different versions do not understand each other."""
MARKER = "weft-far:"
"""Begins each line of JSON that comes before the first frame; shells may print lines of their own."""
WINDOW = 1 << 19
"""Unconfirmed bytes of one payload."""
SILENCE = 60.0
"""Seconds without a frame, after which the far program ends: its coordinator is frozen, or the way is cut."""
