"""A student's file becomes a module: without its driver, with other sizes, and with its own line numbers."""

from __future__ import annotations

import sys
import textwrap
import traceback
from types import ModuleType

import pytest

from grader.exercises import loader
from grader.exercises.cuda_stand_in import CudaStandIn
from tests.run.made import ROOT

ENTRIES = ("single_step", "data_parallel_single_step", "pipeline_parallel_single_step")
HANDOUT = ROOT / "tests" / "corpus" / "correct" / "handout_form" / "assignment4.py"


@pytest.fixture(autouse=True)
def modules_and_paths_stay_as_they_were(monkeypatch):
    # The import statement looks in the dictionary that sys.modules was at first: change it, never replace it.
    replaced = ("__main__", "assignment4", "utils")
    before = {name: sys.modules[name] for name in replaced if name in sys.modules}
    for name in ("assignment4", "utils"):
        sys.modules.pop(name, None)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    yield
    for name in replaced:
        sys.modules.pop(name, None)
    sys.modules.update(before)


@pytest.fixture
def utils():
    """What the staff's functions do here: they say that they were called."""
    made = ModuleType("utils")
    made.calls = []
    made.init_distributed = lambda: (0, 0, 1)
    made.check = lambda *_: made.calls.append("check")
    made.compare_tensors = lambda *_, **__: made.calls.append("compare_tensors")
    made.create_batch = lambda *_, **__: ("inputs", "targets")
    made.create_layers = lambda *_: []
    return made


@pytest.fixture
def load(tmp_path, utils):
    """Loads a source; ``ran`` in it is a list that notes what was executed."""

    def load(source, sizes=(), rank=0, world_size=1, entries=ENTRIES):
        path = tmp_path / "assignment4.py"
        path.write_text(textwrap.dedent(source))
        return loader.load_functions(path, utils, dict(sizes), rank, world_size, False, entries)

    return load


STEPS = """
import torch.distributed as dist
from utils import *
ran = []
def single_step(seed=42, device="cuda"): ran.append("single_step"); return 1, 2
def data_parallel_single_step(seed=42, device="cuda"): ran.append("data_parallel"); return 3
"""


@pytest.mark.parametrize(
    "driver",
    [
        "initial_weight, updated_weight = single_step()",
        "if rank == 0:\n    w = single_step()[1]\nelse:\n    w = 0\nprint(w)",
        "dist.broadcast(None, src=0)",
        "import torch\ntorch.distributed.broadcast(None, src=0)",
        "import torch as t\nt.distributed.broadcast(None, src=0)",
        "import torch.distributed as td\ntd.broadcast(None, src=0)",
        "from torch import distributed as td\ntd.broadcast(None, src=0)",
        "from torch.distributed import destroy_process_group as done\ndone()",
        "compare_tensors(1, 2)",
        "import utils\nutils.compare_tensors(1, 2)",
        "def main():\n    single_step()\nmain()",
        "def report():\n    compare_tensors(1, 2)\ndef main():\n    report()\nmain()",
        "if rank == 0:\n    def run():\n        return single_step()\n    run()",
        "def cleanup():\n    dist.destroy_process_group()\ncleanup()",
        "class Trainer:\n    def run(self): return single_step()\nTrainer().run()",
        "class Trainer:\n    def run(self): return single_step()\ntrainer = Trainer()\ntrainer.run()",
        "for step in (single_step, data_parallel_single_step):\n    weight = step()\nprint(weight)",
        "for name, step in {'dp': data_parallel_single_step}.items():\n    print(name, step())",
        "results = {}\nresults['one'] = single_step()\nprint(results['one'])",
        "results = []\nresults.append(single_step())\nprint(results[0])",
        "class Results: pass\nResults.one = single_step()\nprint(Results.one)",
        "total = single_step()[1]\ntotal += 1\ndel total",
        "ok = True\nok &= compare_tensors(1, 2)\nassert ok",
        "with open('/dev/null') as null:\n    weight = single_step()\n    print(weight, file=null)",
        "try:\n    w = single_step()\nexcept ValueError:\n    raise\nelse:\n    print(w)\nfinally:\n    1",
        "while (weight := single_step()):\n    break\nprint(weight)",
        "weights = [step() for step in [single_step] if single_step()]\nprint(weights[0])",
        "def timed(f):\n    return f()\nweight = timed(single_step)\nprint(weight)",
        "def timed(name, f):\n    return f()\nweight = timed('dp', f=data_parallel_single_step)",
        "steps = [single_step, data_parallel_single_step]\nweights = [step() for step in steps]",
        "parts = {'one': single_step}\nout = {name: step() for name, step in parts.items()}\nprint(out)",
        "parts = {'one': single_step}\nout = {}\nfor name, step in parts.items():\n    out[name] = step()",
        "import sys\nprint('done')\nsys.exit(0)",
        "exit()",
        "raise SystemExit",
        "if __name__ == '__main__':\n    single_step()",
        "if __name__ == '__main__':\n    raise ValueError",
    ],
)
def test_the_driver_is_left_out(load, utils, driver):
    module = load(STEPS + driver + "\nafter = 'defined'\n")
    assert module.ran == []
    assert utils.calls == []
    assert module.after == "defined"
    assert module.single_step() == (1, 2)


