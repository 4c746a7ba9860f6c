"""wq work and the end of it: leases kept alive, graceful stop, second signal, kill -9 and resume;
and one store with two who want it."""

import json
import os
import unittest

from cli_case import SIGHUP, SIGINT, SIGKILL, SIGTERM, CliCase


class Stop(CliCase):
    def start_gated(self, *args, queue="default"):
        """A worker whose jobs print their id and then wait for a byte in the pipe `gate`."""
        self.gate = self.fifo("gate")
        self.gate_fd = os.open(self.gate, os.O_RDWR)
        self.addCleanup(os.close, self.gate_fd)
        return self.start("work", "-q", queue, *args, "--", "sh", "-c",
                          f"echo $WQ_JOB_ID; read -r line < {self.gate}")

    def open_gate(self, jobs=1):
        os.write(self.gate_fd, b"go\n" * jobs)

    def test_sigterm_waits_for_the_running_job(self):
        for number in (SIGTERM, SIGINT, SIGHUP):
            self.push("a", "b")
            running = self.start_gated()
            running.read_line()
            running.send(number)
            self.assertEqual(running.process.stderr.readline().decode(),
                             number.name + ": waiting for 1 job; a second signal kills it\n")
            self.open_gate()
            result = running.finish()
            self.assertEqual(result.code, 0, result.err)
            self.assertIn("1 job done", result.err)
            self.assertEqual(self.counts(), {"ready": 1})
            self.wq("queue", "clear", "default", "--yes")
            os.unlink(self.gate)

    def test_sigterm_while_idle(self):
        self.wq("queue", "set", "default", "--max-retries", "1")
        self.push("x\n")
        running = self.start("work", "--", "cat")
        running.read_line()  # the job is done; nothing is left to wait for
        running.send(SIGTERM)
        result = running.finish()
        self.assertEqual(result.code, 0)
        # Its line came before its settling: the signal may find it just there.
        self.assertRegex(result.err, "SIGTERM: (no job is in work|waiting for 1 job; .*)\n")
        self.assertEqual(self.counts(), {})

    def test_second_signal_kills(self):
        self.push("a")
        running = self.start_gated()
        running.read_line()
        running.send(SIGTERM)
        running.process.stderr.readline()
        running.send(SIGTERM)
        self.assertEqual(running.finish().code, 128 + SIGTERM)
        self.assertEqual(self.counts(), {"ready": 1})
        self.assertIn("killed", self.json("show", "1")[0]["last_error"])

    def test_hangups_do_not_add_up(self):
        # A terminal that closes sends one, and its shell sends another.
        self.push("a")
        running = self.start_gated()
        running.read_line()
        for number in (SIGHUP, SIGHUP):
            running.send(number)
        self.assertIn("SIGHUP: waiting", running.process.stderr.readline().decode())
        running.send(SIGHUP)
        self.open_gate()
        self.assertEqual(running.finish().code, 0)
        self.assertEqual((self.stat()["acked_total"], self.counts()), (1, {}))

    def test_nohup_is_heeded(self):
        self.push("a")
        self.gate = self.fifo("gate")
        command = self._command(["work", "--once", "--", "sh", "-c",
                                 f"kill -HUP $PPID; echo sent; read -r line < {self.gate}"])
        running = self.start_command(["nohup", *command])
        self.assertEqual(running.read_line(), "sent")
        with open(self.gate, "wb") as gate:
            gate.write(b"\n")
        result = running.finish()
        self.assertEqual(result.code, 0, result.err)
        self.assertNotIn("SIGHUP", result.err)
        self.assertEqual((self.stat()["acked_total"], self.counts()), (1, {}))

    def test_lines_not_begun_go_back_in_order(self):
        gate = self.fifo("gate")
        gate_fd = os.open(gate, os.O_RDWR)
        self.addCleanup(os.close, gate_fd)
        # Long lines fill the pipe, so that most of the jobs are leased and not begun.
        self.wq("push", stdin=b"\n".join(b"%03d" % i + b"x" * 20_000 for i in range(40)))
        script = (f"IFS= read -r l; echo started >&2; read -r g < {gate}; echo ok; "
                  "while IFS= read -r l; do echo ok; done")
        running = self.start("work", "--lines", "tab", "--ahead", "40", "--", "sh", "-c", script)
        self.assertEqual(running.process.stderr.readline(), b"started\n")
        running.send(SIGTERM)
        self.assertIn("SIGTERM: waiting", running.process.stderr.readline().decode())
        os.write(gate_fd, b"go\n")
        result = running.finish()
        self.assertEqual(result.code, 0, result.err)
        stat = self.stat()
        self.assertEqual(stat["acked_total"] + stat["ready"], 40)
        self.assertGreater(stat["ready"], 0)
        self.assertGreater(stat["released_total"], 0)
        jobs = self.json("pull", "-n", "100")
        order = [job["payload"][:3] for job in jobs]
        self.assertEqual(order, sorted(order))
        self.assertEqual({job["attempts"] for job in jobs}, {1})

    def test_lease_is_kept_alive_while_the_command_runs(self):
        self.push("a")
        # The command itself takes five times its lease; nothing but keeping it alive saves it.
        self.wq("work", "--stop-when-empty", "--lease", "200ms", "--", "sleep", "1")
        extends = [record for record in self.json("log", "dump") if record["type"] == "extend"]
        self.assertGreaterEqual(len(extends), 5)
        stat = self.stat()
        self.assertEqual((stat["acked_total"], stat["expired_total"], stat["leased_total"]),
                         (1, 0, 1))

    def test_kill_9_and_resume(self):
        self.push(*[str(i) for i in range(6)])
        running = self.start_gated("-n", "2", "--lease", "1h")
        held = {running.read_line(), running.read_line()}
        running.send(SIGKILL)
        self.assertEqual(running.process.wait(), -SIGKILL)
        self.open_gate(2)  # the commands of the dead worker live on and end by themselves
        self.assertEqual(self.counts(), {"ready": 4, "leased": 2})
        self.wq("pull", "-n", "4")
        self.wq("work", "--once", "--", "true", code=4)  # their leases still hold
        result = self.wq("work", "--expire-leases", "--stop-when-empty", "--", "sh", "-c",
                         "echo $WQ_JOB_ID $WQ_ATTEMPT")
        self.assertIn("took back 6 leases", result.err)
        seen = dict(line.split() for line in result.lines)
        self.assertEqual(set(seen), {"1", "2", "3", "4", "5", "6"})
        self.assertEqual({seen[job] for job in held}, {"2"})
        self.assertEqual(self.counts(), {})
        self.wq("verify")

    def test_kill_9_in_the_middle_of_many(self):
        lines = [b"%d" % i for i in range(3000)]
        self.wq("push", stdin=b"\n".join(lines))
        done = self.path("done")
        handler = self.file("handler.py", b"""
import sys
out = open(sys.argv[1], "ab", buffering=0)
count = 0
for line in sys.stdin.buffer:
    if not line.endswith(b"\\n"): break
    out.write(line.split(b"\\t", 3)[3])
    count += 1
    if count == 500: sys.stderr.write("500\\n"); sys.stderr.flush()
    print("ok", flush=True)
""")
        work = ("work", "--lines", "tab", "-n", "2", "--stop-when-empty")
        running = self.start(*work, "--", "python3", handler, done)
        running.process.stderr.readline()
        running.send(SIGKILL)
        running.process.wait()
        # Until the end of their standard error the handlers of the dead worker are alive.
        running.process.stderr.read()
        self.wq(*work, "--expire-leases", "--", "python3", handler, done)
        handled = self.read("done").split(b"\n")[:-1]
        self.assertEqual(set(handled), set(lines))
        self.assertEqual(self.counts(), {})


