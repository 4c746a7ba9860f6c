"""A redis-server of one test, on a socket in the test's directory, and the little of its protocol
that a test asks with."""

import os
import shutil
import signal
import socket
import subprocess


def program():
    """Debian's redis-tools have the server under the name of its checker, and start no service."""
    return shutil.which("redis-server") or shutil.which("redis-check-rdb")


class RedisServer:
    """Keeps what it said yes to over a kill: the append-only file is synced before each answer."""

    def __init__(self, directory):
        self.directory = directory
        self.path = os.path.join(directory, "redis.sock")
        self.process = None

    def start(self, *options):
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.path, "--dir", self.directory,
             "--save", "", "--appendonly", "yes", "--appendfsync", "always", *options],
            executable=program(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in self.process.stdout:  # ends with the process
            if "ready to accept connections" in line.lower():
                return
        raise AssertionError("redis-server did not start: " + line)

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
        self.process = None
        if os.path.exists(self.path):
            os.unlink(self.path)

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def call(self, *words):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.path)
            message = b"*%d\r\n" % len(words)
            for word in words:
                data = word if isinstance(word, bytes) else str(word).encode()
                message += b"$%d\r\n%s\r\n" % (len(data), data)
            connection.sendall(message)
            with connection.makefile("rb") as answer:
                return self._read(answer)

    def _read(self, answer):
        line = answer.readline()[:-2]
        kind, rest = line[:1], line[1:]
        if kind == b":":
            return int(rest)
        if kind == b"+":
            return rest
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b"$":
            return None if rest == b"-1" else answer.read(int(rest) + 2)[:-2]
        return [self._read(answer) for _ in range(int(rest))]
