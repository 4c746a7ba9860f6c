"""wq kv and wq txn."""

import json
import unittest

from cli_case import CliCase


class Kv(CliCase):
    def test_rows(self):
        self.wq("kv", "get", "a", code=3)  # no store
        self.wq("kv", "put", "a", "1 2")
        self.assertEqual(self.wq("kv", "get", "a").lines, ["1 2"])
        self.wq("kv", "put", "a", "x", "--if-absent", code=8)
        row = self.json("kv", "get", "a")[0]
        self.wq("kv", "put", "a", "[3,4]", "--if-version", str(row["version"]))
        self.wq("kv", "put", "a", "x", "--if-version", str(row["version"]), code=8)
        self.wq("kv", "put", "a", "", "--if-value", "[3,4]")
        self.assertEqual(self.json("kv", "get", "a")[0]["value"], "")
        self.wq("kv", "put", "b", stdin=b"\xff\x00\n")
        self.assertEqual(self.wq("kv", "get", "b", "--raw").out, b"\xff\x00\n")
        self.assertEqual(self.json("kv", "get", "b")[0]["value_base64"], "/wAK")
        self.wq("kv", "put", "c", "x", "--ttl", "1h")
        rows = self.json("kv", "ls")
        self.assertEqual([row["key"] for row in rows], ["a", "b", "c"])
        self.assertGreater(rows[2]["expires_ms"], 0)
        self.assertEqual([row["key"] for row in self.json("kv", "ls", "b")], ["b"])
        self.assertEqual(len(self.json("kv", "ls", "-n", "2")), 2)
        self.assertIn("key", self.wq("kv", "ls").lines[0])
        self.wq("kv", "rm", "a", "--if-value", "x", code=8)
        self.wq("kv", "rm", "a")
        self.wq("kv", "rm", "a", code=4)
        self.wq("kv", "get", "a", code=4)
        self.wq("kv", "ls", "nothing", code=4)
        self.wq("kv", "put", "k" * 513, "x", code=2)

    def test_counters(self):
        self.assertEqual(self.wq("kv", "add", "n").lines, ["1"])
        self.assertEqual(self.wq("kv", "add", "n", "--by=-4").lines, ["-3"])
        self.wq("kv", "put", "word", "x")
        self.wq("kv", "add", "word", code=8)

    def test_locks(self):
        self.wq("kv", "lock", "l", "--owner", "me", "--ttl", "1h")
        self.wq("kv", "lock", "l", "--owner", "me", "--ttl", "1h")
        self.assertRegex(self.wq("kv", "lock", "l", "--owner", "you", code=8).err,
                         r"the lock 'l' is held by 'me' until 20.*Z\n")
        self.wq("kv", "extend", "l", "--owner", "you", code=5)
        self.assertIn("is held by 'me'", self.wq("kv", "unlock", "l", "--owner", "you", code=5).err)
        self.assertEqual(self.wq("kv", "get", "l").lines, ["me"])
        self.wq("kv", "extend", "l", "--owner", "me")
        self.wq("kv", "unlock", "l", "--owner", "me")
        self.assertIn("nobody holds the lock 'l'",
                      self.wq("kv", "unlock", "l", "--owner", "me", code=5).err)
        self.wq("kv", "lock", "l", "--owner", "you")
        self.assertIn("is held by 'you' without an end",
                      self.wq("kv", "extend", "l", "--owner", "me", code=5).err)

    def lines(self, *operations):
        return "".join(json.dumps(operation) + "\n" for operation in operations).encode()

    def test_a_transaction(self):
        self.push("job", queue="orders")
        token = self.wq("pull", "-q", "orders", "--payload", "/dev/null").lines[0]
        work = [
            {"op": "ack", "queue": "orders", "token": token},
            {"op": "enqueue", "queue": "mail", "payload": "a", "priority": 3},
            {"op": "enqueue", "queue": "mail", "payload_base64": "/w=="},
            {"op": "put", "key": "seen", "value": "1", "if_absent": True},
            {"op": "add", "key": "orders", "by": 2},
        ]
        check = {"op": "check", "key": "lock", "if_value": "me"}
        failed = self.wq("txn", stdin=self.lines(*work, check), code=8)
        self.assertIn("line 6 was refused", failed.err)
        self.wq("kv", "get", "seen", code=4)
        self.wq("kv", "lock", "lock", "--owner", "me")
        done = self.json("txn", stdin=self.lines(*work, check))[0]
        self.assertEqual(done["results"][1]["id"] + 1, done["results"][2]["id"])
        self.assertEqual(done["results"][4]["value"], 2)
        self.assertEqual(self.wq("kv", "get", "orders").lines, ["2"])
        self.assertEqual(self.stat("orders")["acked_total"], 1)
        self.assertEqual(self.stat("mail")["ready"], 2)
        self.wq("txn", stdin=self.lines(work[0], {"op": "add", "key": "orders"}), code=5)
        self.assertEqual(self.wq("kv", "get", "orders").lines, ["2"])
        path = self.file("work", self.lines({"op": "enqueue", "queue": "mail", "payload": "b"}))
        self.assertEqual(len(self.wq("txn", path).lines), 1)

    def test_lines_that_are_wrong(self):
        good = self.lines({"op": "put", "key": "k", "value": "v"})
        for line in (b"{", b"[]", b"{}", b'{"op":"x"}', b'{"op":"put","key":"a"}',
                     b'{"op":"put","key":"a","value":"","odd":1}',
                     b'{"op":"ack","queue":"q","token":"1"}',
                     b'{"op":"enqueue","queue":"q"}', b'{"op":"check","key":"a","if_absent":1}'):
            failed = self.wq("txn", stdin=good + line + b"\n", code=2)
            self.assertIn("line 2: ", failed.err)
        self.wq("txn", code=2)
        self.wq("kv", "get", "k", code=3)  # not even a store was made


if __name__ == "__main__":
    unittest.main()
