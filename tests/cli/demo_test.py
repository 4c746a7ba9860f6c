"""scripts/demo.sh on small files: its table, its exit code, what it leaves behind, and that it
notices when something is lost, changed or made up."""

import os
import re
import stat
import subprocess
import unittest

from cli_case import DEADLINE_SECONDS, PROGRAM, CliCase

DEMO = os.environ.get("WQ_DEMO", "scripts/demo.sh")


class Demo(CliCase):
    def demo(self, data, program=PROGRAM):
        scratch = self.path("scratch")
        os.makedirs(scratch, exist_ok=True)
        done = subprocess.run([DEMO, program, self.file("input", data)], capture_output=True,
                              timeout=DEADLINE_SECONDS, env={**os.environ, "TMPDIR": scratch})
        self.assertEqual(os.listdir(scratch), [], "the demo left something behind")
        rows = {}
        for line in done.stdout.decode().splitlines():
            parts = line.split()
            for name in ("pushed", "handled", "lost", "changed", "dead"):
                number = parts[1].replace(",", "") if len(parts) > 1 else ""
                if parts[:1] == [name] and number.isdigit():
                    rows[name] = int(number)
        return done, rows

    def check_good(self, data, lines):
        done, rows = self.demo(data)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(rows, {"pushed": lines, "handled": lines, "lost": 0, "changed": 0,
                                "dead": 0})
        self.assertEqual(done.stdout.count(b" \n"), 0, done.stdout)
        return done.stdout.decode()

    def handled_before_the_kill(self, text):
        return int(re.search("SIGKILL to the worker after ([0-9,]+) lines", text)[1]
                   .replace(",", ""))

    def test_text(self):
        text = self.check_good(b"".join(b"line %d\n" % i for i in range(2000)), 2000)
        self.assertEqual(self.handled_before_the_kill(text), 1000)
        self.assertIn("jobs per second", text)
        self.assertIn("2,000", text)

    def test_a_small_file_is_half_done_too(self):
        text = self.check_good(b"".join(b"line %d\n" % i for i in range(40)), 40)
        self.assertEqual(self.handled_before_the_kill(text), 20)
        self.assertNotIn("jobs per second", text)
        text = self.check_good(b"a\nb\nc\n", 3)
        self.assertEqual(self.handled_before_the_kill(text), 1)

    def test_any_bytes_and_no_last_newline(self):
        data = (b"\xff\xfe\t\x00\r\n\n\n" + bytes(range(11, 256)) + b"\n") * 50 + b"last"
        self.check_good(data, 201)

    def test_one_line(self):
        self.check_good(b"alone\n", 1)

    def wrapper(self, body):
        """A program that is wq, but for what `body` does to a push."""
        script = (f'#!/bin/sh\nreal={PROGRAM}\nfor arg; do [ "$arg" != push ] || push=yes; done\n'
                  f'if [ -n "${{push:-}}" ]; then\n{body}\nfi\nexec "$real" "$@"\n')
        path = self.file("wq", script.encode())
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return path

    def test_a_lost_job_is_noticed(self):
        # The first job is removed behind the demo's back.
        done, rows = self.demo(b"a\nb\nc\n", self.wrapper(
            '"$real" "$@" || exit; "$real" --store "$2" --quiet cancel 1 >&2; exit'))
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(rows["lost"], 1)

    def test_a_foreign_job_is_noticed(self):
        done, rows = self.demo(b"a\nb\nc\n", self.wrapper(
            '"$real" "$@" || exit; "$real" --store "$2" --quiet push -q demo more >&2; exit'))
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(rows["changed"], 1)

    def test_changed_bytes_are_noticed(self):
        done, rows = self.demo(b"a\nb\nc\n", self.wrapper(
            'printf "a\\nB\\nc\\n" | "$real" --store "$2" --quiet push -q demo --ids; exit'))
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual((rows["lost"], rows["changed"]), (1, 1))

    def test_nothing_to_read(self):
        self.assertNotEqual(self.demo(b"")[0].returncode, 0)
        done = subprocess.run([DEMO, PROGRAM, self.path("nothing")], capture_output=True)
        self.assertIn(b"can not read", done.stderr)
        done = subprocess.run([DEMO, PROGRAM, self.dir], capture_output=True)
        self.assertIn(b"is a directory", done.stderr)
        self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main()