class Locked(CliCase):
    def hold(self):
        """A process that has the store open and waits for its standard input."""
        running = self.start("push", "--ids")
        running.write(b"x\n")
        running.read_line()
        return running

    def test_who_holds_the_store_is_told(self):
        running = self.hold()
        for command in (("stat",), ("push", "x"), ("pull",), ("work", "--", "cat"), ("verify",),
                        ("log", "dump")):
            result = self.wq(*command, code=6)
            self.assertIn(str(running.process.pid), result.err)
            self.assertIn("push --ids", result.err)
        error = json.loads(self.wq("--json", "stat", code=6).err)["error"]
        self.assertEqual((error["code"], error["exit_code"]), ("LOCKED", 6))
        running.finish()
        self.wq("stat")

    def test_lock_wait(self):
        running = self.hold()
        refused = self.wq("--lock-wait", "100ms", "stat", code=6)
        self.assertTrue(refused.err.endswith("; waited 100ms\n"), refused.err)
        refused = self.wq("stat", code=6)
        self.assertTrue(refused.err.endswith("; --lock-wait 30s waits for it\n"), refused.err)
        waiting = self.start("--lock-wait", "forever", "--json", "stat")
        self.assertIsNone(waiting.process.poll())
        running.finish()
        self.assertEqual(waiting.finish().code, 0)

    def test_log_dump_waits_like_others(self):
        running = self.hold()
        self.assertIn(str(running.process.pid), self.wq("log", "dump", code=6).err)
        waiting = self.start("--lock-wait", "1m", "--json", "log", "dump")
        running.finish()
        self.assertTrue(waiting.finish().json)

    def test_watch_tells_and_goes_on(self):
        running = self.hold()
        watching = self.start("--json", "stat", "--watch", "100ms")
        self.assertIn(str(running.process.pid), json.loads(watching.read_line())["locked"])
        running.finish()
        while "store" not in json.loads(watching.read_line()):
            pass
        watching.send(SIGINT)
        self.assertEqual(watching.finish().code, 0)


if __name__ == "__main__":
    unittest.main()
