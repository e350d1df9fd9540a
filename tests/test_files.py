"""Files are whole, or as they were."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path

import pytest

from harness.common.errors import UserError
from harness.common.files import write_whole


def test_a_place_is_made_and_a_file_replaced(tmp_path: Path) -> None:
    file = tmp_path / "new" / "map.xodr"
    for text in ("first", "zweite Fassung, größer"):
        write_whole(file, text)
        assert file.read_text(encoding="utf-8") == text
    assert list(file.parent.iterdir()) == [file]


def test_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    """In a child process: the limit that stands for the disk would be ours too."""
    file = tmp_path / "map.xodr"
    write_whole(file, "whole")
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        try:
            write_whole(file, "x" * 1000)
        except UserError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert file.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [file]


def test_where_no_file_can_be_the_problem_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"file/map.xodr: cannot be written \(File exists\)"):
        write_whole(tmp_path / "file" / "map.xodr", "text")
