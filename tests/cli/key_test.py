"""wq push with keys, wq key, and keys in export and import."""

import json
import unittest

from cli_case import CliCase


class Keys(CliCase):
    def test_unique(self):
        first = self.push("a", options=("--unique", "k"))
        refused = self.wq("push", "--unique", "k", "b", code=8)
        self.assertEqual([int(line) for line in refused.lines], first)
        self.assertIn("has the key", refused.err)
        self.assertEqual(self.wq("key", "show", "k").lines, [str(first[0])])
        self.assertEqual(self.json("key", "show", "k"), [{"id": first[0], "queue": "default"}])
        token = self.wq("pull", "--payload", "/dev/null").lines[0]
        self.wq("push", "--unique", "k", "--until", "gone", "c", code=8)
        self.wq("ack", token)
        self.wq("key", "show", "k", code=3)
        told = self.json("push", "--unique", "k", "d", "e")
        self.assertEqual([job.get("duplicate") for job in told], [None, True])
        self.assertEqual(told[0]["id"], told[1]["id"])
        self.assertNotIn("lsn", told[1])

    def test_cancel_and_release(self):
        first = self.push("a", options=("--unique", "k"))[0]
        self.assertIn(str(first), self.wq("key", "cancel", "k").err)
        self.wq("key", "cancel", "k", code=3)
        second = self.push("b", options=("--unique", "k"))[0]
        token = self.wq("pull", "--payload", "/dev/null").lines[0]
        self.wq("key", "release", token)
        self.assertGreater(self.push("c", options=("--unique", "k"))[0], second)
        self.wq("ack", token)
        self.wq("key", "release", token, code=5)

    def test_debounce_and_once(self):
        one = self.push("one", options=("--debounce", "k", "--window", "1h"))
        two = self.push("two", options=("--debounce", "k", "--window", "1h", "--max-wait", "2h"))
        self.assertEqual(self.counts(), {"delayed": 1})
        self.wq("show", str(one[0]), code=3)
        self.assertEqual(self.wq("key", "show", "k", "--kind", "debounce").lines, [str(two[0])])
        self.push("x", options=("--once", "r", "--within", "10m"))
        self.wq("push", "--once", "r", "x", code=8)
        self.assertEqual(self.counts(), {"ready": 1, "delayed": 1})

    def test_lines_of_json(self):
        lines = (b'{"payload":"a","unique":{"key":"k","until":"started","ttl_ms":60000}}\n'
                 b'{"payload":"b","debounce":{"key":"k","window_ms":60000,"max_ms":90000}}\n'
                 b'{"payload":"c","idempotency":{"key_base64":"/w==","window_ms":60000}}\n')
        self.assertIn("pushed 3 jobs", self.wq("push", "--format", "jsonl", stdin=lines).err)
        self.assertIn("not pushed: 2 jobs", self.wq("push", "--format", "jsonl", stdin=lines).err)
        for line, word in ((b'{"payload":"a","unique":{"until":"done"}}', "unique"),
                           (b'{"payload":"a","unique":{"key":""}}', "unique.key"),
                           (b'{"payload":"a","unique":{"key":"k","till":1}}', "unique"),
                           (b'{"payload":"a","unique":{"key":"k","until":"x"}}', "unique.until"),
                           (b'{"payload":"a","debounce":{"key":"k"}}', "debounce.window_ms"),
                           (b'{"payload":"a","delay_ms":1,"debounce":{"key":"k","window_ms":1}}',
                            "debounce"),
                           (b'{"payload":"a","idempotency":{"key":"k","window_ms":0}}',
                            "idempotency.window_ms")):
            failed = self.wq("push", "--format", "jsonl", stdin=line, code=2)
            self.assertIn("line 1: " + word, failed.err)

    def test_usage(self):
        for args in (("--until", "done"), ("--unique", "k", "--until", "never"),
                     ("--unique", "k", "--debounce", "k", "--window", "1s"),
                     ("--debounce", "k"), ("--debounce", "k", "--window", "1s", "--delay", "1s"),
                     ("--debounce", "k", "--window", "2s", "--max-wait", "1s"),
                     ("--unique", "k" * 513)):
            self.wq("push", *args, "x", code=2)

    def test_keys_move_with_their_jobs(self):
        self.push("a", options=("--unique", "u", "--until", "gone", "--unique-ttl", "1h"))
        self.push("b", options=("--debounce", "d", "--window", "1h", "--once", "o"))
        self.wq("pull")
        first = self.wq("export").out
        self.store = self.path("second")
        self.wq("import", stdin=first)
        self.wq("verify")
        self.wq("push", "--unique", "u", "x", code=8)
        self.wq("push", "--once", "o", "x", code=8)
        self.assertIn(b'"rule":"debounce"', self.wq("export").out)

    def test_a_thousand_and_one_ids_move_in_two_parts(self):
        """WaitQueue A.7 case 13. An import brings in up to 1,000 jobs with one change: an id of
        either part is refused afterwards, and the order is that of before."""
        lines = [json.dumps({"payload": f"task-{i}", "unique": {"key": f"task-{i}"}})
                 for i in range(1001)]
        self.wq("push", "--format", "jsonl", stdin="\n".join(lines).encode())
        exported = self.wq("export").out
        self.store = self.path("second")
        self.wq("import", stdin=exported)
        self.wq("verify")
        for known in ("task-0", "task-999", "task-1000"):
            self.wq("push", "--unique", known, "again", code=8)
        self.assertEqual(self.counts(), {"ready": 1001})
        self.assertEqual(self.payloads(), [b"task-%d" % i for i in range(1001)])
        self.assertEqual(len(self.push("new", options=("--unique", "task-1001"))), 1)


if __name__ == "__main__":
    unittest.main()
