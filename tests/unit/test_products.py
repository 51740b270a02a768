"""Counting the matrix products of compiled functions, and timing such products."""

from collections import Counter

import numpy as np
import tensorflow as tf

from dyna_td.learning.networks import StackedNetwork, map_blocks
from dyna_td.learning.streams import Streams
from dyna_td.learning.xla import with_tensor_loops, xla_function
from dyna_td.products import Product, best_seconds, products_of


def test_operations_are_a_multiplication_and_an_addition_for_each_pair():
    assert Product(5, 2, 3, 7).operations == 5 * 2 * 3 * 7 * 2


def test_products_of_a_forward_pass_and_its_gradient_are_those_of_the_paper_s_algebra():
    network = StackedNetwork(Streams((0, 1, 2)), (2, 8, 4), tf.nn.relu)

    @xla_function
    def gradient(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(network(x) ** 2)
        return tape.gradient(loss, network.parameters)

    forward = [Product(3, 8, 2, 16), Product(3, 4, 8, 16)]
    of_weights = [Product(3, 4, 16, 8), Product(3, 8, 16, 2)]
    of_inputs = [Product(3, 8, 4, 16)]  # of the second layer alone
    assert products_of(gradient, tf.ones([3, 2, 16])) == Counter(forward + of_weights + of_inputs)


def test_a_loop_counts_as_often_as_it_turns_and_one_that_depends_on_data_not_at_all():
    matrix = tf.constant(np.random.default_rng(0).random((3, 8, 8), np.float32))

    @xla_function
    @with_tensor_loops
    def function(x, turns):
        for _ in tf.range(7):
            x = tf.tanh(matrix @ x)
        k = tf.constant(0)
        while k < turns:
            x = tf.sin(matrix @ x)
            k += 1
        return x

    assert products_of(function, tf.ones([3, 8, 8]), tf.constant(5)) == Counter({Product(3, 8, 8, 8): 7})


def test_blocks_count_one_by_one():
    network = StackedNetwork(Streams((0, 1)), (2, 16, 16, 1), tf.nn.tanh)
    data = tf.Variable(tf.random.stateless_uniform([2, 2, 1_000], (0, 0)))

    @xla_function
    def everything():
        return map_blocks(lambda start, size: network(tf.slice(data, [0, 0, start], [2, 2, size]))[:, 0], 1_000, 16)

    products = products_of(everything)
    assert products[Product(2, 16, 16, 400)] == 3  # 400 examples at once


def test_the_best_time_grows_with_the_product():
    small, large = (best_seconds(Product(4, size, size, size)) for size in (32, 256))
    assert 0 < small < large
