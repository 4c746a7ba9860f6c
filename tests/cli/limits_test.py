"""Limits of jobs: push --timeout, --expires and the like, queue set --job-ttl, reasons of nack, wq
reprioritise and progress, and that all of it moves with an export."""

import json
import time
import unittest

from cli_case import CliCase


class Limits(CliCase):
    def show(self, number):
        return self.json("show", str(number))[0]

    def test_what_push_says_show_tells(self):
        before_ms = int(time.time() * 1000)
        self.push("x", options=("--timeout", "5s", "--fail-on-timeout", "--retry-until", "2h",
                                "--max-exceptions", "3", "--expires", "2100-01-01T00:00:00Z"))
        line = {"payload": "y", "timeout_ms": 7, "fail_on_timeout": True, "retry_until_ms": 9,
                "max_exceptions": 8, "expires_at_ms": 4102444800000,
                "backoff": {"kind": "fixed", "base_ms": 1, "jitter_permille": 25}}
        self.wq("push", "--format", "jsonl", stdin=json.dumps(line).encode())
        self.push("plain")
        one, two, plain = self.show(1), self.show(2), self.show(3)
        self.assertEqual((one["timeout_ms"], one["fail_on_timeout"], one["max_exceptions"],
                          one["expires_at_ms"]), (5000, True, 3, 4102444800000))
        self.assertTrue(0 <= one["retry_until_ms"] - before_ms - 7_200_000 < 100_000)
        for name in ("timeout_ms", "fail_on_timeout", "retry_until_ms", "max_exceptions",
                     "expires_at_ms"):
            self.assertEqual(two[name], line[name])
            self.assertNotIn(name, plain)
        self.assertIn("5s, the last attempt", self.wq("show", "1").out.decode())
        for options in (("--expires", "soon"), ("--timeout", "-1s"), ("--backoff", "fixed:1s~101%"),
                        ("--backoff", "fixed:1s~x%"), ("--backoff", "fixed:1s~20")):
            self.wq("push", *options, "z", code=2)
        for bad in ({"fail_on_timeout": 1}, {"expires_at_ms": -1}, {"max_exceptions": 1 << 32}):
            self.wq("push", "--format", "jsonl", code=2,
                    stdin=json.dumps({"payload": "z", **bad}).encode())

    def test_jobs_that_do_not_begin_in_time_are_gone(self):
        self.wq("queue", "set", "default", "--job-ttl", "1h", "--backoff", "list:1s,2s~2.5%")
        config = self.json("queue", "show", "default")[0]
        self.assertEqual(config["job_ttl_ms"], 3_600_000)
        self.assertEqual(config["backoff"]["jitter_permille"], 25)
        self.assertIn("list:1s,2s~2.5%", self.wq("queue", "show", "default").out.decode())
        self.push("late", options=("--expires", "1"))  # ms since 1970
        self.push("good")
        self.assertEqual(self.payloads(), [b"good"])
        self.assertEqual(self.stat()["jobs_expired_total"], 1)

    def test_reason_priority_and_note(self):
        self.push("a", "b")
        self.wq("reprioritise", "--priority", "5", "2")
        token = self.json("pull")[0]["token"]
        self.assertTrue(token.startswith("2:"))
        self.wq("reprioritise", "--priority", "5", "2", code=8)
        self.wq("reprioritise", "--priority", "5", "99", code=3)
        self.wq("reprioritise", "--priority", "256", "1", code=2)
        self.wq("progress", token, "half")
        self.assertEqual(self.show(2)["progress"], "half")
        self.assertIn("half", self.wq("show", "2").out.decode())
        self.wq("nack", token, "--dead", "--reason", "unknown_type")
        self.wq("progress", token, "late", code=5)
        self.assertEqual(self.json("dead", "ls", "--reason", "unknown_type")[0]["id"], 2)
        self.wq("dead", "ls", "--reason", "timeout", code=4)
        self.wq("nack", token, "--reason", "lease_expired", code=2)

    # The worker kills the job at the job's own time, and the job says what follows.
    def test_a_worker_keeps_to_the_timeout_of_the_job(self):
        self.push("last", options=("--timeout", "200ms", "--fail-on-timeout"))
        self.push("again", options=("--timeout", "200ms", "--max-attempts", "2", "--backoff",
                                    "none"))
        self.wq("work", "--stop-when-empty", "--", "sh", "-c",
                'test "$WQ_TIMEOUT_MS" = 200 || exit 65; sleep 1000; true')
        dead = {job["payload"]: job for job in self.json("dead", "ls")}
        ends = {name: (job["attempts"], job["dead_reason"]) for name, job in dead.items()}
        self.assertEqual(ends, {"last": (1, "timeout"), "again": (2, "timeout")})
        self.assertIn("timed out", dead["last"]["last_error"])

    def test_all_of_it_moves(self):
        self.wq("queue", "set", "default", "--job-ttl", "1d", "--backoff", "fixed:5s~30%")
        self.push("x", options=("--timeout", "5s", "--fail-on-timeout", "--retry-until", "2h",
                                "--max-exceptions", "3", "--expires", "1d", "--backoff",
                                "fixed:1s~1%"))
        self.push("y", options=("--expires", "1"))
        token = self.json("pull")[0]["token"]
        self.wq("progress", token, "half")
        self.wq("nack", token, "--dead", "--reason", "cancelled")
        first = self.wq("export").out
        self.store = self.path("second")
        self.wq("import", stdin=first)
        self.wq("verify")
        second = self.wq("export").out
        self.assertEqual(first.split(b"\n")[1:], second.split(b"\n")[1:])
        for part in (b'"progress":"half"', b'"dead_reason":"cancelled"', b'"jitter_permille":10',
                     b'"jobs_expired":1', b'"job_ttl_ms":86400000'):
            self.assertIn(part, second)


if __name__ == "__main__":
    unittest.main()
