"""The film of a colour camera: what it makes of linear light, by CARLA's attributes.

`exposure_mode`, `exposure_compensation`, `shutter_speed`, `iso`, `fstop` and `gamma` work; with
`enable_postprocess_effects` off, a picture has no exposure of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from harness.carlite.arrays import Bytes
from harness.carlite.errors import CallError
from harness.carlite.sensors.painting import BRIGHTEST, TONES
from harness.carlite.sensors.settings import read_number_attribute

KNEE = 0.70
"""Linear light above which the film compresses: 1 becomes 0.9 of white."""
NOON_EXPOSURE = 0.92
"""What light is multiplied with at noon, and in manual mode with CARLA's default lens and film."""
DEFAULT_VALUE = math.log2(1.4**2 * 200.0)


class FilmSettings:
    """Exposure and gamma of a camera."""

    def __init__(self, attributes: Mapping[str, str]) -> None:
        gamma = read_number_attribute(attributes, "gamma", 2.2, low=0.1, high=20.0)
        stops = read_number_attribute(
            attributes, "exposure_compensation", 0.0, low=-30.0, high=30.0
        )
        mode = attributes.get("exposure_mode", "histogram")
        if mode not in ("histogram", "manual"):
            raise CallError(f"sensor attribute exposure_mode = {mode!r}: wants histogram or manual")
        plain = attributes.get("enable_postprocess_effects", "true").lower() in ("false", "0")
        self.tones = make_tone_curve(gamma)
        self._factor = 1.0 if plain else 2.0**stops
        self._manual: float | None = NOON_EXPOSURE if plain else None
        if mode == "manual" and not plain:
            shutter = read_number_attribute(attributes, "shutter_speed", 200.0, low=1e-3, high=1e6)
            iso = read_number_attribute(attributes, "iso", 100.0, low=1e-3, high=1e7)
            stop = read_number_attribute(attributes, "fstop", 1.4, low=1e-2, high=1e3)
            # the exposure value at ISO 100: log2(N^2 / t), t being 1 / shutter_speed
            value = math.log2(stop * stop * shutter) - math.log2(iso / 100)
            self._manual = NOON_EXPOSURE * 2.0 ** (DEFAULT_VALUE - value)

    def compute_exposure(self, adapted: float) -> float:
        """Return what light is multiplied with, for an eye that is used to it with `adapted`."""
        exposure = adapted if self._manual is None else self._manual
        return min(max(exposure * self._factor, 1e-6), 1e6)


def make_tone_curve(gamma: float) -> Bytes:
    """Return the byte of each step of brightness; steps are even in the root of linear light."""
    light = np.linspace(0.0, 1.0, TONES) ** 2 * BRIGHTEST
    # above the knee, light is compressed so that the brightest is white
    over = np.maximum(light - KNEE, 0.0)
    room = 1 - KNEE
    shoulder = over / (room + over) * room / ((BRIGHTEST - KNEE) / (room + BRIGHTEST - KNEE) * room)
    shown = np.minimum(light, KNEE) + shoulder * room
    return np.rint(255 * np.clip(shown, 0, 1) ** (1 / gamma)).astype(np.uint8)
