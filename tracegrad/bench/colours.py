"""How many colours structured patterns take, beside the fewest that are known and those of ColPack
(Gebremedhin, Nguyen, Patwary and Pothen 2013), where a C++ compiler finds it.

Of ColPack the best of its orders counts, as of ours.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..sparse.colouring import colour_acyclic, colour_both, colour_columns, colour_symmetric
from .report.sparse import OWN, ColourRow

PROGRAM = r"""
#include <ColPack/ColPackHeaders.h>
#include <cstdio>
#include <iostream>
#include <vector>
using namespace ColPack;
int main(int, char** args) {
    std::FILE* file = std::fopen(args[1], "r");
    unsigned n, k;
    if (!file || std::fscanf(file, "%u", &n) != 1) return 1;
    std::vector<std::vector<unsigned>> rows(n);
    std::vector<unsigned*> all;
    for (auto& row : rows) {
        if (std::fscanf(file, "%u", &k) != 1) return 1;
        row.resize(k + 1);
        row[0] = k;
        for (unsigned i = 1; i <= k; i++)
            if (std::fscanf(file, "%u", &row[i]) != 1) return 1;
        all.push_back(row.data());
    }
    std::cout.rdbuf(nullptr);
    int least[4] = {1 << 30, 1 << 30, 1 << 30, 1 << 30};
    for (const char* order : {"NATURAL", "LARGEST_FIRST", "SMALLEST_LAST", "INCIDENCE_DEGREE"}) {
        BipartiteGraphPartialColoringInterface columns(SRC_MEM_ADOLC, all.data(), n, n);
        columns.PartialDistanceTwoColoring(order, "COLUMN_PARTIAL_DISTANCE_TWO");
        least[0] = std::min(least[0], columns.GetVertexColorCount());
        BipartiteGraphBicoloringInterface both(SRC_MEM_ADOLC, all.data(), n, n);
        both.Bicoloring(order, "EXPLICIT_COVERING__STAR_BICOLORING");
        least[1] = std::min(least[1], both.GetVertexColorCount());
        int which = 2;
        for (const char* kind : {"STAR", "ACYCLIC_FOR_INDIRECT_RECOVERY"}) {
            GraphColoringInterface symmetric(SRC_MEM_ADOLC, all.data(), n);
            symmetric.Coloring(order, kind);
            least[which] = std::min(least[which], symmetric.GetVertexColorCount());
            which++;
        }
    }
    std::printf("%d %d %d %d\n", least[0], least[1], least[2], least[3]);
}
"""


def line(n: int) -> Any:
    return sp.diags_array([np.ones(n - 1), np.ones(n), np.ones(n - 1)], offsets=[-1, 0, 1])


def patterns(size: int) -> Iterator[tuple[str, Any, tuple[int | None, ...]]]:
    """Name, symmetric pattern, and the fewest colours that are known: by columns, by both, star,
    acyclic."""
    n, one = size * size, sp.eye_array(size)
    yield "tridiagonal", line(n), (3, 3, 3, 2)
    yield "five points", sp.kron(line(size), one) + sp.kron(one, line(size)), (5, 5, None, None)
    yield "nine points", sp.kron(line(size), line(size)), (9, 9, None, None)
    arrow = sp.eye_array(n, format="lil")
    arrow[0, :] = arrow[:, 0] = 1
    yield "arrow", arrow, (n, 3, 2, 2)
    yield "blocks of 4", sp.kron(sp.eye_array(n // 4), np.ones((4, 4))), (4, 4, 4, 4)
    made = sp.random_array((n, n), density=2 / n, rng=np.random.default_rng(0))
    yield "random", made + made.T + sp.eye_array(n), (None, None, None, None)


def by_colpack(pattern: Any, program: Path) -> tuple[int, ...]:
    """The counts of ColPack."""
    rows = [pattern.indices[a:b] for a, b in zip(pattern.indptr, pattern.indptr[1:], strict=False)]
    text = "\n".join(" ".join(map(str, [len(r), *r.tolist()])) for r in rows)
    given = program.with_suffix(".txt")
    given.write_text(f"{len(rows)}\n{text}\n", encoding="ascii")
    run = subprocess.run(
        [program, given], check=True, capture_output=True, text=True, cwd=program.parent
    )
    return tuple(map(int, run.stdout.split()))


def built(folder: Path) -> Path | None:
    """The program, compiled; None where there is no compiler or no ColPack."""
    compiler = shutil.which("c++")
    if compiler is None:
        return None
    source, program = folder / "colours.cpp", folder / "colours"
    source.write_text(PROGRAM, encoding="ascii")
    command = [compiler, "-O2", "-fopenmp", str(source), "-lColPack", "-o", str(program)]
    return program if subprocess.run(command, capture_output=True).returncode == 0 else None


def colour_rows(size: int) -> Iterator[ColourRow]:
    """All patterns, of size * size columns."""
    with tempfile.TemporaryDirectory() as folder:
        program = built(Path(folder))
        for name, matrix, known in patterns(size):
            pattern: Any = sp.csr_array(matrix).astype(bool)
            pattern.sort_indices()
            found = [
                colour(pattern).number
                for colour in (colour_columns, colour_both, colour_symmetric, colour_acyclic)
            ]
            yield ColourRow(name, size * size, "known", known)
            yield ColourRow(name, size * size, OWN, tuple(found))
            if program is not None:
                yield ColourRow(name, size * size, "ColPack", by_colpack(pattern, program))


__all__ = ["colour_rows"]
