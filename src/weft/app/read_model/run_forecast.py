"""The forecast with which a run started, as lists of runs show it."""

from weft.app.forecast.forecast_files import read_start_forecast
from weft.app.project.places import Places
from weft.app.read_model.run_shapes import RunForecast
from weft.forecast.quantiles import quantile

_SHARES = (0.5, 0.9)


def run_forecast(places: Places, run: str) -> RunForecast | None:
    """Returns the P50 and P90 with which a run started; None if they are not stored."""
    stored = read_start_forecast(places, run)
    if stored is None:
        return None
    early, late = (quantile(stored.seconds, share) for share in _SHARES)
    cheap, dear = (quantile(stored.costs, share) for share in _SHARES)
    return RunForecast(seconds=(early, late), cost=(round(cheap), round(dear)))
