"""wq export, import and repair."""

import json
import os
import resource
import subprocess
import unittest

from cli_case import PROGRAM, CliCase


class Transfer(CliCase):
    def fill(self):
        self.wq("queue", "set", "mail", "--max-retries", "7", "--backoff", "list:1s,5s")
        self.push("a", "b", "c\n\x01", queue="mail", options=("-H", "k=v", "--backoff", "fixed:5s"))
        self.wq("push", "-q", "mail", "--format", "whole", stdin=b"\xff\x00\"")
        self.push("later", queue="other", options=("--delay", "1h"))
        token = self.wq("pull", "-q", "mail", "--payload", "/dev/null").lines[0]
        self.wq("nack", token, "--dead", "--error", "it broke")
        self.wq("queue", "pause", "other")
        self.wq("kv", "put", "a", "1", "--ttl", "1h")
        self.wq("kv", "put", "b", stdin=b"\xff\x00")
        self.fill_rows()

    def fill_rows(self):
        """What is beside jobs and kv rows: a batch, a key whose job has ended, a done job, a rate
        key that is used up and counts an exception."""
        self.wq("queue", "set", "rows", "--keep-done", "5", "--key-rate", "10/1h",
                "--throttle", "3/1h")
        self.number = self.wq("batch", "create", "--complete-queue", "rows",
                              "--complete", "all done").lines[0]
        member = ("push", "-q", "rows", "--batch", self.number)
        self.wq(*member, "--once", "request", "ended")
        self.wq("ack", self.pulled("rows"), "--result", "42")
        self.wq(*member, "--rate-key", "host", "member")
        self.wq("nack", self.pulled("rows"), "--delay", "1h")
        self.wq("batch", "seal", self.number)

    def pulled(self, queue):
        return self.wq("pull", "-q", queue, "--payload", "/dev/null").lines[0]

    def check_rows(self):
        again = self.wq("push", "-q", "rows", "--once", "request", "ended", code=8)
        done = self.json("history", "-q", "rows")[0]
        self.assertEqual(again.lines[0], str(done["id"]))
        self.assertEqual(done["result"], "42")
        batch = self.json("batch", "show", self.number)[0]
        self.assertEqual((batch["state"], batch["pending"], batch["done"]), ("sealed", 1, 1))

    def test_the_same_bytes_again(self):
        self.fill()
        first = self.wq("export").out
        self.store = self.path("second")
        self.wq("import", stdin=first)
        self.assertEqual(self.wq("verify").code, 0)
        second = self.wq("export").out
        self.assertEqual(first.split(b"\n")[1:], second.split(b"\n")[1:])
        heads = [json.loads(text.split(b"\n")[0]) for text in (first, second)]
        for head in heads:
            del head["lsn"]
        self.assertEqual(heads[0], heads[1])
        self.assertEqual(self.push("new", queue="mail")[0], heads[0]["next_job_id"])
        self.check_rows()

    def test_rows_that_are_wrong(self):
        self.fill()
        good = self.wq("export").out
        kinds = (b'"batch_id":', b'"idempotency_key":', b'"done_job":', b'"used_rate_key":')
        for number, kind in enumerate(kinds):
            lines = good.split(b"\n")
            at = next(i for i, line in enumerate(lines) if kind in line)
            for change, word in ((lines[at][:-1] + b',"more":1}', "more"), (b"", "line"),
                                 (lines[at] + b"\n" + lines[at], "twice")):
                self.store = self.path(f"bad-{number}-{word}")
                text = b"\n".join(lines[:at] + [change] + lines[at + 1:])
                self.assertIn(word, self.wq("import", stdin=text, code=2).err)

    def test_leases_do_not_move(self):
        self.push("a", "b")
        self.wq("pull")
        text = self.wq("export").out
        self.store = self.path("second")
        self.wq("import", stdin=text)
        self.assertEqual(self.payloads(), [b"a", b"b"])
        self.assertEqual(self.json("show", "1")[0]["attempts"], 2)

    def test_one_queue(self):
        self.fill()
        lines = self.wq("export", "-q", "other").json
        self.assertEqual((lines[0]["queues"], lines[0]["jobs"], len(lines)), (1, 1, 3))
        self.wq("export", "-q", "nothing", code=3)

    def test_lines_that_are_wrong(self):
        self.fill()
        good = self.wq("export").out.split(b"\n")
        bad = (b"", b"{", b"[]", b"{}", b'{"wq_export":2}', b'{"job":1}', b"\xff", b"[" * 10_000,
               b'{"job":1e99}')
        for number, line in enumerate(bad):
            self.store = self.path(f"bad-{number}")
            failed = self.wq("import", stdin=b"\n".join(good[:3] + [line] + good[3:]), code=2)
            self.assertIn("line 4: ", failed.err)
            self.wq("push", "x", code=8)  # half a store is no store
        self.store = self.path("short")
        self.assertIn("not whole", self.wq("import", stdin=b"\n".join(good[:5]), code=2).err)
        self.store = self.path("field")
        changed = b"\n".join(good).replace(b'"attempts":0', b'"attempts":-1')
        self.assertIn("attempts: ", self.wq("import", stdin=changed, code=2).err)

    def test_a_first_line_that_is_wrong_makes_no_store(self):
        head = {"wq_export": 1, "lsn": 1, "next_job_id": 1, "next_generation": 1, "queues": 0,
                "jobs": 0}
        bad = (dict(head, wq_export=2), dict(head, next_job_id=0), dict(head, more=1),
               dict(head, next_generation=2**62 + 1), {"job": 1})
        for text in (b"", b"\n", b"x\n", *(json.dumps(line).encode() for line in bad)):
            self.wq("import", stdin=text, code=2)
            self.assertFalse(os.path.exists(self.store), text)
        self.wq("import", stdin=json.dumps(head).encode())

    def test_half_an_import_is_told(self):
        self.fill()
        lines = self.wq("export").out.split(b"\n")
        for count in (1, 3, len(lines) - 2):  # no queue; a queue; all but the last job
            self.store = self.path(f"half-{count}")
            self.wq("import", stdin=b"\n".join(lines[:count]), code=2)
            for command in (("stat",), ("verify",), ("export",), ("push", "x"), ("kv", "ls")):
                self.assertIn("not finished", self.wq(*command, code=8).err)
            told = self.json("repair", code=7)
            self.assertEqual([line["where"] for line in told[:-1] if line["finding"] == "missing"],
                             ["import"])
            self.wq("repair", "--salvage", self.path(f"saved-{count}"))
        self.store = self.path(f"saved-{count}")
        self.wq("verify")
        self.assertTrue(self.json("repair")[-1]["ok"])

    def test_a_salvage_that_fails_says_what_is_left(self):
        self.fill()
        new = self.path("d" * 100 + "/saved")  # the advice comes behind two long paths
        os.mkdir(os.path.dirname(new))
        done = subprocess.run(
            [PROGRAM, "--store", self.store, "repair", "--salvage", new], capture_output=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16 << 10, 16 << 10)))
        self.assertEqual(done.returncode, 7, done)
        self.assertRegex(done.stderr, rb"d/saved is not finished, remove it\n$")
        self.wq("verify")

    def test_only_into_a_new_store(self):
        self.push("a")
        text = self.wq("export").out
        self.wq("import", stdin=text, code=8)

    def test_repair(self):
        self.fill()
        before = self.wq("export").out.split(b"\n")[1:]
        self.assertTrue(self.json("repair")[-1]["ok"])
        os.remove(os.path.join(self.store, "FORMAT"))
        os.remove(os.path.join(self.store, "db", "CURRENT"))
        self.wq("stat", code=7)
        told = self.wq("--json", "repair", code=7).json
        self.assertEqual(told[-1]["jobs_lost"], 0)
        self.assertIn("FORMAT", [line["where"] for line in told[:-1]
                                 if line["finding"] == "damaged"])
        new = self.path("saved")
        self.wq("repair", "--salvage", new)
        self.wq("repair", "--salvage", new, code=8)
        self.store = new
        self.assertEqual(self.wq("export").out.split(b"\n")[1:], before)
        self.check_rows()


if __name__ == "__main__":
    unittest.main()
