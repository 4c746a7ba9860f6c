"""wq stat, ls, queue, verify, log, bench, version; the global options, help, and failures of the
place that wq runs in."""

import fcntl
import json
import os
import struct
import subprocess
import termios
import unittest

from cli_case import PROGRAM, CliCase

COMMANDS = ((), ("push",), ("work",), ("pull",), ("ack",), ("nack",), ("release",), ("extend",),
            ("cancel",), ("reprioritise",), ("progress",), ("stat",), ("ls",), ("show",), ("dead",),
            ("dead", "ls"),
            ("dead", "show"), ("dead", "replay"), ("dead", "rm"), ("dead", "purge"), ("queue",),
            ("queue", "set"), ("queue", "show"), ("queue", "pause"), ("queue", "resume"),
            ("queue", "disable"), ("queue", "enable"), ("queue", "clear"), ("queue", "rm"),
            ("export",), ("import",), ("repair",), ("backup",), ("restore",), ("verify",),
            ("log",), ("log", "dump"), ("explain",), ("events",), ("metrics",), ("bench",),
            ("version",), ("kv",), ("kv", "get"), ("kv", "put"), ("kv", "add"), ("kv", "rm"),
            ("kv", "ls"), ("kv", "lock"), ("kv", "extend"), ("kv", "unlock"), ("txn",),
            ("batch",), ("batch", "create"), ("batch", "show"), ("batch", "seal"),
            ("batch", "cancel"), ("batch", "ls"), ("history",))


