"""Videos show what an environment renders, in whatever form it does so."""

import numpy as np
import pytest
from files import sentence_of
from PIL import Image, ImageSequence

from dyna_td.playing.video import Video

GREY = np.arange(7 * 12 * 16, dtype=np.uint8).reshape(7, 12, 16)  # seven different pictures
RGB = np.stack([GREY, 255 - GREY, GREY // 2], axis=-1)
OPAQUE = np.full_like(GREY, 255)


def written(path, pictures):
    video = Video(path)
    for picture in pictures:
        video.add(picture)
    video.write(rate=10)
    with Image.open(path) as image:
        return np.stack([np.asarray(frame.convert("RGB")) for frame in ImageSequence.Iterator(image)])


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (RGB, RGB),
        (np.concatenate([RGB, OPAQUE[..., None]], axis=-1), RGB),
        (GREY, np.stack([GREY] * 3, axis=-1)),
        (GREY[..., None], np.stack([GREY] * 3, axis=-1)),
        (np.concatenate([RGB, 0 * OPAQUE[..., None]], axis=-1), np.full_like(RGB, 255)),
    ],
    ids=["rgb", "rgba", "grey", "grey with an axis", "transparent"],
)
def test_every_kind_of_picture_is_shown_as_its_colours(tmp_path, given, shown, monkeypatch):
    if given.shape[-1] == 4 and not given[..., 3].any():
        given = given.copy()
        given[..., 0] = np.arange(7)[:, None, None]
    frames = written(tmp_path / "x.gif", given)
    expected = written(tmp_path / "y.gif", shown)
    assert np.array_equal(frames, expected) and frames.shape[1:] == (12, 16, 3)
    if given is not None and expected.std() > 0:
        assert len(frames) == 7 and np.abs(frames.astype(float) - shown).mean() < 20


@pytest.mark.parametrize("suffix", [".gif", ".mp4"])
@pytest.mark.parametrize(
    ("pictures", "words"),
    [
        ([RGB[0], RGB[0, :6]], "picture 1 is 16x6 pixels, expected 16x12 as the first"),
        ([RGB[0] / 255], "render() gave float64 of shape (12, 16, 3), expected uint8"),
        ([RGB[0, ..., :2]], "of shape (12, 16, 2)"),
        ([np.array(None)], "render() gave object"),
        ([RGB[0, :0]], "of shape (0, 16, 3)"),
    ],
)
def test_what_is_no_picture_of_the_video_is_one_sentence(tmp_path, monkeypatch, suffix, pictures, words):
    monkeypatch.setattr("shutil.which", lambda name: name)
    video = Video(tmp_path / f"x{suffix}")
    for picture in pictures[:-1]:
        video.add(picture)
    assert words in sentence_of(video.add, pictures[-1])
