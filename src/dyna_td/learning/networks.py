"""Stacked networks: S independent multilayer perceptrons, one per seed, in one set of variables.

A layer is W x + b: kernels are [S, out, in], and a batch has its examples as *columns*, [S, features, B]. On the CPU
columns make a training step about a fifth faster than rows. The thin input and output layers, and their gradients,
then need no transposed product.
"""

import itertools

import tensorflow as tf
from tensorflow.compiler.tf2xla.python.xla import optimization_barrier

from dyna_td.learning.streams import Purpose, Streams
from dyna_td.learning.xla import with_tensor_loops

ACTIVATIONS = {"relu": tf.nn.relu, "tanh": tf.nn.tanh}
# Activations of one seed and layer in a block of `map_blocks`: the fastest value tried, half a MiB with 20 seeds.
_BLOCK_ACTIVATIONS = 6_400
_FEW = 8  # features up to which slices are faster than a transposition: up to 20% of an update, same bytes
_DECAY_OF_MEANS, _DECAY_OF_SQUARES, _ADAM_EPSILON = 0.9, 0.999, 1e-8  # TensorFlow 1's beta_1, beta_2, epsilon
OUTPUT_LIMIT = 0.003  # output layers of value networks start in U(-0.003, 0.003) (paper, "Common settings")


class StackedNetwork(tf.Module):
    """S perceptrons with Xavier-uniform kernels and zero biases.

    Args:
      streams: the S seeds; seed k's initial weights depend on seed k alone.
      sizes: units of the input, hidden and output layers, e.g. (2, 32, 32, 4).
      activation: of the hidden layers, e.g. `tf.nn.relu`.
      output_limit: the output kernel is drawn from U(-limit, limit); None draws it like the others.
      index: distinguishes several networks of the same seed.
      joining: number of further inputs that join the outputs of the first hidden layer.
    """

    def __init__(
        self, streams: Streams, sizes, activation, output_limit: float | None = None, index: int = 0, joining: int = 0
    ):
        super().__init__()
        self.activation = activation
        self.kernels, self.biases = [], []
        for layer, (fan_in, fan_out) in enumerate(itertools.pairwise(sizes)):
            fan_in += joining if layer == 1 else 0
            is_output = layer == len(sizes) - 2
            limit = output_limit if is_output and output_limit is not None else (6.0 / (fan_in + fan_out)) ** 0.5
            uniform = streams.uniform(Purpose.WEIGHTS, (fan_out, fan_in), step=index, inner=layer)
            self.kernels.append(tf.Variable((2.0 * uniform - 1.0) * limit, name=f"kernel{layer}"))  # [S, out, in]
            self.biases.append(tf.Variable(tf.zeros([streams.count, fan_out, 1]), name=f"bias{layer}"))  # [S, out, 1]

    @property
    def parameters(self) -> list[tf.Variable]:
        """All variables, each with the seed axis first."""
        return [*self.kernels, *self.biases]

    def __call__(self, inputs: tf.Tensor, joining: tf.Tensor | None = None) -> tf.Tensor:
        """Maps columns [S, in, B], and `joining` columns [S, joining, B], to columns [S, out, B]."""
        *hidden, (kernel, bias) = zip(self.kernels, self.biases, strict=True)
        for layer, (hidden_kernel, hidden_bias) in enumerate(hidden):
            inputs = self.activation(product(hidden_kernel, inputs) + _repeated(hidden_bias, inputs.shape[2]))
            if layer == 0 and joining is not None:
                inputs = tf.concat([inputs, joining], axis=1)
        return product(kernel, inputs) + _repeated(bias, inputs.shape[2])

    def copy_from(self, other: "StackedNetwork", when: tf.Tensor) -> None:
        """Copies the other network's parameters where the scalar bool `when` holds."""
        for mine, theirs in zip(self.parameters, other.parameters, strict=True):
            # tf.where, not tf.cond: a branch around variable writes makes XLA copy every variable of the loop.
            mine.assign(tf.where(when, theirs, mine))

    def move_towards(self, other: "StackedNetwork", rate: float) -> None:
        """Moves the parameters by the share `rate` of their distance to the other network's."""
        for mine, theirs in zip(self.parameters, other.parameters, strict=True):
            mine.assign(rate * theirs + (1.0 - rate) * mine)


