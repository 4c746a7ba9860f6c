"""What the tests of the wq program share: a store of their own, a way to run the program, and waits
that end with a condition or a deadline. Nothing sleeps: commands under test say over pipes how far
they are."""

import base64
import json
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

PROGRAM = os.environ.get("WQ_PROGRAM", "wq")
DEADLINE_SECONDS = 50


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err.decode("utf-8", "replace")

    @property
    def lines(self):
        return self.out.decode("utf-8").splitlines()

    @property
    def json(self):
        return [json.loads(line) for line in self.lines]


class Running:
    """A program that was started and not waited for. Its standard output is read line by line."""

    def __init__(self, process):
        self.process = process
        self._buffer = b""

    def read_line(self):
        deadline = time.monotonic() + DEADLINE_SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if not selector.select(deadline - time.monotonic()):
                    raise AssertionError(f"no line in time; so far {self._buffer!r}")
                data = os.read(self.process.stdout.fileno(), 65536)
                if not data:
                    raise AssertionError(f"output ended after {self._buffer!r}, "
                                         f"errors: {self.process.stderr.read()!r}")
                self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line.decode("utf-8", "replace")

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, number):
        self.process.send_signal(number)

    def finish(self, stdin=None):
        out, err = self.process.communicate(stdin, timeout=DEADLINE_SECONDS)
        return Result(self.process.returncode, self._buffer + out, err)


class CliCase(unittest.TestCase):
    def setUp(self):
        parent = os.environ.get("TEST_TMPDIR")
        if parent:
            os.makedirs(parent, exist_ok=True)
        self.dir = tempfile.mkdtemp(prefix="wq-cli-", dir=parent)
        self.store = os.path.join(self.dir, "store")
        self._running = []

    def tearDown(self):
        for running in self._running:
            running.process.kill()
            running.process.wait()
            # Not read to their end: a command of a killed worker may hold the other side open.
            for pipe in (running.process.stdin, running.process.stdout, running.process.stderr):
                if pipe and not pipe.closed:
                    pipe.close()
        shutil.rmtree(self.dir)

    def path(self, name):
        return os.path.join(self.dir, name)

    def file(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def fifo(self, name):
        os.mkfifo(self.path(name))
        return self.path(name)

    def _command(self, args, store=True):
        return [PROGRAM] + (["--store", self.store] if store else []) + list(args)

    def _environment(self, extra):
        env = {name: value for name, value in os.environ.items()
               if not name.startswith("WQ_") or name == "WQ_IO"}
        env.update(extra or {})
        return env

    def wq(self, *args, stdin=b"", code=0, env=None, store=True, program=None):
        command = self._command(args, store)
        if program:
            command[0] = program
        done = subprocess.run(command, input=stdin, capture_output=True, timeout=DEADLINE_SECONDS,
                              env=self._environment(env), cwd=self.dir)
        result = Result(done.returncode, done.stdout, done.stderr)
        if code is not None:  # None: the caller looks at it
            self.assertEqual(result.code, code, f"{args}: out {result.out!r} err {result.err!r}")
        return result

    def json(self, *args, **options):
        return self.wq("--json", *args, **options).json

    def start(self, *args, stdin=subprocess.PIPE, env=None):
        return self.start_command(self._command(args), stdin, env)

    def start_command(self, command, stdin=subprocess.PIPE, env=None):
        # Tests that are run under nohup ignore SIGHUP, and what they start would do so too.
        process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=self._environment(env),
                                   cwd=self.dir,
                                   preexec_fn=lambda: signal.signal(SIGHUP, signal.SIG_DFL))
        running = Running(process)
        self._running.append(running)
        return running

    def push(self, *payloads, queue="default", options=()):
        """Pushes and returns the ids."""
        result = self.wq("push", "-q", queue, *options, "--", *payloads)
        return [int(line) for line in result.lines]

    def stat(self, queue="default"):
        return self.json("stat", "-q", queue)[0]["queues"][0]

    def counts(self, queue="default"):
        stat = self.stat(queue)
        return {name: stat[name] for name in ("ready", "delayed", "leased", "running", "dead")
                if stat[name] > 0}

    def payloads(self, queue="default"):
        """Takes all that is ready, in order, as bytes."""
        result = self.wq("--json", "pull", "-q", queue, "-n", "10000")
        return [payload_of(job) for job in result.json]


def payload_of(job):
    if "payload_base64" in job:
        return base64.b64decode(job["payload_base64"])
    return job["payload"].encode("utf-8")


SIGHUP, SIGINT, SIGKILL, SIGTERM = signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGTERM
