"""Weft's own small agent, for users who have a key to a model and no coding agent.

Like every agent it is a separate process. It starts with each step, so it imports only what it needs. `loop`
decides the next move, `chat` and `messages` are the providers' protocols, `tools` are the actions of the model,
and `agent` connects them.
"""
