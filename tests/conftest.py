import os
import signal
import threading

import pytest
from hypothesis import settings

# Helpers that assert for tests: a failure shows the values, as it does in a test itself.
pytest.register_assert_rewrite("answers", "searches")

# No examples are looked for in these files: to --doctest-modules they are one module many times.
collect_ignore_glob = ["*conftest.py"]

# No deadline: the first example compiles. In CI no failure by the luck of the draw.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")

# Jobs in the background of a shell ignore Ctrl-C, and so would the processes that tests interrupt.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
