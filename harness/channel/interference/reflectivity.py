"""What share of a LiDAR's light a surface sends back, dry or under a film of water.

Numbers are engineering values at 905 nm. They are not spread per actor: cars of all paints are
alike. Glass is not modelled.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from harness.types.vocabulary import Floats, Mask, Surfaces

UNKNOWN = 0.3
"""Reflectivity where surfaces were not recorded; the angle of incidence is not known then."""
BY_TAG: Mapping[int, float] = MappingProxyType(
    {
        0: UNKNOWN,  # nothing
        1: 0.12,  # road
        2: 0.25,  # sidewalk
        3: 0.35,  # building
        4: 0.35,  # wall
        5: 0.35,  # fence
        6: 0.4,  # pole
        7: 0.4,  # traffic light
        8: 1.0,  # traffic sign: sends light back where it came from
        9: 0.45,  # vegetation
        10: 0.3,  # terrain
        11: UNKNOWN,  # sky
        12: 0.4,  # pedestrian
        13: 0.4,  # rider
        14: 0.45,  # car
        15: 0.45,  # truck
        16: 0.45,  # bus
        17: 0.45,  # train
        18: 0.3,  # motorcycle
        19: 0.3,  # bicycle
        20: UNKNOWN,  # static
        21: UNKNOWN,  # dynamic
        22: UNKNOWN,  # other
        23: 0.02,  # water
        24: 0.5,  # road line
        25: 0.12,  # ground
        26: 0.35,  # bridge
        27: UNKNOWN,  # rail track
        28: 0.35,  # guard rail
    }
)
"""By CARLA 0.9.16's tag; tags without a number of their own in the literature are as their like."""
PAVED = (1, 2, 24, 25)
"""Tags on which water stands: road, sidewalk, road line, ground."""

TABLE = np.array([BY_TAG.get(tag, UNKNOWN) for tag in range(256)])
AIR, WATER = 1.0003, 1.33
"""Refractive indices."""
PAVEMENT_DEPTH = 1.2
"""mm of water that fill the roughness of a road (Hahner et al., 2022)."""
WATER_DEPTHS = (0.1, PAVEMENT_DEPTH)
"""mm of water, from damp to under a film everywhere."""


def get_surface_albedo(surfaces: Surfaces) -> Floats:
    """Return the reflectivity of the surface under each point, at normal incidence."""
    return np.asarray(TABLE[surfaces.labels], np.float64)


def compute_reflectivity(surfaces: Surfaces | None, count: int) -> Floats:
    """Return reflectivity times cosine of incidence (Lambert's law) for so many points.

    Args:
        surfaces: of N points; None where they were not recorded.
        count: N.

    Returns:
        (N,) 0 to 1.
    """
    if surfaces is None:
        return np.full(count, UNKNOWN)
    return get_surface_albedo(surfaces) * surfaces.cosines


def find_paved_points(surfaces: Surfaces) -> Mask:
    """Return which points lie on a surface that water stands on."""
    return np.isin(surfaces.labels, PAVED)


def compute_wet_reflectivity(surfaces: Surfaces, water: float) -> Floats:
    """Return `compute_reflectivity` where so many mm of water stand on what is paved.

    A share of the pavement is under a film: all of it from PAVEMENT_DEPTH on (Hahner et al., 2022).

    Args:
        surfaces: of N points.
        water: mm.

    Returns:
        (N,) 0 to 1.
    """
    dry, cosines = get_surface_albedo(surfaces), surfaces.cosines.astype(np.float64)
    # (N,) a mean of wet and dry pavement; all else stays dry
    share = min(max(water / PAVEMENT_DEPTH, 0.0), 1.0)
    wet = (1 - share) * dry + share * compute_film_reflectivity(dry, cosines)
    return np.where(find_paved_points(surfaces), wet, dry) * cosines


def compute_film_reflectivity(dry: Floats, cosines: Floats) -> Floats:
    """Return the reflectivity of a surface under water, in the better polarisation.

    Light enters, is reflected by the surface, and leaves, or is thrown back by the water and
    reflected again, without end: t_in rho t_out / (1 - rho r_out). What the film itself reflects
    goes away like from a mirror. By reciprocity, in and out are the same at matching angles.

    Args:
        dry: (N,) reflectivity without water, at normal incidence.
        cosines: (N,) of incidence.

    Returns:
        (N,) 0 to 1.
    """
    # (2, N) for both polarisations: reflected, and passed, by the water's surface
    turned_back = compute_fresnel_reflection(cosines)
    through = 1 - turned_back
    both = through * dry * through / (1 - dry * turned_back)
    return np.asarray(both.max(axis=0))


def compute_fresnel_reflection(
    cosines: Floats, before: float = AIR, behind: float = WATER
) -> Floats:
    """Return the share of power reflected by an interface: rows s, p (Fresnel's equations).

    Args:
        cosines: (N,) of incidence.
        before: refractive index on the side of the light.
        behind: refractive index on the other side.

    Returns:
        (2, N) shares of power.
    """
    cos_in, cos_out = cosines, compute_refracted_cosine(cosines, before, behind)
    s = (before * cos_in - behind * cos_out) / (before * cos_in + behind * cos_out)
    p = (behind * cos_in - before * cos_out) / (behind * cos_in + before * cos_out)
    return np.stack([s**2, p**2])


def compute_transmission(cosines: Floats, before: float = AIR, behind: float = WATER) -> Floats:
    """Return the share of power that passes: amplitudes squared, times n cos out over n cos in.

    Args:
        cosines: (N,) of incidence.
        before: refractive index on the side of the light.
        behind: refractive index on the other side.

    Returns:
        (2, N) shares of power.
    """
    cos_in, cos_out = cosines, compute_refracted_cosine(cosines, before, behind)
    s = 2 * before * cos_in / (before * cos_in + behind * cos_out)
    p = 2 * before * cos_in / (behind * cos_in + before * cos_out)
    return np.stack([s**2, p**2]) * (behind * cos_out) / (before * cos_in)


def compute_refracted_cosine(cosines: Floats, before: float, behind: float) -> Floats:
    """Return the cosine behind an interface (Snell's law), below the limit of total reflection."""
    return np.asarray(np.sqrt(1 - (before / behind) ** 2 * (1 - cosines**2)))
