"""Which file of a checkpoint folder holds the weights; torch is not needed to know."""

from __future__ import annotations

import re
from pathlib import Path

from harness.common.errors import UserError

BEST = re.compile(r"net_epoch_bestval_at(\d+)\.pth")
EPOCH = re.compile(r"net_epoch(\d+)\.pth")


def find_newest_weights(folder: Path) -> Path:
    """Return the file of the best epoch by validation, else of the last.

    Args:
        folder: a checkpoint's.

    Returns:
        The path of a `.pth` file in it.

    Raises:
        UserError: the folder has no weights.
    """
    for pattern in (BEST, EPOCH):
        epochs = {
            int(match[1]): path
            for path in folder.iterdir()
            if (match := pattern.fullmatch(path.name))
        }
        if epochs:
            return epochs[max(epochs)]
    raise UserError(f"{folder}: there is no net_epoch_bestval_at*.pth and no net_epoch*.pth")
