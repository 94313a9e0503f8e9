"""A small agent of our own, for those who have a key to a model and no agent: it asks the model, and does as told.

A process of its own, as every agent is; it starts with each step and so loads only what it needs. `loop` decides,
`chat` and `messages` are what providers speak, `tools` is what the model may do, and `work` brings them together.
"""
