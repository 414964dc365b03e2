"""The controller not to train with: as many attempts by the gain ratio and by the local error in time."""

import sys

import stiffax as sx

ATTEMPTS = 150
CONTROLLERS = {
    "GainRatio()": sx.GainRatio(),
    "PseudoTransient()": sx.PseudoTransient(),
    "LocalError(1e-1)": sx.LocalError(1e-1),
    "LocalError(1e-2)": sx.LocalError(1e-2),
    "LocalError(1e-3)": sx.LocalError(1e-3),
}


def row(problem: str, controller) -> str:
    """Attempts, the last α, the loss, and the error, at the last look within the attempts."""

    def watch(progress):
        if progress.steps + progress.refused >= ATTEMPTS:
            raise KeyboardInterrupt

    solution = sx.solve(
        sx.zoo.problem(problem), optimizer=sx.ImplicitEuler(controller=controller), callback=watch, time_limit=600
    )
    last = solution.facts.history[-1]
    return f"{last.steps + last.refused:8d} {last.refused:8d} {last.alpha:9.1e} {last.loss:9.1e} {last.error:9.1e}"


if __name__ == "__main__":
    problem = sys.argv[1] if len(sys.argv) > 1 else "helmholtz-2d"
    print(f"{problem}\n{'controller':20s} attempts  refused         α      loss     error")
    for name, controller in CONTROLLERS.items():
        print(f"{name:20s} {row(problem, controller)}", flush=True)
