"""Lines of a picture as the path data of SVG."""

from weft.plan.pictures.geometry import Point, Route


def path_data(route: Route) -> str:
    """Returns the line from the source to the target: horizontal at each point, and curved between heights."""
    start, *rest = route.points
    path = [f"M{_point(start)}"]
    before = start
    for point in rest:
        path.append(_step(before, point, route.bulge))
        before = point
    return "".join(path)


def _step(start: Point, end: Point, bulge: float) -> str:
    if bulge:
        out = max(start[0], end[0]) + bulge
        return f"C{_point((out, start[1]))} {_point((out, end[1]))} {_point(end)}"
    if start[1] == end[1]:
        return f"L{_point(end)}"
    middle = (start[0] + end[0]) / 2
    return f"C{_point((middle, start[1]))} {_point((middle, end[1]))} {_point(end)}"


def _point(point: Point) -> str:
    return f"{number_text(point[0])},{number_text(point[1])}"


def number_text(value: float) -> str:
    """Returns a number with one decimal: exact enough, and the same on every machine."""
    return f"{value:.1f}".removesuffix(".0")
