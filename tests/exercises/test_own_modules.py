"""The modules beside a student's file: found first, with the case's sizes, and hidden from everybody else."""

from __future__ import annotations

import importlib
import sys
import textwrap
import traceback
from pathlib import Path
from types import ModuleType

import pytest

from grader.exercises import loader, staff
from grader.exercises.own_modules import OwnModules
from grader.run.clean_slate import CleanSlate
from tests.run.made import STAFF_UTILS

SIZES = {"global_batch_size": 12, "input_dim": 6, "seed": 7}
CONFIG = "global_batch_size = 128\ninput_dim, output_dim = 64, 32\nseed: int = 42\ntwice = 2 * input_dim\n"


@pytest.fixture(autouse=True)
def slate(tmp_path):
    made = CleanSlate(tmp_path)
    replaced = {name: sys.modules.get(name) for name in ("__main__", "assignment4", "utils", "staff_utils")}
    yield made
    made.wipe()
    for name, module in replaced.items():
        sys.modules.pop(name, None)
        if module is not None:
            sys.modules[name] = module


@pytest.fixture
def load(tmp_path):
    """Loads assignment4.py as a rank does; ``files`` are written beside it first."""

    def load(source, sizes=SIZES, whole=False, **files):
        for name, text in files.items():
            path = tmp_path.joinpath(*name.split("__in__")[::-1]).with_suffix(".py")
            path.parent.mkdir(exist_ok=True)
            path.write_text(textwrap.dedent(text))
        path = tmp_path / "assignment4.py"
        path.write_text(textwrap.dedent(source))
        ours = staff.load_staff_utils(STAFF_UTILS)
        own = OwnModules(tmp_path, sizes, ours)
        own.install()
        utils = staff.utils_for(tmp_path, ours, own)
        if whole:
            loader.run_whole_file(path, utils, sizes, own.renamed)
            return sys.modules["__main__"]
        return loader.load_functions(path, utils, sizes, 0, 1, False, (), own.renamed)

    return load


FORMS = {
    "star": "from config import *\nfound = (global_batch_size, input_dim, output_dim, seed, twice)",
    "names": "from config import global_batch_size as b, input_dim, output_dim, seed as s, twice\n"
    "found = (b, input_dim, output_dim, s, twice)",
    "module": "import config as c\nfound = (c.global_batch_size, c.input_dim, c.output_dim, c.seed, c.twice)",
}


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_sizes_in_a_module_of_their_own_are_those_of_the_case(load, form, whole):
    assert load(FORMS[form], whole=whole, config=CONFIG).found == (12, 6, 32, 7, 12)


def test_sizes_reach_modules_that_import_modules_and_late_imports(load):
    module = load(
        "from model import width\ndef late():\n    from depth import input_dim\n    return input_dim",
        config=CONFIG,
        model="from config import input_dim\nwidth = input_dim",
        depth="input_dim = 64",
    )
    assert (module.width, module.late()) == (6, 6)


def test_sizes_in_the_student_s_own_utils_are_those_of_the_case(load):
    module = load(
        "from utils import *\nfound = (input_dim, twice, check.__module__)",
        config=CONFIG,
        utils="from config import twice\ninput_dim = 64\ndef check(*_): pass",
    )
    assert module.found == (6, 12, "staff_utils")


@pytest.mark.parametrize("file", ["part__in__parts", "part__in__trace"])
def test_packages_and_relative_imports_work(load, file):
    package = file.split("__in__")[1]
    module = load(
        f"""
        import {package}.part
        import {package}.part as p, {package} as q
        from {package} import top
        from {package}.part import width
        same = {package}.part is p is q.part
        """,
        **{
            file: "from . import config\nwidth = config.input_dim",
            f"config__in__{package}": CONFIG,
            f"__init____in__{package}": "from .part import width as top",
        },
    )
    assert (module.width, module.top, module.same) == (6, 6, True)


def test_a_folder_without_an_init_is_a_package_too_and_gets_the_next_case_s_sizes(load, slate):
    files = {"part__in__loose": CONFIG}
    source = "from loose import part\nfound = part.input_dim"
    assert load(source, **files).found == 6
    slate.wipe()
    assert load(source, {"input_dim": 9}, **files).found == 9


