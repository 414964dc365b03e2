"""Evidence files: written case by case, so that a long measurement can stop anywhere and go on later."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from claims.claim import Claim, Row
from claims.machine import ROOT, commit, machine

FOLDER = ROOT / "docs" / "evidence"


def prove(claim: Claim, folder: Path = FOLDER, tell: Callable[[str], None] = print) -> None:
    """Measure the cases that have no row yet under the settings which the claim now states, writing after each."""
    path = folder / f"{claim.name}.json"
    rows = current_rows(claim, path)
    for number, case in enumerate(claim.cases, start=1):
        if find(rows, case) is not None:
            continue
        taken_at, source = datetime.now(UTC).isoformat(timespec="seconds"), commit()
        figures = dict(claim.measure(case))
        rows.append({"case": case, "figures": figures, "date": taken_at, "commit": source, "machine": machine()})
        write(path, claim, rows)
        tell(f"{claim.name} {number}/{len(claim.cases)} {json.dumps(case)}: {json.dumps(figures)}")


def objections(claim: Claim, folder: Path = FOLDER) -> Iterator[str]:
    """Everything that keeps the evidence in this folder from showing the claim; nothing when it is shown."""
    path = folder / f"{claim.name}.json"
    cure = f"run `make prove CLAIMS={claim.name}`"
    if not path.is_file():
        yield f"{claim.name} has no evidence; {cure}"
        return
    evidence = json.loads(path.read_text(encoding="utf-8"))
    if evidence["settings"] != as_json(claim.settings):
        yield f"{claim.name} was measured with other settings than it now states; {cure}"
        return
    measured = [find(evidence["rows"], case) for case in claim.cases]
    missing = [case for case, row in zip(claim.cases, measured, strict=True) if row is None]
    if missing:
        yield f"{claim.name} lacks {len(missing)} of its {len(claim.cases)} cases, first {missing[0]}; {cure}"
        return
    rows = [{**row["case"], **row["figures"]} for row in measured if row is not None]
    if not claim.holds(rows):
        yield f"{claim.name} does not hold: {claim.statement} The figures are in {path.name}."


def current_rows(claim: Claim, path: Path) -> list[dict[str, Any]]:
    """The rows of the file that still count: same settings, and a case which the claim still has."""
    if not path.is_file():
        return []
    evidence = json.loads(path.read_text(encoding="utf-8"))
    if evidence["settings"] != as_json(claim.settings):
        return []
    return [row for row in evidence["rows"] if row["case"] in as_json(list(claim.cases))]


def find(rows: Sequence[dict[str, Any]], case: Row) -> dict[str, Any] | None:
    return next((row for row in rows if row["case"] == as_json(case)), None)


def write(path: Path, claim: Claim, rows: Sequence[Row]) -> None:
    """Replace the file in one move, so that a kill leaves the old one or the new one."""
    evidence = {
        "claim": claim.name,
        "statement": claim.statement,
        "command": f"python -m claims {claim.name}",
        "settings": claim.settings,
        "rows": rows,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_text(json.dumps(evidence, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    os.replace(draft, path)


def as_json(value: Any) -> Any:
    """The value as it comes back from a file: tuples are lists there."""
    return json.loads(json.dumps(value))
