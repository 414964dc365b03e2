"""The implicit step inside someone else's training loop."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import stiffax as sx

PARAMS = {"w": np.asarray([[0.5, -1.0]], np.float32), "b": (np.float32(0.3),)}


def residuals(params):
    w, (b,) = params["w"], params["b"]
    return {"fit": jnp.tanh(w * b - 1.0), "small": jnp.stack([b**2 - 2.0])}


def loss(params):
    return sum(jnp.sum(r**2) for r in jax.tree.leaves(residuals(params)))


def walk(transform, params, steps, **functions):
    """The loop of an optax user."""

    @jax.jit
    def step(params, state):
        updates, state = transform.update(jax.grad(loss)(params), state, params, **functions)
        return optax.apply_updates(params, updates), state

    params = jax.tree.map(jnp.asarray, params)
    state, seen = transform.init(params), []
    for _ in range(steps):
        params, state = step(params, state)
        seen.append((params, state))
    return seen


@pytest.mark.parametrize(
    ("inner", "function"),
    [(sx.GaussNewton(), {"residual_fn": residuals}), (sx.Adam(rate=0.01, steps=30), {"value_fn": loss})],
    ids=["gauss-newton", "adam"],
)
def test_the_trajectory_is_that_of_minimise(inner, function):
    own: dict[str, Any] = {"residuals": residuals} if "residual_fn" in function else {"loss": loss}
    optimizer = sx.ImplicitEuler(inner, controller=sx.Constant(0.7))
    seen = walk(sx.optax.implicit_euler(0.7, inner), PARAMS, 6, **function)
    for steps in (1, 6):
        found = sx.minimise(**own, params=PARAMS, optimizer=optimizer, steps=steps, precision="float32")
        params, state = seen[steps - 1]
        assert jax.tree.structure(params) == jax.tree.structure(found.params)
        # the best parameters of minimise are the last ones here: the loss falls at every step
        for mine, theirs in zip(jax.tree.leaves(params), jax.tree.leaves(found.params), strict=True):
            assert np.asarray(mine) == pytest.approx(theirs, rel=2e-5, abs=2e-6)
        assert int(state.steps) == steps and int(state.refused) == 0
        assert float(state.value) == pytest.approx(found.loss, rel=1e-4)
        assert {name: int(n) for name, n in vars(state.work).items()} == found.work


def test_the_step_is_implicit_and_in_the_precision_of_the_parameters():
    inner = sx.LBFGS(tolerance=1e-5)
    (params, state), *_ = walk(sx.optax.implicit_euler(0.5, inner), PARAMS, 1, value_fn=loss)
    assert all(leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(params))
    slope = jax.grad(loss)(params)
    for new, old, g in zip(*(jax.tree.leaves(t) for t in (params, PARAMS, slope)), strict=True):
        assert np.asarray(new) == pytest.approx(np.asarray(old - 0.5 * g), abs=2e-5)
    assert float(state.defect) < 1e-3


def test_a_step_into_nothing_is_not_taken():
    broken = lambda p: jnp.where(p["w"][0, 0] == 0.5, loss(p), jnp.nan)
    transform = sx.optax.implicit_euler(0.5, sx.Adam(steps=2))
    (params, state), *_ = walk(transform, PARAMS, 1, value_fn=broken)
    assert eqx.tree_equal(params, jax.tree.map(jnp.asarray, PARAMS))
    assert (int(state.steps), int(state.refused)) == (0, 1)


def test_wrong_use_is_told():
    transform = sx.optax.implicit_euler(0.5)
    state = transform.init(PARAMS)
    with pytest.raises(sx.StiffaxError, match="exactly one of value_fn= "):
        transform.update(PARAMS, state, PARAMS)
    with pytest.raises(sx.StiffaxError, match="needs the parameters"):
        transform.update(PARAMS, state, residual_fn=residuals)
    with pytest.raises(sx.StiffaxError, match="residual_fn"):
        transform.update(PARAMS, state, PARAMS, value_fn=loss)
    with pytest.raises(sx.StiffaxError, match="positive"):
        sx.optax.implicit_euler(0.0)
