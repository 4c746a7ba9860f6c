"""wq backup, restore and verify --backup: round trips by directory, tar and pipe, what is refused,
kills in the middle, and archives of somebody who means harm."""

import io
import os
import shutil
import subprocess
import tarfile
import time
import unittest

from cli_case import DEADLINE_SECONDS, PROGRAM, SIGKILL, CliCase


def tree(directory):
    """Every file with its bytes."""
    found = {}
    for where, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(where, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, directory)] = file.read()
    return found


class BackupTest(CliCase):
    def fill(self):
        self.push("first", "second", "third", queue="mail")
        self.push("much later", queue="mail", options=("--delay", "1h"))
        token = self.wq("pull", "-q", "mail", "--lease", "1h").lines[0].split("\t")[0]
        self.push("bad", queue="other")
        bad = self.wq("pull", "-q", "other").lines[0].split("\t")[0]
        self.wq("nack", bad, "--dead", "--error", "no")
        return token

    def described(self, store=None):
        """What a user sees of a store: counts per queue, dead letters, and the jobs by id."""
        where = ["--store", store or self.store]
        queues = self.json(*where, "stat", store=False)[0]["queues"]
        keep = ("queue", "ready", "delayed", "leased", "running", "dead")
        dead = self.json(*where, "dead", "ls", "-q", "other", store=False)
        return ([{name: queue[name] for name in keep} for queue in queues],
                [(entry["id"], entry["last_error"]) for entry in dead])

    def restored(self, backup, **options):
        where = self.path("restored")
        self.wq("--store", where, "restore", backup, store=False, **options)
        self.wq("--store", where, "verify", store=False)
        return self.described(where)

    def test_a_directory(self):
        token = self.fill()
        expected = self.described()
        told = self.json("backup", self.path("b"))[0]
        self.assertGreater(told["lsn"], 5)
        checked = self.json("verify", "--backup", self.path("b"), store=False)[0]
        self.assertEqual((checked["ok"], checked["lsn"]), (True, told["lsn"]))
        self.assertEqual(self.described(), expected)
        self.assertEqual(self.restored(self.path("b")), expected)
        # The lease goes on in the restored store, too.
        self.wq("--store", self.path("restored"), "ack", token, store=False)

    def test_a_tar_and_a_pipe(self):
        self.fill()
        expected = self.described()
        self.wq("backup", self.path("b.tar"))
        self.wq("verify", "--backup", self.path("b.tar"), store=False)
        self.assertEqual(self.restored(self.path("b.tar")), expected)
        shutil.rmtree(self.path("restored"))
        piped = self.wq("--quiet", "backup", "-").out
        self.assertEqual(self.restored("-", stdin=piped), expected)
        with tarfile.open(self.path("b.tar")) as tar:
            self.assertEqual(tar.getnames()[0], "BACKUP")
        # One that a user packed with another program is as good.
        self.wq("backup", self.path("b"))
        subprocess.run(["tar", "-C", self.path("b"), "-cf", self.path("own.tar"), "."], check=True)
        self.wq("verify", "--backup", self.path("own.tar"), store=False)
        self.assertEqual(sorted(os.listdir(self.dir)), ["b", "b.tar", "own.tar", "restored",
                                                        "store"])

    def test_what_is_refused(self):
        self.fill()
        self.wq("backup", self.path("b"))
        before = tree(self.path("b"))
        self.wq("backup", self.path("b"), code=2)
        self.wq("restore", self.path("b"), code=2)  # the store is there
        self.wq("backup", self.file("x.tar", b""), code=2)
        self.wq("backup", self.path("no/such/parent"), code=3)
        where = self.path("r")
        self.wq("--store", where, "restore", self.path("nothing"), store=False, code=3)
        self.wq("--store", where, "restore", self.path("nothing.tar"), store=False, code=3)
        opened = self.wq("--store", self.path("b"), "push", "x", store=False, code=2)
        self.assertIn("restore", opened.err)
        self.assertEqual(tree(self.path("b")), before)
        os.remove(os.path.join(self.path("b"), "BACKUP"))
        self.wq("--store", where, "restore", self.path("b"), store=False, code=3)
        self.assertFalse(os.path.exists(where))

    def test_nothing_is_made_inside_of_what_it_copies(self):
        self.fill()
        link, backup = self.path("link"), self.path("backup")
        os.symlink(self.store, link)
        before = sorted(os.listdir(self.store))
        for place in (self.store + "/b", self.store + "//x/../b/", link + "/b", link, "store/b"):
            for args in (("backup", place), ("repair", "--salvage", place)):
                self.assertIn("is inside the store", self.wq(*args, code=2).err)
        self.wq("backup", self.store + "/b.tar", code=2)
        self.assertEqual(sorted(os.listdir(self.store)), before)
        self.wq("backup", self.store + "-beside")
        self.wq("backup", backup)
        self.assertIn("is inside the backup",
                      self.wq("--store", backup + "/r", "restore", backup, store=False, code=2).err)
        self.wq("verify", "--backup", backup)

    def test_damage(self):
        self.fill()
        self.wq("backup", self.path("b"))
        for name, data in sorted(tree(self.path("b")).items()):
            path = os.path.join(self.path("b"), name)
            with open(path, "r+b") as file:
                file.seek(len(data) // 2)
                file.write(bytes([data[len(data) // 2] ^ 1]))
            told = self.wq("verify", "--backup", self.path("b"), store=False, code=7)
            self.assertIn(name, told.err)
            self.wq("--store", self.path("r"), "restore", self.path("b"), store=False, code=7)
            self.assertFalse(os.path.exists(self.path("r")))
            with open(path, "wb") as file:
                file.write(data)
        self.wq("verify", "--backup", self.path("b"), store=False)

    def kill_when(self, process, path):
        """Kills the program once the path is there. True if it was still at work."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not os.path.exists(path) and process.poll() is None:
            self.assertLess(time.monotonic(), deadline)
        process.send_signal(SIGKILL)
        return process.wait(DEADLINE_SECONDS) == -SIGKILL

    def test_kills(self):
        self.fill()
        expected = self.described()
        killed = 0
        for number, sign in enumerate(("", "/BACKUP.tmp", "/log", "/db", "/db/CURRENT", "/BACKUP")):
            target = self.path(f"k{number}")
            killed += self.kill_when(self.start("backup", target).process, target + sign)
            whole = os.path.exists(target + "/BACKUP")
            code = subprocess.run([PROGRAM, "verify", "--backup", target],
                                  capture_output=True, check=False).returncode
            self.assertIn(code, (0,) if whole else (3, 7))
            self.assertEqual(self.described(), expected)
        self.wq("backup", self.path("b"))
        for number, sign in enumerate(("", "/log", "/db", "/db/CURRENT", "/FORMAT")):
            target = self.path(f"r{number}")
            command = [PROGRAM, "--store", target, "restore", self.path("b")]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            killed += self.kill_when(process, target + ".restoring" + sign)
            if not os.path.exists(target):
                self.wq("--store", target, "restore", self.path("b"), store=False)
            self.assertFalse(os.path.exists(target + ".restoring"))
            self.assertEqual(self.described(target), expected)
        print(f"{killed} of 11 killed in time")
        self.assertGreater(killed, 0)

    # ---- archives of somebody else

    def packed(self, entries):
        """A tar of (name, type, link, data)."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            for name, kind, link, data in entries:
                info = tarfile.TarInfo(name)
                info.type, info.linkname, info.size = kind, link, len(data)
                tar.addfile(info, io.BytesIO(data))
        return buffer.getvalue()

    def test_archives_that_mean_harm(self):
        file, before = tarfile.REGTYPE, sorted(os.listdir(self.dir))
        outside = self.path("outside")
        bad = [
            [("../outside", file, "", b"x")],
            [(outside, file, "", b"x")],
            [("db/../../outside", file, "", b"x")],
            [("log/../../outside", file, "", b"x")],
            [("db/x", tarfile.SYMTYPE, "/etc/passwd", b"")],
            [("db", tarfile.SYMTYPE, self.dir, b""), ("db/outside", file, "", b"x")],
            [("db/x", file, "", b"x"), ("db/y", tarfile.LNKTYPE, "db/x", b"")],
            [("db/x", tarfile.FIFOTYPE, "", b"")],
            [("db/x", tarfile.CHRTYPE, "", b"")],
            [("db/x", file, "", b"x"), ("db/x", file, "", b"y")],
            [("db/a/b", file, "", b"x")],
            [("FORMAT", file, "", b"x")],
            [("db/.x", file, "", b"x")],
            [("tmp", tarfile.DIRTYPE, "", b"")],
            [],
        ]
        for entries in bad:
            told = self.wq("--store", self.path("r"), "restore", "-", store=False,
                           stdin=self.packed(entries), code=None)
            self.assertIn(told.code, (1, 3, 7), f"{entries}: {told.err}")
            self.assertEqual(sorted(os.listdir(self.dir)), before, entries)
        self.wq("--store", self.path("r"), "restore", "-", store=False, stdin=b"no tar", code=7)
        # Holes would make much out of little.
        with open(self.path("big"), "wb") as sparse:
            sparse.truncate(64 << 20)
        os.mkdir(self.path("d"))
        os.mkdir(self.path("d/db"))
        os.rename(self.path("big"), self.path("d/db/big"))
        subprocess.run(["tar", "-C", self.path("d"), "-cSf", self.path("s.tar"), "db/big"],
                       check=True)
        self.wq("--store", self.path("r"), "restore", self.path("s.tar"), store=False, code=7)
        self.assertFalse(os.path.exists(self.path("r")))

    def test_a_drill(self):
        os.mkdir(self.path("disk"))
        told = self.json("verify", "--crash", self.path("disk"), "--seconds", "1")[0]
        self.assertTrue(told["ok"], told)
        self.assertEqual([level["durability"] for level in told["levels"]],
                         ["power", "process", "memory"])
        for level in told["levels"]:
            self.assertGreaterEqual(level["kills"], 2)
            self.assertGreater(level["promised"], 0)
        checks = {fact["check"]: fact["verdict"] for fact in told["device"]}
        self.assertEqual(checks["directory fsync"], "good")
        self.assertIn("power loss", told["cannot_show"])
        self.assertEqual(os.listdir(self.path("disk")), [])
        self.wq("verify", "--crash", self.path("nowhere"), code=3)
        self.wq("verify", "--crash", self.path("disk"), "--seconds", "0", code=2)

    def test_a_cut_tar(self):
        self.fill()
        whole = self.wq("--quiet", "backup", "-").out
        for keep in (0, 100, 512, 1000, len(whole) // 3, len(whole) // 2, len(whole) - 2000):
            told = self.wq("--store", self.path("r"), "restore", "-", store=False,
                           stdin=whole[:keep], code=None)
            self.assertIn(told.code, (3, 7), f"{keep}: {told.err}")
            self.assertFalse(os.path.exists(self.path("r")))


if __name__ == "__main__":
    unittest.main()
