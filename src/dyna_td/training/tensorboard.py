"""Evaluations as TensorBoard's event files: a folder per seed, a tag per metric, the numbers of the CSV.

TensorFlow is enough to write them; the extra `tensorboard` installs the program that shows them.
"""

import time
from pathlib import Path

import pandas as pd
import tensorflow as tf


class Events:
    """Writes records (seed, step, metric, value) below a folder of `outputs.events_of`, and replaces earlier ones."""

    def __init__(self, folder: Path):
        self._folder = folder.absolute()  # an environment may change the working directory
        for earlier in folder.glob("seed-*/events.out.tfevents.dyna_td"):
            earlier.unlink()
        self._files: dict[int, tf.io.TFRecordWriter] = {}

    def add(self, records: pd.DataFrame) -> None:
        """Adds the records of evaluations."""
        for (seed, step), rows in records.groupby(["seed", "step"]):
            if seed not in self._files:
                path = self._folder / f"seed-{seed}" / "events.out.tfevents.dyna_td"
                path.parent.mkdir(parents=True, exist_ok=True)
                self._files[seed] = tf.io.TFRecordWriter(str(path))
                self._files[seed].write(tf.compat.v1.Event(file_version="brain.Event:2").SerializeToString())
            values = zip(rows["metric"], rows["value"], strict=True)
            summary = tf.compat.v1.Summary(
                value=[tf.compat.v1.Summary.Value(tag=metric, simple_value=value) for metric, value in values]
            )
            event = tf.compat.v1.Event(wall_time=time.time(), step=step, summary=summary)
            self._files[seed].write(event.SerializeToString())
            self._files[seed].flush()
