"""Every claim has its evidence, made with the settings that it now states; and the machinery notices when not."""

import dataclasses
import json

import pytest

from claims.__main__ import main
from claims.catalogue import CLAIMS
from claims.claim import Claim
from claims.evidence import objections, prove


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_claim_has_evidence_that_bears_it_out(claim):
    assert list(objections(claim)) == []


def test_claims_have_different_names_and_cases():
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS)
    for claim in CLAIMS:
        assert len({json.dumps(case, sort_keys=True) for case in claim.cases}) == len(claim.cases) > 0


class Scale:
    """Measures squares and counts how often it is asked; may break down at one case."""

    def __init__(self, breaks_at: int | None = None):
        self.asked: list[int] = []
        self.breaks_at = breaks_at

    def __call__(self, case):
        if case["n"] == self.breaks_at:
            raise RuntimeError("broken")
        self.asked.append(case["n"])
        return {"square": case["n"] ** 2, "pair": (1, 2)}


def planted(scale: Scale, bound: int = 5) -> Claim:
    return Claim(
        name="squares",
        statement="Squares of small numbers are small.",
        settings={"bound": bound, "range": (0, 3)},
        cases=[{"n": n} for n in range(3)],
        measure=scale,
        holds=lambda rows: (
            [row["n"] ** 2 for row in rows] == [row["square"] for row in rows]
            and all(row["square"] < bound for row in rows)
        ),
    )


def silent(text: str) -> None:
    """Progress that nobody reads."""


def test_a_claim_that_is_measured_and_holds_has_no_objections(tmp_path):
    claim = planted(Scale())
    prove(claim, tmp_path, silent)
    assert list(objections(claim, tmp_path)) == []
    assert [path.name for path in tmp_path.iterdir()] == ["squares.json"]


def test_evidence_says_how_where_and_when(tmp_path):
    prove(planted(Scale()), tmp_path, silent)
    evidence = json.loads((tmp_path / "squares.json").read_text())
    assert evidence["command"] == "python -m claims squares"
    assert evidence["settings"] == {"bound": 5, "range": [0, 3]}
    for row in evidence["rows"]:
        assert row["figures"]["square"] == row["case"]["n"] ** 2
        assert row["commit"] == "unknown" or len(row["commit"].split()[0]) == 40
        assert row["date"][:2] == "20" and row["date"].endswith("+00:00")
        assert row["machine"].keys() == {"cpu", "cores", "memory_gib", "python", "jax", "accelerator"}
        assert row["machine"]["cores"] >= 1 and row["machine"]["memory_gib"] > 0.1 and row["machine"]["cpu"]


def test_a_missing_file_is_an_objection(tmp_path):
    (text,) = objections(planted(Scale()), tmp_path)
    assert "has no evidence" in text and "make prove CLAIMS=squares" in text


def test_changed_settings_are_an_objection_and_are_measured_anew(tmp_path):
    prove(planted(Scale(), bound=5), tmp_path, silent)
    scale = Scale()
    changed = planted(scale, bound=6)
    (text,) = objections(changed, tmp_path)
    assert "other settings" in text
    prove(changed, tmp_path, silent)
    assert scale.asked == [0, 1, 2]
    assert list(objections(changed, tmp_path)) == []


def test_figures_that_miss_the_claim_are_an_objection(tmp_path):
    claim = planted(Scale(), bound=4)
    prove(claim, tmp_path, silent)
    (text,) = objections(claim, tmp_path)
    assert "does not hold" in text and "Squares of small numbers are small." in text


def test_a_run_that_stopped_goes_on_where_it_was(tmp_path):
    with pytest.raises(RuntimeError, match="broken"):
        prove(planted(Scale(breaks_at=2)), tmp_path, silent)
    scale = Scale()
    claim = planted(scale)
    (text,) = objections(claim, tmp_path)
    assert "lacks 1 of its 3 cases" in text
    prove(claim, tmp_path, silent)
    prove(claim, tmp_path, silent)
    assert scale.asked == [2]
    assert list(objections(claim, tmp_path)) == []


def test_an_added_case_alone_is_measured_and_a_dropped_one_forgotten(tmp_path):
    prove(planted(Scale()), tmp_path, silent)
    scale = Scale()
    claim = dataclasses.replace(planted(scale, bound=5), cases=[{"n": -1}, {"n": 1}])
    prove(claim, tmp_path, silent)
    assert scale.asked == [-1]
    cases = [row["case"]["n"] for row in json.loads((tmp_path / "squares.json").read_text())["rows"]]
    assert sorted(cases) == [-1, 1]
    assert list(objections(claim, tmp_path)) == []


def test_an_unknown_name_is_wrong_use(capsys):
    assert main(["accuracy-default"]) == 2
    assert "accuracy-defaults" in capsys.readouterr().err
