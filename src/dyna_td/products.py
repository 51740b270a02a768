"""The matrix products of an update as XLA compiled it, and how fast this machine makes such products at best."""

import math
import re
import time
from collections import Counter
from functools import cache
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from dyna_td.learning.xla import with_tensor_loops, xla_function

_SECONDS = 0.02  # of products in one timed chunk
_REPEATS = 5  # timed chunks, of which the fastest counts

_COMPUTATION = re.compile(r"^(ENTRY )?%([\w.\-]+) .*\{$")
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%([\w.\-]+) = (.*)$")
_SHAPE = re.compile(r"^\w+\[([\d,]*)\]")
_CALLED = re.compile(r"\b(?:body|condition|to_apply|calls)=%([\w.\-]+)")
_CONDITION = re.compile(r"\bcondition=%([\w.\-]+)")
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
_LIMIT = re.compile(r"^s32\[\] constant\((\d+)\)")
_DOT = re.compile(r"\bdot\(%([\w.\-]+), %([\w.\-]+)\)")


class Product(NamedTuple):
    """S products of an m x k with a k x n matrix."""

    S: int
    m: int
    k: int
    n: int

    @property
    def operations(self) -> int:
        """Multiplications and additions."""
        return 2 * self.S * self.m * self.k * self.n


def products_of(function: tf.types.experimental.PolymorphicFunction, *arguments: tf.Tensor) -> Counter[Product]:
    """The products that a compiled function makes when it is called once, and how many of each.

    Loops count as often as they turn where that is known when they are compiled. One that turns as often as the data
    say counts as nothing: here those are the chains, and what happens once in tau updates.
    """
    return _count(function.experimental_get_compiler_ir(*arguments)(stage="optimized_hlo"))


class _Computation:
    """One of the functions that a program in XLA's language consists of."""

    def __init__(self):
        self.products: Counter[Product] = Counter()  # its own
        self.limits: list[int] = []  # its whole numbers
        self.calls: list[tuple[str, str]] = []  # the computation that is called, and the text of the call


def _count(hlo: str) -> Counter[Product]:
    """See `products_of`; from the text of an optimized program."""
    computations: dict[str, _Computation] = {}
    entry, shapes = "", {}
    for line in hlo.splitlines():
        if match := _COMPUTATION.match(line):
            shapes = {}
            computation = computations[match[2]] = _Computation()
            entry = match[2] if match[1] else entry
        elif match := _INSTRUCTION.match(line):
            text = match[2]
            if shape := _SHAPE.match(text):
                shapes[match[1]] = [int(size) for size in shape[1].split(",") if size]
            if limit := _LIMIT.match(text):
                computation.limits.append(int(limit[1]))
            if dot := _DOT.search(text):
                computation.products[_product(text, shapes[dot[1]], shapes[dot[2]])] += 1
            computation.calls += [(called, text) for called in _CALLED.findall(text)]

    def limits(name: str) -> list[int]:
        found = computations[name].limits
        return found + [limit for called, _ in computations[name].calls for limit in limits(called)]

    def turns(text: str) -> int:
        """How often a call is made."""
        if " while(" not in text:
            return 1
        if trips := _TRIPS.search(text):
            return int(trips[1])
        # A loop over tf.range stops at its end or at its longest, which are the same; XLA gives up at two conditions.
        return min(limits(_CONDITION.search(text)[1]), default=0) if "known_induction_variable" in text else 0

    @cache
    def total(name: str) -> Counter[Product]:
        counts = Counter(computations[name].products)
        for called, text in computations[name].calls:
            times = turns(text)
            for product, count in total(called).items():
                counts[product] += times * count
        return +counts

    return total(entry)


def _product(text: str, left: list[int], right: list[int]) -> Product:
    """What a `dot` of operands with these shapes computes."""

    def dimensions(which: str) -> list[int]:
        match = re.search(rf"\b{which}=\{{([\d,]*)\}}", text)
        return [int(place) for place in match[1].split(",") if place] if match else []

    batch = math.prod(left[place] for place in dimensions("lhs_batch_dims"))
    k = math.prod(left[place] for place in dimensions("lhs_contracting_dims"))
    return Product(batch, math.prod(left) // (batch * k), k, math.prod(right) // (batch * k))


@cache
def best_seconds(product: Product) -> float:
    """The least time that this machine was seen to need for a product, on one thread, by XLA or by NumPy's BLAS."""
    return min(_seconds_of_xla(product), _seconds_of_numpy(product))


def _seconds_of_xla(product: Product) -> float:
    """A loop of products, each with the result of the one before: m x k by k x n, then m x n by n x k."""
    S, m, k, n = product
    forth = tf.eye(k, n, [S])  # and back: the numbers stay as they are, which XLA does not know
    back = tf.eye(n, k, [S])

    @xla_function
    @with_tensor_loops
    def multiply(x: tf.Tensor, forth: tf.Tensor, back: tf.Tensor, turns: tf.Tensor) -> tf.Tensor:
        turn = tf.constant(0)
        while turn < turns:
            x = (x @ forth) @ back
            turn += 1
        return x

    x = tf.constant(np.random.default_rng(0).random((S, m, k), np.float32))

    def run(turns: int) -> float:
        begun = time.perf_counter()
        multiply(x, forth, back, tf.constant(turns)).numpy()
        return time.perf_counter() - begun

    run(1)
    return _fastest(run) / 2


def _seconds_of_numpy(product: Product) -> float:
    S, m, k, n = product
    rng = np.random.default_rng(0)
    left, right = rng.random((S, m, k), np.float32), rng.random((S, k, n), np.float32)
    out = np.empty((S, m, n), np.float32)

    def run(turns: int) -> float:
        begun = time.perf_counter()
        for _ in range(turns):
            np.matmul(left, right, out=out)
        return time.perf_counter() - begun

    return _fastest(run)


def _fastest(run) -> float:
    """Seconds of one turn, of a function that makes many turns and says how long they took."""
    turns = 1
    while (seconds := run(turns)) < _SECONDS:
        turns *= 2 if seconds == 0 else max(2, min(100, math.ceil(_SECONDS / seconds)))
    return min(run(turns) for _ in range(_REPEATS)) / turns
