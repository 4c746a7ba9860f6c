"""wq push --tenant and --overlap, and keys and results in wq txn."""

import json
import unittest

from cli_case import CliCase


class Tenants(CliCase):
    def pull(self, *options):
        return self.json("pull", "-n", "100", *options, code=None)

    def lines(self, *operations):
        return b"".join(json.dumps(operation).encode() + b"\n" for operation in operations)

    def test_tenants_take_turns_also_one_process_each(self):
        self.push("a1", "a2", "a3", options=("--tenant", "a"))
        self.push("b1", "b2", options=("--tenant", "b"))
        self.push("x1")
        order = [self.json("pull")[0]["payload"] for _ in range(4)]
        self.assertEqual(order, ["a1", "b1", "x1", "a2"])
        shown = self.json("show", "3")[0]
        self.assertEqual(shown["tenant"], "a")
        self.assertIn("tenant", self.wq("show", "3").out.decode())
        self.assertIn("served by turns", self.wq("explain", "3").out.decode())
        self.wq("push", "--tenant", "t" * 513, "x", code=2)

    def test_overlap(self):
        self.push("runs", options=("--group", "g"))
        self.push("gone", options=("--group", "g", "--overlap", "skip"))
        self.push("later", options=("--group", "g", "--overlap", "1h"))
        self.assertEqual([job["payload"] for job in self.pull()], ["runs"])
        self.assertEqual(self.pull(), [])
        stat = self.stat()
        self.assertEqual((stat["skipped_total"], stat["delayed"], stat["ready"]), (1, 1, 0))
        for bad in (("--overlap", "skip"), ("--group", "g", "--overlap", "x"),
                    ("--group", "g", "--overlap", "0s")):
            self.wq("push", *bad, "x", code=2)
        for bad in (b'{"payload":"x","overlap":"skip"}',
                    b'{"payload":"x","group":"g","overlap":"no"}',
                    b'{"payload":"x","group":"g","overlap":"release"}',
                    b'{"payload":"x","group":"g","overlap_ms":1}'):
            self.wq("push", "--format", "jsonl", stdin=bad + b"\n", code=2)

    def test_export_and_import(self):
        self.wq("push", "--format", "jsonl", stdin=self.lines(
            {"payload": "1", "tenant": "a"},
            {"payload": "2", "tenant_base64": "/wA="},
            {"payload": "3", "group": "g", "overlap": "release", "overlap_ms": 500, "tenant": "a"},
            {"payload": "4", "group": "g", "overlap": "skip"}))
        text = self.wq("export").out
        for part in (b'"tenant":"a"', b'"tenant_base64":"/wA="', b'"overlap":"release"',
                     b'"overlap_ms":500', b'"overlap":"skip"', b'"skipped":0'):
            self.assertIn(part, text)
        self.store = self.path("second")
        self.wq("import", stdin=text)
        self.assertEqual(text.split(b"\n")[1:], self.wq("export").out.split(b"\n")[1:])
        self.wq("verify")

    def test_keys_and_results_in_transactions(self):
        self.wq("queue", "set", "default", "--keep-done", "10")
        push = {"op": "enqueue", "queue": "default", "payload": "1", "unique": {"key": "k"}}
        self.wq("txn", stdin=self.lines(push))
        put = {"op": "put", "key": "n", "value": "1"}
        told = self.wq("txn", stdin=self.lines(put, push), code=8)
        self.assertIn("line 2 was refused, nothing was done", told.err)
        self.wq("kv", "get", "n", code=4)
        token = self.json("pull")[0]["token"]
        ack = {"op": "ack", "queue": "default", "token": token, "result": "good"}
        self.wq("txn", stdin=self.lines(ack, push))
        self.assertEqual(self.json("history")[0]["result"], "good")

    def test_a_result_that_is_not_kept_is_told(self):
        self.push("x", "y")
        told = self.wq("ack", self.json("pull")[0]["token"], "--result", "good")
        self.assertIn("keeps no history", told.err)
        self.wq("queue", "set", "default", "--keep-done", "10")
        told = self.wq("ack", self.json("pull")[0]["token"], "--result", "good")
        self.assertNotIn("history", told.err)


if __name__ == "__main__":
    unittest.main()