class Look(CliCase):
    def test_stat(self):
        self.push("a", "b", queue="q\u00e4")
        self.push("c", options=("--delay", "1h"))
        record = self.json("stat")[0]
        self.assertEqual(record["store"]["queues"], 2)
        self.assertEqual((record["store"]["ready"], record["store"]["delayed"]), (2, 1))
        self.assertIn(record["store"]["io_backend"], ("io_uring", "threads"))
        self.assertEqual([q["queue"] for q in record["queues"]], ["default", "q\u00e4"])
        text = self.wq("stat").lines
        self.assertIn("2 queues", text[0])
        self.assertTrue(text[1].startswith("queue"))
        columns = [line.index("active") for line in text[2:]]
        self.assertEqual(columns[0], columns[1])  # aligned also behind a letter of two bytes
        self.wq("stat", "-q", "nothing", code=3)

    def test_watch_counts(self):
        self.push("a")
        records = self.json("stat", "--watch", "100ms", "--count", "3")
        self.assertEqual([r["queues"][0]["ready"] for r in records], [1, 1, 1])

    def test_backends(self):
        self.wq("--backend", "threads", "push", "a")
        self.assertEqual(self.json("--backend", "threads", "stat")[0]["store"]["io_backend"],
                         "threads")

    def test_ls(self):
        self.push("a", queue="b")
        self.push("a", queue="a c")
        self.assertEqual(self.wq("ls").lines, ["a c", "b"])
        self.assertEqual(self.json("ls"), [{"queue": "a c"}, {"queue": "b"}])
        self.assertEqual(self.json("ls", "-l")[1]["max_retries"], 3)

    def test_queue_set(self):
        args = ("--max-running", "4", "--max-retries", "7", "--lease", "90s", "--backoff",
                "list:1s,5s,1m", "--durability", "process")
        shown = self.json("queue", "set", "q", *args)[0]
        self.assertEqual(
            (shown["max_running"], shown["max_retries"], shown["lease_ms"], shown["durability"]),
            (4, 7, 90_000, "process"))
        self.assertEqual(shown["backoff"]["list_ms"], [1000, 5000, 60_000])
        self.assertEqual(self.json("queue", "show", "q")[0], shown)
        version = str(shown["version"])
        changed = self.json("queue", "set", "q", "--max-retries", "8", "--if-version", version)[0]
        self.assertEqual((changed["max_retries"], changed["max_running"]), (8, 4))
        self.wq("queue", "set", "q", "--max-retries", "9", "--if-version", version, code=8)
        self.wq("queue", "set", "q", code=2)
        self.wq("queue", "set", "q", "--max-retries", "1000001", code=2)
        self.wq("queue", "set", "q", "--backoff", "exponential:10s..1s", code=2)
        self.wq("queue", "set", "q\n", "--max-retries", "1", code=2)

    def test_status(self):
        self.push("a", queue="q")
        self.wq("queue", "pause", "q")
        self.push("b", queue="q")
        self.assertIn("queue 'q' is paused; wq queue resume q",
                      self.wq("pull", "-q", "q", code=8).err)
        self.assertEqual(self.json("queue", "enable", "q")[0]["status"], "paused")
        self.wq("queue", "resume", "q")
        self.wq("pull", "-q", "q")
        self.wq("push", "-q", "q", "--test", "c")
        self.wq("queue", "disable", "q")
        self.wq("push", "-q", "q", "c", code=8)
        self.assertIn("wq queue enable q", self.wq("push", "-q", "q", "--test", "c", code=8).err)
        both = self.json("queue", "pause", "q")[0]
        self.assertEqual((both["status"], both["consumers_paused"]), ("disabled", True))
        self.assertEqual(self.json("queue", "enable", "q")[0]["status"], "paused")
        self.assertEqual(self.json("queue", "resume", "q")[0]["status"], "active")
        self.wq("push", "-q", "nobody", "--test", "x", code=3)
        self.wq("queue", "pause", "other", code=3)

    def test_limits(self):
        shown = self.json("queue", "set", "q", "--max-depth", "2", "--max-bytes", "1MiB",
                          "--full-policy", "refuse", "--dead-max", "3", "--dead-age", "30d")[0]
        self.assertEqual([shown[name] for name in ("max_depth", "max_bytes", "full_policy",
                                                   "dead_max_count", "dead_max_age_ms")],
                         [2, 1 << 20, "refuse", 3, 30 * 86_400_000])
        self.push("a", "b", queue="q")
        full = self.wq("push", "-q", "q", "c", code=8)
        self.assertIn("max_depth: 2 of 2 jobs wait", full.err)
        self.wq("push", "-q", "q", "--test", "c", code=8)
        self.wq("queue", "set", "q", "--full-policy", "drop-oldest")
        self.push("c", queue="q")
        stats = self.json("stat", "-q", "q")[0]["queues"][0]
        self.assertEqual((stats["ready"], stats["dropped_total"]), (2, 1))
        shown = "\n".join(self.wq("queue", "show", "q").lines)
        self.assertIn("2 jobs, 1.0 MiB, drop-oldest", shown)

    def test_clear_and_rm_ask_first(self):
        self.push("a", "b", queue="q")
        self.push("later", queue="q", options=("--delay", "1h"))
        self.wq("pull", "-q", "q")
        refused = self.wq("queue", "clear", "q", code=2)
        self.assertIn("1 ready, 1 delayed", refused.err)
        self.assertEqual(self.json("queue", "clear", "q", "--state", "leased", "--yes"),
                         [{"removed": 1}])
        self.assertEqual(self.counts("q"), {"ready": 1, "delayed": 1})
        self.wq("queue", "clear", "q", "--state", "odd", "--yes", code=2)
        self.wq("queue", "clear", "q", "--state", "dead", code=4)
        self.wq("queue", "clear", "q", "--state", "dead", "--yes", code=4)
        self.wq("queue", "rm", "q", code=2)
        self.wq("queue", "rm", "q", "--yes")
        self.wq("queue", "show", "q", code=3)

    def test_verify(self):
        self.push(*["x"] * 100)
        report = self.json("verify")[0]
        self.assertEqual((report["ok"], report["jobs"], report["problems"]), (True, 100, 0))
        self.assertTrue(self.wq("verify").lines[0].startswith("ok: 100 jobs"))

    def test_damage_is_exit_code_7(self):
        self.push(*["payload to be found in the log"] * 50)
        logs = [os.path.join(root, name) for root, _, names in os.walk(self.store)
                for name in names]
        damaged = 0
        for path in logs:
            with open(path, "r+b") as file:
                data = file.read()
                at = data.find(b"payload to be found in the log")
                if at >= 0 and data.find(b"payload to be found", at + 30) >= 0:
                    file.seek(at)
                    file.write(b"X")
                    damaged += 1
        self.assertGreater(damaged, 0)
        # One record holds all fifty jobs, so valid records must follow it for this to be no tail.
        result = subprocess.run([PROGRAM, "--store", self.store, "verify"], capture_output=True,
                                check=False)
        self.assertIn(result.returncode, (0, 7), result.stderr)
        if result.returncode == 0:
            self.assertIn(b"cut", result.stderr)

    def test_log_dump(self):
        self.push("a", "b")
        self.push("c")
        records = self.json("log", "dump")
        lsns = [record["lsn"] for record in records]
        self.assertEqual(lsns, sorted(lsns))
        self.assertTrue(all(isinstance(record["record"], dict) for record in records))
        # A mark repeats the LSN of the record before it.
        last = self.json("log", "dump", "--from", str(lsns[-1]))
        self.assertEqual(last, [record for record in records if record["lsn"] == lsns[-1]])
        self.assertEqual(len(self.json("log", "dump", "-n", "1")), 1)
        kind = records[-1]["type"]
        self.assertTrue(all(r["type"] == kind for r in self.json("log", "dump", "--type", kind)))
        mistyped = self.wq("log", "dump", "--type", "enqeue", code=4)
        self.assertEqual(mistyped.lines, [])
        self.assertIn("no record of type enqeue; there are: ", mistyped.err)
        self.assertIn(f" {kind}", mistyped.err)
        self.assertEqual(len(self.wq("log", "dump").lines), len(records))

    def test_a_directory_of_something_else_becomes_no_store(self):
        place = self.path("stuff")
        os.mkdir(place)
        with open(os.path.join(place, "README"), "w", encoding="utf-8"):
            pass
        refused = self.wq("--store", place, "push", "a", store=False, code=2)
        self.assertIn("is not empty ('README') and holds no store", refused.err)
        self.assertEqual(os.listdir(place), ["README"])

    def test_bench(self):
        record = self.json("bench", "--time", "50ms", "--dir", self.dir)[0]
        self.assertEqual(record["durability"], "power")
        self.assertEqual(len(record["steps"]), 4)
        self.assertTrue(all(step["count"] > 0 for step in record["steps"]))
        # More jobs than fit into memory: what is on disk only comes in short batches.
        self.json("bench", "--time", "200ms", "--dir", self.dir, "--payload-size", "32KiB",
                  "--durability", "memory")
        self.assertEqual(os.listdir(self.dir), [])
        self.assertIn("--dir: ", self.wq("bench", "--dir", self.path("nothing"), code=3).err)
        self.assertIn("us each", self.wq("bench", "--time", "10ms", "--durability", "memory").out
                      .decode())

    def test_version(self):
        record = self.json("version", store=False)[0]
        self.assertEqual(record["version"], record["library_version"])
        self.assertEqual((record["abi"], record["format_version"]), ("0.1", 1))
        for option in ("--version", "-V"):
            self.assertEqual(self.wq(option, store=False).lines, ["wq " + record["version"]])
        text = self.wq("version", store=False).lines
        self.assertEqual(text[0], f"wq {record['version']}, ABI 0.1, store format 1")
        self.assertTrue(text[1].startswith("commit "), text)


