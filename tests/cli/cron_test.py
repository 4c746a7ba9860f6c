"""wq cron."""

import os
import time
import unittest

from cli_case import DEADLINE_SECONDS, CliCase


class Cron(CliCase):
    def due(self, expression, *args):
        return [row["due_ms"] for row in self.json("cron", "next", expression, *args)]

    def test_next(self):
        from_time = ("--from", "2025-03-29T12:00:00Z", "-n", "2")
        minute = 60_000
        noon = 1_743_249_600_000
        self.assertEqual(self.due("*/20 * * * *", *from_time),
                         [noon + 20 * minute, noon + 40 * minute])
        # Berlin's clock jumps from 2:00 to 3:00 in that night: what it jumps over runs at 3:00.
        self.assertEqual(self.due("30 2 * * *", "-z", "Europe/Berlin", *from_time),
                         [noon + 13 * 60 * minute, noon + (24 + 12) * 60 * minute + 30 * minute])
        self.assertIn("never come", self.wq("cron", "next", "0 0 30 2 *", code=2).err)
        self.wq("cron", "next", "@yearly", "--from", "9999-06-01T00:00:00Z", code=4)
        refused = self.wq("cron", "next", "0 25 * * *", code=2)
        self.assertIn("hour", refused.err)
        self.assertIn("zone", self.wq("cron", "next", "@daily", "-z", "Mars/Olympus", code=2).err)
        self.assertEqual(len(self.wq("cron", "next", "@hourly", "-n", "3").lines), 3)

    def test_a_schedule_from_add_to_rm(self):
        self.wq("cron", "ls", code=3)  # no store
        made = self.json("cron", "add", "report", "30 7 * * MON-FRI", '{"a":1}', "-q", "mail",
                         "--zone", "Europe/Berlin", "-H", "kind=pdf", "--catch-up", "all",
                         "--priority", "3", "--max-attempts", "2", "--backoff", "fixed:5s")[0]
        self.assertEqual((made["schedule"], made["queue"], made["zone"], made["catch_up"]),
                         ("report", "mail", "Europe/Berlin", 1000))
        self.assertEqual(made["payload"], '{"a":1}')
        self.assertEqual(made["headers"], [{"name": "kind", "value": "pdf"}])
        self.assertEqual(made["backoff"]["base_ms"], 5_000)
        self.assertGreater(made["next_due_ms"], 0)
        again = self.json("cron", "add", "report", "30 7 * * MON-FRI", '{"a":1}', "-q", "mail",
                          "--zone", "Europe/Berlin", "-H", "kind=pdf", "--catch-up", "all",
                          "--priority", "3", "--max-attempts", "2", "--backoff", "fixed:5s")[0]
        self.assertEqual(again, made)
        self.wq("cron", "add", "tidy", "@every 15m")
        self.assertEqual([row["schedule"] for row in self.json("cron", "ls")], ["report", "tidy"])
        self.assertEqual([row["schedule"] for row in self.json("cron", "ls", "-q", "mail")],
                         ["report"])
        self.assertIn("expression", self.wq("cron", "ls").lines[0])
        self.assertTrue(self.json("cron", "pause", "report")[0]["paused"])
        self.assertFalse(self.json("cron", "resume", "report")[0]["paused"])
        self.wq("cron", "rm", "report")
        for command in ("rm", "show", "pause", "resume"):
            self.wq("cron", command, "report", code=3)
        self.wq("cron", "add", "bad", "@every 0s", code=2)
        self.wq("cron", "add", "bad", "* * * * *", "--catch-up", "1001", code=2)
        self.assertEqual(len(self.json("cron", "ls")), 1)
        self.wq("cron", "add", "bad", "@daily", "-q", "made", "-z", "Mars/Olympus", code=2)
        self.assertNotIn("made", [row["queue"] for row in self.json("ls")])

    def test_a_schedule_that_is_none_makes_no_store(self):
        self.wq("cron", "add", "bad", "never", code=2)
        self.wq("cron", "add", "bad", "@daily", "-z", "Mars/Olympus", code=2)
        self.assertFalse(os.path.exists(self.store))

    def test_one_that_a_full_queue_holds_up(self):
        self.wq("queue", "set", "default", "--max-depth", "1")
        self.push("x")
        self.wq("cron", "add", "tick", "* * * * * *", "-q", "default")
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not self.json("cron", "show", "tick")[0]["overdue"]:
            self.assertLess(time.monotonic(), deadline)
        # A process that has just opened the store was told nothing yet, or the store's own words.
        full = "overdue: its queue is full|max_depth: "
        self.assertRegex(self.json("cron", "show", "tick")[0]["problem"], full)
        shown = self.wq("cron", "show", "tick").out.decode()
        self.assertRegex(shown, r"next +\S+ \S+, overdue\n")
        self.assertRegex(shown, f"problem +({full})")
        self.assertRegex(self.wq("cron", "ls").lines[1], full)
        self.assertFalse(self.json("cron", "pause", "tick")[0]["overdue"])

    def test_its_jobs_come_to_a_worker_and_move_with_the_store(self):
        self.wq("cron", "add", "tick", "@every 1s", "hello", "-q", "work")
        job = self.json("pull", "-q", "work", "--wait", "30s")[0]
        self.assertEqual(job["payload"], "hello")
        headers = {header["name"]: header["value"] for header in job["headers"]}
        self.assertEqual(headers["wq-schedule"], "tick")
        self.assertEqual(int(headers["wq-slot-ms"]) % 1_000, 0)
        self.wq("cron", "pause", "tick")
        lines = self.wq("export").out
        there = self.json("cron", "show", "tick")[0]
        self.store += "-moved"
        self.wq("import", stdin=lines)
        self.assertEqual(self.json("cron", "show", "tick")[0], there)


if __name__ == "__main__":
    unittest.main()