def test_what_uses_a_name_of_the_driver_s_is_left_out_in_turn(load):
    module = load(
        STEPS
        + """
deep = data_parallel_single_step()
mine = deep[1:2]
for weight in mine:
    first = weight
shape = first.shape
"""
    )
    assert not {"deep", "mine", "weight", "first", "shape"} & vars(module).keys()


@pytest.mark.parametrize(
    ("source", "name", "value"),
    [
        ("def half(x):\n    return x // 2\nlocal = half(128)", "local", 64),
        ("if world_size > 1:\n    mode = 'many'\nelse:\n    mode = 'one'", "mode", "one"),
        ("try:\n    import no_such_module as fast\nexcept ImportError:\n    fast = None", "fast", None),
        ("gelu = str.upper", "gelu", str.upper),
        ("sizes = []\nfor size in (1, 2):\n    sizes.append(size)", "sizes", [1, 2]),
        ("main = lambda: 5\nfive = main()", "five", 5),
        ("def main():\n    return 7\nseven = main()", "seven", 7),
        ("config = {}\nconfig['lr'] = 0.5\nrate = config['lr']", "rate", 0.5),
        ("shapes = dict(a=1)\nsingle_step(shapes.get('a'))\none = shapes['a']", "one", 1),
        ("results = [single_step]", "ran", []),
        ("def traced(f):\n    return f\nsingle_step = traced(single_step)\nkept = 1", "kept", 1),
        (
            "from functools import partial\nstep = partial(single_step)\nname = step.func.__name__",
            "name",
            "single_step",
        ),
        ("group = dist.is_initialized() and dist.new_group([0])", "group", False),
        ("def setup():\n    return dist.is_available()\nready = setup()", "ready", True),
    ],
)
def test_what_functions_may_need_is_kept(load, source, name, value):
    assert getattr(load(STEPS + source), name) == value


def test_a_set_up_function_that_the_driver_shares_does_not_cost_rank_and_world_size(load):
    module = load(
        STEPS
        + """
def setup():
    single_step()
    return 0, 1
rank, world_size = setup()
local_batch_size = 128 // world_size
""",
        rank=1,
        world_size=4,
    )
    assert (module.rank, module.world_size, module.local_batch_size) == (1, 4, 32)


def test_the_handout_s_file_loads_without_running_anything(utils):
    steps = (*ENTRIES, "deep_single_step", "row_parallel_single_step", "full_column_parallel_single_step")
    with CudaStandIn():
        module = loader.load_functions(HANDOUT, utils, {"input_dim": 8}, 1, 2, False, steps)
    assert utils.calls == []
    assert (module.rank, module.world_size, module.local_batch_size, module.input_dim) == (1, 2, 64, 8)
    assert "deep_weights" not in vars(module)
    assert callable(module.gelu)


