"""main returns while threads are inside the library (exit_child.c): the process ends with 0, and
soon, and the next one opens its store. Usage: exit_test.py PROGRAM; WQ_ROUNDS=200 for more runs."""

import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else None
RUNS = int(os.environ.get("WQ_ROUNDS", "10"))
SECONDS = 60  # for what takes a fraction of one


class ExitTest(unittest.TestCase):
    def run_child(self, rounds, backend):
        environment = {**os.environ, **({"WQ_IO": backend} if backend else {})}
        with tempfile.TemporaryDirectory(prefix="wq-exit-") as directory:
            for run in range(RUNS):
                done = subprocess.run([PROGRAM, directory, str(rounds)], env=environment,
                                      check=False, capture_output=True, text=True, timeout=SECONDS)
                self.assertEqual((done.returncode, done.stderr), (0, ""), f"run {run}")

    def test_exit_at_once(self):
        self.run_child(0, None)

    def test_exit_at_once_with_threads_for_io(self):
        self.run_child(0, "thread")

    def test_threads_go_on_behind_the_last_destructor(self):
        self.run_child(20, None)

    def test_threads_go_on_behind_the_last_destructor_with_threads_for_io(self):
        self.run_child(20, "thread")


if __name__ == "__main__":
    unittest.main()
