"""Commands that read and change nothing: status, logs, diff, replay, graph, net."""
