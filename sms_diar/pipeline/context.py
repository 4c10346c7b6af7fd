"""Workers, progress and limits of a run of the pipeline."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sms_diar._progress import Progress, Silence


@dataclass(frozen=True, eq=False)
class RunContext:
    """Resources, permissions and progress of a run; results do not depend on it.

    `max_memory` is the maximum memory of the program in bytes, or None. Commands in
    tables such as `wav.scp` run only with `allow_commands`.
    """

    workers: int = 1
    progress: Progress = field(default_factory=Silence)
    allow_commands: bool = False
    max_memory: int | None = None

    @classmethod
    def of(
        cls,
        *,
        workers: int = 1,
        progress: Progress | None = None,
        allow_commands: bool = False,
        max_memory: int | None = None,
    ) -> RunContext:
        """Make a context from the arguments of a public function."""
        return cls(workers, progress or Silence(), allow_commands, max_memory)

    def for_one_of(self, n_items: int) -> RunContext:
        """Return the context of one of several items that are processed in parallel.

        It has one thread, its share of the memory, and reports no progress.
        """
        memory = self.max_memory
        if memory is not None:
            memory //= max(1, min(self.workers, n_items))
        return replace(self, workers=1, progress=Silence(), max_memory=memory)
