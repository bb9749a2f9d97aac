"""Files: models that cannot run code, and data in the formats that people have.

`save` and `load` are the two that most programs need; both are also names of `resolvent` itself.
"""

from __future__ import annotations

from resolvent.io.errors import DataFileError, ModelFileError
from resolvent.io.model_file import load, save

__all__ = ["DataFileError", "ModelFileError", "load", "save"]
