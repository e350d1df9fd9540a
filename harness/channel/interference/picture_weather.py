"""What pictures show of rain, snow, fog and water: numbers of CARLA's `WeatherParameters`.

CARLA does not say what its percentages mean in mm/h or metres. These are the meanings that carlite
gives them, so that pictures and sweeps have one extinction (docs/explanation/weather.md). CARLA
shows the same numbers as its engine does.
"""

from __future__ import annotations

import math

from harness.channel.interference.extinction import RAIN_RATES
from harness.channel.interference.reflectivity import WATER_DEPTHS

CLEAREST, THICKEST = 5000.0, 50.0
"""Visibility in m where `fog_density` is 0 and where it is 100."""


def show_rain(rate: float, water: float) -> dict[str, float]:
    """Return rain of a rate in mm/h over so many mm of water."""
    return {"precipitation": 100 * rate / RAIN_RATES[1], **show_water(water)}


def show_water(water: float) -> dict[str, float]:
    """Return water on the ground in mm; dry ground changes nothing."""
    return {"wetness": 100 * water / WATER_DEPTHS[1]} if water else {}


def show_fog(visibility: float) -> dict[str, float]:
    """Return fog by its visibility in m; less than 50 m is shown as 50 m."""
    share = math.log(CLEAREST / visibility) / math.log(CLEAREST / THICKEST)
    return {"fog_density": min(max(100 * share, 0.0), 100.0)}


def show_snow(extinction: float) -> dict[str, float]:
    """Return air as dim as with snow of an extinction in 1/m; flakes are not drawn."""
    return show_fog(math.log(20) / extinction)
