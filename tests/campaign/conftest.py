"""What the campaigns need of the system."""

import importlib.util

# These bound and kill processes of their own, which only POSIX systems let them.
collect_ignore = (
    []
    if importlib.util.find_spec("resource")
    else ["faults.py", "files.py", "soak.py", "worker.py", "writing.py", "test_campaign_files.py"]
)
