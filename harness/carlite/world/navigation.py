"""The navigation mesh walkers' clients fetch."""

from __future__ import annotations

import hashlib
from functools import cached_property

from harness.carlite.towns import navmesh
from harness.carlite.towns.model import Town


class TownNavigation:
    """A town's navigation mesh, loaded when first asked for."""

    def __init__(self, town: Town) -> None:
        self._town = town

    @cached_property
    def mesh(self) -> bytes:
        """The mesh itself."""
        return navmesh.load_navigation_mesh(self._town)

    @property
    def files(self) -> list[str]:
        """The files a client needs: none in a town without sidewalks."""
        return [self.path] if self.mesh else []

    @cached_property
    def path(self) -> str:
        """The name clients keep it under; every mesh has another."""
        digest = hashlib.sha256(self.mesh).hexdigest()[:16]
        name = "".join(c if c.isalnum() else "_" for c in self._town.name)
        return f"Carla/Maps/Nav/{name}-{digest}.bin"