class Adam(tf.Module):
    """Adam for all seeds (Kingma and Ba, Section 2). It works elementwise, so seeds do not mix.

    Keras has the same optimizer, but importing it takes a second in every job.

    Args:
      learning_rate: alpha, kept in a variable.
      parameters: the variables that it changes.
    """

    def __init__(self, learning_rate: float, parameters: list[tf.Variable]):
        super().__init__()
        self.parameters = parameters
        self.learning_rate = tf.Variable(learning_rate, dtype=tf.float32, trainable=False)
        self.updates = tf.Variable(0, dtype=tf.int64, trainable=False)  # t
        self._means = [tf.Variable(tf.zeros_like(parameter), trainable=False) for parameter in parameters]  # m
        self._squares = [tf.Variable(tf.zeros_like(parameter), trainable=False) for parameter in parameters]  # v

    def apply(self, gradients: list[tf.Tensor]) -> None:
        """Takes one step against the gradients, one for each parameter."""
        t = tf.cast(self.updates.assign_add(1), tf.float32)
        alpha = self.learning_rate * tf.sqrt(1.0 - _DECAY_OF_SQUARES**t) / (1.0 - _DECAY_OF_MEANS**t)
        for parameter, gradient, m, v in zip(self.parameters, gradients, self._means, self._squares, strict=True):
            m.assign_add((gradient - m) * (1.0 - _DECAY_OF_MEANS))
            v.assign_add((tf.square(gradient) - v) * (1.0 - _DECAY_OF_SQUARES))
            parameter.assign_sub(m * alpha / (tf.sqrt(v) + _ADAM_EPSILON))


def product(kernel, columns: tf.Tensor) -> tf.Tensor:
    """kernel [S, out, in] times columns [S, in, B], with gradients that no CPU rounds differently.

    XLA gives a product whose left factor is read transposed to Eigen and oneDNN, whose sums depend on the CPU. So the
    gradient of the columns multiplies by a transposed copy of the kernel, which is also faster.
    """
    kernel = tf.convert_to_tensor(kernel)
    return _product(kernel, columns) if columns.shape[2] > 1 else kernel @ columns


@tf.custom_gradient
def _product(kernel, columns):
    def gradients(gradient):
        return tf.matmul(gradient, columns, transpose_b=True), _transposed_copy(kernel) @ gradient

    return kernel @ columns, gradients


@tf.custom_gradient
def _transposed_copy(matrix):
    # The barrier keeps XLA from folding the transposition into the product that reads it.
    return optimization_barrier(tf.linalg.matrix_transpose(matrix))[0], tf.linalg.matrix_transpose


def as_columns(rows: tf.Tensor) -> tf.Tensor:
    """Turns rows [S, B, features] into the columns [S, features, B] that networks take."""
    if rows.shape[-1] <= _FEW:
        return tf.stack(tf.unstack(rows, axis=-1), axis=1)
    return tf.linalg.matrix_transpose(rows)


def as_rows(columns: tf.Tensor) -> tf.Tensor:
    """Turns columns [S, features, B] into rows [S, B, features]."""
    if columns.shape[1] <= _FEW:
        return tf.stack(tf.unstack(columns, axis=1), axis=-1)
    return tf.linalg.matrix_transpose(columns)


def _repeated(bias: tf.Tensor, count: int) -> tf.Tensor:
    """The bias [S, out, 1] as `count` equal columns [S, out, count].

    The gradient of a broadcast bias is a sum over columns, whose order XLA chooses by the number of seeds. The gradient
    of this product is a product, which adds in order.
    """
    return bias @ tf.ones([bias.shape[0], 1, count])


def all_finite(parameters: list[tf.Variable]) -> tf.Tensor:
    """Whether all parameters of a seed are finite: bool [S]."""
    return tf.reduce_all(tf.stack([tf.reduce_all(tf.math.is_finite(p), axis=[1, 2]) for p in parameters]), axis=0)


@with_tensor_loops
def map_blocks(function, length: int, width: int) -> tf.Tensor:
    """Evaluates `function` over 0, ..., length - 1 one cache-sized block at a time.

    Fully refreshed priorities need thousands of examples a seed after every update. Block by block the activations stay
    in the processor's cache: 150 instead of 470 microseconds a seed for a buffer of 10,000.

    Args:
      function: maps (start, size), a scalar tensor and a whole number, to float32 [S, size].
      length: number of values.
      width: units of the widest layer that `function` runs through.

    Returns:
      float32 [S, length].
    """
    block = min(max(1, _BLOCK_ACTIVATIONS // width), length)
    count = -(-length // block)
    values = tf.TensorArray(tf.float32, count)
    for k in tf.range(count):
        # The last block is shifted back to end at `length`; its overlap is dropped below.
        values = values.write(k, function(tf.minimum(k * block, length - block), block))
    stacked = values.stack()  # [count, S, block]
    head = tf.reshape(tf.transpose(stacked[:-1], [1, 0, 2]), [stacked.shape[1], (count - 1) * block])
    return tf.concat([head, stacked[-1][:, block * count - length :]], axis=1)
