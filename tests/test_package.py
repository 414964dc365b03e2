"""What a user installs: the wheel, unpacked alone and used from elsewhere."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(*command: str | Path, **options) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, **options)
    assert done.returncode == 0, f"{command} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder that holds the installed wheel and nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    (wheel,) = folder.glob("stiffax-*.whl")
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder / "site", wheel)
    return folder / "site"


def elsewhere(installed: Path, *command: str | Path) -> str:
    """Run a command in another folder, where only the installed wheel is stiffax."""
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    return run(*command, cwd=installed.parent, env=environment).stdout


def test_the_wheel_imports_and_knows_its_version(installed):
    answer = elsewhere(installed, sys.executable, "-c", "import stiffax; print(stiffax.__file__, stiffax.__version__)")
    file, version = answer.split()
    assert Path(file).is_relative_to(installed)
    assert version == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_the_wheel_holds_the_whole_package_and_nothing_else(installed):
    def files(folder: Path) -> set[str]:
        found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
        return {path.as_posix() for path in found if "__pycache__" not in path.parts}

    source = files(ROOT / "src" / "stiffax")
    assert "py.typed" in source
    assert files(installed / "stiffax") == source
    assert {path.name for path in installed.iterdir()} <= {"stiffax", "bin", next(installed.glob("*.dist-info")).name}


def test_references_of_the_zoo_are_package_data(installed):
    def references(folder: Path) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (folder / "zoo" / "references").iterdir() if path.is_file()}

    shipped = references(installed / "stiffax")
    assert any(name.endswith((".npz", ".json")) for name in shipped)
    assert shipped == references(ROOT / "src" / "stiffax")


def test_the_installed_command_runs(installed):
    assert "helmholtz-2d" in elsewhere(installed, installed / "bin" / "stiffax", "list")
