"""The command line: ``resolvent fit``, ``predict``, ``tune``, ``evaluate``, ``inspect``, ..."""

from __future__ import annotations

import io
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line with the arguments of the process."""
    try:
        import rich  # noqa: F401 (only to see whether it is there)
        import safetensors  # noqa: F401 (as above)
        import typer  # noqa: F401 (as above)
    except ImportError as error:
        print(
            f"The command line needs the package {error.name}, which is not installed: "
            "pip install 'resolvent[cli]'",
            file=sys.stderr,
        )
        sys.exit(2)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # old code pages of Windows lack some letters
            stream.reconfigure(errors="replace")
    from resolvent.cli.app import app

    app(prog_name="resolvent")
