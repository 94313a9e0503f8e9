"""Views of a project that change nothing: status, logs, diff, replay, graph, net."""