@pytest.mark.parametrize(
    "constants",
    [
        "global_batch_size = 128\ninput_dim = 64",
        "global_batch_size: int = 128\ninput_dim: int = 64",
        "global_batch_size, input_dim = 128, 64",
        "[global_batch_size, input_dim] = [128, 64]",
        "global_batch_size = other = 128\n(input_dim, output_dim) = (64, 32)",
        "if True:\n    global_batch_size = 128\n    input_dim = 64",
        "try:\n    global_batch_size = 128\nfinally:\n    input_dim = 64",
        "import os\nglobal_batch_size = int(os.environ.get('BATCH', 128))\ninput_dim = 64",
        "global_batch_size = 12\nglobal_batch_size = 128\ninput_dim = 64",
    ],
)
def test_sizes_are_replaced_where_they_are_assigned_and_what_derives_from_them_follows(load, constants):
    module = load(
        constants + "\nlocal_batch_size = global_batch_size // world_size\ndouble = 2 * input_dim\n",
        {"global_batch_size": 12, "input_dim": 6},
        world_size=4,
    )
    assert (module.global_batch_size, module.local_batch_size, module.double) == (12, 3, 12)


def test_only_module_level_constants_are_replaced(load):
    module = load(
        "def f():\n    input_dim = 5\n    return input_dim\nclass C:\n    input_dim = 5\n", {"input_dim": 6}
    )
    assert (module.f(), module.C.input_dim) == (5, 5)
    assert "input_dim" not in vars(module)


def test_a_student_s_own_staff_functions_give_way(load, utils):
    module = load(
        """
        def check(tensor, shape): raise AssertionError
        if True:
            def compare_tensors(a, b, tol=1, prefix=""): return True
        try:
            from nowhere import create_batch
        except ImportError:
            def create_batch(*_): return "own"
        class Own:
            def check(self): return "a method stays"
        """
    )
    module.check(1, 2)
    assert utils.calls == ["check"]
    assert module.compare_tensors is utils.compare_tensors
    assert module.create_batch is utils.create_batch
    assert module.Own().check() == "a method stays"


def test_line_numbers_are_those_of_the_file(load):
    module = load(
        """\
        from utils import check
        input_dim, output_dim = 64, 32
        def check(a, b):
            pass
        single_step = None
        def f():
            return 1 / 0
        """,
        {"input_dim": 3},
    )
    with pytest.raises(ZeroDivisionError) as error:
        module.f()
    last = traceback.extract_tb(error.value.__traceback__)[-1]
    assert (last.lineno, last.line, last.name) == (7, "return 1 / 0", "f")


def test_the_file_may_have_any_line_ends_and_a_declared_encoding(tmp_path, utils):
    path = tmp_path / "assignment4.py"
    path.write_bytes(b"# -*- coding: latin-1 -*-\r\nname = '\xe9'\r\ndef f():\r\n    return name\r\n")
    assert loader.load_functions(path, utils, {}, 0, 1, False).f() == "é"


def test_a_syntax_error_names_the_file(load, tmp_path):
    with pytest.raises(SyntaxError) as error:
        load("x = (\n")
    assert error.value.filename == str(tmp_path / "assignment4.py")


def test_the_whole_file_runs_as_main_with_its_driver(tmp_path, utils, capsys):
    path = tmp_path / "assignment4.py"
    path.write_text(
        "import sys\nfrom utils import compare_tensors\nseed = 42\n"
        "def main():\n    compare_tensors(1, 2)\n    print(seed, sys.argv[0], __file__)\n"
        "if __name__ == '__main__':\n    main()\n"
    )
    loader.run_whole_file(path, utils, {"seed": 7})
    assert utils.calls == ["compare_tensors"]
    assert capsys.readouterr().out == f"7 {path} {path}\n"
