"""How much light rain, snow and fog take from a beam of 905 nm.

All particles are much larger than the wavelength, so their extinction efficiency is 2. Mie's theory
gives 2.021 at a diameter of 0.1 mm and 2.007 at 1 mm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness.common.errors import UserError

RAIN_RATES = (0.1, 50.0)
"""mm/h; CooTest (Guo et al., 2024, 3.3.1) has 0.1 to 10."""
SNOW_RATES = (0.1, 10.0)
"""mm/h of melted water; CooTest has 0.1 to 2.4."""
VISIBILITIES = (30.0, 1000.0)
"""m; CooTest has 200 to 1000."""
LEAST_DIAMETER = 0.05
"""mm; smaller particles are not counted (LISA, Kilic et al., 2021)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParticleDistribution:
    """Particles with N(D) = N0 exp(-L D): an exponential law of diameters D in mm."""

    intercept: float  # N0, 1 / (m^3 mm)
    slope: float  # L, 1 / mm
    refractive_index: float

    @property
    def extinction(self) -> float:
        """Return alpha in 1/m: 1e-6 pi/4 times the integral of 2 N(D) D^2 over all D."""
        return 1e-6 * math.pi * self.intercept / self.slope**3

    @property
    def density(self) -> float:
        """Return particles per m^3 that are larger than LEAST_DIAMETER."""
        return self.intercept / self.slope * math.exp(-self.slope * LEAST_DIAMETER)

    @property
    def reflectivity(self) -> float:
        """Return the share of light that a particle reflects: Fresnel, normal incidence."""
        return ((self.refractive_index - 1) / (self.refractive_index + 1)) ** 2


def make_rain_drops(rate: float) -> ParticleDistribution:
    """Return the drops of rain of a rate > 0 in mm/h (Marshall and Palmer, 1948)."""
    return ParticleDistribution(
        intercept=8000.0, slope=4.1 * check_positive("rain", rate) ** -0.21, refractive_index=1.328
    )


def make_snow_flakes(rate: float) -> ParticleDistribution:
    """Return flakes of a rate > 0 in mm/h of melted water (Gunn and Marshall, 1958)."""
    check_positive("snow", rate)
    return ParticleDistribution(
        intercept=7600.0 * rate**-0.87, slope=2.55 * rate**-0.48, refractive_index=1.3031
    )


def compute_fog_extinction(visibility: float) -> float:
    """Return alpha in 1/m by visibility in m, at which 5 % of contrast are left (Koschmieder)."""
    return math.log(20) / check_positive("fog", visibility)


def check_positive(name: str, value: float) -> float:
    """Return a value that must be positive."""
    if not value > 0:
        raise UserError(f"{name}: {value}: must be > 0")
    return value
