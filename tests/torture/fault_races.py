"""Two or three runs of one command on one lake, which a seed lets go on in turn, point by point."""

from contextlib import ExitStack
from random import Random

from support.named_points import KILLED, HeldRun, held
from torture.fault_scenes import Scene

_LEFT_TO_THE_NEXT = 3  # others kept committing first
_STRIDES = (1, 1, 2, 5, 20)  # points that a run passes before another's turn
_DEATHS = 0.01
_TOPICS = ((), (), ("--topics", "orders"), ("--topics", "payments"))


def race(scene: Scene, seed: int) -> list[str]:
    """Let runs race, some of them killed on the way, run once more, and say what is wrong then."""
    random = Random(seed)
    folder = scene.copied("race")
    topics = _TOPICS if scene.has_two_topics else _TOPICS[:1]
    wrong = []
    with ExitStack() as stack:
        live = [
            stack.enter_context(held(scene.argv(folder, *random.choice(topics))))
            for _ in range(random.choice((2, 2, 3)))
        ]
        while live:
            run = random.choice(live)
            code, expected = _some_points(run, random), {0, scene.clean.exit_code}
            if code is not None:
                live.remove(run)
            if code not in (None, KILLED, _LEFT_TO_THE_NEXT, *expected):
                wrong.append(f"a run ended with {code}: {run.text()}")
    return wrong + scene.wrong(folder)


def _some_points(run: HeldRun, random: Random) -> int | None:
    """Let it pass some points, or die; its exit code, if it has ended."""
    if random.random() < _DEATHS:
        return run.kill()
    for _ in range(random.choice(_STRIDES)):
        if run.next() is None:
            return run.finish()
    return None
