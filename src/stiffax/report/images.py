"""Where a figure may be written. Kept apart from the drawing, so that a wrong name is refused before a long run."""

from pathlib import Path

from stiffax.errors import StiffaxError

FORMATS = (".png", ".pdf", ".svg")


def image_path(path: str | Path) -> Path:
    """The path, checked to have a suffix that can be drawn and a folder that exists."""
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise StiffaxError(f"plot: {str(path)!r} does not end in {', '.join(FORMATS[:-1])} or {FORMATS[-1]}.")
    if path.is_dir():
        raise StiffaxError(f"plot: {path} is a folder; give the name of a file in it, such as {path / 'u.png'}.")
    if not path.parent.is_dir():
        raise StiffaxError(f"plot: no such folder: {path.parent}")
    return path
