"""Compiled programs, kept in the user's cache folder and found again by the next process."""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
from jax.experimental.compilation_cache import compilation_cache

_OPTIONS = {
    "jax_persistent_cache_min_compile_time_secs": 0.2,
    "jax_persistent_cache_min_entry_size_bytes": 0,
}


def folder() -> Path:
    """Where compiled programs are kept; the environment variable STIFFAX_CACHE moves it."""
    if "STIFFAX_CACHE" in os.environ:
        return Path(os.environ["STIFFAX_CACHE"])
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "stiffax"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "stiffax"


@contextlib.contextmanager
def programs_kept() -> Iterator[bool]:
    """Inside, compiled programs are cached; says whether the folder is new. A user's own JAX cache is left alone."""
    if getattr(jax.config, "jax_compilation_cache_dir", None):
        yield False
        return
    before = {name: getattr(jax.config, name) for name in _OPTIONS}
    new = not folder().exists()
    _configure({"jax_compilation_cache_dir": str(folder())} | _OPTIONS)
    try:
        yield new
    finally:
        _configure({"jax_compilation_cache_dir": None} | before)


def _configure(options: dict[str, Any]) -> None:
    for name, value in options.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()


class Program:
    """A compiled function that knows how long its compiling took: once for every set of shapes."""

    def __init__(self, function: Callable):
        self.jitted, self.compiled, self.seconds = jax.jit(function), {}, 0.0

    def is_new_for(self, *arguments) -> bool:
        return _shapes(arguments) not in self.compiled

    def __call__(self, *arguments):
        shapes = _shapes(arguments)
        if shapes not in self.compiled:
            start = time.perf_counter()
            self.compiled[shapes] = self.jitted.lower(*arguments).compile()
            self.seconds += time.perf_counter() - start
        return self.compiled[shapes](*arguments)


def _shapes(arguments) -> tuple:
    return tuple((leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(arguments))
