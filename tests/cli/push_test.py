"""wq push: arguments, lines, NULs, whole files, JSON; what is refused leaves nothing behind."""

import base64
import json
import os
import subprocess
import unittest

from cli_case import PROGRAM, SIGINT, SIGTERM, CliCase


class PushArguments(CliCase):
    def test_each_argument_is_a_job_byte_for_byte(self):
        # Among them what a command line parser might take for a list, an option or nothing.
        payloads = ["plain", "", "[1,2]", "{}", "%%", "a,b", "-x", "--queue", "\u00e4\u20ac", " \t",
                    "line\nbreak", "[]", "--"]
        ids = self.push(*payloads)
        self.assertEqual(len(set(ids)), len(payloads))
        self.assertEqual(self.payloads(), [p.encode() for p in payloads])

    def test_invalid_utf8_argument(self):
        self.wq("push", os.fsdecode(b"\xff\xfe"))
        job = self.json("pull")[0]
        self.assertNotIn("payload", job)
        self.assertEqual(base64.b64decode(job["payload_base64"]), b"\xff\xfe")

    def test_what_is_utf8_and_what_is_not(self):
        text = ["\u0000\u007f", "\u0080\u07ff", "\u0800\ud7ff\ue000\uffff", "\U00010000\U0010ffff"]
        other = [b"\x80", b"\xc1\xbf", b"\xe0\x9f\xbf", b"\xed\xa0\x80", b"\xf0\x8f\xbf\xbf",
                 b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xe2\x82", b"a\xffb"]
        self.wq("push", stdin=b"\n".join([t.encode() for t in text] + other))
        jobs = self.json("pull", "-n", "100")
        self.assertEqual([job.get("payload") for job in jobs[:4]], text)
        self.assertEqual([base64.b64decode(job["payload_base64"]) for job in jobs[4:]], other)

    def test_options_of_a_job(self):
        self.wq("push", "--delay", "2h", "--priority", "7", "--max-attempts", "9", "-H", "a=1",
                "-H", "b=[x]=y", "--", "later")
        ids = self.json("push", "now")
        self.assertEqual(self.counts(), {"ready": 1, "delayed": 1})
        job = self.json("show", str(ids[0]["id"] - 1))[0]
        self.assertEqual((job["state"], job["priority"], job["max_attempts"]), ("delayed", 7, 9))
        self.assertEqual(job["headers"], [{"name": "a", "value": "1"},
                                          {"name": "b", "value": "[x]=y"}])
        self.assertGreater(job["ready_ms"] - job["enqueued_ms"], 7_190_000)

    def test_run_at(self):
        self.wq("push", "--at", "2090-05-01T12:00:00.250+02:00", "future")
        self.wq("push", "--at", "946684800000", "past")
        self.assertEqual(self.counts(), {"ready": 1, "delayed": 1})
        ready = [self.json("show", str(i))[0]["ready_ms"] for i in (1, 2)
                 if self.json("show", str(i))[0]["state"] == "delayed"]
        self.assertEqual(ready, [3797316000250])

    def test_bad_options_are_usage_errors(self):
        for args, word in ((("--delay", "5"), "unit"), (("--delay", "soon"), "--delay"),
                           (("--at", "2026-02-31T00:00:00Z"), "--at"),
                           (("--priority", "256"), "priority"), (("-H", "novalue"), "--header"),
                           (("--backoff", "fixed"), "--backoff"),
                           (("--max-attempts", "0"), "max-attempts")):
            result = self.wq("push", *args, "--", "x", code=2)
            self.assertIn(word, result.err)
        self.assertFalse(os.path.exists(self.store))

    def test_an_empty_value_is_refused(self):
        for args in (("push", "--delay", "", "a"), ("push", "--at", "", "a"),
                     ("push", "--backoff", "", "a"), ("push", "--payload-max", "", "a"),
                     ("push", "--priority", "", "a"), ("push", "--file", ""),
                     ("push", "-q", "", "a"), ("work", "--timeout", "", "--", "cat"),
                     ("pull", "--lease", ""), ("stat", "--watch", ""), ("--store", "", "stat")):
            name = {"-q": "--queue"}.get(args[1], args[1] if args[0] != "--store" else "--store")
            result = self.wq(*args, code=2)
            self.assertIn(f"{name}: is empty; ", result.err)
        self.assertFalse(os.path.exists(self.store))
        for args in (("backup", ""), ("restore", ""), ("txn", ""), ("verify", "--backup", ""),
                     ("verify", "--crash", ""), ("repair", "--salvage", ""), ("show", ""),
                     ("work", "--events", "", "--", "cat"), ("--key-file", "", "stat"),
                     ("bench", "--dir", ""), ("explain", ""), ("queue", "show", ""),
                     *((*command, "--error", "") for command in (
                         ("dead", "ls"), ("dead", "rm"), ("dead", "replay")))):
            self.assertIn(": is empty; give it a value", self.wq(*args, code=2).err)
        self.assertFalse(os.path.exists(self.store))
        self.push("")  # a payload may be
        self.wq("nack", self.json("pull")[0]["token"], "--error", "")

    def test_a_dash_is_standard_input(self):
        self.wq("push", "-", stdin=b"a\nb\n")
        self.wq("push", "-", "c")
        self.assertEqual(self.payloads(), [b"a", b"b", b"-", b"c"])
        self.wq("push", "--format", "whole", "-", stdin=b"x\ny")
        self.assertEqual(self.payloads(), [b"x\ny"])

    def test_what_is_noted(self):
        self.assertIn("(id 1), durability", self.wq("push", "a").err)
        self.assertIn("(ids 2 to 3), durability", self.wq("push", "a", "b").err)
        self.assertIn("nothing to push", self.wq("push").err)
        self.assertIn("note: --at lies in the past; the job is ready at once",
                      self.wq("push", "--at", "2001-01-01T00:00:00Z", "a").err)
        self.assertNotIn("past", self.wq("push", "--at", "2090-01-01T00:00:00Z", "a").err)
        self.assertIn("put -- before payloads that begin with -",
                      self.wq("push", "-q", "e", "-n", code=2).err)

    def test_backoff_none_of_a_job_is_no_delay(self):
        self.wq("queue", "set", "default", "--backoff", "fixed:1h")
        self.push("a", options=("--backoff", "none"))
        self.wq("nack", self.json("pull")[0]["token"])
        self.assertEqual(self.counts(), {"ready": 1})

    def test_durations(self):
        for text, ms in (("1.5s", 1500), ("1h30m", 5_400_000), ("5min", 300_000), ("90s", 90_000),
                         ("1d2h3m4s5ms", 93_784_005)):
            shown = self.json("queue", "set", "q", "--lease", text)[0]
            self.assertEqual(shown["lease_ms"], ms)
            # What is printed can be typed again.
            printed = self.wq("queue", "show", "q").lines[1].split()[5]
            self.assertEqual(self.json("queue", "set", "q", "--lease", printed)[0]["lease_ms"], ms)
        self.wq("queue", "set", "q", "--backoff", "exponential:1s..10m")
        self.assertIn("exponential:1s..10m", self.wq("queue", "show", "q").lines[1])
        for text in ("1.5", "1.s", ".5s", "1m1h", "1s1s", "1.0001s", "1x", "s", "1e3s"):
            self.wq("queue", "set", "q", "--lease", text, code=2)

    def test_pushed_but_not_told(self):
        for args in (("push", "x", "y"), ("--json", "push", "x")):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([PROGRAM, "--store", self.store, *args], stdout=full,
                                      stderr=subprocess.PIPE, check=False)
            self.assertEqual(done.returncode, 7)
            self.assertRegex(done.stderr, b"No space left.*(2 jobs were|1 job was) pushed")
        self.assertEqual(self.counts(), {"ready": 3})

    def test_the_rest_of_the_input_was_not_pushed(self):
        path = self.file("input", b"x\n" * 25_000)
        for args, rest in ((("--file", path), "the other 15,000 were not"),
                           (("--file", path, "--partial"), "the rest of the input was not")):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([PROGRAM, "--store", self.store, "push", "--ids", *args],
                                      stdout=full, stderr=subprocess.PIPE, check=False)
            self.assertIn("10,000 jobs were pushed all the same", done.stderr.decode())
            self.assertIn(rest, done.stderr.decode())


class PushLines(CliCase):
    def test_a_signal_tells_what_was_pushed(self):
        for number, code in ((SIGTERM, 143), (SIGINT, 130)):
            running = self.start("push", "--ids")
            running.write(b"a\nb\nc")
            ids = [running.read_line(), running.read_line()]
            running.send(number)
            result = running.finish()
            self.assertEqual(result.code, code, result.err)
            self.assertIn(f"stopped by a signal; 2 jobs were pushed (ids {ids[0]} to {ids[1]}); "
                          "the rest of the input was not", result.err)
        self.assertEqual(self.counts(), {"ready": 4})

    def test_lines_byte_for_byte(self):
        data = b"one\n\n\xff\x00\r\nlast without newline"
        self.wq("push", stdin=data)
        self.assertEqual(self.payloads(), data.split(b"\n"))

    def test_newline_at_the_end_begins_no_job(self):
        self.wq("push", "--file", self.file("input", b"a\n\nb\n\n"))
        self.assertEqual(self.payloads(), [b"a", b"", b"b", b""])

    def test_empty_input_pushes_nothing(self):
        self.wq("push", "--ids", stdin=b"")
        self.assertEqual(self.counts(), {})

    def test_ids_in_order_over_several_groups(self):
        lines = [b"line %d" % i for i in range(25_000)]
        result = self.wq("push", "--ids", "--file", self.file("input", b"\n".join(lines)))
        ids = [int(line) for line in result.lines]
        self.assertEqual(ids, sorted(set(ids)))
        self.assertEqual(len(ids), 25_000)
        self.assertEqual(self.stat()["ready"], 25_000)
        job = self.json("show", str(ids[17_123]))[0]
        self.assertEqual(job["payload"], "line 17123")

    def test_nul_and_whole(self):
        self.wq("push", "--format", "null", stdin=b"a\nb\0\0c")
        self.assertEqual(self.payloads(), [b"a\nb", b"", b"c"])
        blob = bytes(range(256)) * 4000
        result = self.wq("push", "--format", "whole", stdin=blob)
        self.wq("show", result.lines[0], "--payload", self.path("out"))
        self.assertEqual(self.read("out"), blob)

    def test_huge_line_comes_back(self):
        line = b"x" * (5 << 20) + b"\xff"
        self.wq("push", stdin=line + b"\nsmall\n")
        self.wq("pull", "--payload", self.path("out"))
        self.assertEqual(self.read("out"), line)

    def test_line_over_the_limit(self):
        path = self.file("input", b"ok\n" + b"x" * 2000 + b"\nok\n")
        whole = self.wq("push", "--payload-max", "1KiB", "--format", "whole", "--file", path,
                        code=2)
        self.assertIn("--payload-max raises it", whole.err)
        result = self.wq("push", "--payload-max", "1KiB", "--file", path, code=2)
        self.assertIn("line 2", result.err)
        self.assertIn("nothing was pushed", result.err)
        self.assertFalse(os.path.exists(self.store))

    def test_lines_of_a_pipe_are_pushed_as_they_come(self):
        running = self.start("push", "--ids")
        running.write(b"first\n")
        first = int(running.read_line())  # while the pipe is still open
        running.write(b"second\n")
        second = int(running.read_line())
        self.assertEqual(running.finish().code, 0)
        self.assertLess(first, second)
        self.assertEqual(self.payloads(), [b"first", b"second"])

    def test_file_that_is_not_there(self):
        self.wq("push", "--file", self.path("nothing"), code=3)
        self.wq("push", "--file", self.dir, code=2)

    def test_disabled_queue_refuses(self):
        self.wq("queue", "set", "q", "--max-retries", "1")
        self.wq("queue", "disable", "q")
        self.assertIn("queue 'q' is disabled; wq queue enable q",
                      self.wq("push", "-q", "q", "x", code=8).err)


class PushJson(CliCase):
    def test_every_field(self):
        jobs = [
            {"payload": "text \u00e4", "headers": {"a": "1", "b": ""}, "priority": 3},
            {"payload_base64": "/wAB", "max_attempts": 2, "delay_ms": 3_600_000},
            {"payload": "", "run_at_ms": 4_000_000_000_000,
             "headers": [{"name": "n", "value": "1"}, {"name": "n", "value_base64": "/w=="}]},
            {"payload": "x", "backoff": {"kind": "exponential", "base_ms": 10, "max_ms": 99}},
            {"payload": "y", "backoff": {"kind": "list", "list_ms": [1, 2, 3]}},
            {"payload": "z", "backoff": {"kind": "fixed", "base_ms": 5}}]
        text = "\n\n".join(json.dumps(job) for job in jobs)
        pushed = self.json("push", "--format", "jsonl", stdin=text.encode())
        self.assertEqual(len(pushed), len(jobs))
        shown = [self.json("show", str(job["id"]))[0] for job in pushed]
        self.assertEqual(shown[0]["payload"], "text \u00e4")
        self.assertEqual(shown[0]["headers"], [{"name": "a", "value": "1"},
                                               {"name": "b", "value": ""}])
        self.assertEqual(shown[0]["priority"], 3)
        self.assertEqual((shown[1]["payload_base64"], shown[1]["max_attempts"],
                          shown[1]["state"]), ("/wAB", 2, "delayed"))
        self.assertEqual(shown[2]["ready_ms"], 4_000_000_000_000)
        self.assertEqual(shown[2]["headers"], [{"name": "n", "value": "1"},
                                               {"name": "n", "value_base64": "/w=="}])

    def test_backoff_of_a_job_holds(self):
        self.wq("push", "--format", "jsonl",
                stdin=b'{"payload":"x","backoff":{"kind":"fixed","base_ms":7200000}}')
        token = self.json("pull")[0]["token"]
        self.wq("nack", token)
        self.assertEqual(self.counts(), {"delayed": 1})

    def test_command_line_gives_the_defaults(self):
        self.wq("push", "--format", "jsonl", "--priority", "9", "--delay", "1h",
                stdin=b'{"payload":"a"}\n{"payload":"b","priority":1,"run_at_ms":1}')
        a, b = (self.json("show", str(i))[0] for i in (1, 2))
        self.assertEqual((a["priority"], a["state"]), (9, "delayed"))
        self.assertEqual((b["priority"], b["state"]), (1, "ready"))

    BAD = (
        (b"not json", "JSON"),
        (b'["payload"]', "object"),
        (b"{}", "payload"),
        (b'{"payload":1}', "payload"),
        (b'{"payload":"x","payload_base64":"eA=="}', "payload"),
        (b'{"payload_base64":"####"}', "payload_base64"),
        (b'{"payload_base64":"eB=="}', "payload_base64"),
        (b'{"payload":"x","priority":256}', "priority"),
        (b'{"payload":"x","priority":1.5}', "priority"),
        (b'{"payload":"x","delay_ms":-1}', "delay_ms"),
        (b'{"payload":"x","delay_ms":9223372036854775807}', "delay_ms"),
        (b'{"payload":"x","delay_ms":18446744073709551616}', "delay_ms"),
        (b'{"payload":"x","delya_ms":1}', "delya_ms"),
        (b'{"payload":"x","run_at_ms":1,"delay_ms":1}', "run_at_ms"),
        (b'{"payload":"x","max_attempts":0}', "max_attempts"),
        (b'{"payload":"x","headers":{"":"v"}}', "headers"),
        (b'{"payload":"x","headers":{"a":1}}', "headers.a"),
        (b'{"payload":"x","headers":[{"name":"a"}]}', "headers[0]"),
        (b'{"payload":"x","backoff":{"kind":"magic"}}', "backoff.kind"),
        (b'{"payload":"x","backoff":{"kind":"list","list_ms":[]}}', "backoff"),
        (b'{"payload":"x","backoff":{"kind":"exponential","base_ms":9,"max_ms":1}}', "backoff"),
        (b'{"payload":"\xff"}', "JSON"),
        (b'{"payload":"b","delay_ms":1e400}', "delay_ms: is a number that is out of range"),
        (b'{"payload":"b","backoff":{"kind":"fixed","base_ms":-1e999}}', "backoff.base_ms"),
        (b'{"payload":' + b"[" * 100_000, "nested too deeply"),
        (b'{"payload":"b","headers":' + b'{"a":' * 9, "nested too deeply"),
        (b'{"payload":"a","payload":"b"}', "payload: is given twice"),
        (b'{"payload":"a","headers":{"h":"1","g":"2","h":"1"}}', "headers.h: is given twice"),
        (b'{"payload":"a","headers":[{"name":"h","value":"1","name":"h"}]}', "headers.name"),
        (b'{"payload":"a","backoff":{"kind":"fixed","base_ms":1,"base_ms":2}}',
         "backoff.base_ms: is given twice"),
    )

    def test_a_bad_line_is_named_and_nothing_is_pushed(self):
        for bad, field in self.BAD:
            with self.subTest(bad=bad):
                result = self.wq("push", "--format", "jsonl", code=2,
                                 stdin=b'{"payload":"good"}\n\n' + bad + b'\n{"payload":"c"}\n')
                self.assertIn("line 3", result.err)
                self.assertIn(field, result.err)
                self.assertIn("nothing was pushed", result.err)
                self.assertFalse(os.path.exists(self.store))

    def test_a_bad_line_as_json(self):
        for bad in (b'{"payload":"b","delay_ms":1e400}', b'{"payload":"a","payload":"b"}'):
            result = self.wq("--json", "push", "--format", "jsonl", code=2, stdin=b"\n" + bad)
            error = json.loads(result.err)["error"]
            self.assertEqual((error["code"], error["exit_code"]), ("", 2))
            self.assertIn("line 2", error["message"])

    def test_the_same_name_in_two_objects_is_fine(self):
        self.wq("push", "--format", "jsonl", stdin=b'{"payload":"a","headers":'
                b'[{"name":"n","value":"1"},{"name":"n","value":"2"}]}')
        self.assertEqual(len(self.json("pull")[0]["headers"]), 2)

    def test_partial_pushes_what_stands_before(self):
        path = self.file("jobs", b'{"payload":"a"}\n{"payload":"b"}\n{"payload":3}\n')
        result = self.wq("push", "--format", "jsonl", "--partial", "--file", path, code=2)
        self.assertIn("line 3", result.err)
        self.assertIn("2 jobs before it were pushed", result.err)
        self.assertEqual(self.payloads(), [b"a", b"b"])


if __name__ == "__main__":
    unittest.main()
