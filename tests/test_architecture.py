"""The house keeps its order: rules over the syntax trees of the package, each tried on a planted violation."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "stiffax"

# From low to high: a module imports from rows above its own in this table, and from its own package or row.
LAYERS = (
    ("errors",),
    ("cache", "precision"),
    ("records", "batches"),
    ("system",),
    ("jets",),
    ("problem",),
    ("network",),
    ("zoo",),
    ("linear",),
    ("inner",),
    ("controllers",),
    ("integrators",),
    ("endings",),
    ("train", "checkpoint"),
    ("setting", "plan"),
    ("evaluate",),
    ("solution",),
    ("account",),
    ("solve", "minimise", "optax"),
    ("callbacks",),
    ("diagnostics",),
    ("report",),
    ("experiments",),
    ("cli", "request", "__init__", "__main__"),
)
LEVEL = {name: level for level, row in enumerate(LAYERS) for name in row}
PHYSICS = {"problem", "network", "zoo"}
OPTIMIZERS = {"linear", "inner", "integrators", "controllers"}
FAMILIES = {"zoo", "linear", "inner", "integrators", "controllers"}
# Module -> the layers that it may import late, because they are slow or stand above it.
DOORS = {"__init__": {"report", "experiments"}, "solution": {"report"}}
LOOPS = {"train", "linear", "inner", "diagnostics"}
CONFIGURES = {"cli", "cache"}
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc"}
FILE_LINES, FUNCTION_LINES = 320, 70

Rule = Callable[[ast.Module, str], Iterator[str]]


def layer(module: str) -> str:
    """The name in LAYERS of a module named relative to the package: `inner` for `inner.lbfgs` and `inner.__init__`."""
    return module.split(".")[0]


def imported(node: ast.AST, module: str) -> list[str]:
    """The modules of the package which this node imports, named relative to it: `zoo.base`, or `__init__`."""
    if isinstance(node, ast.Import):
        full = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        source = node.module or ""
        if node.level:
            above = ["stiffax", *module.split(".")][: -node.level]
            source = ".".join(above + ([source] if source else []))
        # `from stiffax import errors` names a module; `from stiffax.zoo import base` may: keep the longer name.
        full = [f"{source}.{alias.name}" for alias in node.names]
    else:
        return []
    inside = [name.split(".")[1:] for name in full if name.split(".")[0] == "stiffax"]
    return [".".join(parts) if parts and parts[0] in LEVEL else "__init__" for parts in inside]


def imports(tree: ast.AST, module: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        for target in imported(node, module):
            yield getattr(node, "lineno", 0), target


def is_door(module: str, target: str) -> bool:
    return layer(target) in DOORS.get(module, ())


def every_module_has_a_layer(tree: ast.Module, module: str) -> Iterator[str]:
    if layer(module) not in LEVEL:
        yield f"{module} has no row in LAYERS"


def imports_go_down(tree: ast.Module, module: str) -> Iterator[str]:
    here = LEVEL.get(layer(module), -1)
    for line, target in imports(tree, module):
        if LEVEL[layer(target)] > here and not is_door(module, target):
            yield f"line {line}: {module} imports {target}, which stands above it"


def wings_never_meet(tree: ast.Module, module: str) -> Iterator[str]:
    for line, target in imports(tree, module):
        pair = layer(module), layer(target)
        if any(a in PHYSICS and b in OPTIMIZERS for a, b in (pair, pair[::-1])):
            yield f"line {line}: {module} imports {target}: physics and optimizers meet in train only"


def siblings_are_strangers(tree: ast.Module, module: str) -> Iterator[str]:
    family = layer(module)
    if family not in FAMILIES or module.endswith(".__init__"):
        return
    for line, target in imports(tree, module):
        if layer(target) == family and target.split(".")[:2] != [family, "base"]:
            yield f"line {line}: {module} imports {target}; of its family it may import only {family}.base"


def imports_stand_at_the_top(tree: ast.Module, module: str) -> Iterator[str]:
    late = {
        id(node): node
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        or (isinstance(outer, ast.If) and "TYPE_CHECKING" in ast.unparse(outer.test))
        for node in ast.walk(outer)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    for node in late.values():
        targets = imported(node, module)
        if not targets or not all(is_door(module, target) for target in targets):
            yield f"line {node.lineno}: `{ast.unparse(node)}` is not at the top and is no named door"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__"):
            name = str(node.args[0].value) if node.args and isinstance(node.args[0], ast.Constant) else "?"
            if not is_door(module, name.removeprefix("stiffax.").lstrip(".")):
                yield f"line {node.lineno}: `{ast.unparse(node)}` imports by a call and is no named door"


def no_super(tree: ast.Module, module: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "super":
            yield f"line {node.lineno}: super()"


def names_say_something(tree: ast.Module, module: str) -> Iterator[str]:
    for part in module.split("."):
        if part.strip("_") in VAGUE:
            yield f"{module}: {part!r} names nothing; name the module after what it does"


def configuration_stays_with_the_caller(tree: ast.Module, module: str) -> Iterator[str]:
    if module in CONFIGURES:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "update":
            owner = ast.unparse(node.func.value)
            option = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else ""
            if owner == "jax.config" or (owner.endswith("config") and str(option).startswith("jax")):
                yield f"line {node.lineno}: `{ast.unparse(node)}` changes JAX for the whole process"
        elif isinstance(node, ast.Assign) and any(ast.unparse(t).startswith("jax.config.") for t in node.targets):
            yield f"line {node.lineno}: `{ast.unparse(node)}` changes JAX for the whole process"


def sizes_stay_in_budget(tree: ast.Module, module: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1 - docstring_lines(node)
            if lines > FUNCTION_LINES:
                yield f"line {node.lineno}: {node.name} has {lines} lines; {FUNCTION_LINES} is the budget"


def docstring_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    if ast.get_docstring(node, clean=False) is None:
        return 0
    return (node.body[0].end_lineno or 0) - node.body[0].lineno + 1


def only_abstract_classes_are_bases(tree: ast.Module, module: str) -> Iterator[str]:
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    ours = {node.name for node in classes}
    for node in ast.walk(tree):
        if imported(node, module) and isinstance(node, ast.Import | ast.ImportFrom):
            ours |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    for node in classes:
        for base in node.bases:
            names = ast.unparse(base.value if isinstance(base, ast.Subscript) else base).split(".")
            if names[0] in ours and not names[-1].lstrip("_").startswith("Abstract"):
                yield f"line {node.lineno}: {node.name} has the concrete base {names[-1]}"


def loops_live_in_few_places(tree: ast.Module, module: str) -> Iterator[str]:
    if layer(module) in LOOPS:
        return
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else []
        if (isinstance(node, ast.Attribute) and node.attr == "while_loop") or "while_loop" in names:
            yield f"line {getattr(node, 'lineno', 0)}: while_loop in {module}; a second training loop is a bug"


RULES: tuple[Rule, ...] = (
    every_module_has_a_layer,
    imports_go_down,
    wings_never_meet,
    siblings_are_strangers,
    imports_stand_at_the_top,
    no_super,
    names_say_something,
    configuration_stays_with_the_caller,
    sizes_stay_in_budget,
    only_abstract_classes_are_bases,
    loops_live_in_few_places,
)


def violations(package: Path, rule: Rule) -> list[str]:
    """What one rule has to say about every module of the package in this folder, each with its file."""
    found = []
    for path in sorted(package.rglob("*.py")):
        relative = path.relative_to(package)
        module = ".".join(relative.with_suffix("").parts)
        source = path.read_text(encoding="utf-8")
        found += [f"{relative}: {text}" for text in rule(ast.parse(source), module)]
        if rule is sizes_stay_in_budget and len(source.splitlines()) > FILE_LINES:
            found.append(f"{relative}: {len(source.splitlines())} lines; {FILE_LINES} is the budget")
    return found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_package_keeps_its_rules(rule):
    assert violations(PACKAGE, rule) == []


CONTRACT = "a contract\n" * 80
LONG = "def f():\n    " + "\n    ".join(f"x = {i}" for i in range(70))
PLANTED = [
    (every_module_has_a_layer, "cellar.py", ""),
    (every_module_has_a_layer, "cellar/wine.py", ""),
    (imports_go_down, "jets.py", "from stiffax.train import run"),
    (imports_go_down, "jets.py", "import stiffax.train"),
    (imports_go_down, "jets.py", "import stiffax as sx"),
    (imports_go_down, "jets.py", "from stiffax import Problem"),
    (imports_go_down, "problem/names.py", "from ..train import run"),
    (imports_go_down, "problem/__init__.py", "from stiffax import network"),
    (imports_go_down, "solution.py", "from stiffax.cli import main"),
    (wings_never_meet, "inner/newton.py", "from stiffax.problem import Problem"),
    (wings_never_meet, "zoo/heat.py", "from stiffax import integrators"),
    (wings_never_meet, "controllers/gain.py", "import stiffax.network.mlp"),
    (siblings_are_strangers, "zoo/wave.py", "from stiffax.zoo.heat import heat"),
    (siblings_are_strangers, "zoo/wave.py", "from stiffax.zoo import heat"),
    (siblings_are_strangers, "inner/newton.py", "from .adam import Adam"),
    (siblings_are_strangers, "inner/base.py", "from . import adam"),
    (imports_stand_at_the_top, "train.py", "def f():\n    import scipy"),
    (imports_stand_at_the_top, "train.py", "if TYPE_CHECKING:\n    from stiffax.errors import StiffaxError"),
    (imports_stand_at_the_top, "solution.py", "def f():\n    from stiffax.solve import solve"),
    (imports_stand_at_the_top, "zoo/__init__.py", "import importlib\nimportlib.import_module('stiffax.zoo.heat')"),
    (no_super, "train.py", "class A:\n    def f(self):\n        super().f()"),
    (names_say_something, "problem/utils.py", ""),
    (names_say_something, "_helpers/tree.py", ""),
    (configuration_stays_with_the_caller, "train.py", "import jax\njax.config.update('jax_enable_x64', True)"),
    (configuration_stays_with_the_caller, "train.py", "from jax import config\nconfig.update('jax_enable_x64', True)"),
    (configuration_stays_with_the_caller, "train.py", "import jax\njax.config.jax_enable_x64 = True"),
    (sizes_stay_in_budget, "train.py", LONG),
    (sizes_stay_in_budget, "train.py", "x = 1\n" * (FILE_LINES + 1)),
    (only_abstract_classes_are_bases, "train.py", "class Solver: ...\nclass Better(Solver): ..."),
    (only_abstract_classes_are_bases, "train.py", "from stiffax.system import Loss\nclass Mine(Loss[int]): ..."),
    (only_abstract_classes_are_bases, "train.py", "from stiffax import system\nclass Mine(system.Loss): ..."),
    (loops_live_in_few_places, "solve.py", "from jax import lax\nlax.while_loop(c, b, s)"),
    (loops_live_in_few_places, "network/mlp.py", "from jax.lax import while_loop"),
]
LAWFUL = [
    ("train.py", "from jax import lax\nfrom stiffax.system import AbstractLoss\nlax.while_loop(c, b, s)"),
    ("solution.py", "from stiffax.errors import StiffaxError\ndef plot():\n    from stiffax.report import figure"),
    ("zoo/__init__.py", "from stiffax.zoo.heat import heat\nfrom .wave import wave"),
    ("__init__.py", "from . import errors\nfrom .problem import Problem"),
    ("zoo/heat.py", "import numpy\nfrom stiffax.problem import Problem\nfrom stiffax.zoo.base import Entry"),
    ("cli.py", "import jax\nimport stiffax as sx\ndef main():\n    jax.config.update('jax_enable_x64', True)"),
    ("train.py", f'def f():\n    """{CONTRACT}"""\n    return 1'),
    ("records.py", "import equinox as eqx\nclass Run(eqx.Module): ...\nclass AbstractA: ...\nclass B(AbstractA): ..."),
    ("train.py", "settings = {}\nsettings.update(jax=1)\n"),
]


def plant(folder: Path, path: str, source: str) -> Path:
    file = folder / "stiffax" / path
    file.parent.mkdir(parents=True)
    file.write_text(source, encoding="utf-8")
    return folder / "stiffax"


@pytest.mark.parametrize(("rule", "path", "source"), PLANTED)
def test_a_planted_violation_is_reported(rule, path, source, tmp_path):
    (report,) = violations(plant(tmp_path, path, source), rule)
    assert report.startswith(path)


@pytest.mark.parametrize(("path", "source"), LAWFUL)
def test_lawful_source_is_left_alone(path, source, tmp_path):
    package = plant(tmp_path, path, source)
    assert [text for rule in RULES for text in violations(package, rule)] == []


def test_every_rule_has_been_seen_to_fail():
    assert {rule for rule, _, _ in PLANTED} == set(RULES)
