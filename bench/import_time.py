"""How long `import toolnoise` takes beside `import numpy`: ratios of medians, each import in a process of its own.

python bench/import_time.py
"""

import statistics
import subprocess
import sys
import time

ROUNDS = 15
IMPORTS = {
    "nothing": "pass",
    "numpy": "import numpy",
    "toolnoise": "import toolnoise",
    "tn.compare": "import toolnoise; toolnoise.compare",
}


def seconds(code):
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - began


def main():
    times = {name: [] for name in IMPORTS}
    for _ in range(ROUNDS):
        for name, code in IMPORTS.items():
            times[name].append(seconds(code))
    middle = {name: statistics.median(each) for name, each in times.items()}
    for name, each in middle.items():
        print(f"{name:<12} {1000 * each:6.0f} ms, {each / middle['numpy']:.2f} times import numpy (median of {ROUNDS})")


if __name__ == "__main__":
    main()
