"""Which derivatives an equation reads, found by running it once; and where a Laplacian is enough."""

from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
from jax.extend import core

from stiffax.jets import Basis, Key
from stiffax.problem.fields import Here, Names, Place, Read, Recorder, Replay

Residual = Callable[[Here], jax.Array | list]
Coefficients = Mapping[str, jax.Array]


def read(residual: Residual, names: Names, coefficients: Coefficients, targets: int = 0) -> list[Read]:
    """Every derivative that the residual reads, in the order of first reading."""
    recorder = Recorder(names)
    zeros, target = jnp.zeros(len(names.coordinates)), jnp.zeros(targets)
    jax.eval_shape(lambda p, n, t, c: residual(Here(recorder, p, c, n, t)), zeros, zeros, target, coefficients)
    return recorder.reads


def plan(residual: Residual, names: Names, coefficients: Coefficients, targets: int = 0) -> tuple[Place, ...]:
    """What must be computed at each place that the residual reads."""
    reads = read(residual, names, coefficients, targets)
    sums = _sums(residual, names, coefficients, targets, reads)
    places = 1 + max((r.place for r in reads), default=0)
    return tuple(_place([r for r in reads if r.place == k], sums, names) for k in range(places))


def _place(reads: list[Read], sums: list[tuple[Read, ...]], names: Names) -> Place:
    asked = tuple(names.space) if any(r.laplacian for r in reads) else ()
    lead, silent = set(), set()
    for group in [g for g in sums if g[0] in reads]:
        axes = tuple(sorted(r.key[0] for r in group))
        if asked in ((), axes):
            asked = axes
            lead.add((group[0].field, group[0].key))
            silent.update((r.field, r.key) for r in group[1:])
    single = [r.key for r in reads if not r.laplacian and (r.field, r.key) not in lead | silent]
    basis = Basis.of(single, asked)
    if not basis.laplacian:  # every pure second derivative travels anyway
        return Place(Basis.of([r.key for r in reads if not r.laplacian] + list(basis.keys)))
    return Place(basis, frozenset(lead), frozenset(silent))


def _sums(residual, names, coefficients, targets, reads: list[Read]) -> list[tuple[Read, ...]]:
    """Groups of pure second derivatives of one field that enter only as their sum times one factor."""
    if sum(_is_pure_second(r.key) for r in reads) < 2:
        return []
    zeros = jnp.zeros(len(names.coordinates))

    def replayed(values, point, normal, target, factors):
        source = Replay(names, dict(zip(reads, values, strict=True)))
        return residual(Here(source, point, factors, normal, target))

    arguments = ([jnp.zeros(()) for _ in reads], zeros, zeros, jnp.zeros(targets), coefficients)
    jaxpr = jax.make_jaxpr(replayed)(*arguments).jaxpr
    watched = {v: r for v, r in zip(jaxpr.invars, reads, strict=False) if _is_pure_second(r.key)}
    groups = {}
    for var, factor in _linear_form(jaxpr, {v: {v: (1.0, ())} for v in watched}).items():
        groups.setdefault((watched[var].place, watched[var].field, factor), []).append(watched[var])
    return [tuple(g) for g in groups.values() if len(g) > 1]


def _is_pure_second(key: Key) -> bool:
    return len(key) == 2 and key[0] == key[1]


# A value is None where it does not depend on a watched variable, a dictionary {variable: factor} where it is a sum of
# watched variables times factors plus something independent, ESCAPED where a watched variable entered otherwise.
# A factor is (number, the independent values it is multiplied with, by the numbers of `_Numbering`).
ESCAPED = "escaped"


class _Numbering:
    """Equal computations on equal inputs get equal numbers, so that nu·u.xx and nu·u.yy show the same factor."""

    def __init__(self):
        self.numbers = {}

    def of(self, atom):
        key = ("literal", float(atom.val)) if isinstance(atom, core.Literal) else atom
        return self.numbers.setdefault(key, 1 + len(self.numbers))

    def factor(self, atom):
        return (float(atom.val), ()) if isinstance(atom, core.Literal) else (1.0, (self.of(atom),))

    def learn(self, eqn):
        inputs = tuple(self.of(atom) for atom in eqn.invars)
        settings = tuple(sorted((k, id(v) if hasattr(v, "jaxpr") else str(v)) for k, v in eqn.params.items()))
        for position, var in enumerate(eqn.outvars):
            self.numbers[var] = self.of((eqn.primitive.name, settings, inputs, position))


def _linear_form(jaxpr: core.Jaxpr, forms: dict) -> dict:
    """{watched variable: its factor in every output} for the ones that enter by sums and factors alone."""
    lost, numbering = set(), _Numbering()
    for eqn in jaxpr.eqns:
        inputs = [None if isinstance(a, core.Literal) else forms.get(a) for a in eqn.invars]
        if all(f is None for f in inputs):
            numbering.learn(eqn)
            continue
        factors = [numbering.factor(atom) for atom in eqn.invars]
        result = _RULES.get(eqn.primitive.name, _escape)(inputs, factors)
        if result is ESCAPED:
            lost.update(v for f in inputs if f for v in f)
        else:
            forms[eqn.outvars[0]] = result
    outputs = [{} if isinstance(a, core.Literal) else forms.get(a) or {} for a in jaxpr.outvars]
    reached = dict.fromkeys(v for form in outputs for v in form if v not in lost)
    return {v: tuple(form.get(v) for form in outputs) for v in reached}


def _escape(forms, factors):
    del forms, factors
    return ESCAPED


def _add(forms, factors, sign=1.0):
    del factors
    total = dict(forms[0] or {})
    for var, (number, names) in (forms[1] or {}).items():
        if var in total and total[var][1] != names:
            return ESCAPED
        total[var] = (total.get(var, (0.0, names))[0] + sign * number, names)
    return total


def _scaled(form, factor):
    return {v: (number * factor[0], tuple(sorted(names + factor[1]))) for v, (number, names) in form.items()}


def _multiply(forms, factors):
    if None not in forms:
        return ESCAPED
    return _scaled(forms[0], factors[1]) if forms[1] is None else _scaled(forms[1], factors[0])


def _divide(forms, factors):
    number, names = factors[1]
    return ESCAPED if forms[1] is not None or not number else _scaled(forms[0], (1 / number, tuple(-n for n in names)))


def _pass(forms, factors):
    del factors
    return forms[0]


_RULES = {
    "add": _add,
    "add_any": _add,
    "sub": lambda forms, factors: _add(forms, factors, -1.0),
    "neg": lambda forms, factors: _scaled(forms[0], (-1.0, ())),
    "mul": _multiply,
    "div": _divide,
    "convert_element_type": _pass,
    "copy": _pass,
}
