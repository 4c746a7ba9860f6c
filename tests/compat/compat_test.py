"""Stores of every format that was ever released are opened, read, drained and compared with what
was in them; stores of formats to come are refused without a change.

golden/formatN.tar.xz  a store, killed in the middle of its last write
golden/formatN.txt     what is in it, as this file lists it
golden/<name>/FORMAT   the FORMAT of that store as a newer library might write it

A released archive is never made anew. For a new format:
  WQ_PROGRAM=.../wq WQ_MAKE_GOLDEN=.../make_golden python3 compat_test.py --make format2
and look at the listing before it is committed."""

import hashlib
import os
import subprocess
import sys
import tarfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import cli_case  # noqa: E402

GOLDEN = os.path.join(HERE, "golden")
FORMATS = sorted(name[:-len(".tar.xz")] for name in os.listdir(GOLDEN)
                 if name.endswith(".tar.xz"))
NEWER = {"newer": "format version 2", "incompatible": "unknown incompatible features",
         "read_only": "read only"}

# Named one by one: later versions of the program tell more.
CONFIG = ("queue", "status", "version", "durability", "lease_ms", "max_retries", "max_running",
          "backoff")
BACKOFF = ("kind", "base_ms", "max_ms", "list_ms")
COUNTS = ("queue", "ready", "delayed", "leased", "running", "dead", "enqueued_total",
          "leased_total", "acked_total", "nacked_total", "failed_total", "dead_total",
          "replayed_total", "cleared_total")
# All that make_golden pushed. Each is shown by a program of its own that recovers the whole store:
# with a sanitizer, one of each kind (and one that is gone).
SANITIZED = os.environ.get("WQ_SANITIZED") == "1"
JOBS = (9_001, 9_002, 9_003, 9_004, 9_005, 9_008, 9_009, 9_010, 9_021, 9_033) if SANITIZED \
    else range(9_001, 9_035)
JOB = ("id", "generation", "queue", "state", "priority", "attempts", "max_attempts", "exceptions",
       "replays", "enqueued_ms", "ready_ms", "leased_ms", "dead_ms", "dead_reason", "last_error",
       "headers", "payload", "has_deadline")


def line(kind, values, names):
    return kind + " " + " ".join(f"{name}={values[name]}" for name in names if name in values)


def unpack(name, directory):
    with tarfile.open(os.path.join(GOLDEN, name + ".tar.xz")) as tar:
        tar.extractall(directory)
    return os.path.join(directory, "store")


def snapshot(directory):
    """Every name with type, size, time of change and bytes."""
    found = {}
    for where, directories, files in os.walk(directory):
        for name in directories + files + ["."]:
            path = os.path.join(where, name)
            info = os.lstat(path)
            data = b""
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    data = file.read()
            found[os.path.relpath(path, directory)] = (info.st_mode, info.st_size,
                                                       info.st_mtime_ns, data)
    return found


def golden(name, jobs):
    """The listing of a golden store, with these of its jobs."""
    with open(os.path.join(GOLDEN, name + ".txt"), encoding="utf-8") as file:
        return "".join(text for text in file if not text.startswith("job ")
                       or int(text.split()[1].removeprefix("id=")) in jobs)


class CompatTest(cli_case.CliCase):
    def listing(self, jobs=JOBS):
        """What a user can see, as text; drains the store at the end."""
        lines = []
        for queue in self.json("ls", "-l"):
            queue["backoff"] = {name: queue["backoff"][name] for name in BACKOFF
                                if name in queue["backoff"]}
            lines.append(line("queue", queue, CONFIG))
        for queue in self.json("stat")[0]["queues"]:
            lines.append(line("stat", queue, COUNTS))
        for job_id in jobs:
            told = self.wq("--json", "show", str(job_id), code=None)
            self.assertIn(told.code, (0, 3), told.err)
            if told.code == 0:
                job = told.json[0]
                payload = cli_case.payload_of(job)
                job["payload"] = f"{len(payload)} bytes {payload[:20]!r}"
                # When it ends depends on the clock of this machine, see the two clocks of wq.
                job["has_deadline"] = job["deadline_ms"] > 0
                lines.append(line("job", job, JOB))
        self.wq("queue", "resume", "paused")
        for queue in ("mail", "paused", "bulk"):
            payloads = self.payloads(queue)
            digest = hashlib.sha256(b"\n".join(payloads)).hexdigest()[:16]
            lines.append(f"drained {queue}: {len(payloads)} jobs, {digest}")
        return "\n".join(lines) + "\n"

    def test_golden_stores(self):
        self.assertTrue(FORMATS)
        for name in FORMATS:
            self.store = unpack(name, self.path(name))
            told = self.wq("stat")
            self.assertIn("unfinished record", told.err)
            self.assertEqual(self.listing(), golden(name, JOBS), name)
            self.wq("verify")
            # It goes on: what was in work is acked, what is dead replayed, new jobs come.
            self.wq("dead", "replay", "-q", "mail", "--all")
            self.push("new", queue="mail")
            self.assertEqual(len(self.payloads("mail")), 4)
            self.wq("verify")

    def test_golden_stores_are_backed_up(self):
        for name in FORMATS:
            self.store = unpack(name, self.path(name))
            self.wq("backup", self.path(name + ".tar"))
            self.store = self.path(name + "-again")
            self.wq("restore", self.path(name + ".tar"))
            self.assertEqual(self.listing(jobs=()), golden(name, ()), name)

    def test_formats_to_come_are_refused(self):
        for kind, expected in NEWER.items():
            self.store = unpack(FORMATS[-1], self.path(kind))
            with open(os.path.join(GOLDEN, kind, "FORMAT"), "rb") as file:
                data = file.read()
            with open(os.path.join(self.store, "FORMAT"), "wb") as file:
                file.write(data)
            before = snapshot(self.store)
            for command in (["stat"], ["push", "x"], ["backup", self.path("backup")]):
                told = self.wq(*command, code=1)
                self.assertIn(expected, told.err, command)
                self.assertIn("newer library", told.err)
                self.assertEqual(snapshot(self.store), before, f"{command} changed {kind}")
            self.assertFalse(os.path.exists(self.path("backup")))


def cut_last_record(store):
    """Takes a part of the last record away, as a power cut may."""
    log = os.path.join(store, "log")
    newest = max(name for name in os.listdir(log) if not name.startswith("spare"))
    with open(os.path.join(log, newest), "r+b") as file:
        file.seek(file.read().index(b"t" * 3_000) + 2_000)
        file.write(bytes(1_000))


def make(name):
    case = CompatTest("listing")
    case.setUp()
    try:
        store = case.path("store")
        subprocess.run([os.environ["WQ_MAKE_GOLDEN"], store, GOLDEN], check=True)
        cut_last_record(store)
        with tarfile.open(os.path.join(GOLDEN, name + ".tar.xz"), "w:xz") as tar:
            tar.add(store, "store", filter=lambda info: info.replace(
                uid=0, gid=0, uname="", gname="", deep=False))
        case.store = unpack(name, case.path("again"))
        with open(os.path.join(GOLDEN, name + ".txt"), "w", encoding="utf-8") as file:
            file.write(case.listing())
    finally:
        case.tearDown()


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "--make":
        make(sys.argv[2])
    else:
        unittest.main()
