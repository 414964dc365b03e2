"""Domains written to plain dictionaries, ready for JSON, and read back."""

from dataclasses import fields
from typing import Any

from stiffax.errors import StiffaxError
from stiffax.problem.domains import AbstractDomain, Difference, Intersection, Product, Union
from stiffax.problem.names import nearest
from stiffax.problem.polygon import Polygon
from stiffax.problem.shapes import Ball, Box

KINDS = {kind.__name__: kind for kind in (Box, Ball, Polygon, Product, Union, Intersection, Difference)}


def to_spec(domain: AbstractDomain) -> dict[str, Any]:
    """The domain as a dictionary of lists, strings and numbers."""
    if KINDS.get(type(domain).__name__) is not type(domain):
        raise StiffaxError(f"{type(domain).__name__} cannot be written; the domains that can: {', '.join(KINDS)}.")
    written: dict[str, Any] = {"kind": type(domain).__name__}
    for field in fields(domain):  # type: ignore[arg-type]
        value = getattr(domain, field.name)
        written[field.name] = to_spec(value) if isinstance(value, AbstractDomain) else listed(value)
    return written


def from_spec(spec: dict[str, Any]) -> AbstractDomain:
    """The domain that `to_spec` wrote."""
    kind = KINDS.get(spec.get("kind", ""))
    if kind is None:
        raise StiffaxError(f"Unknown kind of domain {spec.get('kind')!r}.{nearest(str(spec.get('kind')), KINDS)}")
    known = [field.name for field in fields(kind)]
    if set(spec) != {"kind", *known}:
        raise StiffaxError(f"A {kind.__name__} is written with {', '.join(known)}; got {', '.join(spec)}.")
    domain = object.__new__(kind)  # what was written was checked when it was built: no constructor is asked again
    for name in known:
        value = spec[name]
        object.__setattr__(domain, name, from_spec(value) if isinstance(value, dict) else tupled(value))
    return domain


def listed(value: Any) -> Any:
    return [listed(item) for item in value] if isinstance(value, tuple) else value


def tupled(value: Any) -> Any:
    return tuple(tupled(item) for item in value) if isinstance(value, list) else value
