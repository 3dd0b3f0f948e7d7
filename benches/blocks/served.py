"""moto's server in a process of its own, behind a counter of what chunks move: `python -m blocks.served DELAY RATE`.

It prints its port. DELAY are seconds that each answer waits, as on a network, and RATE bytes that all of them together
move in a second; 0 for as fast as the server is. `GET /-/moved` gives what was asked for since it was asked last, in
JSON: the requests for chunks, each with its method, path and bytes, and how many others there were.
"""

import json
import sys
import threading
import time

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server


class Counted:
    """An application, and what its clients moved."""

    def __init__(self, application, delay, rate):
        self.application, self.delay, self.rate = application, delay, rate
        self.lock, self.free = threading.Lock(), 0.0
        self.moved, self.others = [], 0

    def __call__(self, environment, start):
        path = environment["PATH_INFO"]
        if path == "/-/moved":
            with self.lock:
                told = {"chunks": self.moved, "others": self.others}
                self.moved, self.others = [], 0
            start("200 OK", [("Content-Type", "application/json")])
            return [json.dumps(told).encode()]
        if self.delay:
            time.sleep(self.delay)
        method, length = environment["REQUEST_METHOD"], int(environment.get("CONTENT_LENGTH") or 0)

        def started(status, headers, *rest):
            count = length
            if method == "GET":
                count = next((int(v) for k, v in headers if k.lower() == "content-length"), 0)
            self.wait(count)
            with self.lock:
                if "/c/" not in path:
                    self.others += 1
                elif method in ("GET", "PUT") and status.startswith("20"):
                    self.moved.append((method, path, count))
            return start(status, headers, *rest)

        return self.application(environment, started)

    def wait(self, count):
        """Until the network has moved so many bytes, after those of others."""
        if self.rate:
            now = time.monotonic()
            with self.lock:
                self.free = max(now, self.free) + count / self.rate
                until = self.free
            time.sleep(max(0.0, until - now))


class Quiet(WSGIRequestHandler):
    """A handler that keeps connections and logs nothing."""

    protocol_version = "HTTP/1.1"

    def log_request(self, *_):
        pass


def main():
    application = Counted(DomainDispatcherApplication(create_backend_app), *map(float, sys.argv[1:]))
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=Quiet)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
