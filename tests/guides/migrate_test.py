"""The scripts of the migration guides, killed between the push of a part and its removal, with
others putting jobs in meanwhile and a second move after the first: each job is moved once (ctest
label: guides). Set WQ_PROGRAM to the program wq."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "relay"))

import guide_page  # noqa: E402
import redis_server  # noqa: E402  (the path above comes first)

PROGRAM = os.environ.get("WQ_PROGRAM", "wq")


def script_of(page, name):
    with open(os.path.join(ROOT, "docs", "guides", page), encoding="utf-8") as file:
        blocks, _ = guide_page.blocks(file.read())
    return next(b.text for b in blocks if b.attributes.get("file") == name)


class Migrate(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="wq-move-", dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.dir)
        programs = os.path.join(self.dir, "programs")
        os.mkdir(programs)
        os.symlink(os.path.abspath(shutil.which(PROGRAM)), os.path.join(programs, "wq"))
        self.env = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}",
                    "WQ_STORE": os.path.join(self.dir, "store")}
        self.programs = programs

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), mode)

    def move(self, script, *args, works=True):
        done = subprocess.run([sys.executable, script, *args], cwd=self.dir, env=self.env,
                              capture_output=True, text=True, check=False, timeout=100)
        self.assertEqual(done.returncode == 0, works, done.stdout + done.stderr)

    def payloads(self):
        done = subprocess.run(["wq", "pull", "-q", "q", "-n", "10000", "--json"], env=self.env,
                              capture_output=True, check=True)
        return [json.loads(line)["payload"] for line in done.stdout.splitlines()]

    def test_sqlite(self):
        text = script_of("migrate-sqlite.md", "sqlite_to_wq.py")
        removal = "        with db:  # both or none\n"
        self.assertEqual(text.count(removal), 1)
        self.write("move.py", text)
        self.write("killed.py", text.replace(removal, f"        sys.exit('killed')\n{removal}"))
        db = sqlite3.connect(self.path("old.db"))

        def insert(*payloads):
            with db:
                db.executemany("INSERT INTO jobs (payload) VALUES (?)", [(p,) for p in payloads])
        with db:
            db.execute("CREATE TABLE jobs (id INTEGER PRIMARY KEY, payload BLOB, priority INTEGER,"
                       " run_at REAL, attempts INTEGER DEFAULT 0)")
        want = [f"job {i}" for i in range(1500)]
        insert(*want)
        self.move("killed.py", "old.db", "q", works=False)
        insert("meanwhile")
        self.move("killed.py", "old.db", "q", works=False)
        self.move("move.py", "old.db", "q")
        insert("with an id that was used before")
        self.move("move.py", "old.db", "q")
        db.close()
        self.assertEqual(self.payloads(),
                         want + ["meanwhile", "with an id that was used before"])

    @unittest.skipUnless(redis_server.program() and shutil.which("redis-cli"), "no redis-server")
    def test_redis(self):
        server = redis_server.RedisServer(self.dir)
        server.start()
        self.addCleanup(server.kill)
        # The first removal does not come through.
        self.write("programs/redis-cli", "#!/bin/sh\n"
                   f"case $2 in EVAL) [ -e '{self.path('once')}' ] || "
                   f"{{ touch '{self.path('once')}'; exit 1; }} ;; esac\n"
                   f"exec {shutil.which('redis-cli')} -s '{server.path}' \"$@\"\n", 0o755)
        self.write("move.py", script_of("migrate-redis.md", "redis_to_wq.py"))
        want = [f"job {i}" for i in range(1500)]
        server.call("RPUSH", "list", *want)
        self.move("move.py", "list", "q", works=False)
        server.call("RPUSH", "list", "meanwhile")
        self.move("move.py", "list", "q")
        server.call("RPUSH", "list", "later")
        self.move("move.py", "list", "q")
        self.assertEqual(self.payloads(), want + ["meanwhile", "later"])
        self.assertEqual(server.call("EXISTS", "list", "list:moving"), 0)


if __name__ == "__main__":
    unittest.main()