@pytest.mark.parametrize("name", ["profile", "statistics", "queue", "trace", "code", "test", "calendar"])
@pytest.mark.parametrize("whole", [False, True])
def test_a_module_that_has_a_standard_one_s_name_is_found_by_the_student_s_files_alone(
    load, slate, tmp_path, name, whole
):
    standard = importlib.import_module(name) if name != "trace" else None
    own = f"input_dim = 64\ndef mine(): return 'mine'\nimport {name}\nassert {name}.mine"
    module = load(
        f"""
        import os, {name}, {name} as again
        from helper import theirs
        from {name} import *
        def late():
            import {name}
            return {name}
        found = ({name}.mine(), theirs(), mine(), again.input_dim, late() is {name}, os.sep)
        """,
        whole=whole,
        **{name: own, "helper": f"import {name}\ndef theirs(): return {name}.mine()"},
    )
    assert module.found == ("mine", "mine", "mine", 6, True, "/")
    others = importlib.import_module(name)  # torch, say, for the first time or once more
    assert standard is None or others is standard
    assert not str(others.__file__).startswith(str(tmp_path))
    slate.wipe()
    assert not [found for found in sys.modules.values() if str(tmp_path) in str(vars(found).get("__file__"))]
    assert sys.modules[name] is others


def test_a_module_may_be_reloaded(load):
    module = load(
        "import importlib, config, profile\n"
        "again = importlib.reload(config), importlib.reload(profile)\n"
        "found = (config.input_dim, again[0] is config, again[1] is profile, profile.own)",
        config=CONFIG,
        profile="own = True",
    )
    assert module.found == (6, True, True, True)


@pytest.mark.parametrize("name", ["torch", "numpy", "json", "sys", "utils", "grader"])
def test_what_must_not_be_hidden_is_not(load, tmp_path, name):
    (tmp_path / f"{name}.py").write_text("raise SystemExit\n" if name != "utils" else "hidden = 1\n")
    before = sys.modules[name] if name != "utils" else None
    module = load(f"import {name} as it\nimport torch\none = torch.ones(1)")
    assert module.it is (before or sys.modules["utils"])
    assert OwnModules(tmp_path, {}, ModuleType("none")).find_spec(name) is None


def test_a_module_comes_before_an_installed_one_of_its_name(load, tmp_path_factory, monkeypatch):
    installed = tmp_path_factory.mktemp("installed")
    (installed / "layers.py").write_text("whose = 'installed'\n")
    monkeypatch.syspath_prepend(installed)
    assert load("import layers", layers="whose = 'own'").layers.whose == "own"


def test_each_case_gets_its_own_sizes_by_a_fresh_import(load, slate):
    source = "from config import input_dim\nimport profile\nrows = profile.input_dim"
    files = {"config": CONFIG, "profile": CONFIG}
    for width in (6, 9):
        module = load(source, {"input_dim": width}, **files)
        assert (module.input_dim, module.rows) == (width, width)
        slate.wipe()
    assert not any(isinstance(finder, OwnModules) for finder in sys.meta_path)


def test_a_copy_of_the_staff_s_functions_gives_way_and_what_is_another_thing_stays(load):
    module = load(
        "import common",
        common="""
        def create_batch(batch_size, input_dim, output_dim, seed=42, device="cuda"): return "own"
        def compare_tensors(tensor1, tensor2, tol=1e-5, prefix=""): return "own"
        def create_layers(weights): return "own"
        def check(name, *, fine): return "own"
        """,
    )
    common, utils = module.common, sys.modules["utils"]
    assert common.create_batch is utils.create_batch
    assert common.compare_tensors is utils.compare_tensors
    assert (common.create_layers([]), common.check("a", fine=True)) == ("own", "own")


@pytest.mark.parametrize("name", ["layers", "profile"])
def test_a_traceback_names_the_module_s_own_file_and_line(load, tmp_path, name):
    source = "input_dim, a = 64, 1\nimport profile\ndef f():\n    return 1 / 0\n"
    module = load(f"from {name} import f", **{name: source})
    with pytest.raises(ZeroDivisionError) as error:
        module.f()
    last = traceback.extract_tb(error.value.__traceback__)[-1]
    assert (last.filename, last.lineno, last.line) == (str(tmp_path / f"{name}.py"), 4, "return 1 / 0")


def test_a_syntax_error_in_a_module_names_its_file(load, tmp_path):
    with pytest.raises(SyntaxError) as error:
        load("import layers", layers="x = (\n")
    assert error.value.filename == str(tmp_path / "layers.py")


def test_a_cached_compilation_is_not_used_and_none_is_left(load, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "config.py").write_text(CONFIG)
    __import__("py_compile").compile(str(tmp_path / "config.py"))
    assert load("import config", config=CONFIG).config.input_dim == 6
    assert load("import depth", depth="input_dim = 1").depth.input_dim == 6
    assert [path.name.split(".")[0] for path in Path(tmp_path, "__pycache__").iterdir()] == ["config"]
