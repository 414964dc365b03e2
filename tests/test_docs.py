"""Every snippet of README and docs runs: Python and `stiffax` commands, in the order of the page, in one folder.

Write `<!-- not run: reason -->` on the line before a block to leave it out, and `<!-- file: name.py -->` to have its
text in the folder under that name as well, for commands further down.
"""

import inspect
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import typer
import typer.main

import stiffax as sx
from stiffax import cli

ROOT = Path(__file__).parents[1]
PAGES = [path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if path.is_file()]
SHELLS = ("console", "bash")
SHOWN = ("text", "json", "toml")
SECONDS = 150
START = "import sys; from stiffax.cli import main; sys.argv[0] = 'stiffax'; main()"
COMMANDS: dict[str, Any] = typer.main.get_command(cli.app).commands  # pyright: ignore[reportAttributeAccessIssue]
BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>not run|file): (?P<what>.+?) -->\n)?```(?P<language>[^\n]*)\n(?P<text>.*?)^```$", re.M | re.S
)


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    text: str
    mark: str | None
    what: str | None

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


@dataclass(frozen=True)
class Room:
    """Where the blocks of one page run, one after the other."""

    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(page, text.count("\n", 0, found.start("language")) + 1, *found.group("language", "text", "mark", "what"))
        for found in BLOCK.finditer(text)
    ]


def commands(text: str) -> list[list[str]]:
    """The `stiffax` command lines of a block, as words after `stiffax`."""
    lines = text.replace("\\\n", " ").splitlines()
    return [
        shlex.split(line.removeprefix("$ "), comments=True)[1:] for line in lines if re.match(r"(\$ )?stiffax ", line)
    ]


def play(block: Block, room: Room) -> None:
    if block.mark == "file":
        (room.folder / str(block.what)).write_text(block.text, encoding="utf-8")
    if block.language == "python":
        exec(compile("\n" * block.line + block.text, str(block.page), "exec"), room.names)
    elif block.language in SHELLS:
        for words in commands(block.text):
            command = [sys.executable, "-c", START, *words]
            done = subprocess.run(command, cwd=room.folder, capture_output=True, text=True, timeout=SECONDS)
            assert done.returncode == 0, f"stiffax {shlex.join(words)}: {done.stdout}\n{done.stderr}"


@pytest.fixture(scope="module")
def rooms(tmp_path_factory) -> dict[Path, Room]:
    return {page: Room(tmp_path_factory.mktemp(page.stem)) for page in PAGES}


@pytest.mark.parametrize("block", [block for page in PAGES for block in blocks(page)], ids=str)
def test_snippet_runs(block, rooms, monkeypatch):
    if block.mark == "not run":
        pytest.skip(f"{block}: {block.what}")
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.chdir(rooms[block.page].folder)
    play(block, rooms[block.page])


def test_readme_shows_a_script_and_a_command():
    readme = blocks(ROOT / "README.md")
    assert any(block.language == "python" for block in readme)
    assert any(commands(block.text) for block in readme if block.language in SHELLS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_snippet_escapes(page):
    assert {block.language for block in blocks(page)} <= {"python", *SHELLS, *SHOWN}
    assert len(blocks(page)) * 2 == len(re.findall(r"^\s*(```|~~~)", page.read_text(encoding="utf-8"), re.M))


def test_the_design_names_every_file_once():
    package = ROOT / "src" / "stiffax"
    files = [path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc" and path.stat().st_size]
    listed = re.findall(r"^- `([^`]+)`: ", (ROOT / "docs" / "design.md").read_text(encoding="utf-8"), re.M)
    assert sorted(listed) == sorted(path.relative_to(package).as_posix() for path in files)


def test_the_language_names_everything_that_users_write():
    page = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    public = [name for name, value in vars(sx).items() if inspect.isclass(value) or inspect.isfunction(value)]
    hidden = {"version", "source", "resuming"}  # not for users
    arguments = {name for call in (sx.solve, sx.minimise, sx.Problem) for name in inspect.signature(call).parameters}
    options = {
        option for command in COMMANDS.values() for p in command.params for option in p.opts if option[:2] == "--"
    }
    words = ({*public, *arguments} - hidden) | options
    assert [word for word in sorted(words) if not re.search(rf"(?<![\w-]){re.escape(word)}\b", page)] == []


def test_every_command_has_help_with_an_example():
    assert {"list", "show", "solve", "resume"} <= set(COMMANDS)
    for name, command in COMMANDS.items():
        assert re.search(rf"stiffax {name}\b", command.help or ""), f"`stiffax {name} --help` shows no example"


PAGE = """A page.

```python
x = 1
```

<!-- not run: needs a week -->
```python
x = 1 / 0
```

<!-- file: half.py -->
```python
half = x / 2
```

```console
$ make demo
$ stiffax solve half.py --set "eps = 1" \\
    --seed 3   # a comment
answer
stiffax list
```
"""


def test_a_page_is_read_as_its_reader_does(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    found = blocks(page)
    assert [(block.language, block.line) for block in found] == [
        ("python", 3),
        ("python", 8),
        ("python", 13),
        ("console", 17),
    ]
    assert [(block.mark, block.what) for block in found[1:3]] == [("not run", "needs a week"), ("file", "half.py")]
    assert commands(found[3].text) == [["solve", "half.py", "--set", "eps = 1", "--seed", "3"], ["list"]]
    room = Room(tmp_path)
    play(found[0], room)
    play(found[2], room)
    assert room.names["half"] == 0.5 and (tmp_path / "half.py").read_text() == "half = x / 2\n"


def test_a_wrong_snippet_fails_with_its_own_line(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    with pytest.raises(ZeroDivisionError) as caught:
        play(blocks(page)[1], Room(tmp_path))
    assert caught.traceback[-1].lineno + 1 == 9
