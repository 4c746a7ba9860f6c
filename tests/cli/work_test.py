"""wq work with a process per job: input, environment, exit status, queues, limits, feed."""

import json
import os
import stat
import subprocess
import unittest

from cli_case import DEADLINE_SECONDS, PROGRAM, SIGTERM, CliCase


class WorkExec(CliCase):
    def work(self, *args, code=0, **options):
        return self.wq("work", "--stop-when-empty", *args, code=code, **options)

    def test_payload_on_standard_input(self):
        blobs = [b"", b"\xff\x00\n\n", b"x" * 300_000]
        for blob in blobs:
            self.wq("push", "--format", "whole", stdin=blob)
        out = self.path("out.$WQ_JOB_ID")
        self.work("-n", "3", "--", "sh", "-c", f"cat > {out}")
        self.assertEqual([self.read(f"out.{i}") for i in (1, 2, 3)], blobs)
        self.assertEqual(self.stat()["acked_total"], 3)

    def test_payload_in_place_of_braces(self):
        self.push("a b", "$HOME;'\"", "-n")
        result = self.work("--", "printf", "%s|%s\\n", "{}", "x{}y{}")
        self.assertEqual(result.lines, ["a b|xa bya b", "$HOME;'\"|x$HOME;'\"y$HOME;'\"",
                                        "-n|x-ny-n"])

    def test_nul_in_an_argument_fails_the_job_alone(self):
        self.wq("push", "--format", "whole", stdin=b"a\0b")
        self.push("fine")
        self.assertEqual(self.work("--", "printf", "%s\\n", "{}").lines, ["fine"])
        self.assertIn("NUL", self.json("dead", "ls")[0]["last_error"])

    def test_environment(self):
        self.push("x", options=("-H", "content-type=text/plain", "--priority", "3",
                                "--max-attempts", "7"))
        text = self.work("--", "sh", "-c", "env | grep ^WQ_").lines
        seen = dict(line.split("=", 1) for line in text)
        self.assertEqual(seen["WQ_JOB_ID"], "1")
        self.assertEqual(seen["WQ_TOKEN"], "1:" + seen["WQ_GENERATION"])
        self.assertEqual((seen["WQ_ATTEMPT"], seen["WQ_MAX_ATTEMPTS"], seen["WQ_PRIORITY"],
                          seen["WQ_QUEUE"], seen["WQ_HEADER_CONTENT_TYPE"]),
                         ("1", "7", "3", "default", "text/plain"))

    def test_exit_status_settles(self):
        self.push("0", "65", "3")
        script = 'code=$(cat); echo "said $code" >&2; exit $code'
        self.work("--", "sh", "-c", script)
        stat_ = self.stat()
        self.assertEqual((stat_["acked_total"], stat_["failed_total"], stat_["nacked_total"]),
                         (1, 1, 4))
        dead = {job["payload"]: job for job in self.json("dead", "ls")}
        self.assertEqual(dead["65"]["attempts"], 1)
        self.assertEqual(dead["3"]["attempts"], 4)
        self.assertEqual(dead["3"]["last_error"], "said 3 (exit status 3)")

    def test_killed_by_a_signal_is_a_failed_attempt(self):
        self.push("x", options=("--max-attempts", "1"))
        self.work("--", "sh", "-c", "kill -9 $$")
        self.assertIn("signal 9", self.json("dead", "ls")[0]["last_error"])

    def test_only_the_tail_of_standard_error_is_kept(self):
        self.push("x", options=("--max-attempts", "1"))
        script = "i=0; while [ $i -lt 2000 ]; do echo line $i >&2; i=$((i+1)); done; exit 1"
        result = self.work("--", "sh", "-c", script)
        self.assertIn("line 0\n", result.err)  # passed on in full
        error = self.json("dead", "ls")[0]["last_error"]
        self.assertTrue(error.endswith("line 1999 (exit status 1)"))
        self.assertLessEqual(len(error), 4096)

    def test_input_that_nobody_reads(self):
        self.wq("push", "--format", "whole", stdin=b"x" * 1_000_000)
        self.work("--", "true")
        self.assertEqual(self.stat()["acked_total"], 1)

    def test_json_events(self):
        self.push("ok", "bad", options=("--max-attempts", "1"))
        script = 'p=$(cat); echo noise; [ "$p" = ok ]'
        result = self.wq("--json", "work", "--stop-when-empty", "--", "sh", "-c", script)
        events = result.json
        self.assertEqual([(e["outcome"], e["dead"]) for e in events[:-1]],
                         [("ack", False), ("retry", True)])
        self.assertEqual(events[1]["error"], "noise (exit status 1)")
        self.assertEqual((events[-1]["event"], events[-1]["acked"], events[-1]["retried"],
                          events[-1]["dead"], events[-1]["failed"]), ("summary", 1, 1, 1, 0))

    def test_the_dead_are_told_from_retries(self):
        self.push("0", "65", "3")
        result = self.work("--", "sh", "-c", "exit $(cat)")
        self.assertRegex(result.err, r"worked: 1 job done, 2 dead \(wq dead ls -q default\), "
                                     r"3 retries in [0-9.]+ m?s\n")
        self.push("zz", queue="n", options=("--max-attempts", "1"))
        result = self.wq("work", "-q", "n", "--once", "--", "false")
        self.assertRegex(result.err, r"worked: 0 jobs done, 1 dead \(wq dead ls -q n\) in ")
        heading, row = self.wq("stat", "-q", "n").lines[1:]
        self.assertIn(" nacked ", heading)
        self.assertEqual(row.split()[-2:], ["1", "0"])

    def test_jobs_that_are_not_handed_out_are_told(self):
        self.push("a", queue="mail")
        self.wq("queue", "pause", "mail")
        work = ("work", "-q", "mail", "--stop-when-empty", "--", "true")
        self.assertIn("1 job waits: queue 'mail' is paused; wq queue resume mail",
                      self.wq(*work, code=8).err)
        self.wq("--json", *work, code=8)
        self.wq("work", "-q", "mail", "--once", "--", "true", code=8)
        self.wq("queue", "resume", "mail")
        self.wq("queue", "set", "mail", "--max-running", "1")
        self.push("b", "c", queue="mail")
        token = self.json("pull", "-q", "mail")[0]["token"]
        self.assertIn("2 jobs wait: queue 'mail' has 1 leased or running",
                      self.wq(*work, code=8).err)
        self.assertIn("2 jobs wait", self.wq("pull", "-q", "mail", code=4).err)
        self.wq("ack", token)
        self.wq(*work)
        self.wq("queue", "pause", "mail")
        self.wq(*work)  # nothing waits

    def test_a_command_can_not_wait_for_its_own_worker(self):
        self.push("a", "b")
        for options in ((), ("--lock-wait", "forever")):
            script = " ".join([PROGRAM, "--store", self.store, *options, "push", "-q", "b", "x"])
            result = self.wq("work", "--once", "--", "sh", "-c", script + "; echo $? >&2")
            self.assertIn("the wq work that started this command", result.err)
            self.assertIn("\n6\n", result.err)
        # Another store is none of its business, and with the worker gone it can be had.
        other = f"{PROGRAM} --store {self.path('other')} push x"
        self.push("c")
        self.wq("work", "--once", "--", "sh", "-c", other)
        self.wq("push", "d", env={"WQ_WORKER_STORE": os.path.realpath(self.store)})

    def test_strict(self):
        self.push("x", options=("--max-attempts", "1"))
        self.work("--strict", "--", "false", code=9)
        self.work("--strict", "--", "false", code=0)

    def test_once(self):
        self.push("a", "b")
        self.assertEqual(self.wq("work", "--once", "-n", "8", "--", "cat").out, b"a")
        self.assertEqual(self.counts(), {"ready": 1})
        self.wq("work", "--once", "--", "true")
        self.wq("work", "--once", "--", "true", code=4)

    def test_queues_in_order_of_preference(self):
        self.push("l1\n", "l2\n", queue="low")
        self.push("h1\n", "h2\n", queue="high")
        result = self.work("-q", "high", "-q", "low", "--", "cat")
        self.assertEqual(result.lines, ["h1", "h2", "l1", "l2"])

    def test_retries_wait_for_their_backoff_and_are_not_waited_for(self):
        self.wq("queue", "set", "default", "--backoff", "fixed:1h")
        self.push("x")
        self.work("--", "false")
        self.assertEqual(self.counts(), {"delayed": 1})

    def test_delayed_jobs_are_run_when_due_without_a_poke(self):
        self.push("later\n", options=("--delay", "300ms"))
        running = self.start("work", "--", "cat")
        self.assertEqual(running.read_line(), "later")

    def test_timeout_kills_the_whole_group_and_retries(self):
        self.push("x", options=("--max-attempts", "1"))
        # The shell waits for a child that must die too, or the test would not end in time.
        self.work("--timeout", "100ms", "--", "sh", "-c", "sleep 1000; true")
        self.assertIn("timed out", self.json("dead", "ls")[0]["last_error"])

    def test_parallel_jobs_run_at_the_same_time(self):
        self.push("a", "b", "c")
        fifo = self.fifo("meet")
        # Each job writes to the pipe and needs the two others to have their end open.
        script = (f"cat >/dev/null; exec 3<>{fifo}; echo here >&3; "
                  f"touch {self.dir}/at.$WQ_JOB_ID; "
                  f"until [ $(ls {self.dir}/at.* | wc -l) -eq 3 ]; do :; done")
        self.work("-n", "3", "--", "sh", "-c", script)
        self.assertEqual(self.stat()["acked_total"], 3)

    def test_max_running_bounds_the_slots(self):
        self.wq("queue", "set", "default", "--max-running", "1")
        self.push(*["x"] * 20)
        script = f"mkdir {self.dir}/alone && rmdir {self.dir}/alone"
        self.work("-n", "4", "--", "sh", "-c", script)
        self.assertEqual(self.stat()["acked_total"], 20)
        self.assertEqual(self.stat()["nacked_total"], 0)

    def test_feed(self):
        lines = b"".join(b"line %d\n" % i for i in range(3000)) + b"\n\xfflast"
        result = self.wq("work", "-q", "new", "--feed", "--lines", "tab", "-n", "2", "--", "sh",
                         "-c", "while IFS= read -r l; do echo ok; done", stdin=lines)
        self.assertIn("3,002 jobs done", result.err)
        stat_ = self.stat("new")
        self.assertEqual((stat_["enqueued_total"], stat_["acked_total"]), (3002, 3002))

    def test_feed_handles_what_comes_while_the_pipe_is_open(self):
        running = self.start("work", "-q", "new", "--feed", "--", "cat")
        running.write(b"first\n")
        script_sees = os.read(running.process.stdout.fileno(), 100)
        self.assertEqual(script_sees, b"first")
        running.write(b"second")
        self.assertEqual(running.finish().out, b"second")

    def work_into(self, target, *args):
        """Runs the worker with its standard output at `target` of a shell."""
        command = self._command(["work", "--stop-when-empty", *args])
        return subprocess.run(["sh", "-c", f'exec "$@" {target}', "sh", *command],
                              stderr=subprocess.PIPE, check=False, env=self._environment(None))

    def test_an_output_that_is_gone_costs_no_attempt(self):
        self.push(*[str(i) for i in range(20)], options=("--max-attempts", "1"))
        for target, why in ((">/dev/full", b"No space left"), (">&-", b"output is closed")):
            for slots in ("1", "4"):
                done = self.work_into(target, "-n", slots, "--", "cat")
                self.assertNotIn(done.returncode, (0, 9), done.stderr)
                self.assertIn(why, done.stderr)
                self.assertIn(b"the worker stopped", done.stderr)
                self.assertEqual(self.counts(), {"ready": 20})
        self.assertEqual(self.stat()["acked_total"], 0)
        # Whoever says "never" said it of the output as well.
        self.work_into(">/dev/full", "--", "sh", "-c", "cat || exit 65")
        self.assertEqual(self.counts(), {"ready": 20})
        # Without a word to it nothing is lost.
        self.assertEqual(self.work_into(">/dev/full", "--", "true").returncode, 0)
        self.assertEqual(self.stat()["acked_total"], 20)

    def test_a_closed_pipe_stops_the_worker(self):
        self.push(*["x" * 100] * 50, options=("--max-attempts", "1"))
        self.fifo("gate")
        running = self.start("work", "--stop-when-empty", "--", "sh", "-c", "cat; read x <gate")
        running.process.stdout.read(1)
        running.process.stdout.close()
        with open(self.path("gate"), "wb") as gate:  # the first job ends when nobody reads
            gate.write(b"\n")
        running.process.wait(DEADLINE_SECONDS)
        err = running.process.stderr.read()
        self.assertEqual(running.process.returncode, 1, err)
        self.assertIn(b"Broken pipe", err)
        self.assertEqual((self.stat()["acked_total"], self.counts()), (1, {"ready": 49}))

    def test_json_that_nobody_takes_leaves_no_lease(self):
        self.push("a", "b", "c")
        for lines in ((), ("--lines", "tab")):
            done = self.work_into(">/dev/full", "--json", "-n", "3", *lines, "--", "sh", "-c",
                                  "while read x; do echo ok; done")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(b"No space left", done.stderr)
            self.assertNotIn("leased", self.counts())

    def test_a_file_of_events_that_is_full_leaves_no_lease(self):
        self.push(*[str(i) for i in range(20)])
        for lines in ((), ("--lines", "tab")):
            done = self.wq("work", "-n", "4", "--events", "/dev/full", *lines, "--", "sh", "-c",
                           "while read x; do echo ok; done", code=7)
            self.assertIn("/dev/full: No space left", done.err)
            self.assertIn("the worker stopped", done.err)
            stat = self.stat()
            self.assertEqual(stat["acked_total"] + stat["ready"], 20)
            self.assertGreater(stat["ready"], 0)
            self.assertEqual((stat["nacked_total"], stat["leased_total"]),
                             (0, stat["acked_total"] + stat["released_total"]))

    def test_a_path_of_events_that_is_wrong_makes_no_store(self):
        self.wq("work", "--feed", "--events", "/no/such/place", "--", "true", code=3)
        self.assertFalse(os.path.exists(self.store))

    def environment(self, *headers, outer=None):
        """The variables of headers that a command sees, and the errors of the worker."""
        line = json.dumps({"payload": "", "headers": list(headers)})
        self.wq("push", "--format", "jsonl", stdin=line.encode())
        result = self.wq("work", "--once", "--", "env", env=outer)
        return [line for line in result.lines if line.startswith("WQ_HEADER_")], result.err

    def test_of_headers_with_one_variable_the_first_counts(self):
        headers = [{"name": name, "value": name} for name in ("a-b", "a_b", "c", "c")]
        seen, _ = self.environment(*headers)
        self.assertEqual(sorted(seen), ["WQ_HEADER_A_B=a-b", "WQ_HEADER_C=c"])

    def test_a_header_with_a_nul_is_left_out_and_told_once(self):
        nul = {"name": "bad", "value_base64": "YQBi"}
        seen, told = self.environment(nul, {"name": "good", "value": "x"})
        self.assertEqual(seen, ["WQ_HEADER_GOOD=x"])
        self.assertIn("wq: warning: header 'bad' of job 1 holds a NUL byte", told)
        lines = json.dumps({"payload": "", "headers": [nul]}) + "\n"
        self.wq("push", "--format", "jsonl", stdin=lines.encode() * 3)
        told = self.wq("work", "--stop-when-empty", "--", "true").err
        self.assertEqual(told.count("NUL"), 1)

    def test_headers_of_another_job_are_not_inherited(self):
        seen, _ = self.environment({"name": "mine", "value": "x"},
                                   outer={"WQ_HEADER_OTHER": "of an outer worker"})
        self.assertEqual(seen, ["WQ_HEADER_MINE=x"])

    def test_a_feed_that_is_refused_leaves_no_lease(self):
        self.wq("queue", "set", "default", "--max-depth", "2")
        self.push("a")
        gate = self.fifo("gate")
        running = self.start("work", "--feed", "--", "sh", "-c", f"echo begun; read x <{gate}")
        self.assertEqual(running.read_line(), "begun")
        running.write(b"1\n2\n3\n")
        with open(gate, "wb") as file:
            file.write(b"\n")
        result = running.finish()
        self.assertEqual(result.code, 8, result.err)
        self.assertIn("the worker stopped", result.err)
        self.assertEqual((self.stat()["acked_total"], self.counts()), (1, {}))

    def test_usage_errors_burn_no_attempt(self):
        self.push("x")
        self.assertIn("no program", self.wq("work", "--", "no-such-program-here", code=2).err)
        self.wq("work", "--", self.path("nothing"), code=2)
        self.wq("work", code=2)
        self.wq("work", "-n", "0", "--", "cat", code=2)
        self.wq("work", "--lines", "xml", "--", "cat", code=2)
        self.wq("work", "-q", "other", "--", "cat", code=3)
        script = self.file("script", b"#!/no/such/interpreter\n")
        os.chmod(script, os.stat(script).st_mode | stat.S_IXUSR)
        self.assertIn("can not start", self.wq("work", "--", script, code=1).err)
        self.assertEqual(self.json("show", "1")[0]["attempts"], 0)


