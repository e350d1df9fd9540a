"""The ego's body: CARLA's Lincoln MKZ, as `crucible doctor` measures it on a server."""

from __future__ import annotations

LENGTH, WIDTH = 4.90, 2.13
"""Metres, mirrors included."""
