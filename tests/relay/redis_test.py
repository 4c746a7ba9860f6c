"""wq relay and a real redis-server, which is killed, stopped and filled at random moments, while
the relay is killed too: all that was pushed is in Redis, each job once.

WQ_SEED=N repeats a run; WQ_RELAY_SECONDS=600 makes it as long as that."""

import json
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import redis_server

PROGRAM = os.environ.get("WQ_PROGRAM", "wq")
ANSWER_SECONDS = 60  # for whatever must come; nothing waits for this long in a good run


class RelayProcess:
    """wq relay run with a pipe at each side. Answers come in the order of the lines."""

    def __init__(self, store, address, to, *options):
        self.process = subprocess.Popen(
            [PROGRAM, "--json", "--store", store, "--lock-wait", "30s", "relay", "run", "--redis",
             address, "--to", to, "--format", "jsonl", "--timeout", "200ms", *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.answers = queue.Queue()
        self.errors = []
        self.readers = [threading.Thread(target=self._read_answers, daemon=True),
                        threading.Thread(target=self._read_errors, daemon=True)]
        for reader in self.readers:
            reader.start()

    def _read_answers(self):
        for line in self.process.stdout:
            self.answers.put(json.loads(line))

    def _read_errors(self):
        for line in self.process.stderr:
            self.errors.append(line)

    def push(self, job):
        try:
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it was killed: the job has no answer, and is pushed again

    def answer(self):
        return self.answers.get(timeout=ANSWER_SECONDS)

    def kill(self):
        self.process.kill()
        return self._end()

    def finish(self):
        self.process.stdin.close()
        return self._end()

    def _end(self):
        code = self.process.wait(timeout=ANSWER_SECONDS)
        for reader in self.readers:
            reader.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                stream.close()
            except BrokenPipeError:
                pass
        return code


class RelayCase(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="wq-relay-")
        self.addCleanup(shutil.rmtree, self.directory, True)
        self.store = os.path.join(self.directory, "store")
        self.redis = redis_server.RedisServer(self.directory)
        self.addCleanup(self.redis.kill)
        self.address = "unix://" + self.redis.path

    def wq(self, *arguments):
        return subprocess.run([PROGRAM, "--json", "--store", self.store, *arguments], check=False,
                              capture_output=True, text=True)

    def relay(self, to, *options):
        return RelayProcess(self.store, self.address, to, *options)


def numbered(number):
    """The idempotency key is the id, so that whoever has no answer may push again."""
    name = f"job-{number}"
    return {"payload": name, "idempotency": {"key": name, "window_ms": 1000}}


class Chaos(RelayCase):
    def test_all_arrive_once(self):
        for options in ((), ("--in-order",), ("--mode", "always")):
            with self.subTest(options=options):
                self.run_chaos(options)

    def run_chaos(self, options):
        seed = int(os.environ.get("WQ_SEED", random.SystemRandom().randrange(1 << 32)))
        seconds = float(os.environ.get("WQ_RELAY_SECONDS", "0")) / 3
        print(f"seed {seed}, options {options}", flush=True)
        self.rng = random.Random(seed)
        self.key = "jobs" + "".join(options)
        self.options = options
        self.redis.start()
        self.running = self.relay("list:" + self.key, *options)
        self.pending, self.outcomes, self.is_paused = [], {}, False
        pushed, end = 0, time.monotonic() + seconds
        for step in range(1 << 62):
            if step >= 60 and time.monotonic() >= end:
                break
            for _ in range(self.rng.randrange(1, 40)):
                self.pending.append(numbered(pushed))
                self.running.push(self.pending[-1])
                pushed += 1
            self.rng.choice((self.no_event, self.no_event, self.kill_redis, self.pause_redis,
                             self.fill_redis, self.kill_relay))()
        self.heal()
        self.take_answers(len(self.pending))
        self.assertEqual(self.running.finish(), 0, self.running.errors)
        found = [item.decode() for item in self.redis.call("LRANGE", self.key, 0, -1)]
        self.assertEqual(len(found), len(set(found)), "doubled")
        self.assertEqual(set(found), {f"job-{n}" for n in range(pushed)}, "lost")
        report = json.loads(self.wq("relay", "report").stdout)
        self.assertEqual(report["local"]["ready"] + report["local"]["held"], 0)
        self.assertEqual(report["relayed"]["dead"], 0)
        print(f"{pushed} jobs, each once; answers {self.outcomes}; {report}", flush=True)
        self.redis.kill()

    def take_answers(self, count):
        for _ in range(count):
            answer = self.running.answer()
            self.assertEqual(answer["id"], self.pending[0]["payload"])
            self.assertIn(answer["outcome"], ("sent", "spooled", "duplicate"))
            self.outcomes[answer["outcome"]] = self.outcomes.get(answer["outcome"], 0) + 1
            self.pending.pop(0)

    def some_answers(self):
        self.take_answers(self.rng.randrange(len(self.pending) + 1))

    def no_event(self):
        self.some_answers()

    def kill_redis(self):
        self.some_answers()
        self.resume()
        self.redis.kill()
        self.some_answers()
        self.redis.start()

    def pause_redis(self):
        self.redis.pause()
        self.is_paused = True
        self.some_answers()
        if self.rng.random() < 0.7:
            self.resume()

    def resume(self):
        if self.is_paused:
            self.redis.resume()
        self.is_paused = False

    def fill_redis(self):
        self.resume()
        self.redis.call("CONFIG", "SET", "maxmemory", "1")
        self.some_answers()
        self.redis.call("CONFIG", "SET", "maxmemory", "0")

    def kill_relay(self):
        self.some_answers()
        self.running.kill()
        while not self.running.answers.empty():
            self.take_answers(1)
        self.running = self.relay("list:" + self.key, *self.options)
        for job in self.pending:
            self.running.push(job)

    def heal(self):
        self.resume()
        self.redis.call("CONFIG", "SET", "maxmemory", "0")


class InOrder(RelayCase):
    def test_what_is_spooled_is_not_overtaken(self):
        running = self.relay("list:jobs", "--in-order")
        for number in range(20):
            running.push(numbered(number))
        self.assertEqual({running.answer()["outcome"] for _ in range(20)}, {"spooled"})
        self.redis.start()
        for number in range(20, 60):
            running.push(numbered(number))
            running.answer()
        self.assertEqual(running.finish(), 0)
        self.assertEqual([item.decode() for item in self.redis.call("LRANGE", "jobs", 0, -1)],
                         [f"job-{n}" for n in range(60)])


class Layouts(RelayCase):
    def relayed(self, to, *jobs, spool=True):
        """The outcomes of jobs that were pushed before Redis was there, or after."""
        if not spool:
            self.redis.start()
        running = self.relay(to)
        for job in jobs:
            running.push(job)
        outcomes = [running.answer()["outcome"] for _ in jobs]
        if spool:
            self.redis.start()
        code = running.finish()
        return outcomes, code

    def test_stream_keeps_all(self):
        job = {"payload_base64": "AP8=", "headers": {"a": "b"}, "priority": 7, "max_attempts": 9,
               "unique": {"key": "u"}, "group": "g",
               "idempotency": {"key": "the-id", "window_ms": 1}}
        self.assertEqual(self.relayed("stream:s", job), (["spooled"], 0))
        (_, fields), = self.redis.call("XRANGE", "s", "-", "+")
        self.assertEqual(dict(zip(fields[::2], fields[1::2])), {
            b"id": b"the-id", b"payload": b"\x00\xff", b"priority": b"7", b"max_attempts": b"9",
            b"unique": b"u", b"group": b"g", b"header:a": b"b"})

    def test_prismgo(self):
        far = 3_600_000
        outcomes, code = self.relayed("prismgo:app", {"payload": "now"},
                                      {"payload": "later", "delay_ms": far})
        self.assertEqual((outcomes, code), (["spooled", "spooled"], 0))
        self.assertEqual(self.redis.call("LRANGE", "app:queues:default", 0, -1), [b"now"])
        self.assertEqual(self.redis.call("LLEN", "app:queues:default:notify"), 1)
        member, score = self.redis.call("ZRANGE", "app:queues:default:delayed", 0, -1, "WITHSCORES")
        self.assertEqual(member, b"later")
        self.assertAlmostEqual(float(score) / 1000, time.time() + far / 1000, delta=ANSWER_SECONDS)

    def test_waitqueue(self):
        outcomes, code = self.relayed("waitqueue:ns:1", {"payload": "t1"}, {"payload": "t1"},
                                      {"payload": "t2"}, spool=False)
        self.assertEqual((outcomes, code), (["sent", "duplicate", "sent"], 0))
        prefix = "TaskQueue:ns:1:"
        self.assertEqual(self.redis.call("LRANGE", prefix + "waitingQueue", 0, -1), [b"t2", b"t1"])
        self.assertEqual(self.redis.call("HGET", prefix + "taskStateHashKv", "t1"), b"waiting")
        self.assertTrue(self.redis.call("HGET", prefix + "taskGenerationHashKv", "t2"))
        self.assertTrue(self.redis.call("HGET", prefix + "enqueuedAtHashKv", "t2"))

    def test_a_key_of_another_type_is_refused(self):
        self.redis.start()
        self.redis.call("SET", "k", "text")
        running = self.relay("list:k")
        running.push({"payload": "x"})
        answer = running.answer()
        self.assertEqual(answer["outcome"], "refused")
        self.assertIn("WRONGTYPE", answer["message"])
        self.assertEqual(running.finish(), 8)

    def test_spooled_and_then_refused_is_a_dead_letter(self):
        running = self.relay("list:k")
        running.push({"payload": "x"})
        self.assertEqual(running.answer()["outcome"], "spooled")
        # It does not find the server before the key is there.
        running.process.send_signal(signal.SIGSTOP)
        self.redis.start()
        self.redis.call("SET", "k", "text")
        running.process.send_signal(signal.SIGCONT)
        running.finish()
        dead = json.loads(self.wq("dead", "ls").stdout.splitlines()[0])
        self.assertIn("WRONGTYPE", dead["last_error"])

    def test_ids_are_forgotten_by_count(self):
        self.redis.start()
        running = self.relay("list:k", "--keep-ids-count", "3")
        for number in range(10):
            running.push(numbered(number))
            running.answer()
        self.assertEqual(running.finish(), 0)
        self.assertEqual(self.redis.call("ZCARD", "k:wq-seen"), 3)

    def test_no_wait_ends_without_redis(self):
        running = self.relay("list:k", "--no-wait")
        running.push({"payload": "x"})
        running.answer()
        self.assertEqual(running.finish(), 0)
        report = json.loads(self.wq("relay", "report").stdout)
        self.assertEqual((report["spooled"], report["local"]["ready"]), (1, 1))
        self.redis.start()
        self.assertEqual(self.relay("list:k", "--no-input").finish(), 0)
        self.assertEqual(self.redis.call("LRANGE", "k", 0, -1), [b"x"])

    def test_password_and_database(self):
        self.redis.start("--requirepass", "p@ss")
        running = RelayProcess(self.store, "unix://" + self.redis.path, "list:k", "--no-wait")
        running.push({"payload": "x"})
        answer = running.answer()
        self.assertEqual(answer["outcome"], "spooled")  # a password that is missing loses nothing
        self.assertIn("NOAUTH", answer["message"])
        running.finish()


if __name__ == "__main__":
    if not redis_server.program():
        print("skipped: there is no redis-server; scripts/setup.sh test installs it")
        sys.exit(77)
    unittest.main()
