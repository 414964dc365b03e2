"""A `Run` written down, atomically and without pickle: arrays in one file, everything else as JSON in it."""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from stiffax.errors import StiffaxError
from stiffax.records import Row, Run

CHECKPOINT, SETTINGS = "checkpoint.npz", "run.json"


def write(folder: Path, run: Run, facts: dict[str, Any], history: list[Row]) -> None:
    """Replace the folder's checkpoint in one move: a kill at any moment leaves the old one or the new one."""
    arrays = {f"leaf{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(run))}
    text = json.dumps(facts | {"history": [dataclasses.asdict(row) for row in history]})
    new = folder / (CHECKPOINT + ".new")
    with open(new, "wb") as file:
        np.savez(file, allow_pickle=False, facts=np.frombuffer(text.encode(), np.uint8), **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, folder / CHECKPOINT)


@dataclasses.dataclass(frozen=True)
class Saved:
    run: Run
    history: list[Row]


def facts(folder: Path) -> dict[str, Any] | None:
    """What was written beside the run; None where there is no checkpoint yet."""
    path = folder / CHECKPOINT
    if not path.exists():
        return None
    with np.load(path) as file:
        return json.loads(bytes(file["facts"]).decode())


def read(folder: Path, like: Run) -> Saved:
    """The checkpoint, in the shape of `like`."""
    path = folder / CHECKPOINT
    leaves, tree = jax.tree.flatten(like)
    with np.load(path) as file:
        history = [Row(**row) for row in json.loads(bytes(file["facts"]).decode())["history"]]
        found = [file[f"leaf{i}"] for i in range(len(leaves)) if f"leaf{i}" in file]
        extra = len(file.files) - 1 - len(leaves)
    # the number of points may have grown since; everything else is as it began
    same = len(found) == len(leaves) and found[0].shape == leaves[0].shape
    pairs = zip(found, map(np.asarray, leaves), strict=False)
    if extra or not same or any((a.shape[1:], a.dtype) != (b.shape[1:], b.dtype) for a, b in pairs):
        raise StiffaxError(f"{path} belongs to another problem, network or optimizer: its arrays have other shapes.")
    return Saved(jax.tree.unflatten(tree, [jnp.asarray(a) for a in found]), history)


def write_settings(folder: Path, settings: dict[str, Any]) -> None:
    """What the run was asked to do; written before anything is compiled."""
    new = folder / (SETTINGS + ".new")
    new.write_text(json.dumps(settings, indent=1))
    os.replace(new, folder / SETTINGS)


def read_settings(folder: Path) -> dict[str, Any]:
    path = folder / SETTINGS
    if not path.exists():
        raise StiffaxError(f"no run in {folder}: {SETTINGS} is missing. Give the folder of a run that had out=.")
    return json.loads(path.read_text())