class Global(CliCase):
    def test_help_of_every_command(self):
        for command in COMMANDS:
            with self.subTest(command=command):
                result = self.wq(*command, "--help", store=False)
                self.assertIn("Usage", result.out.decode())
                self.assertTrue(all(len(line) <= 100 for line in result.lines), result.lines)
                self.assertIn("  wq " + " ".join(command), result.out.decode())  # an example
                for litter in (" INT", "UINT", " in [", "Excludes", "NONNEG"):
                    self.assertNotIn(litter, result.out.decode())
                self.assertIn("--lock-wait", result.out.decode())
                self.assertEqual(self.wq("help", *command, store=False).out, result.out)
        self.assertIn("no command 'nosuch'", self.wq("help", "nosuch", store=False, code=2).err)

    def test_results_that_can_not_be_written(self):
        for args in (("--help",), ("push", "--help"), ("--version",)):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([PROGRAM, *args], stdout=full, stderr=subprocess.PIPE,
                                      check=False)
            self.assertEqual(done.returncode, 7)
            self.assertIn(b"No space left", done.stderr)

    def test_exit_codes_of_files(self):
        self.push("x")
        for args in (("export",), ("stat",), ("pull",)):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([PROGRAM, "--store", self.store, *args], stdout=full,
                                      stderr=subprocess.PIPE, check=False)
            self.assertEqual(done.returncode, 7, args)
        self.wq("pull", "--payload", "/dev/full", code=7)
        self.wq("pull", "--payload", "/", code=2)
        self.wq("push", "--file", "/", code=2)
        self.wq("push", "--file", self.path("no"), code=3)
        self.wq("txn", self.file("file", b"") + "/x", code=2)
        # Nobody may write there, root neither.
        for target in ("/proc/self/b", "/proc/self/b.tar"):
            self.assertNotIn(self.wq("backup", target, code=None).code, (0, 1))
        done = subprocess.run(["bash", "-c", '"$@" backup - | head -c 10 >/dev/null; '
                               'exit ${PIPESTATUS[0]}', "bash", PROGRAM, "--store", self.store],
                              stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)

    def test_a_usage_error_names_the_help_that_helps(self):
        self.push("x")
        for args, hint in ((("push", "--delay", "5", "x"), "; wq push --help shows how\n"),
                           (("queue", "set", "q"), "; wq queue set --help shows how\n"),
                           (("log", "dump", "-n", "x"),
                            "--limit: 'x' is not a whole number; wq log dump --help shows how\n"),
                           (("dead",), "; wq dead --help shows how\n"),
                           (("queue", "clear", "default"), "say --yes to do it\n")):
            self.assertTrue(self.wq(*args, code=2).err.endswith(hint), args)

    def test_notes_come_behind_what_they_conclude(self):
        self.push("x")
        done = subprocess.run([PROGRAM, "--store", self.store, "log", "dump"], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertRegex(done.stdout.splitlines()[-1], b"^[0-9]+ records$")

    def test_usage(self):
        for args in ((), ("nonsense",), ("push", "--nonsense"), ("dead",), ("ack",),
                     ("--backend", "x", "stat"), ("stat", "--count", "x")):
            self.assertTrue(self.wq(*args, code=2).err)

    def test_numbers_are_taken_exactly_or_refused_with_their_range(self):
        self.push("x")
        over, far = str(2**64 + 1), str(2**63)
        for args, name in ((("queue", "set", "q", "--max-depth"), "--max-depth"),
                           (("queue", "set", "q", "--dead-max"), "--dead-max"),
                           (("queue", "set", "q", "--if-version"), "--if-version"),
                           (("queue", "set", "q", "--max-running"), "--max-running"),
                           (("kv", "put", "k", "v", "--if-version"), "--if-version"),
                           (("push", "x", "--max-exceptions"), "--max-exceptions"),
                           (("log", "dump", "--from"), "--from"),
                           (("log", "dump", "-n"), "--limit"),
                           (("kv", "ls", "--limit"), "--limit"),
                           (("dead", "ls", "-q", "default", "--cursor"), "--cursor"),
                           (("dead", "ls", "-n"), "--limit"), (("history", "--limit"), "--limit"),
                           (("batch", "ls", "--limit"), "--limit"), (("work", "-n"), "--slots"),
                           (("stat", "--watch", "1s", "--count"), "--count"),
                           (("bench", "--batch"), "--batch")):
            for value in ("-1", over, "-" + over):
                self.assertRegex(self.wq(*args, value, code=2).err,
                                 f"^wq: {name}: {value} is outside [01] to [0-9]+; wq ")
            for value in ("1x", "0x1", "1.0", "+1", "-", " 1"):
                self.assertRegex(self.wq(*args, value, code=2).err, "is not a whole number; wq ")
        for value in (far, "-" + far[:-1] + "9"):
            self.assertIn(f"--by: {value} is outside -{far} to {2**63 - 1};",
                          self.wq("kv", "add", "m", "--by", value, code=2).err)
        self.assertEqual(self.wq("kv", "add", "m", "--by", "-" + far).lines, ["-" + far])
        self.wq("queue", "set", "q", "--max-depth", "010", "--dead-max", str(2**63 - 1))
        self.assertIn("10", self.wq("queue", "show", "q").out.decode())

    def test_a_limit_of_nothing_is_refused(self):
        self.push("x")
        for args in (("dead", "ls"), ("dead", "rm", "-q", "default", "--all", "--yes"),
                     ("kv", "ls"), ("log", "dump"), ("history",), ("batch", "ls")):
            self.assertIn("--limit: 0 is outside 1 to", self.wq(*args, "--limit", "0", code=2).err)

    def test_json_errors_are_json_also_of_wrong_arguments(self):
        for args in (("push", "--priority", "999", "a"), ("ack",), ("pull", "-n", "0"),
                     ("--bogus",), ("bogus",), ()):
            for line in (("--json", *args), (*args, "--json")):
                error = json.loads(self.wq(*line, code=2).err)["error"]
                self.assertEqual((error["exit_code"], error["code"]), (2, ""))
                self.assertTrue(error["message"])
        # Behind -- it belongs to others.
        self.assertTrue(self.wq("pull", "-n", "0", "--", "--json", code=2).err.startswith("wq: "))

    def test_an_unknown_command_is_named(self):
        for args in (("nosuch",), ("dead", "nosuch"), ("queue", "nosuch"), ("log", "nosuch")):
            self.assertIn(f"no command '{' '.join(args)}'", self.wq(*args, code=2).err)

    def test_options_that_would_be_ignored_are_refused(self):
        self.push("x")
        path = self.file("input", b"line")
        for args in (("stat", "--watch", "0"), ("stat", "--watch", "99ms"),
                     ("stat", "--count", "2"),
                     ("push", "--file", path, "x"), ("push", "--file", "-", "x"),
                     ("push", "--format", "jsonl", "x"), ("push", "--payload-max", "0", "x"),
                     ("push", "--payload-max", "0")):
            self.assertTrue(self.wq(*args, code=2).err)
        self.assertEqual(self.counts(), {"ready": 1})
        self.assertIn("not an executable", self.wq("work", "--", "/etc/passwd", code=2).err)
        self.assertIn("no dead letters", self.wq("dead", "purge", "-q", "default", code=4).err)

    def test_no_store(self):
        for command in (("stat",), ("ls",), ("pull",), ("work", "--", "cat"), ("verify",),
                        ("show", "1"), ("dead", "ls"), ("queue", "pause", "x"), ("log", "dump"),
                        ("ack", "1:1")):
            result = self.wq(*command, code=3)
            self.assertIn(self.store, result.err)
        self.assertFalse(os.path.exists(self.store))

    def in_removed_directory(self, *args):
        script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
        return subprocess.run(["sh", "-c", script, "sh", PROGRAM, *args], cwd=self.dir,
                              env=self._environment(None), capture_output=True, check=False)

    def test_a_working_directory_that_was_removed(self):
        for args in (("push", "x"), ("stat",), ("work", "--", "true"), ("backup", "there"),
                     ("import",)):
            done = self.in_removed_directory(*args)
            if args != ("import",):  # its input is empty, which comes first
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn(b"from the working directory on, which can not be found", done.stderr)
            self.assertNotIn(b"filesystem error", done.stderr)
        whole = self.in_removed_directory("--store", self.store, "push", "x")
        self.assertEqual(whole.returncode, 0, whole.stderr)

    def test_messages_are_of_one_line_whatever_names_are_in_them(self):
        self.store = self.path("a\nb\x1b[31mc")
        failed = self.wq("stat", code=3).err
        self.assertIn("a\\nb\\x1b[31mc", failed)
        self.assertEqual(failed.count("\n"), 1)
        self.push("x")
        target = self.path("t\no")
        self.assertEqual(self.wq("backup", target).out.count(b"\n"), 1)
        for args in (("push", "--file", "no\nfile"),
                     ("work", "--events", "no\nplace/x", "--", "true"), ("backup", target),
                     ("--key-file", "no\nkeys", "stat"), ("restore", target), ("dead\nls",),
                     ("verify", "--backup", "no\nbackup"), ("backup", "no\nplace/x.tar"),
                     ("bench", "--dir", "no\ndirectory"), ("repair", "--salvage", target)):
            failed = self.wq(*args, code=None)
            self.assertNotEqual(failed.code, 0, args)
            self.assertEqual(failed.err.count("\n"), 1, failed.err)

    def test_too_few_open_files_are_told_as_such(self):
        with open(PROGRAM, "rb") as program:
            if b"__ubsan_handle" in program.read():
                self.skipTest("UBSan takes any object for damage when it gets no descriptor itself")
        for number in range(6):  # each leaves files of the database
            self.push(str(number))
            self.wq("pull")
        told = []
        for limit in range(24, 10, -1):
            done = subprocess.run(["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh",
                                   *self._command(["push", "x"])], cwd=self.dir,
                                  env=self._environment(None), capture_output=True, check=False)
            if done.returncode != 0:
                told.append(done.stderr.decode())
        self.assertTrue(told)
        for message in told:
            self.assertIn("Too many open files; raise the limit of open files (ulimit -n)", message)

    def test_an_empty_directory_stays_empty(self):
        os.mkdir(self.store)
        for command in (("stat",), ("pull",), ("work", "--", "cat"), ("verify",), ("log", "dump")):
            self.wq(*command, code=3)
            self.assertEqual(os.listdir(self.store), [])
        self.wq("push", "x")

    def test_store_by_environment_and_by_default(self):
        self.wq("push", "a", store=False, env={"WQ_STORE": self.path("env")})
        self.assertTrue(os.path.isdir(self.path("env")))
        self.wq("push", "a", store=False)
        self.assertTrue(os.path.isdir(self.path("wq-store")))

    def test_global_options_may_stand_anywhere(self):
        self.wq("push", "a")
        self.assertTrue(self.json("stat", store=False, env={"WQ_STORE": self.store}))
        result = self.wq("stat", "--json", "--store", self.store, store=False)
        self.assertEqual(len(result.json), 1)

    def test_colours_only_where_wanted(self):
        self.wq("push", "a")
        self.assertNotIn(b"\x1b", self.wq("stat").out)
        self.assertIn(b"\x1b", self.wq("--color", "always", "stat").out)
        self.assertNotIn(b"\x1b", self.wq("--color", "always", "--json", "stat").out)

    def test_terminal(self):
        self.wq("push", "a")
        for env, coloured in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
            text = self.on_terminal({"TERM": "xterm", **env}, "stat")
            self.assertEqual(b"\x1b[1m" in text, coloured, env)

    def test_narrow_terminal(self):
        self.wq("push", "a", "b")
        text = self.on_terminal({"TERM": "dumb"}, "stat", columns=60).decode().splitlines()
        self.assertIn("queue default", text)
        self.assertIn(["ready", "2"], [line.split() for line in text])
        self.assertTrue(self.on_terminal({"TERM": "dumb"}, "stat", columns=200)
                        .splitlines()[1].startswith(b"queue    status"))

    def test_watch_draws_anew(self):
        self.wq("push", "a")
        args = ("stat", "--watch", "100ms", "--count", "2")
        self.assertEqual(self.on_terminal({"TERM": "xterm"}, *args).count(b"\x1b[H\x1b[J"), 2)
        self.assertNotIn(b"\x1b", self.on_terminal({"TERM": "dumb"}, *args))

    def on_terminal(self, env, *args, columns=0):
        import pty
        leader, follower = pty.openpty()
        if columns:
            fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
        environment.update(env)
        process = subprocess.Popen([PROGRAM, "--store", self.store, *args], stdout=follower,
                                   stderr=follower, stdin=subprocess.DEVNULL, env=environment)
        os.close(follower)
        text = b""
        try:
            while data := os.read(leader, 65536):
                text += data
        except OSError:
            pass  # Linux tells the end of a terminal so
        os.close(leader)
        self.assertEqual(process.wait(), 0)
        return text

    def test_quiet(self):
        self.assertTrue(self.wq("push", "a").err)
        self.assertEqual(self.wq("--quiet", "push", "a").err, "")

    def test_closed_standard_output(self):
        self.wq("push", "--file", self.file("input", b"x\n" * 2000))
        reader, writer = os.pipe()
        os.close(reader)
        result = subprocess.run([PROGRAM, "--store", self.store, "pull", "-n", "2000"],
                                stdout=writer, stderr=subprocess.PIPE)
        os.close(writer)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.wq("stat")  # the store was closed in order

    @unittest.skipIf(os.geteuid() == 0, "root may read everything")
    def test_store_without_permission(self):
        self.wq("push", "a")
        os.chmod(self.store, 0)
        self.addCleanup(os.chmod, self.store, 0o700)
        result = self.wq("stat", code=7)
        self.assertIn("ermission", result.err)
        self.assertIn("every command writes to the store, stat too", result.err)

    def test_parent_directory_is_missing(self):
        result = self.wq("--store", self.path("a/b"), "push", "x", store=False, code=3)
        self.assertIn(f"there is no directory '{self.path('a')}'", result.err)

    def test_a_file_is_no_store(self):
        path = self.file("plain", b"x")
        for args in (("stat",), ("push", "x"), ("log", "dump")):
            result = self.wq("--store", path, *args, store=False, code=2)
            self.assertIn("is a file; a store is a directory", result.err)
        self.assertEqual(self.read("plain"), b"x")

    def test_nobody_else_reads_a_store(self):
        self.wq("push", "x")
        for name in ("log", "db", "tmp"):
            mode = os.stat(os.path.join(self.store, name)).st_mode
            self.assertEqual(mode & 0o027, 0, f"{name}: {mode:o}")

    def test_backends_have_one_spelling_and_take_the_other(self):
        for name in ("threads", "thread"):
            self.wq("--backend", name, "push", "x")
            record = self.json("stat", env={"WQ_IO": name})[0]
            self.assertEqual(record["store"]["io_backend"], "threads")

    def test_errors_as_json(self):
        error = json.loads(self.wq("--json", "stat", code=3).err)["error"]
        self.assertEqual(error["exit_code"], 3)


if __name__ == "__main__":
    unittest.main()
