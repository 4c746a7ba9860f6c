"""Encrypted and compressed payloads: key files, wq keyring, and what becomes of a lost key."""

import os
import unittest

from cli_case import CliCase

SECRET = "Dw8x#kQ2!vB7@mZ4$hT9%cY1^rL6&nP3"


class Encrypt(CliCase):
    def keys(self, *ids):
        """The environment with a file of these keys, the last one current."""
        name = "keys" + "-".join(str(key) for key in ids)
        text = "# keys\n\n" + "".join(f"{key} {key:064x}\n" for key in ids)
        return {"WQ_KEY_FILE": self.file(name, text.encode())}

    def in_store(self, text):
        for directory, _, names in os.walk(self.store):
            for name in names:
                with open(os.path.join(directory, name), "rb") as file:
                    if text.encode() in file.read():
                        return True
        return False

    def test_life_and_rotation(self):
        one, both, two = self.keys(1), self.keys(1, 2), self.keys(2)
        shown = self.wq("queue", "set", "q", "--encrypt", "on", "--compress", "1KiB",
                        "--json").json[0]
        self.assertEqual((shown["encrypt"], shown["compress_min_bytes"]), (True, 1024))
        self.assertIn("encrypted, compressed from 1.0 KiB", self.wq("ls", "-l").out.decode())
        for command in (("push", "-q", "q", "x"), ("pull", "-q", "q")):
            self.assertRegex(self.wq(*command, code=8).err, "without.*--key-file")
        self.wq("push", "-q", "q", SECRET, env=one)
        self.assertFalse(self.in_store(SECRET))
        self.wq("push", "-q", "q", "--plain", SECRET, env=one)
        self.assertTrue(self.in_store(SECRET))
        self.wq("push", "-q", "q", "second", env=both)
        rows = self.wq("keyring", "--json", env=two).json
        self.assertEqual(rows, [{"key": 1, "payloads": 1, "known": False, "current": False},
                                {"key": 2, "payloads": 1, "known": True, "current": True}])
        self.assertIn("missing", self.wq("keyring", env=two).out.decode())

        shown = self.wq("show", "1", "--json", env=two).json[0]
        self.assertEqual((shown["key"], shown["payload"], shown["payload_error"]),
                         (1, "", "NO_KEY"))
        self.wq("show", "1", "--payload", "-", env=two, code=8)
        pulled = self.wq("pull", "-q", "q", "-n", "9", "--json", env=two).json
        self.assertEqual([job["payload"] for job in pulled], [SECRET, "second"])
        dead = self.wq("dead", "ls", "--reason", "unreadable", "--json", env=two).json
        self.assertEqual([job["id"] for job in dead], [1])
        self.wq("dead", "replay", "-q", "q", "--reason", "unreadable", env=both)
        self.assertEqual(self.wq("pull", "-q", "q", "--json", env=both).json[0]["payload"], SECRET)
        dump = self.wq("log", "dump").out.decode()
        self.assertNotIn("0" * 63, dump)

    def test_export_with_and_without_the_key(self):
        one = self.keys(1)
        self.wq("queue", "set", "q", "--encrypt", "on")
        self.wq("push", "-q", "q", SECRET, env=one)
        opened, sealed = self.wq("export", env=one).out, self.wq("export").out
        self.assertIn(SECRET.encode(), opened)
        self.assertNotIn(SECRET.encode(), sealed)
        first = self.store
        for name, data in (("opened", opened), ("sealed", sealed)):
            self.store = self.path(name)
            self.wq("import", stdin=data, env=one)
            self.assertFalse(self.in_store(SECRET))
            self.assertEqual(self.wq("export", env=one).json[-1]["payload"], SECRET)
        self.store = self.path("no-key")
        self.wq("import", stdin=opened, code=8)
        self.store = first

    def test_what_follows_schedules_and_results(self):
        one, two = self.keys(1), self.keys(2)
        self.wq("queue", "set", "q", "--encrypt", "on", "--keep-done", "100")
        self.wq("push", "-q", "q", "--chain", SECRET, SECRET, env=one)
        self.wq("push", "-q", "plain", "--encrypt", "--chain", SECRET, SECRET, env=one)
        batch = self.wq("batch", "create", "--complete-queue", "q", "--complete", SECRET, "--json",
                        env=one).json[0]["batch"]
        self.wq("batch", "seal", str(batch), env=one)
        self.wq("cron", "add", "s", "0 0 1 1 *", SECRET, "-q", "q", env=one)
        self.assertIn("without", self.wq("cron", "add", "t", "0 0 1 1 *", "x", "-q", "q",
                                         code=8).err)
        for _ in range(3):
            job = self.wq("pull", "-q", "q", "--json", env=one).json[0]
            self.assertEqual(job["payload"], SECRET)
            self.wq("ack", job["token"], "--result", SECRET, env=one)
        done = self.wq("history", "-q", "q", "--json", env=one).json
        self.assertEqual([(job["result"], job["key"]) for job in done], [(SECRET, 1)] * 3)
        self.assertEqual(self.wq("keyring", "--json", env=one).json[0]["payloads"], 6)
        self.wq("backup", self.path("backup"), env=one)
        kept = self.store
        for self.store in (kept, self.path("backup")):
            self.assertFalse(self.in_store(SECRET))
        self.store = kept
        self.assertNotIn(SECRET, self.wq("log", "dump").out.decode())

        shown = self.wq("cron", "show", "s", "--json", env=two).json[0]
        self.assertEqual((shown["key"], shown["payload"], shown["payload_error"]),
                         (1, "", "NO_KEY"))
        self.assertIn("unreadable", self.wq("cron", "show", "s", env=two).out.decode())
        done = self.wq("history", "-q", "q", "--json", env=two).json[0]
        self.assertEqual((done["key"], done["result"], done["result_error"]), (1, "", "NO_KEY"))
        self.assertIn("unreadable", self.wq("history", "-q", "q", env=two).out.decode())

        # Over an export the chain and the three results stay sealed, all else is sealed anew.
        opened, sealed = self.wq("export", env=one).out, self.wq("export", env=two).out
        self.assertIn(SECRET.encode(), opened)
        self.assertNotIn(SECRET.encode(), sealed)
        for name, data, rows in (("opened", opened, [4, 2]), ("sealed", sealed, [6, 0])):
            self.store = self.path(name)
            both = self.keys(1, 2)
            self.wq("import", stdin=data, env=both)
            self.assertFalse(self.in_store(SECRET))
            self.assertEqual([row["payloads"] for row in
                              self.wq("keyring", "--json", env=both).json], rows)
            self.assertEqual(self.wq("cron", "show", "s", "--json", env=both).json[0]["payload"],
                             SECRET)
            for _ in range(2):
                job = self.wq("pull", "-q", "plain", "--json", env=both).json[0]
                self.assertEqual(job["payload"], SECRET)
                self.wq("ack", job["token"], env=both)

    def test_push_says_so(self):
        one = self.keys(7)
        self.wq("push", "--encrypt", SECRET, env=one)
        self.wq("push", "--format", "jsonl", env=one,
                stdin=f'{{"payload":"{SECRET}","encrypt":true}}\n'.encode())
        self.assertFalse(self.in_store(SECRET))
        self.wq("push", "--encrypt", "x", code=8)
        self.wq("push", "--encrypt", "--plain", "x", code=2)
        self.assertEqual(self.wq("keyring", "--json", env=one).json[0]["payloads"], 2)

    def test_bad_key_files(self):
        good = "1 " + "0" * 64 + "\n"
        for text in ("", "1 12\n", "0 " + "0" * 64, "x " + "0" * 64, "1 " + "g" * 64, good + good,
                     "1" + "0" * 64):
            failed = self.wq("ls", env={"WQ_KEY_FILE": self.file("keys", text.encode())}, code=2)
            self.assertIn("key", failed.err)
            self.assertNotIn("gggg", failed.err)
            self.assertNotIn("0000", failed.err)
        self.wq("ls", "--key-file", self.path("none"), code=3)


if __name__ == "__main__":
    unittest.main()