class WorkLines(CliCase):
    def handler(self, body):
        """A handler in Python: `body` sees `line` and prints its answer."""
        source = ("import json, sys\n"
                  "for line in sys.stdin.buffer:\n"
                  + "".join(f"    {part}\n" for part in body.split("\n"))
                  + "    sys.stdout.flush()\n")
        return ["python3", self.file("handler.py", source.encode())]

    def work(self, form, body, *args, code=0):
        return self.wq("--json", "work", "--stop-when-empty", "--lines", form, *args, "--",
                       *self.handler(body), code=code)

    def test_json_jobs_and_all_answers(self):
        self.push("ok", "retry", "fail", "release", options=("--max-attempts", "2"))
        body = ("job = json.loads(line)\n"
                "first = job['attempts'] == 1 and not job['last_error'] "
                "if 'last_error' in job else True\n"
                f"path = {self.path('seen')!r} + str(job['id'])\n"
                "import os\n"
                "again = os.path.exists(path)\n"
                "open(path, 'w').close()\n"
                "word = 'ok' if job['payload'] == 'release' and again else job['payload']\n"
                "print(word + ' because of ' + str(job['attempts']))")
        events = self.work("json", body).json
        outcomes = {}
        for event in events[:-1]:
            outcomes.setdefault(event["id"], []).append(event["outcome"])
        self.assertEqual(outcomes, {1: ["ack"], 2: ["retry", "retry"], 3: ["fail"],
                                    4: ["release", "ack"]})
        dead = {job["payload"]: job["last_error"] for job in self.json("dead", "ls")}
        self.assertEqual(dead, {"retry": "because of 2", "fail": "because of 1"})

    def test_json_carries_any_payload(self):
        data = bytes(range(256)) * 300
        self.wq("push", "--format", "whole", stdin=data)
        body = ("import base64\n"
                f"open({self.path('out')!r}, 'wb').write("
                "base64.b64decode(json.loads(line)['payload_base64']))\n"
                "print('ok')")
        self.work("json", body)
        self.assertEqual(self.read("out"), data)

    def test_tab_is_byte_exact(self):
        self.wq("push", stdin=b"\xff\t\x00\r\n\n\\n")
        body = f"open({self.path('out')!r}, 'ab').write(line)\nprint('ok')"
        self.work("tab", body)
        lines = self.read("out").split(b"\n")[:-1]
        self.assertEqual([line.split(b"\t", 3)[3] for line in lines],
                         [b"\xff\t\x00\r", b"", b"\\n"])
        self.assertEqual([line.split(b"\t", 3)[0] for line in lines], [b"1", b"2", b"3"])

    def test_tab_can_not_tell_a_newline(self):
        self.wq("push", "--format", "whole", stdin=b"a\nb")
        self.push("c")
        self.work("tab", "print('ok')")
        self.assertEqual(self.stat()["acked_total"], 1)
        self.assertIn("--lines json", self.json("dead", "ls")[0]["last_error"])

    def test_one_job_that_kills_its_handler(self):
        self.push(*[str(i) for i in range(50)], options=("--max-attempts", "2"))
        body = ("if line.endswith(b'\\t17\\n'): sys.stderr.write('ouch'); sys.exit(3)\n"
                "print('ok')")
        self.work("tab", body, "-n", "2")
        stat_ = self.stat()
        self.assertEqual((stat_["acked_total"], stat_["dead"]), (49, 1))
        dead = self.json("dead", "ls")[0]
        self.assertEqual(dead["payload"], "17")
        self.assertIn("ouch", dead["last_error"])
        self.assertIn("exit status 3", dead["last_error"])

    def test_handlers_that_all_die_stop_the_worker(self):
        self.push(*[str(i) for i in range(100)])
        result = self.wq("work", "--lines", "tab", "--stop-when-empty", "--", "sh", "-c",
                         "echo broken >&2; exit 7", code=1)
        self.assertIn("5 handlers in a row ended without a valid answer", result.err)
        self.assertGreater(self.counts()["ready"], 90)

    def test_an_answer_that_is_none(self):
        self.push("x", options=("--max-attempts", "1"))
        self.work("tab", "print('yes')")
        self.assertIn("'yes'", self.json("dead", "ls")[0]["last_error"])

    def test_more_answers_than_jobs(self):
        self.push("x")
        self.work("tab", "print('ok')\nprint('ok')")
        self.assertEqual(self.stat()["acked_total"], 1)

    def test_an_answer_before_the_job_was_read_is_none(self):
        # It answers first and reads later: for the program the answer is there when the job is.
        self.push("a", "b")
        for options in (("--stop-when-empty",), ("--once",)):
            result = self.wq("work", *options, "--lines", "tab", "--", "sh", "-c",
                             "echo ok; cat >/dev/null", code=0 if options[0] == "--once" else 1)
            self.assertIn("a handler was ended: it answered 'ok' to no job", result.err)
        self.assertEqual(self.stat()["acked_total"], 0)
        self.assertEqual(self.counts(), {"ready": 2})
        self.assertEqual(self.json("show", "1")[0]["attempts"], 0)

    def test_answers_of_a_handler_that_never_reads_end_the_worker(self):
        self.push("a", "b")
        fifo = self.fifo("never")
        result = self.wq("work", "--lines", "json", "--", "sh", "-c",
                         f"echo ok; echo ok; read x <{fifo}", code=1)
        self.assertEqual(result.err.count("a handler was ended"), 5)
        self.assertIn("without a valid answer", result.err)
        self.assertEqual(self.counts(), {"ready": 2})

    def test_an_answer_too_many_is_not_kept_for_the_next_job(self):
        self.wq("queue", "set", "default", "--backoff", "fixed:100ms")
        self.push("x")
        told, seen = self.fifo("told"), self.path("seen")
        # The answer too many comes while no job is out, and the job is tried again soon after.
        body = ("if line.split(b'\\t')[2] == b'1':\n"
                "    sys.stdout.write('retry no\\n'); sys.stdout.flush()\n"
                f"    open({told!r}).read()\n"
                f"else: open({seen!r}, 'wb').write(line)\n"
                "print('ok')")
        running = self.start("--json", "work", "--lines", "tab", "--", *self.handler(body))
        self.assertEqual(json.loads(running.read_line())["outcome"], "retry")
        with open(told, "wb"):
            pass
        # It may have been handed out again before the answer was seen; then it goes back first.
        outcomes = [json.loads(running.read_line())["outcome"]]
        while outcomes[-1] == "release":
            outcomes.append(json.loads(running.read_line())["outcome"])
        self.assertEqual(outcomes[-1], "ack")
        self.assertTrue(self.read("seen").endswith(b"\tx\n"))
        running.send(SIGTERM)
        self.assertIn("it answered 'ok' to no job", running.finish().err)

    def test_once(self):
        for form in ("json", "tab"):
            self.push("a", "b", queue=form)
            events = self.json("work", "-q", form, "--once", "--lines", form, "-n", "4", "--",
                               *self.handler("print('ok')"))
            self.assertEqual([e.get("outcome") for e in events], ["ack", None])
            self.assertEqual(self.counts(form), {"ready": 1})
        self.wq("work", "-q", "tab", "--once", "--lines", "tab", "--",
                *self.handler("print('fail no')"))
        self.assertEqual(self.counts("tab"), {"dead": 1})
        self.wq("work", "-q", "tab", "--once", "--lines", "tab", "--", "cat", code=4)

    def test_timeout_of_a_handler(self):
        self.push("slow", "fast", options=("--max-attempts", "1"))
        body = "if b'slow' in line: sys.stdin.buffer.read()\nprint('ok')"
        self.work("tab", body, "--timeout", "3s", "--ahead", "4")
        self.assertEqual(self.stat()["acked_total"], 1)
        dead = self.json("dead", "ls")
        self.assertEqual([job["payload"] for job in dead], ["slow"])
        self.assertIn("timed out", dead[0]["last_error"])

    def test_thousands_through_a_few_handlers(self):
        lines = [b"line %d" % i for i in range(20_000)]
        self.wq("push", stdin=b"\n".join(lines))
        body = "sys.stdout.write('ok\\n')"
        summary = self.work("tab", body, "-n", "3", "--ahead", "64").json[-1]
        self.assertEqual(summary["acked"], 20_000)
        self.assertEqual(self.counts(), {})


if __name__ == "__main__":
    unittest.main()
