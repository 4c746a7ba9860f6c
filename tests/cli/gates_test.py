"""Rates, groups and throttles: wq push --group, --rate-key, wq queue set."""

import json
import time
import unittest

from cli_case import CliCase


class Gates(CliCase):
    def pull(self, *options):
        return self.json("pull", "-n", "100", *options, code=None)

    def test_a_group_runs_one_after_the_other(self):
        self.push("a1", "a2", options=("--group", "a"))
        self.push("x")
        first = self.pull()
        self.assertEqual([job["payload"] for job in first], ["a1", "x"])
        self.assertEqual(first[0]["group"], "a")
        stat = self.stat()
        self.assertEqual((stat["ready"], stat["parked"]), (1, 1))
        told = self.wq("pull", code=4)
        self.assertIn("others of the same group", told.err)
        shown = self.json("show", "2")[0]
        self.assertEqual((shown["state"], shown["group"], shown["parked"]), ("ready", "a", True))
        self.assertEqual(self.json("explain", "2")[0]["causes"], ["group", "no_consumer"])
        told = self.json("explain", "default")[0]
        self.assertEqual((told["causes"], told["parked"]), (["group", "no_consumer"], 1))
        self.assertTrue(any("--group-limit" in hint for hint in told["hints"]))
        self.wq("ack", first[0]["token"])
        self.assertEqual([job["payload"] for job in self.pull()], ["a2"])

    def test_limits_of_groups(self):
        self.wq("queue", "set", "default", "--group-limit", "2")
        self.push("1", "2", "3", options=("--group", "a"))
        self.assertEqual(len(self.pull()), 2)
        self.wq("push", "--format", "jsonl",
                stdin=b'{"payload":"4","group":"b","group_limit":3}\n' * 4)
        self.assertEqual(len(self.pull()), 3)
        self.wq("push", "--group-limit", "2", "x", code=2)
        self.wq("push", "--group", "g" * 513, "x", code=2)
        self.wq("queue", "set", "default", "--group-limit", "0", code=2)

    def test_a_rate(self):
        told = self.json("queue", "set", "default", "--rate", "2/1h:2")[0]
        self.assertEqual(told["rate"], {"count": 2, "window_ms": 3_600_000, "burst": 2})
        self.assertIn("2/1h:2", self.wq("queue", "show", "default").out.decode())
        self.push("1", "2", "3")
        self.assertEqual(len(self.pull()), 2)
        told = self.wq("pull", code=4)
        self.assertIn("rate of queue", told.err)
        self.assertGreater(self.stat()["rate_wait_ms"], 1_000_000)
        told = self.json("explain", "3")[0]
        self.assertIn("rate", told["causes"])
        self.assertGreater(told["until_ms"], time.time() * 1000 + 1_000_000)
        self.wq("queue", "set", "default", "--rate", "none")
        self.assertEqual(len(self.pull()), 1)
        for bad in ("", "x", "0/1s", "1/0s", "2/1s:3", "2", "1:1/1s", "1000001/1s", "1/1s:"):
            self.wq("queue", "set", "default", "--rate", bad, code=2)

    def test_work_waits_for_the_rate(self):
        self.wq("queue", "set", "default", "--rate", "20/1s")
        self.push(*"abcd")
        start = time.monotonic()
        self.wq("work", "--stop-when-empty", "--", "true")
        self.assertGreater(time.monotonic() - start, 0.14)
        self.assertEqual(self.stat()["acked_total"], 4)

    def test_rate_keys(self):
        told = self.json("queue", "set", "default", "--key-rate", "2/1h:2")[0]
        self.assertEqual(told["key_rate"], {"count": 2, "window_ms": 3_600_000, "burst": 2})
        self.push("a1", "a2", options=("--rate-key", "a", "--rate-cost", "2"))
        self.push("x")
        self.assertEqual([job["payload"] for job in self.pull()], ["a1", "x"])
        stat = self.stat()
        self.assertEqual((stat["ready"], stat["parked"]), (1, 1))
        self.assertGreater(stat["rate_wait_ms"], 1_000_000)
        self.assertIn("of its rate keys", self.wq("pull", code=4).err)
        shown = self.json("show", "2")[0]
        self.assertEqual((shown["rate_key"], shown["rate_cost"], shown["parked"]), ("a", 2, True))
        told = self.json("explain", "2")[0]
        self.assertEqual(told["causes"], ["rate", "no_consumer"])
        self.assertGreater(told["until_ms"], time.time() * 1000 + 1_000_000)
        self.wq("queue", "set", "default", "--key-rate", "none")
        self.assertEqual(len(self.pull()), 1)
        self.wq("push", "--rate-cost", "2", "x", code=2)
        self.wq("push", "--rate-key", "k", "--group", "g", "x", code=2)
        self.wq("queue", "set", "default", "--key-rate", "2", code=2)

    def test_throttle(self):
        told = self.json("queue", "set", "default", "--throttle", "2/1h:2h")[0]
        self.assertEqual(told["throttle"],
                         {"count": 2, "window_ms": 3_600_000, "cool_ms": 7_200_000})
        self.assertIn("2/1h:2h", self.wq("queue", "show", "default").out.decode())
        self.push("a", options=("--rate-key", "k"))
        self.wq("work", "--once", "--", "false")
        self.assertEqual(self.stat()["parked"], 0)
        events = self.path("events")
        self.wq("work", "--once", "--events", events, "--", "false")
        with open(events, encoding="utf-8") as lines:
            cools = [event for event in map(json.loads, lines) if event["event"] == "key_cools"]
        self.assertEqual([event["id"] for event in cools], [1])
        self.assertEqual(cools[0]["time_ms"] - cools[0]["at_ms"], 7_200_000)
        self.push("b", options=("--rate-key", "other"))
        self.assertEqual([job["payload"] for job in self.pull()], ["b"])
        self.assertEqual(self.stat()["parked"], 1)
        told = self.wq("pull", code=4).err
        self.assertIn("throttle", told)
        told = self.json("explain", "1")[0]
        self.assertEqual(told["causes"], ["cooling", "no_consumer"])
        self.assertGreater(told["until_ms"], time.time() * 1000 + 7_000_000)
        self.assertIn("--throttle none", " ".join(told["hints"]))
        self.assertEqual(self.json("show", "1")[0]["parked"], True)
        self.wq("queue", "set", "default", "--throttle", "none")
        self.assertEqual([job["payload"] for job in self.pull()], ["a"])
        for bad in ("x", "0/1s", "1/0s", "2/1s:0", "2", "101/1s", "1/1s:"):
            self.wq("queue", "set", "default", "--throttle", bad, code=2)

    def test_work_waits_for_a_rate_key(self):
        self.wq("queue", "set", "default", "--key-rate", "20/1s")
        self.push(*"abcd", options=("--rate-key", "k"))
        start = time.monotonic()
        self.wq("work", "--stop-when-empty", "--", "true")
        self.assertGreater(time.monotonic() - start, 0.14)
        self.assertEqual(self.stat()["acked_total"], 4)

    def test_export_and_import(self):
        self.wq("queue", "set", "default", "--rate", "10/1h:5", "--group-limit", "3",
                "--key-rate", "7/1h:3", "--throttle", "5/1h:2h")
        self.wq("push", "--format", "jsonl",
                stdin=b'{"payload":"k","rate_key":"a","rate_cost":2}\n'
                      b'{"payload":"l","rate_key_base64":"/wA="}\n')
        self.push("1", "2", options=("--group", "a", "--group-limit", "2"))
        self.wq("push", "--format", "jsonl", stdin=b'{"payload":"3","group_base64":"/wA="}\n')
        self.pull("-n", "1")
        text = self.wq("export").out
        self.store = self.path("second")
        self.wq("import", stdin=text)
        again = self.wq("export").out
        # The job that was leased is ready again, all else is the same.
        self.assertEqual(text.replace(b'"state":"leased"', b'"state":"ready"').split(b"\n")[1:],
                         again.split(b"\n")[1:])
        self.wq("verify")


if __name__ == "__main__":
    unittest.main()
