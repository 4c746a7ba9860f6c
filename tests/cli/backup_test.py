"""wq backup, restore and verify --backup: round trips by directory, tar and pipe, what is refused,
kills in the middle, and archives of somebody who means harm."""

import io
import os
import resource
import shutil
import signal
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

    def test_what_lies_beside_is_kept(self):
        self.fill()
        for name in ("own.restoring", "other.restoring", "b"):
            self.wq("backup", self.path(name))
        self.wq("--store", self.path("s.restoring"), "push", "precious", store=False)
        # A tar is packed in a directory of its own, whatever has a name like it.
        link = self.path("b.tar.part")
        os.symlink(self.file("precious", b"precious"), link)
        self.wq("backup", self.path("b.tar"))
        self.assertEqual((self.read("precious"), os.path.islink(link)), (b"precious", True))
        self.wq("verify", "--backup", self.path("b.tar"), store=False)
        before = tree(self.dir)
        for backup, store in (("own.restoring", "own"), ("b", "other"), ("b", "s"), ("b.tar", "s")):
            told = self.wq("--store", self.path(store), "restore", self.path(backup), store=False,
                           code=2)
            self.assertIn("move it away", told.err)
            self.assertEqual(tree(self.dir), before)

    def test_two_restores_at_once(self):
        self.fill()
        self.wq("backup", self.path("b"))
        command = [PROGRAM, "--store", self.path("r"), "restore", self.path("b")]
        met = 0
        for _ in range(6):
            first = self.start_command(command).process
            while not os.path.exists(self.path("r.restoring/db")) and first.poll() is None:
                pass
            first.send_signal(signal.SIGSTOP)
            at_work = os.path.exists(self.path("r.restoring"))
            code = subprocess.run(command, capture_output=True, check=False).returncode
            first.send_signal(signal.SIGCONT)
            self.assertEqual(first.wait(DEADLINE_SECONDS), 0)
            self.assertEqual(code, 6 if at_work else 2)
            met += at_work
            self.wq("--store", self.path("r"), "verify", store=False)
            shutil.rmtree(self.path("r"))
        self.assertGreater(met, 0)

    def test_places_that_no_directory_can_take(self):
        self.fill()
        self.wq("backup", self.path("b"))
        os.mkdir(self.path("e"))
        os.symlink("e", self.path("link"))
        for store, word in (("link", "link"), (".", "name"), ("e/..", "name"), ("e/.", "name"),
                            ("/proc", "mounted")):
            told = self.wq("--store", store, "restore", "b", store=False, code=2)
            self.assertIn(word, told.err)
        self.assertEqual(sorted(os.listdir(self.dir)), ["b", "e", "link", "store"])
        self.wq("--store", self.path("e/"), "restore", "b", store=False)

    def test_archives_that_users_make(self):
        self.fill()
        self.wq("backup", self.path("b"))

        def tar(name, *args):
            subprocess.run(["tar", "-cf", self.path(name), *args], cwd=self.dir, check=True)
            return self.path(name)

        names = sorted(tree(self.path("b")), reverse=True)
        for kind in ("v7", "oldgnu", "gnu", "ustar", "posix"):
            packed = tar("any-name", f"--format={kind}", "-C", "b", *names)
            self.wq("verify", "--backup", packed, store=False)
        self.assertEqual(self.restored(packed), self.described())
        told = self.wq("verify", "--backup", tar("whole.tar", "b"), store=False, code=7)
        self.assertIn("tar -C", told.err)
        told = self.wq("verify", "--backup", tar("z.tar.gz", "-z", "-C", "b", "."), store=False,
                       code=7)
        self.assertIn("unpack", told.err)
        # What is wrong is told of the archive, and not of where it was unpacked.
        some = [name for name in names if name != "db/CURRENT"]
        told = self.wq("verify", "--backup", tar("some.tar", "-C", "b", *some), store=False, code=7)
        self.assertIn(self.path("some.tar") + "/db/CURRENT: the file is missing", told.err)
        two = tar("two.tar", "-C", "b", *names)
        subprocess.run(["tar", "-rf", two, "-C", "b", "BACKUP"], cwd=self.dir, check=True)
        told = self.wq("verify", "--backup", two, store=False, code=7)
        self.assertIn("'BACKUP' is in it twice", told.err)
        # No place beside the tar to unpack it to: /proc/self/fd.
        with open(self.path("any-name"), "rb") as file:
            done = subprocess.run([PROGRAM, "verify", "--backup", f"/proc/self/fd/{file.fileno()}"],
                                  pass_fds=[file.fileno()], capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_where_a_tar_can_not_be_written(self):
        self.fill()
        # libarchive does not free its last block where it can not be written.
        options = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        environment = {**os.environ, "ASAN_OPTIONS": options}
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, "--store", self.store, "backup", "-"], stdout=full,
                                  stderr=subprocess.PIPE, env=environment, check=False)
        self.assertEqual(done.returncode, 7)
        self.assertIn(b"No space left", done.stderr)
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([PROGRAM, "--store", self.store, "backup", "-"], stdout=write,
                              stderr=subprocess.PIPE, env=environment, check=False)
        os.close(write)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"Broken pipe", done.stderr)
        self.assertEqual(os.listdir(self.dir), ["store"])
        with open(self.path("none"), "wb") as closed:
            done = subprocess.run([PROGRAM, "verify", "--backup", "-"], stdin=closed,
                                  stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 7)
        self.assertIn(b"Bad file descriptor", done.stderr)

    def test_a_signal_that_comes_too_late(self):
        """What is told to be stopped is not there; what is there is told."""
        self.fill()
        self.wq("backup", self.path("b"))
        restored = self.path("r")
        for _ in range(12):
            process = self.start_command([PROGRAM, "--store", restored, "restore",
                                          self.path("b")]).process
            while not os.path.exists(restored) and process.poll() is None:
                pass
            process.send_signal(signal.SIGINT)
            self.assertIn(process.wait(DEADLINE_SECONDS), (0, -signal.SIGINT))
            shutil.rmtree(restored)

    def test_a_limit_of_file_sizes(self):
        """ulimit -f kills with a signal, unless the program sees to it."""
        self.fill()
        self.wq("backup", self.path("b"))
        self.wq("backup", self.path("b.tar"))
        before = tree(self.dir)
        for backup in ("b", "b.tar"):
            done = subprocess.run(
                [PROGRAM, "--store", self.path("r"), "restore", self.path(backup)],
                capture_output=True, check=False,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)))
            self.assertEqual(done.returncode, 7, done)
            self.assertIn(b"File too large", done.stderr)
            self.assertEqual(tree(self.dir), before)

    # ---- archives of somebody else

    def test_a_size_that_is_not_there(self):
        """A header of the pax form may say that a file is larger than what follows."""
        for name in ("GNU.sparse.realsize", "SCHILY.realsize"):
            buffer = io.BytesIO()
            with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
                info = tarfile.TarInfo("db/x")
                info.size, info.pax_headers = 3, {name: str(1 << 40)}
                tar.addfile(info, io.BytesIO(b"abc"))
            told = self.wq("verify", "--backup", "-", store=False, stdin=buffer.getvalue(), code=7)
            self.assertIn("ends too early", told.err)
            self.assertEqual(os.listdir(self.dir), [])

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
