"""What every test relies on: compiled programs are kept between runs, and float64 is never switched on globally."""

import os
from pathlib import Path

import jax.numpy as jnp
import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Compiled programs of tests live beside pytest's own cache, not in the user's."""
    os.environ["STIFFAX_CACHE"] = str(config.cache.mkdir("stiffax"))  # pyright: ignore[reportOptionalMemberAccess]


@pytest.fixture(autouse=True)
def global_precision_is_untouched():
    """Users never switch float64 on, so no test may: whatever needs it enters JAX's context itself."""
    yield
    assert jnp.result_type(float) == jnp.float32, "float64 was switched on for the whole process"


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of data sets, which are too large for the repository."""
    named = os.environ.get("STIFFAX_DATA")
    if not named:
        pytest.skip("STIFFAX_DATA is not set: it names the folder of data sets")
    if not Path(named).is_dir():
        pytest.skip(f"STIFFAX_DATA names {named}, which is no folder")
    return Path(named)
