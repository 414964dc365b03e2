"""`python -m claims [NAME ...]`: measure what is missing, then say which claims hold."""

import sys

from claims.catalogue import CLAIMS
from claims.evidence import objections, prove


def main(names: list[str]) -> int:
    """0 when all that was asked for holds, 1 when something does not or could not be measured, 2 for a wrong name."""
    known = {claim.name: claim for claim in CLAIMS}
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no such claim: {', '.join(unknown)}. Known: {', '.join(known)}.", file=sys.stderr)
        return 2
    faults = []
    for claim in [known[name] for name in names] or CLAIMS:
        try:
            prove(claim)
        except Exception as error:  # one claim that cannot be measured does not keep the others from it
            faults.append(f"{claim.name} stopped: {type(error).__name__}: {error}")
        else:
            faults += objections(claim)
    print("\n".join(faults) if faults else "all claims hold")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
