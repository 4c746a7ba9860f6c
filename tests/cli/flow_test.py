"""wq batch, wq history, chains of wq push; what an export keeps of them."""

import json
import unittest

from cli_case import CliCase


class Flow(CliCase):
    def batch(self, number):
        return self.json("batch", "show", number)[0]

    def take(self, queue):
        jobs = self.json("pull", "-q", queue)
        return jobs[0]["token"], jobs[0]["payload"]

    def test_chain_of_arguments_and_of_json(self):
        self.wq("push", "-q", "a", "--chain", "two", "--chain", "three", "one")
        for payload in ("one", "two", "three"):
            token, found = self.take("a")
            self.assertEqual(found, payload)
            self.wq("ack", token)
        self.wq("queue", "set", "b", "--max-retries", "0")
        line = {"payload": "x", "chain": [{"payload": "y", "queue": "b"}, {"payload": "z"}]}
        self.wq("push", "-q", "a", "--format", "jsonl", stdin=json.dumps(line).encode())
        self.wq("ack", self.take("a")[0])
        # Moved to another store, the rest of the chain comes along.
        dump = self.wq("export").out
        store = self.path("other")
        self.wq("--store", store, "import", stdin=dump, store=False)
        for payload in ("y", "z"):
            job = self.json("--store", store, "pull", "-q", "b", store=False)[0]
            self.assertEqual(job["payload"], payload)
            self.wq("--store", store, "ack", job["token"], store=False)

    def test_a_bad_chain_is_told_with_its_place(self):
        for chain, word in (([{"payload": "a"}, {}], "chain[1]"), ({}, "chain"),
                            ([{"payload": "a", "delay": 1}], "chain[0].delay"),
                            ([{"payload_base64": "?"}], "chain[0].payload_base64")):
            line = {"payload": "x", "chain": chain}
            result = self.wq("push", "--format", "jsonl", stdin=json.dumps(line).encode(), code=2)
            self.assertIn(word, result.err)

    def test_batch_from_create_to_follow_up(self):
        created = self.json("batch", "create", "--complete-queue", "end", "--complete", "all done",
                            "--failure-queue", "end", "--failure", "bad")
        number = str(created[0]["batch"])
        self.wq("push", "-q", "work", "--batch", number, "one", "two")
        self.wq("push", "-q", "work", "--batch", "0", "none", code=2)
        self.assertEqual(self.batch(number)["state"], "open")
        self.wq("batch", "seal", number)
        token, _ = self.take("work")
        self.wq("ack", token)
        self.assertEqual(self.batch(number)["pending"], 1)
        self.wq("pull", "-q", "end", code=4)
        self.wq("ack", self.take("work")[0])
        status = self.batch(number)
        self.assertEqual((status["state"], status["total"], status["done"]), ("finished", 2, 2))
        job = self.json("pull", "-q", "end")[0]
        self.assertEqual((job["id"], job["payload"]), (status["follow_up"], "all done"))
        self.assertEqual(job["headers"], [{"name": "wq-batch", "value": number}])
        self.wq("push", "-q", "work", "--batch", number, "late", code=8)
        self.wq("batch", "show", "999999", code=3)
        self.assertIn("batch: 'abc'", self.wq("batch", "show", "abc", code=2).err)

    def test_what_is_told_of_a_job_and_of_nothing(self):
        number = self.wq("batch", "create").lines[0]
        self.wq("push", "-q", "work", "--batch", number, "--chain", "two", "one")
        text = self.wq("show", self.json("pull", "-q", "work")[0]["token"]).out.decode()
        self.assertIn("1 job after it", text)
        self.assertRegex(text, "batch +" + number)
        empty = self.path("empty")
        self.wq("--store", empty, "queue", "set", "q", "--max-running", "1",
                store=False)
        for what in (("batch", "ls"), ("cron", "ls"), ("history", "-q", "q")):
            self.assertTrue(self.wq("--store", empty, *what, code=4, store=False).err)

    def test_what_is_refused_makes_no_queue(self):
        self.wq("queue", "set", "here", "--max-running", "1")
        self.wq("push", "-q", "made", "--batch", "77", "x", code=3)
        self.wq("queue", "set", "made", "--max-running", "1", "--if-version", "9",
                code=8)
        check = '{"op":"check","key":"k","if_version":7}'
        enqueue = '{"op":"enqueue","queue":"made","payload":"x"}'
        self.wq("txn", stdin=(enqueue + "\n" + check).encode(), code=8)
        self.wq("cron", "add", "s", "no such time", "x", "-q", "made", code=2)
        self.assertEqual([row["queue"] for row in self.json("ls")], ["here"])

    def test_cancel(self):
        number = self.wq("batch", "create").lines[0]
        self.wq("push", "-q", "work", "--batch", number, "one", "two", "three")
        token, _ = self.take("work")
        self.assertEqual(self.json("batch", "cancel", number)[0]["state"], "cancelling")
        self.assertEqual(self.batch(number)["cancelled"], 2)
        self.assertTrue(self.json("show", token.split(":")[0])[0]["batch_cancelled"])
        self.assertIn("CANCELLED", self.wq("--json", "extend", token, code=8).out.decode())
        self.wq("nack", token)
        status = self.json("batch", "ls")[0]
        self.assertEqual((status["state"], status["cancelled"]), ("cancelled", 3))

    def test_history(self):
        self.wq("queue", "set", "work", "--keep-done", "2", "--keep-done-for", "7d")
        self.wq("history", "-q", "work", code=4)
        for number in range(3):
            self.wq("push", "-q", "work", "job")
            self.wq("ack", self.take("work")[0], "--result", f"result {number}")
        jobs = self.json("history", "-q", "work")
        self.assertEqual([job["result"] for job in jobs], ["result 2", "result 1"])
        one = self.json("history", "-q", "work", str(jobs[1]["id"]))
        self.assertEqual(one, [jobs[1]])
        self.wq("push", "-q", "other", "x")
        self.assertEqual(self.json("history", str(jobs[1]["id"])), one)  # whatever its queue
        for arguments in (("-q", "work"), ("-q", "other"), ()):
            gone = self.wq("history", *arguments, str(jobs[1]["id"] - 1), code=3)
            self.assertIn("--keep-done", gone.err)
        self.assertIn(b"result 2", self.wq("history", "-q", "work").out)
        self.assertEqual(self.json("queue", "show", "work")[0]["keep_done_count"], 2)


if __name__ == "__main__":
    unittest.main()
