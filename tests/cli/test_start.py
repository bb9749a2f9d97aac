"""Help, version, and what is not imported before it is needed."""

import re
import subprocess
import sys

import resolvent


def test_help_has_an_example_each(run):
    code, out, _ = run("--help")
    assert code == 0
    commands = re.findall(r"^│ (\w+) ", out, flags=re.MULTILINE)
    assert {"fit", "predict", "evaluate", "inspect", "convert"} <= set(commands)
    for command in commands:
        code, out, _ = run(command, "--help")
        assert (code, f"Example: resolvent {command}" in out) == (0, True)


def test_help_is_quick():
    """It imports none of the slow libraries."""
    code = (
        "import sys; sys.argv = ['resolvent', '--help']\n"
        "from resolvent.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([name for name in ('numba', 'sklearn', 'scipy', 'pandas') if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert out.splitlines()[-1] == "[]"


def test_import_stays_light():
    code = (
        "import sys, resolvent; print([n for n in ('typer', 'rich', 'safetensors', 'numpy') "
        "if n in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert out == "[]\n"


def test_without_the_extra():
    code = (
        "import sys; sys.modules['typer'] = None\nfrom resolvent.cli import main\n"
        "sys.argv = ['resolvent']\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.strip().endswith("pip install 'resolvent[cli]'")


def test_version(run):
    assert run("--version")[:2] == (0, f"resolvent {resolvent.__version__}\n")
