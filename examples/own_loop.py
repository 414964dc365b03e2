"""The implicit step in a training loop of your own: a plain equinox network, mini-batches, float32."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

import stiffax as sx

x = jnp.linspace(-3, 3, 400)
y = x * jnp.sin(3 * x)
network = eqx.nn.MLP("scalar", "scalar", width_size=40, depth=2, activation=jnp.tanh, key=jax.random.key(0))
params, still = eqx.partition(network, eqx.is_inexact_array)
transform = sx.optax.implicit_euler(alpha=30.0, inner=sx.GaussNewton())


def residuals(params, x, y):
    return (jax.vmap(eqx.combine(params, still))(x) - y) / jnp.sqrt(x.size)


@jax.jit
def step(params, state, x, y):
    updates, state = transform.update(params, state, params, residual_fn=lambda p: residuals(p, x, y))
    return optax.apply_updates(params, updates), state


state = transform.init(params)
for epoch in range(50):
    order = jax.random.permutation(jax.random.key(epoch), x.size)
    for batch in order.reshape(-1, 100):
        params, state = step(params, state, x[batch], y[batch])

error = float(jnp.linalg.norm(residuals(params, x, y)) / jnp.sqrt(jnp.mean(y**2)))
print(
    f"{int(state.steps)} steps; relative error {error:.1e}; proximal defect of the last step {float(state.defect):.2g}"
)
