"""Where and from what a measurement was made."""

import functools
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]


def commit() -> str:
    """The commit that is checked out, marked when the code differs from it."""
    try:
        head = git("rev-parse", "HEAD")
        changed = git("status", "--porcelain", "--", "src", "claims", "pyproject.toml", "constraints.txt")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{head} with changes" if changed else head


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@functools.cache
def machine() -> dict[str, str | int | float]:
    return {
        "cpu": cpu(),
        "cores": os.cpu_count() or 0,
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "python": platform.python_version(),
        "jax": version("jax"),
        "accelerator": accelerator(),
    }


def cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def accelerator() -> str:
    """What JAX computes on, asked in a process of its own: one that holds a GPU would keep it from the measurements."""
    question = "import jax; device = jax.devices()[0]; print(device.platform, device.device_kind)"
    done = subprocess.run([sys.executable, "-c", question], capture_output=True, text=True)
    platform_name, _, kind = done.stdout.strip().partition(" ")
    return "none" if platform_name == "cpu" else kind or "unknown"
