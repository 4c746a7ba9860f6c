"""wq explain, events, metrics, stat --prometheus, work --events."""

import json
import os
import re
import shutil
import subprocess
import unittest

from cli_case import CliCase

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "METRICS.md")


class Explain(CliCase):
    def explain(self, *args, code=0):
        return self.json("explain", *args, code=code)[0]

    def test_each_cause_and_what_helps(self):
        self.push("a", "b", queue="mail")
        found = self.explain("2")
        self.assertEqual(found["causes"], ["behind", "no_consumer"])
        self.assertEqual((found["queue"], found["ahead"], found["ahead_exact"]), ("mail", 1, True))
        self.assertEqual(found["hints"], ["wq work -q mail -- COMMAND  works on the queue"])
        self.wq("queue", "pause", "mail")
        found = self.explain("1")
        self.assertEqual(found["causes"], ["paused", "no_consumer"])
        self.assertIn("wq queue resume mail", found["hints"][0])
        self.wq("queue", "resume", "mail")
        self.wq("queue", "set", "mail", "--max-running", "1")
        token = self.json("pull", "-q", "mail")[0]["token"]
        found = self.explain("2")
        self.assertEqual(found["causes"], ["slots", "no_consumer"])
        self.assertEqual((found["slots_taken"], found["slots_max"], found["holder"]),
                         (1, 1, token))
        found = self.explain(token)
        self.assertEqual((found["state"], found["causes"]), ("leased", ["held"]))
        self.assertIn("until_ms", found)
        self.wq("nack", token, "--dead", "--error", "no route\nto host")
        found = self.explain("1")
        self.assertEqual((found["causes"], found["dead_reason"]), (["dead"], "failed"))
        self.assertIn("last error: no route to host", found["text"])
        self.assertIn(f"wq dead replay {token}", found["hints"][1])
        text = self.wq("explain", "1").lines
        self.assertTrue(text[0].startswith("job 1 of queue 'mail' is dead"))
        self.push("c", options=("--delay", "1h"))
        self.assertEqual(self.explain("3")["causes"], ["delayed"])

    def test_queues(self):
        self.push("a", queue="123")
        self.assertEqual(self.explain("-q", "123")["leasable"], 1)
        self.wq("explain", "123", code=3)  # a job
        self.wq("queue", "set", "empty", "--max-retries", "3")
        found = self.explain("empty")
        self.assertEqual(found["causes"], ["empty", "no_consumer"])
        self.assertIn("wq push -q empty", found["hints"][0])
        self.wq("queue", "disable", "empty")
        self.assertEqual(self.explain("empty")["causes"], ["disabled", "empty", "no_consumer"])
        self.wq("explain", "nothing", code=3)
        self.wq("explain", code=2)
        self.wq("explain", "empty", "-q", "123", code=2)


class Events(CliCase):
    def test_what_opening_does(self):
        self.push("a", "b")
        self.json("pull", "-n", "2")
        self.assertEqual(self.json("events", "--for", "0"), [])
        events = self.json("events", "--expire-leases", "--for", "0")
        self.assertEqual([(e["event"], e["id"], e["sequence"]) for e in events],
                         [("expired", 1, 1), ("expired", 2, 2)])
        self.json("pull", "-n", "2")
        lines = self.wq("events", "--expire-leases", "--for", "0").lines
        self.assertIn("expired default job 1, attempt 2", lines[0])

    def test_follow_until_interrupted(self):
        self.push("a", options=("--delay", "500ms"))
        running = self.start("events", "--follow", "--json")
        event = json.loads(running.read_line())
        self.assertEqual((event["event"], event["id"], event["queue"]), ("promoted", 1, "default"))
        running.send(15)
        self.assertEqual(running.finish().code, 0)

    def test_work_tells_its_events(self):
        self.push("a")
        path = self.path("events.jsonl")
        self.wq("work", "--stop-when-empty", "--events", path, "--", "true")
        with open(path) as file:
            events = [json.loads(line) for line in file]
        names = [e["event"] for e in events if e["event"] != "checkpoint"]
        self.assertEqual(names, ["leased", "acked"])
        self.assertEqual(events[0]["attempt"], 1)
        self.wq("work", "--stop-when-empty", "--events", "/no/such/place", "--", "true", code=3)


class Metrics(CliCase):
    def text(self):
        self.push("a", "b", queue='we"ird\\')
        self.wq("work", "-q", 'we"ird\\', "--once", "--", "true")
        text = self.wq("metrics").out.decode()
        self.assertEqual(self.wq("stat", "--prometheus").out.decode().splitlines()[0],
                         text.splitlines()[0])
        self.assertIn("# HELP wq_store_status", self.json("metrics")[0]["metrics"])
        self.wq("stat", "--prometheus", "-q", "a", code=2)
        return text

    def test_figures_and_documentation(self):
        text = self.text()
        self.assertIn('wq_queue_acked_total{queue="we\\"ird\\\\"} 1\n', text)
        self.assertIn('wq_queue_jobs_ready{queue="we\\"ird\\\\"} 1\n', text)
        printed = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
        with open(DOCS, encoding="utf-8") as file:
            documented = dict(re.findall(r"^\| `(wq_\w+)` \| (counter|gauge|histogram) \|",
                                         file.read(), re.MULTILINE))
        self.assertEqual(printed, documented)

    def test_promtool(self):
        promtool = shutil.which("promtool")
        if not promtool:
            self.skipTest("promtool is not installed (scripts/setup.sh metrics); the form of the "
                          "text is checked by MetricsTest.FormOfTheText")
        done = subprocess.run([promtool, "check", "metrics"], input=self.text().encode(),
                              capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))


if __name__ == "__main__":
    unittest.main()
