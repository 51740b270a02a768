"""Pictures as a GIF by Pillow, or as an MP4 by FFmpeg where it is installed."""

import importlib.util
import shutil
from pathlib import Path

import numpy as np
from PIL import Image

from dyna_td.errors import UserError
from dyna_td.records.files import write_whole

WIDEST = 400  # pixels of a GIF
_COLOURS = 64
_PAUSE = 1_000  # milliseconds of the last picture


class Video:
    """Collects pictures, and writes them; `path` ends in .gif or .mp4.

    Raises:
      UserError: another ending, or FFmpeg is needed and not installed.
    """

    def __init__(self, path: Path, widest: int = WIDEST):
        self.path, self._widest = path.absolute(), widest  # an environment may change the working directory
        self._pictures: list[Image.Image] = []
        self._size: tuple[int, int] | None = None  # pixels of the first picture, width and height
        if path.suffix not in (".gif", ".mp4"):
            raise UserError(f"the video is {str(path)!r}, expected a name that ends in .gif or .mp4.")
        if path.suffix == ".mp4" and not (shutil.which("ffmpeg") or importlib.util.find_spec("imageio_ffmpeg")):
            raise UserError("an .mp4 needs FFmpeg: install it (`pip install imageio-ffmpeg`), or write a .gif.")

    def add(self, picture: np.ndarray) -> None:
        """Adds a picture: uint8 [height, width, 3], or RGBA or grey, which it turns into RGB.

        Raises:
          UserError: it is no such picture, or has another size than the first.
        """
        image = _as_rgb(picture)
        if self._size not in (None, image.size):
            first, now = ("{}x{}".format(*size) for size in (self._size, image.size))
            raise UserError(
                f"picture {len(self._pictures)} is {now} pixels, expected {first} as the first: correct render()."
            )
        self._size = image.size
        if self.path.suffix == ".gif":
            image.thumbnail((self._widest, self._widest))
            image = image.quantize(_COLOURS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        self._pictures.append(image)

    def write(self, rate: float) -> None:
        """Writes the file: `rate` pictures a second."""
        with write_whole(self.path) as file:
            if self.path.suffix == ".gif":
                first, *others = self._pictures
                durations = [round(1000 / rate)] * len(others) + [_PAUSE]
                first.save(file, "GIF", save_all=True, append_images=others, duration=durations, loop=0)
            else:
                file.write(_mp4(self._pictures, rate))


def _as_rgb(picture: np.ndarray) -> Image.Image:
    """The picture in RGB; transparent parts become white."""
    array = np.asarray(picture)
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[..., 0]
    channels = array.shape[2:]
    if array.dtype != np.uint8 or array.ndim not in (2, 3) or channels not in ((), (3,), (4,)) or not array.size:
        raise UserError(
            f"render() gave {array.dtype} of shape {array.shape}, expected uint8 [height, width, 3], RGBA or grey."
        )
    image = Image.fromarray(array)
    if channels == (4,):
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB")


def _mp4(pictures: list[Image.Image], rate: float) -> bytes:
    import subprocess

    if not (program := shutil.which("ffmpeg")):
        import imageio_ffmpeg

        program = imageio_ffmpeg.get_ffmpeg_exe()
    size = "{}x{}".format(*pictures[0].size)
    command = [program, "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-r", str(rate), "-i"]
    command += ["-", "-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2", "-pix_fmt", "yuv420p", "-f", "mp4"]
    command += ["-movflags", "frag_keyframe+empty_moov", "-"]
    done = subprocess.run(command, input=b"".join(picture.tobytes() for picture in pictures), capture_output=True)
    if done.returncode:
        words = "".join(done.stderr.decode(errors="replace").strip().splitlines()[-1:])
        raise UserError(f"FFmpeg failed ({words}): write a .gif.")
    return done.stdout
