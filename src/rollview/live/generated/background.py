"""One thread that compiles what views need, one part after the other. The views go on meanwhile with what they have."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

Task = Callable[[], None]


class Background:
    """Does tasks in their order. Its thread ends if there are none; when the process ends, after the current one."""

    def __init__(self) -> None:
        self._tasks: SimpleQueue[Task] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._ended = False

    def add(self, task: Task) -> None:
        with self._lock:
            self._tasks.put(task)
            if self._thread is None and not self._ended:
                self._thread = threading.Thread(target=self._run, name="rollview-live-compile", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while not self._ended:
            try:
                task = self._tasks.get_nowait()
            except Empty:
                with self._lock:
                    if self._tasks.empty():
                        self._thread = None
                        return
                continue
            task()

    def end(self) -> None:
        """Waits for the current task, and does no other."""
        self._ended = True
        if (thread := self._thread) is not None:
            thread.join()


BACKGROUND = Background()
atexit.register(BACKGROUND.end)
