"""A few seconds of the campaigns on damaged files and on interrupted writing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.campaign.files import SHARES, make_seeds, run

MODELS = ("classifier", "precomputed", "ridge", "SVC")


def test_damaged_files_are_refused_or_work(tmp_path):
    campaign = run(make_seeds(MODELS), 0, tmp_path, count=4000)
    assert not campaign.failures, "\n".join(campaign.failures.values())
    for group in SHARES:  # the campaign itself works: some files are refused, others are not
        assert campaign.counts[group, "refused"] > 10
        assert campaign.counts[group, "used"] > 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_saving_is_killed_or_has_no_room():
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "tests.campaign.writing", "--kills", "60"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert "60 kills" in done.stdout
    assert "full disks" in done.stdout
