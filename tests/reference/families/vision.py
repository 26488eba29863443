"""Operations of detectors and warps: non-maximum suppression, regions of interest, and sampling at grid points."""
import numpy as np

from case import Case, numbers, onnx_op


def selected(boxes, scores, most, overlap, least=None, center=0):
    """ONNX's rows in the order of batches and classes, best first, filled up with -1 to the largest possible number."""
    rows = onnx_op("NonMaxSuppression", [boxes, scores, np.array([most]), np.array([overlap], np.float32),
                                         None if least is None else np.array([least], np.float32)], center_point_box=center)
    rows = np.asarray(rows).reshape(-1, 3)
    padded = np.full((scores.shape[0] * scores.shape[1] * min(most, boxes.shape[1]), 3), -1, np.int64)
    padded[:len(rows)] = rows
    return padded, np.array(len(rows), np.int32)


def suppressions():
    corners = np.random.default_rng(3).random((2, 30, 4)).astype(np.float32)
    scores = np.random.default_rng(4).random((2, 3, 30)).astype(np.float32)
    centers = np.concatenate([numbers(1, 30, 2, low=0, high=4), numbers(1, 30, 2, low=0.5, high=2)], axis=-1)
    for most, overlap in ((4, 0.25), (30, 0.5), (100, 0.0), (3, 1.0)):
        yield Case(f"non_max_suppression {most} {overlap}", f"non_max_suppression(b, s, {most}, iou_threshold={overlap})",
                   {"b": corners, "s": scores}, lambda b, s, most=most, overlap=overlap: selected(b, s, most, overlap))
    yield Case("non_max_suppression above a score", "non_max_suppression(b, s, 9, iou_threshold=0.4, score_threshold=0.5)",
               {"b": corners, "s": scores}, lambda b, s: selected(b, s, 9, 0.4, 0.5))
    yield Case("non_max_suppression of centers", "non_max_suppression(b, s, 9, iou_threshold=0.5, center_point_box=true)",
               {"b": centers, "s": scores[:1]}, lambda b, s: selected(b, s, 9, 0.5, center=1))


def regions():
    x = numbers(2, 3, 9, 8)
    low = numbers(6, 2, seed=2, low=0, high=8)
    places = np.concatenate([low, low + numbers(6, 2, seed=3, low=1, high=9)], axis=1)
    images = np.array([0, 1, 1, 0, 1, 0])
    for mode in ("avg", "max"):
        for half_pixel in (True, False):
            for ratio in (0, 2, 3):
                coordinates = "half_pixel" if half_pixel else "output_half_pixel"
                yield Case(f"roi_align {mode} {coordinates} {ratio}",
                           f'roi_align(x, r, i, output_height=3, output_width=2, sampling_ratio={ratio}, spatial_scale=0.5, '
                           f'mode="{mode}", coordinates="{coordinates}")', {"x": x, "r": places, "i": images},
                           lambda x, r, i, mode=mode, half_pixel=half_pixel, ratio=ratio: onnx_op(
                               "RoiAlign", [x, r, i], mode=mode, output_height=3, output_width=2, sampling_ratio=ratio, spatial_scale=0.5,
                               coordinate_transformation_mode="half_pixel" if half_pixel else "output_half_pixel"))


def cubic_at_the_border(x, grid, align):
    """As in PyTorch 2.15: each of the 16 taps is clamped to x by itself. ONNX's reference clamps the point, which differs by up to 0.2."""
    weights = np.empty((2, 4) + grid.shape[:3])
    places = np.empty((2, 4) + grid.shape[:3], np.int64)
    for axis, extent in enumerate((x.shape[3], x.shape[2])):
        normal = grid[..., axis].astype(np.float64)
        at = (normal + 1) / 2 * (extent - 1) if align else ((normal + 1) * extent - 1) / 2
        t, a = at - np.floor(at), -0.75
        for tap, distance in enumerate((t + 1, t, 1 - t, 2 - t)):
            near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
            far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
            weights[axis, tap] = near if tap in (1, 2) else far
            places[axis, tap] = np.clip(np.floor(at) - 1 + tap, 0, extent - 1)
    n = np.arange(x.shape[0])[:, None, None]
    taps = [weights[1, j][:, None] * weights[0, i][:, None] * np.moveaxis(x[n, :, places[1, j], places[0, i]], -1, 1)
            for j in range(4) for i in range(4)]
    return sum(taps).astype(x.dtype)


def grids():
    x, grid = numbers(2, 3, 5, 6), numbers(2, 4, 7, 2, seed=2, low=-1.4, high=1.4)
    for mode in ("linear", "nearest", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            for align in (0, 1):
                def expected(x, g, mode=mode, padding=padding, align=align):
                    if mode == "cubic" and padding == "border":
                        return cubic_at_the_border(x, g, align)
                    return onnx_op("GridSample", [x, g], mode=mode, padding_mode=padding, align_corners=align)

                yield Case(f"grid_sample {mode} {padding} {align}",
                           f'grid_sample(x, g, mode="{mode}", padding="{padding}", align_corners={"true" if align else "false"})',
                           {"x": x, "g": grid}, expected, absolute=5e-6)


def cases():
    yield from suppressions()
    yield from regions()
    yield from grids()
