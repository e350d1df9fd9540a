"""Compilation of the hot loops: numba, kept on disk, and IEEE arithmetic throughout.

`fastmath` stays off: equal seeds must give equal bytes in every process.

numba's own disk cache knows the source file of a function but not those of the functions and
constants built into it, so it would run yesterday's callee. The machine code here is kept under a
digest of a function's file and of all files of the house that file imports, directly or not.
Entries are written aside and moved into place whole, and bear a checksum: several servers may
start at once, and what is damaged is compiled again. What cannot be written is not missed.
Processes that need the same function at the same time share the work: one compiles, the others
wait for its entry (decision 0078).
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import os
import pickle
import re
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import compiler, compiler_lock, registry, serialize, sigutils, types

from harness.carlite.folders import ensure_cache_folder

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

ROOT = Path(__file__).parents[__name__.count(".")]
"""The folder that `python -m` finds this package from."""
FOLDER = ensure_cache_folder() / "compiled"
LONGEST_UNUSED = 14 * 86400.0
"""Seconds after which an entry that was not loaded is removed."""

LONGEST_WAIT = 120.0
"""Seconds after which a function that another process compiles is compiled here as well."""
WAIT_STEP = 0.02
"""Seconds between two looks at whether the other process has finished."""

CHECKSUM = hashlib.sha256().digest_size
HOUSE = __name__.partition(".")[0]  # harness; carlite in its own distribution
IMPORT = re.compile(rf"^\s*from ({HOUSE}[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)
VERSIONS = f"{sys.version} {np.__version__} {numba.__version__}"
untyped: Any = compiler.CompileResult, serialize.dumps, types.unliteral
CompileResult, dumps, unliteral = untyped
normalize_signature: Any = sigutils.normalize_signature
CPUDispatcher: Any = registry.CPUDispatcher

Listener = Callable[[str, bool], None]
_listeners: list[Listener] = []
needed_entries: dict[str, str] = {}
"""Functions that were needed in this process, by the names of their files in `FOLDER`."""


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


def vectorised(function: Kernel) -> Kernel:
    """Compile a function that uses what it writes to an array through no other array.

    The compiler then makes vector instructions of loops over many arrays. It rounds as before:
    results do not depend on it.
    """
    return _make_dispatcher(function, counts_references=False, shares_memory=False)


def allocating(function: Kernel) -> Kernel:
    """Compile a function that makes arrays, or returns them."""
    return _make_dispatcher(function, counts_references=True)


def _make_dispatcher(
    function: Kernel, *, counts_references: bool, shares_memory: bool = True
) -> Kernel:
    if function.__closure__:
        raise TypeError(f"{function.__qualname__}: what a closure holds is in no source file")
    options: dict[str, Any] = {
        "nopython": True,
        "boundscheck": None,
        "nogil": True,
        "error_model": "numpy",
        "_nrt": counts_references,
        # no kernel is passed to C or to another kernel as a pointer
        "no_cfunc_wrapper": True,
    }
    dispatcher: Any = KernelDispatcher(function, options, shares_memory=shares_memory)
    return cast(Kernel, dispatcher)


def _forbid_shared_memory(flags: Any) -> Any:
    """Let the compiler take it that no two arrays of a function overlap."""
    flags.noalias = True
    return flags


class KernelDispatcher(CPUDispatcher):  # type: ignore[misc]  # numba has no types
    """A function that is compiled without an entry point for Python while only kernels call it.

    Such an entry point unpacks arguments. In the traffic's functions these are hundreds of arrays,
    and it takes longer to compile than what the functions compute. A function that Python calls
    later as well is compiled again.
    """

    def __init__(
        self, function: Callable[..., Any], options: dict[str, Any], *, shares_memory: bool = True
    ) -> None:
        super().__init__(function, targetoptions=options)
        if not shares_memory:
            # numba has this flag, and no option that sets it
            self._compiler._customize_flags = _forbid_shared_memory
        self._caches = {
            has_entry: MachineCodeCache(
                function, may_return_arrays=options["_nrt"], has_entry_point=has_entry
            )
            for has_entry in (True, False)
        }
        self._internal: set[Any] = set()
        self._choose_callers(from_python=True)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile for a kernel that calls this function.

        Constants among the arguments count as any value of their type: one compilation for all.
        """
        args = tuple(unliteral(arg) for arg in args)
        kws = {name: unliteral(arg) for name, arg in dict(kws).items()}
        self._choose_callers(from_python=False)
        try:
            return super().get_call_template(args, kws)
        finally:
            self._choose_callers(from_python=True)

    def compile(self, sig: Any) -> Any:
        """Return the entry point for a signature, compiled here or by another process."""
        args, _ = normalize_signature(sig)
        # numba's lock comes first: a thread that waits for it must not hold a file
        with compiler_lock.global_compiler_lock:
            if self._is_for_python and args in self._internal:
                self._internal.remove(args)
                del self.overloads[args]
            if args in self.overloads:
                return self.overloads[args].entry_point
            with self._cache.hold_entry(sig, self.targetctx.codegen()):
                return super().compile(sig)

    def add_overload(self, code: Any) -> None:
        """Take machine code into use; calls from Python reach only what has an entry point."""
        if self._is_for_python:
            super().add_overload(code)
            return
        args = tuple(code.signature.args)
        self.overloads[args] = code
        self._internal.add(args)

    def _choose_callers(self, *, from_python: bool) -> None:
        self._is_for_python = from_python
        self._cache = self._caches[from_python]
        self.targetoptions["no_cpython_wrapper"] = not from_python


class MachineCodeCache:
    """The machine code of one function on disk, as numba's dispatchers ask for it."""

    cache_path = str(FOLDER)

    def __init__(
        self, function: Callable[..., Any], *, may_return_arrays: bool, has_entry_point: bool
    ) -> None:
        self._may_return_arrays = may_return_arrays
        self._has_entry_point = has_entry_point
        self._name = f"{function.__module__.rsplit('.', 1)[-1]}.{function.__qualname__}"
        self._sources = compute_sources_digest(function.__module__)

    @contextlib.contextmanager
    def hold_entry(self, signature: Any, codegen: Any) -> Iterator[None]:
        """Let one process at a time compile for a signature; the others wait for its entry."""
        path = self._build_code_path(signature, codegen)
        lock_path = path.with_name(f".{path.name}.lock")
        lock = None if path.exists() else wait_for_lock(lock_path)
        try:
            yield
        finally:
            if lock is not None:
                lock_path.unlink(missing_ok=True)
                os.close(lock)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return the code for a signature, None if there is none fit to use."""
        code = self._load_code(signature, target)
        entry = self._build_code_path(signature, target.codegen()).name
        needed_entries[entry] = f"{self._name}{signature}"
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
        key = (
            f"{VERSIONS}\n{codegen.magic_tuple()}\n{self._sources}\n{self._name}\n{signature}\n"
            f"{self._has_entry_point}"
        )
        return FOLDER / f"{self._name}-{hashlib.sha256(key.encode()).hexdigest()[:32]}"


def wait_for_lock(path: Path) -> int | None:
    """Return a locked file; None if it cannot be had, or another process holds it for too long.

    The system lets go of the lock when its process ends, however it ends.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    deadline = time.monotonic() + LONGEST_WAIT
    while not take_lock(lock):
        if time.monotonic() > deadline:
            os.close(lock)
            return None
        time.sleep(WAIT_STEP)
    return lock


def take_lock(lock: int) -> bool:
    """Lock an open file unless another process holds it; return whether it is locked now."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


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
