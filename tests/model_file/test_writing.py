"""A model file is written as a whole or not at all."""

import errno
import os
import stat
import subprocess
import sys

import pytest
from models import fitted

import resolvent


def failing(code):
    def fail(*args):
        raise OSError(code, os.strerror(code))

    return fail


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_full_disk_changes_nothing(call, saved, tmp_path, monkeypatch):
    path = tmp_path / "model"
    path.write_bytes(saved)
    monkeypatch.setattr(os, call, failing(errno.ENOSPC))
    with pytest.raises(OSError, match="No space left"):
        resolvent.save(fitted("regressor")[0], path)
    assert path.read_bytes() == saved
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
def test_device_that_is_full():
    with pytest.raises(OSError, match="No space left"):
        resolvent.save(fitted("regressor")[0], "/dev/full")


def test_devices_are_written_to_not_replaced(saved):
    command = "import resolvent, sys; resolvent.save(resolvent.load(sys.argv[1]), '/dev/stdout')"
    if not os.path.exists("/dev/stdout"):
        pytest.skip("the system has no /dev/stdout")
    import tempfile

    with tempfile.NamedTemporaryFile() as file:
        file.write(saved)
        file.flush()
        args = [sys.executable, "-c", command, file.name]
        output = subprocess.run(args, capture_output=True, check=True).stdout
    assert output == saved


def test_interrupt_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        resolvent.save(fitted("regressor")[0], tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links are POSIX")
def test_mode_and_links_are_kept(saved, tmp_path):
    path, link = tmp_path / "model", tmp_path / "link"
    path.write_bytes(b"")
    path.chmod(0o640)
    link.symlink_to(path)
    (tmp_path / "source").write_bytes(saved)
    resolvent.save(resolvent.load(tmp_path / "source"), link)
    assert link.is_symlink()
    assert path.read_bytes() == saved
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_directory_is_no_file(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a directory"):
        resolvent.save(fitted("regressor")[0], tmp_path)
