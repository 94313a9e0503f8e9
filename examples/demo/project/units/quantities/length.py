UNITS = {"m": 1, "km": 1000, "cm": 0.01, "mi": 1609.344}


def convert(value, source, target):
    return value * UNITS[source] / UNITS[target]
