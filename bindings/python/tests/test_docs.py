"""What the documents promise: the example of the README, the examples, the bench, the conformance
scripts; and, where the tools are there, types and the wheel."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
SCRIPTS = os.environ.get("WQ_CONFORMANCE_DIR") or os.path.join(TOP, "..", "..", "tests",
                                                               "conformance")


def python(*arguments, **options):
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, timeout=300,
                          check=False, **options)
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    return done.stdout


def test_the_example_of_the_readme(tmp_path):
    with open(os.path.join(TOP, "README.md"), encoding="utf-8") as file:
        (program,) = re.findall(r"```python\n(.*?)```", file.read(), re.DOTALL)
    assert 10 <= len(program.split("\n")) <= 20
    assert python("-c", program, cwd=tmp_path) == b"b'hello' b'you'\nOK b'1'\n1 delayed\n"


def test_a_producer_and_a_worker(tmp_path):
    lines = [b"line %d" % i for i in range(250)] + [b"\xff"]
    examples = os.path.join(TOP, "examples")
    out = python(os.path.join(examples, "producer.py"), tmp_path / "s", "q",
                 input=b"\n".join(lines) + b"\n")
    assert out == b"enqueued 251\n"
    out = python(os.path.join(examples, "worker.py"), tmp_path / "s", "q")
    assert out.split(b"\n")[:-1] == [line.upper() for line in lines[:-1]]
    out = python(os.path.join(examples, "async_worker.py"), tmp_path / "s", "aio", 300)
    assert out == b"done 300\n"


def test_the_bench_counts_what_it_did(tmp_path):
    for batch in (1, 10):
        out = python(os.path.join(TOP, "bench", "bench.py"), "memory", batch, 500,
                     tmp_path / f"store{batch}")
        result = json.loads(out)
        assert result["jobs"] == result["delivered"] == result["acked"] == 500


def scripts():
    if not os.path.isdir(SCRIPTS):
        return []
    return sorted(n for n in os.listdir(SCRIPTS) if n.endswith(".ops"))


@pytest.mark.skipif(not scripts(), reason="tests/conformance is not there")
def test_there_are_conformance_scripts():
    assert len(scripts()) >= 20


@pytest.mark.parametrize("name", scripts())
def test_conformance(tmp_path, name):
    out = python(os.path.join(HERE, "conformance.py"), tmp_path, os.path.join(SCRIPTS, name))
    with open(os.path.join(SCRIPTS, name[:-4] + ".out"), "rb") as file:
        wanted = file.read()
    assert out.decode().split("\n") == wanted.decode().split("\n")


def test_a_script_that_can_not_be_run_is_told(tmp_path):
    script = tmp_path / "bad.ops"
    for text in ("open\nfly\n", "open\nenqueue q=none payload=\"x\"\n", "open store=\"\n"):
        script.write_text(text)
        done = subprocess.run([sys.executable, os.path.join(HERE, "conformance.py"),
                               str(tmp_path), str(script)], capture_output=True, check=False)
        assert done.returncode == 2 and b"bad.ops" in done.stderr


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_types(tmp_path, is_long):
    if not is_long:
        pytest.skip("in the long mode only")
    # The source, as users see it: --strict with no exceptions but the compiled module.
    config = os.path.join(TOP, "pyproject.toml")
    python("-m", "mypy", "--config-file", config, "--cache-dir", tmp_path / "cache",
           os.path.join(TOP, "wq"), cwd=TOP)


def test_the_wheel(tmp_path, is_long):
    """pip makes a wheel without an index, and what is installed from it works by itself."""
    if not is_long:
        pytest.skip("in the long mode only")
    if importlib.util.find_spec("pip") is None or importlib.util.find_spec("wheel") is None:
        pytest.skip("pip or wheel is not installed")
    source = tmp_path / "source"
    shutil.copytree(TOP, source, ignore=shutil.ignore_patterns("tests", "__pycache__"))
    python("-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w",
           tmp_path / "wheels", source)
    (wheel,) = (tmp_path / "wheels").iterdir()
    python("-m", "pip", "install", "--no-deps", "--no-index", "--target", tmp_path / "site", wheel)
    clean = dict(os.environ, PYTHONPATH=str(tmp_path / "site"))
    out = python("-c", "import wq; print(wq.__file__, wq.version())", cwd=tmp_path, env=clean)
    assert str(tmp_path / "site").encode() in out
    assert (tmp_path / "site" / "wq" / "py.typed").exists()
