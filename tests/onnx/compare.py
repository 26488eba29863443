"""Compares results with those that a case expects: within rtol 1e-3 and atol 1e-6 (f16 and bf16: both 1e-2); integers and bool must be
equal, and NaN equals NaN."""
import numpy as np

HALVES = ("FLOAT16", "BFLOAT16")
RANDOM = {"Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial"}


def is_random(case):
    """Whether the expected numbers are those of NumPy's generator: then only properties of every generator can be compared."""
    return bool(RANDOM & set(case.ops)) or "training_dropout" in case.name and "zero_ratio" not in case.name


def difference(is_, should, element):
    """Describes the first difference, with its place and both values; None if there is none."""
    if is_.shape != should.shape:
        return f"has the shape {list(is_.shape)} instead of {list(should.shape)}"
    if is_.dtype != should.dtype:
        return f"is of {is_.dtype} instead of {should.dtype}"
    if is_.dtype.kind != "f":
        wrong = is_ != should
    else:
        relative, absolute = (1e-2, 1e-2) if element in HALVES else (1e-3, 1e-6)
        with np.errstate(all="ignore"):
            distance = np.abs(is_.astype(np.float64) - should.astype(np.float64))
            wrong = ~((is_ == should) | (np.isnan(is_) & np.isnan(should)) | (distance <= relative * np.abs(should) + absolute))
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"has {is_[at]!s} instead of {should[at]!s} at {list(at)}; {int(wrong.sum())} of {wrong.size} differ"


def random_difference(case, results, given):
    """The same for random numbers: compares types and shapes, and that draws of 0 and 1 are 0 or 1. `results` are (is, should, element)."""
    for is_, should, _ in results:
        if is_.shape != should.shape or is_.dtype != should.dtype:
            return f"is {is_.dtype}{list(is_.shape)} instead of {should.dtype}{list(should.shape)}"
    drawn = results[0][0]
    if "Bernoulli" in case.name.title() and not np.isin(drawn, (0, 1)).all():
        return "has other numbers than 0 and 1"
    if "dropout" in case.name:
        kept = results[1][0] if len(results) > 1 else drawn != 0
        scale = drawn[kept] / given[0][kept] if kept.any() else np.ones(1)
        if not np.allclose(scale, scale[0], rtol=1e-4) or (drawn[~kept] != 0).any():
            return "does not drop by its mask, or scales what it keeps differently"
    return None
