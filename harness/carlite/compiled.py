"""Compilation of the hot loops: numba, kept on disk, and IEEE arithmetic throughout.

`fastmath` stays off: equal seeds must give equal bytes in every process.

numba's own disk cache knows the source file of a function but not those of the functions and
constants built into it, so it would run yesterday's callee. The machine code here is kept under a
digest of a function's file and of all files of the house that file imports, directly or not.
Entries are written aside and moved into place whole, and bear a checksum: several servers may
start at once, and what is damaged is compiled again. What cannot be written is not missed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import re
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import compiler, serialize, types

from harness.carlite.folders import ensure_cache_folder

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

ROOT = Path(__file__).parents[2]
FOLDER = ensure_cache_folder() / "compiled"
LONGEST_UNUSED = 14 * 86400.0
"""Seconds after which an entry that was not loaded is removed."""

CHECKSUM = hashlib.sha256().digest_size
IMPORT = re.compile(r"^\s*from (harness[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)
VERSIONS = f"{sys.version} {np.__version__} {numba.__version__}"
untyped: Any = compiler.CompileResult, serialize.dumps
CompileResult, dumps = untyped

Listener = Callable[[str, bool], None]
_listeners: list[Listener] = []


def add_compile_listener(listener: Listener) -> None:
    """Report every function that is needed for the first time: its name, whether it was on disk.

    What was not on disk is compiled next.
    """
    _listeners.append(listener)


def compiled(function: Kernel) -> Kernel:
    """Compile `function` to machine code at its first call, or load it from the disk.

    It makes and returns no arrays: those it works on are its caller's, and no references to them
    are counted, which in hot loops would take a fifth of the time.
    """
    return _make_dispatcher(function, counts_references=False)


def allocating(function: Kernel) -> Kernel:
    """Compile a function that makes arrays, or returns them."""
    return _make_dispatcher(function, counts_references=True)


def _make_dispatcher(function: Kernel, *, counts_references: bool) -> Kernel:
    if function.__closure__:
        raise TypeError(f"{function.__qualname__}: what a closure holds is in no source file")
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": counts_references}
    dispatcher: Any = numba.njit(**options)(function)
    dispatcher._cache = MachineCodeCache(function, may_return_arrays=counts_references)
    return cast(Kernel, dispatcher)


class MachineCodeCache:
    """The machine code of one function on disk, as numba's dispatchers ask for it."""

    cache_path = str(FOLDER)

    def __init__(self, function: Callable[..., Any], *, may_return_arrays: bool) -> None:
        self._may_return_arrays = may_return_arrays
        self._name = f"{function.__module__.rsplit('.', 1)[-1]}.{function.__qualname__}"
        self._sources = compute_sources_digest(function.__module__)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the code for a signature, None if there is none fit to use."""
        code = self._load_code(signature, target)
        for listener in _listeners:
            listener(f"{self._name}{signature}", code is not None)
        return code

    def _load_code(self, signature: Any, target: Any) -> Any:
        target.refresh()
        path = self._build_code_path(signature, target.codegen())
        try:
            content = path.read_bytes()
            body = content[CHECKSUM:]
            if hashlib.sha256(body).digest() != content[:CHECKSUM]:
                return None
            code = CompileResult._rebuild(target, *pickle.loads(body))
        except Exception:  # whatever is wrong with the entry, the function can be compiled
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return code

    def save_overload(self, signature: Any, code: Any) -> None:
        """Keep the code for a signature for the next start."""
        if not self._may_return_arrays:
            self._refuse_lost_arrays(code)
        if code.library.has_dynamic_globals:
            return
        path = self._build_code_path(signature, code.codegen)
        body = dumps(code._reduce())
        part = path.with_name(f".{uuid.uuid4().hex}.part")
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            remove_stale_code(path.parent)
            try:
                part.write_bytes(hashlib.sha256(body).digest() + body)
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)

    def _refuse_lost_arrays(self, code: Any) -> None:
        """Refuse what returns arrays, or gets them from what it calls: they are never freed."""
        if has_array_type(code.signature.return_type):
            raise TypeError(f"{self._name}: what returns an array is to be @allocating")
        known = code.type_annotation
        for call, signature in known.calltypes.items():
            if getattr(call, "op", None) == "call" and has_array_type(signature.return_type):
                called = known.typemap[call.func.name]
                if isinstance(called, types.Dispatcher):
                    given = f"gets an array from {called.dispatcher.py_func.__qualname__}"
                    raise TypeError(f"{self._name}: what {given} is to be @allocating")

    def _build_code_path(self, signature: Any, codegen: Any) -> Path:
        key = f"{VERSIONS}\n{codegen.magic_tuple()}\n{self._sources}\n{self._name}\n{signature}"
        return FOLDER / f"{self._name}-{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def has_array_type(numba_type: Any) -> bool:
    """Return whether a value of a type is an array, or a tuple with one in it."""
    parts = getattr(numba_type, "types", ())
    return isinstance(numba_type, types.Array) or any(map(has_array_type, parts))


@functools.cache
def remove_stale_code(folder: Path) -> None:
    """Remove, once per process, what was not loaded for long."""
    oldest = time.time() - LONGEST_UNUSED
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()


@functools.cache
def compute_sources_digest(module: str) -> str:
    """Return a digest of a module's source and of all it imports from the house.

    Taken when the module is imported: what is edited later is not what runs.
    """
    modules, waiting = {module}, [module]
    while waiting:
        news = _find_house_imports(waiting.pop()) - modules
        modules |= news
        waiting += news
    digest = hashlib.sha256()
    for name in sorted(modules):
        digest.update(
            f"{name}\n{len(_read_module_source(name))}\n".encode() + _read_module_source(name)
        )
    return digest.hexdigest()


@functools.cache
def _find_house_imports(module: str) -> set[str]:
    """Return the modules of the house that one of them imports, or imports names from."""
    text = _read_module_source(module).decode()
    modules = set()
    for package, names in IMPORT.findall(text):
        modules |= {package, *(f"{package}.{name}" for name in re.findall(r"\w+", names))}
    return {name for name in modules if _read_module_source(name)}


@functools.cache
def _read_module_source(module: str) -> bytes:
    """Return the source of a module, empty where there is none."""
    path = ROOT.joinpath(*module.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        with contextlib.suppress(OSError):
            return file.read_bytes()
    return b""
