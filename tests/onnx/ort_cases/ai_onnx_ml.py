"""Cases of the domain `ai.onnx.ml`, and of operators that ONNX gave up before version 9: nodes with every attribute that means something, and
models as skl2onnx and onnxmltools write them."""
import numpy as np
from onnx import helper

from generate import Case, Numbers, graph_case, node_case

DOMAIN = "ai.onnx.ml"
NAN = float("nan")
TRANSFORMS = ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT")


def cases():
    yield from trees()
    yield from tree_ensembles()
    yield from linear_models()
    yield from support_vectors()
    yield from features()
    yield from labels()
    yield from texts()
    yield from legacy()
    yield from exported()


def ml_case(name, op, inputs, outputs, version=3, **attributes):
    return node_case(name, op, inputs, outputs, (), {"": 17, DOMAIN: version}, DOMAIN, **attributes)


# --- trees -------------------------------------------------------------------------------------------------------------------------------


class Trees:
    """Random trees as the lists of versions 1 and 3."""

    def __init__(self, name, trees=3, depth=3, width=4, modes=("BRANCH_LEQ",), missing=False, whole=False):
        self.random = np.random.default_rng(len(name) + sum(map(ord, name)))
        self.nodes = {key: [] for key in ("nodeids", "treeids", "featureids", "modes", "truenodeids", "falsenodeids")}
        self.values, self.missing, self.leaves = [], [], []
        for tree in range(trees):
            self.count = 0
            self._grow(tree, depth, width, modes, missing, whole)

    def _grow(self, tree, depth, width, modes, missing, whole):
        number, place = self.count, len(self.values)
        self.count += 1
        leaf = depth == 0 or self.random.integers(7) == 0
        for key, value in (("nodeids", number), ("treeids", tree), ("featureids", 0 if leaf else int(self.random.integers(width))),
                           ("modes", "LEAF" if leaf else modes[self.random.integers(len(modes))]), ("truenodeids", 0), ("falsenodeids", 0)):
            self.nodes[key].append(value)
        value = float(self.random.integers(-2, 3)) if whole else float(np.float32(self.random.normal()))
        self.values.append(0.0 if leaf else value)
        self.missing.append(int(missing and not leaf and self.random.integers(2)))
        if leaf:
            self.leaves.append((tree, number))
        else:
            self.nodes["truenodeids"][place] = self._grow(tree, depth - 1, width, modes, missing, whole)
            self.nodes["falsenodeids"][place] = self._grow(tree, depth - 1, width, modes, missing, whole)
        return number

    def attributes(self, kind, targets, dense=False, positive=False, double=False):
        """`kind`: class or target; `targets`: those that leaves have weights for, in turn, or all of them if `dense`."""
        chosen = [(leaf, target) for i, leaf in enumerate(self.leaves) for target in (targets if dense else [targets[i % len(targets)]])]
        weights = self.random.normal(size=len(chosen))
        weights = (np.abs(weights) / 9 if positive else weights).astype(np.float64 if double else np.float32)
        lists = {f"nodes_{key}": value for key, value in self.nodes.items()}
        lists |= {f"{kind}_treeids": [leaf[0] for leaf, _ in chosen], f"{kind}_nodeids": [leaf[1] for leaf, _ in chosen],
                  f"{kind}_ids": [target for _, target in chosen]}
        if any(self.missing):
            lists["nodes_missing_value_tracks_true"] = self.missing
        if double:
            tensor = lambda key, values: helper.make_tensor(key, 11, [len(values)], values)
            return lists | {"nodes_values_as_tensor": tensor("v", np.asarray(self.values) + 1e-9),
                            f"{kind}_weights_as_tensor": tensor("w", weights)}
        return lists | {"nodes_values": self.values, f"{kind}_weights": [float(weight) for weight in weights]}


def rows(name, shape=(9, 4), dtype=np.float32, missing=False, whole=False):
    numbers = Numbers(name)
    x = numbers.integers(*shape, low=-2, high=3).astype(dtype) if whole else numbers.normal(*shape).astype(dtype)
    if missing:
        x[numbers.uniform(*shape) < 0.3] = NAN
    return {"X": x}


def trees():
    for mode in ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ"):
        for missing in (False, True):
            name = f"TreeEnsembleRegressor_{mode}" + ("_missing" if missing else "")
            forest = Trees(name, modes=(f"BRANCH_{mode}",), missing=missing, whole=True)
            yield ml_case(name, "TreeEnsembleRegressor", rows(name, missing=missing, whole=True), ["Y"], n_targets=1, **forest.attributes("target", [0]))
    everything = tuple(f"BRANCH_{mode}" for mode in ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ"))
    name = "TreeEnsembleRegressor_all_modes"
    yield ml_case(name, "TreeEnsembleRegressor", rows(name, (40, 4), missing=True, whole=True), ["Y"], n_targets=3,
                  **Trees(name, 12, 5, 4, everything, True, True).attributes("target", [0, 1, 2]))
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        name = f"TreeEnsembleRegressor_{aggregate}"
        yield ml_case(name, "TreeEnsembleRegressor", rows(name), ["Y"], n_targets=1, aggregate_function=aggregate, base_values=[0.25],
                      **Trees(name).attributes("target", [0]))
    for transform in TRANSFORMS:
        for targets in (1, 3):
            name = f"TreeEnsembleRegressor_{transform}_{targets}"
            yield ml_case(name, "TreeEnsembleRegressor", rows(name), ["Y"], n_targets=targets, post_transform=transform,
                          base_values=[0.3, 0.2, 0.1][:targets],
                          **Trees(name, 9).attributes("target", range(targets), targets > 1, transform == "PROBIT"))
    name = "TreeEnsembleRegressor_float64"
    yield ml_case(name, "TreeEnsembleRegressor", rows(name, dtype=np.float64), ["Y"], n_targets=1,
                  **Trees(name).attributes("target", [0], double=True))
    name = "TreeEnsembleRegressor_one_row"
    yield ml_case(name, "TreeEnsembleRegressor", rows(name, (1, 4)), ["Y"], n_targets=1, **Trees(name, 40).attributes("target", [0]))
    for classes in (1, 2, 3, 4):
        for transform in TRANSFORMS if classes < 4 else ("NONE",):
            for base in sorted({0, 1, classes}):
                if base == 1 and classes > 2:
                    continue
                for weighted in {1: ([0],), 2: ([0], [1], [0, 1]), 3: ([0, 1, 2],), 4: ([0, 2, 3],)}[classes]:
                    for positive in (True, False) if classes == 2 and len(weighted) == 1 else (True,) if transform == "PROBIT" else (False,):
                        if transform == "PROBIT" and classes == 2:
                            continue  # the second score is not computed
                        if classes == 2 and base == 2 and weighted == [1] and transform in ("SOFTMAX_ZERO", "LOGISTIC"):
                            continue
                        weights = "".join(map(str, weighted))
                        name = f"TreeEnsembleClassifier_{classes}_{transform}_{weights}_{base}" + ("_positive" if positive else "")
                        # Every tree votes for every class, so that ONNX Runtime's scores do not depend on which leaves are reached.
                        yield ml_case(name, "TreeEnsembleClassifier", rows(name, (7, 4)), ["label", "scores"], post_transform=transform,
                                      classlabels_int64s=[7, 3, 5, 4][:classes] if len(weighted) != 2 else [0, 1],
                                      **({"base_values": [0.3, -0.2, 0.1, 0.05][:base]} if base else {}),
                                      **Trees(name, 3).attributes("class", weighted, True, positive))
    for dtype in (np.float64, np.int64, np.int32):
        name = f"TreeEnsembleClassifier_{np.dtype(dtype).name}"
        yield ml_case(name, "TreeEnsembleClassifier", rows(name, dtype=dtype, whole=dtype != np.float64), ["label", "scores"],
                      classlabels_int64s=[0, 1, 2],
                      **Trees(name, whole=dtype != np.float64).attributes("class", [0, 1, 2], True, double=dtype == np.float64))


def tree_ensembles():
    """Version 5: leaves are lists of their own, and a test may be for membership."""
    for dtype in (np.float32, np.float64):
        for aggregate in range(4):
            name = f"TreeEnsemble_{np.dtype(dtype).name}_{aggregate}"
            yield _version_5(name, dtype, aggregate, 1, 0)
        for transform in (0, 3):  # ONNX Runtime takes 1 for LOGISTIC and 2 for SOFTMAX; ONNX has it the other way round
            name = f"TreeEnsemble_{np.dtype(dtype).name}_targets_{transform}"
            yield _version_5(name, dtype, 1, 3, transform)


def _version_5(name, dtype, aggregate, targets, transform):
    random = np.random.default_rng(sum(map(ord, name)))
    tensor = lambda key, kind, values: helper.make_tensor(key, kind, [len(values)], values)
    kind = 1 if dtype == np.float32 else 11
    modes = [int(mode) for mode in random.integers(0, 7, 7)] * 2
    members, splits, lists = [], [], {"tree_roots": [0, 7], "nodes_featureids": [int(each) for each in random.integers(0, 4, 14)]}
    for mode in modes:
        splits.append(NAN if mode == 6 else float(random.integers(-2, 3)))
        if mode == 6:
            members += [float(each) for each in random.choice(5, 3, replace=False) - 2] + [NAN]
    passed, failed, leaves = [], [], 0  # two full trees of 7 nodes
    for tree in (0, 7):
        for node in range(7):
            if node < 3:
                passed.append((tree + 2 * node + 1, 0)), failed.append((tree + 2 * node + 2, 0))
            else:
                passed.append((leaves, 1)), failed.append((leaves + 1, 1))
                leaves += 2
    lists |= {"nodes_truenodeids": [each for each, _ in passed], "nodes_trueleafs": [leaf for _, leaf in passed],
              "nodes_falsenodeids": [each for each, _ in failed], "nodes_falseleafs": [leaf for _, leaf in failed],
              "leaf_targetids": [int(each) for each in random.integers(0, targets, leaves)],
              "nodes_missing_value_tracks_true": [int(each) for each in random.integers(0, 2, 14)]}
    lists |= {"nodes_modes": tensor("m", 2, modes), "nodes_splits": tensor("s", kind, splits),
              "leaf_weights": tensor("w", kind, [float(np.float32(each)) for each in random.normal(size=leaves)])}
    if members:
        lists["membership_values"] = tensor("k", kind, members)
    return ml_case(name, "TreeEnsemble", rows(name, (17, 4), dtype, whole=True), ["Y"], 5, n_targets=targets, aggregate_function=aggregate,
                   post_transform=transform, **lists)


# --- linear models and support vectors ----------------------------------------------------------------------------------------------------


def linear_models():
    for transform in TRANSFORMS:
        for targets in (1, 3):
            name = f"LinearRegressor_{transform}_{targets}"
            numbers = Numbers(name)
            yield ml_case(name, "LinearRegressor", {"X": numbers.uniform(5, 2)}, ["Y"], 1, targets=targets, post_transform=transform,
                          coefficients=list(numbers.uniform(2 * targets, high=0.3).tolist()),
                          intercepts=numbers.uniform(targets, high=0.2).tolist())
        for classes in (1, 2, 3):
            if transform == "PROBIT" and classes == 1:
                continue
            name = f"LinearClassifier_{transform}_{classes}"
            numbers = Numbers(name)
            yield ml_case(name, "LinearClassifier", {"X": numbers.uniform(5, 2)}, ["label", "scores"], 1, post_transform=transform,
                          coefficients=(numbers.uniform(2 * classes, high=0.3) - 0.1 * (transform != "PROBIT")).tolist(),
                          intercepts=numbers.uniform(classes, high=0.2).tolist(), classlabels_ints=[5, 3, 4][:max(classes, 2)])
    name = "LinearRegressor_no_intercepts"
    yield ml_case(name, "LinearRegressor", {"X": Numbers(name).normal(4, 3)}, ["Y"], 1, coefficients=[0.5, -0.25, 2.0])
    for dtype in (np.float64, np.int64, np.int32):
        name = f"LinearClassifier_{np.dtype(dtype).name}"
        yield ml_case(name, "LinearClassifier", {"X": Numbers(name).normal(6, 2, scale=3).astype(dtype)}, ["label", "scores"], 1,
                      coefficients=[0.5, -0.2, 0.3, 0.4, 0.1, -0.6], intercepts=[0.1, 0.2, 0.3], classlabels_ints=[0, 1, 2])


def support_vectors():
    kernels = (("LINEAR", [0.0, 0.0, 0.0]), ("POLY", [0.3, 0.5, 3.0]), ("RBF", [0.4, 0.0, 0.0]), ("SIGMOID", [0.2, 0.1, 0.0]))
    for kernel, parameters in kernels:
        name = f"SVMRegressor_{kernel}"
        numbers = Numbers(name)
        shared = dict(kernel_type=kernel, kernel_params=parameters)
        yield ml_case(name, "SVMRegressor", {"X": numbers.normal(5, 3)}, ["Y"], 1, n_supports=4, rho=[0.2],
                      support_vectors=numbers.normal(12).tolist(), coefficients=numbers.normal(4).tolist(), **shared)
        name = f"SVMRegressor_{kernel}_one_class"
        yield ml_case(name, "SVMRegressor", {"X": numbers.normal(5, 3)}, ["Y"], 1, n_supports=4, rho=[-0.1], one_class=1,
                      support_vectors=numbers.normal(12).tolist(), coefficients=numbers.normal(4).tolist(), **shared)
        for classes in (2, 3, 4):
            for proba in (False, True):
                name = f"SVMClassifier_{kernel}_{classes}" + ("_proba" if proba else "")
                numbers = Numbers(name)
                pairs, vectors = classes * (classes - 1) // 2, [2, 3, 1, 2][:classes]
                more = {"prob_a": (-numbers.uniform(pairs, low=1, high=2)).tolist(),
                        "prob_b": numbers.normal(pairs, scale=0.2).tolist()} if proba else {}
                yield ml_case(name, "SVMClassifier", {"X": numbers.normal(6, 3)}, ["label", "scores"], 1, vectors_per_class=vectors,
                              support_vectors=numbers.normal(3 * sum(vectors)).tolist(), rho=numbers.normal(pairs, scale=0.3).tolist(),
                              coefficients=numbers.normal((classes - 1) * sum(vectors)).tolist(), classlabels_ints=[4, 2, 9, 5][:classes],
                              **more, **shared)
    name = "SVMRegressor_linear_mode"
    yield ml_case(name, "SVMRegressor", {"X": Numbers(name).normal(5, 3)}, ["Y"], 1, n_supports=0, rho=[0.2], coefficients=[0.5, -0.25, 1.0],
                  kernel_type="LINEAR", kernel_params=[0.0, 0.0, 0.0])
    for transform in TRANSFORMS[:4]:
        for classes in (2, 3):
            name = f"SVMClassifier_{transform}_{classes}"
            numbers = Numbers(name)
            pairs, vectors = classes * (classes - 1) // 2, [2, 3, 1][:classes]
            yield ml_case(name, "SVMClassifier", {"X": numbers.normal(6, 3)}, ["label", "scores"], 1, vectors_per_class=vectors,
                          support_vectors=numbers.normal(3 * sum(vectors)).tolist(), rho=numbers.normal(pairs, scale=0.3).tolist(),
                          coefficients=numbers.normal((classes - 1) * sum(vectors)).tolist(), classlabels_ints=[4, 2, 9][:classes],
                          post_transform=transform, kernel_type="RBF", kernel_params=[0.4, 0.0, 0.0])
    for classes in (2, 3):
        name = f"SVMClassifier_linear_mode_{classes}"
        numbers = Numbers(name)
        yield ml_case(name, "SVMClassifier", {"X": numbers.normal(6, 3)}, ["label", "scores"], 1, rho=[0.1],
                      coefficients=numbers.normal(3 * classes).tolist(), classlabels_ints=[4, 2, 9][:classes], kernel_type="LINEAR",
                      kernel_params=[0.0, 0.0, 0.0])


# --- features ----------------------------------------------------------------------------------------------------------------------------


def features():
    for norm in ("MAX", "L1", "L2"):
        x = Numbers(norm).normal(4, 3)
        x[2] = 0
        x[3] = -np.abs(x[3])
        yield ml_case(f"Normalizer_{norm}", "Normalizer", {"X": x}, ["Y"], 1, norm=norm)
        yield ml_case(f"Normalizer_{norm}_int64", "Normalizer", {"X": np.array([[1, -2, 3], [0, 0, 0]])}, ["Y"], 1, norm=norm)
    for dtype in (np.float32, np.float64, np.int64, np.int32):
        x = {"X": Numbers("Scaler").normal(4, 3, scale=3).astype(dtype)}
        yield ml_case(f"Scaler_{np.dtype(dtype).name}", "Scaler", x, ["Y"], 1, offset=[1.0, 2.0, 3.0], scale=[0.5, 0.25, 2.0])
    yield ml_case("Scaler_one_number", "Scaler", {"X": Numbers("one").normal(4, 3)}, ["Y"], 1, offset=[1.0], scale=[0.5])
    yield ml_case("Imputer_nan", "Imputer", rows("Imputer", (5, 4), missing=True), ["Y"], 1, imputed_value_floats=[1.0, 2.0, 3.0, 4.0],
                  replaced_value_float=NAN)
    yield ml_case("Imputer_nan_by_one", "Imputer", rows("Imputer", (5, 4), missing=True), ["Y"], 1, imputed_value_floats=[7.0],
                  replaced_value_float=NAN)
    yield ml_case("Imputer_number", "Imputer", {"X": np.array([[1, 2], [3, 1]], np.float32)}, ["Y"], 1, imputed_value_floats=[7.0, 8.0],
                  replaced_value_float=1.0)
    yield ml_case("Imputer_int64", "Imputer", {"X": np.array([[1, 2], [3, 1]])}, ["Y"], 1, imputed_value_int64s=[7, 8],
                  replaced_value_int64=1)
    for dtype in (np.int64, np.float32, np.float64):
        yield ml_case(f"OneHotEncoder_{np.dtype(dtype).name}", "OneHotEncoder", {"X": np.array([[1, 5], [2, 3]], dtype)}, ["Y"], 1,
                      cats_int64s=[5, 1, 2], zeros=1)
    yield ml_case("OneHotEncoder_all_known", "OneHotEncoder", {"X": np.array([1, 5, 2])}, ["Y"], 1, cats_int64s=[5, 1, 2], zeros=0)
    numbers = Numbers("FeatureVectorizer")
    yield ml_case("FeatureVectorizer", "FeatureVectorizer", {"A": numbers.normal(3, 2), "B": numbers.normal(3, 4)}, ["Y"], 1,
                  inputdimensions=[2, 4])
    yield ml_case("FeatureVectorizer_int64", "FeatureVectorizer", {"A": np.arange(6).reshape(3, 2), "B": np.arange(3).reshape(3, 1)}, ["Y"], 1,
                  inputdimensions=[2, 1])
    yield ml_case("ArrayFeatureExtractor", "ArrayFeatureExtractor", {"X": numbers.normal(3, 5), "I": np.array([[4, 0]])}, ["Y"], 1)
    yield ml_case("Binarizer", "Binarizer", {"X": numbers.normal(3, 5)}, ["Y"], 1, threshold=0.2)


def labels():
    yield ml_case("LabelEncoder_int64_int64", "LabelEncoder", {"X": np.array([[3, 1], [2, 8]])}, ["Y"], 2, keys_int64s=[3, 1, 2],
                  values_int64s=[10, 20, 30], default_int64=-7)
    yield ml_case("LabelEncoder_int64_float", "LabelEncoder", {"X": np.array([3, 1, 2, 8])}, ["Y"], 2, keys_int64s=[3, 1, 2],
                  values_floats=[1.5, 2.5, NAN])
    yield ml_case("LabelEncoder_float_int64", "LabelEncoder", {"X": np.array([0.5, NAN, 2, -1], np.float32)}, ["Y"], 2,
                  keys_floats=[NAN, 0.5, -1.0], values_int64s=[10, 20, 30])
    yield ml_case("LabelEncoder_float_float", "LabelEncoder", {"X": np.array([0.5, 0.25, 2], np.float32)}, ["Y"], 2, keys_floats=[0.25, 0.5],
                  values_floats=[1.0, -1.0], default_float=0.125)
    tensor = lambda kind, values: helper.make_tensor("t", kind, [len(values)], values)
    yield ml_case("LabelEncoder_tensors_double", "LabelEncoder", {"X": np.array([0.5, NAN, 2])}, ["Y"], 4, keys_tensor=tensor(11, [0.5, NAN]),
                  values_tensor=tensor(11, [1.0, 2.0]), default_tensor=tensor(11, [9.0]))
    yield ml_case("LabelEncoder_tensors_int16", "LabelEncoder", {"X": np.array([3, 1, 2])}, ["Y"], 4, keys_tensor=tensor(7, [3, 2]),
                  values_tensor=tensor(7, [1, 2]), default_tensor=tensor(7, [-9]))


def texts():
    """Texts between nodes, of which no result is one."""
    node = lambda op, inputs, outputs, domain="", **attributes: helper.make_node(op, inputs, outputs, name=outputs[0], domain=domain, **attributes)
    opsets = {"": 17, DOMAIN: 2}
    index = np.array([2, 0, 1, 0])
    names = np.array(["cat", "dog", "cow"], object)
    yield graph_case("texts_to_numbers", [
        node("Gather", ["names", "i"], ["named"]),
        node("LabelEncoder", ["named"], ["y"], DOMAIN, keys_strings=["dog", "cat"], values_floats=[1.0, 2.0], default_float=-1.0)],
                     {"i": index}, ["y"], {"names": names}, opsets)
    yield graph_case("texts_there_and_back", [
        node("LabelEncoder", ["i"], ["named"], DOMAIN, keys_int64s=[0, 2], values_strings=["zero", "two"], default_string="none"),
        node("LabelEncoder", ["named"], ["y"], DOMAIN, keys_strings=["none", "two", "zero"], values_int64s=[7, 8, 9])],
                     {"i": index}, ["y"], {}, opsets)
    yield graph_case("texts_one_hot", [
        node("LabelEncoder", ["i"], ["named"], DOMAIN, keys_int64s=[0, 2], values_strings=["zero", "two"], default_string="none"),
        node("OneHotEncoder", ["named"], ["y"], DOMAIN, cats_strings=["two", "none"], zeros=1)], {"i": index}, ["y"], {}, opsets)
    yield graph_case("texts_mapped", [
        node("CategoryMapper", ["i"], ["named"], DOMAIN, cats_int64s=[0, 2], cats_strings=["zero", "two"], default_string="none"),
        node("CategoryMapper", ["named"], ["y"], DOMAIN, cats_int64s=[5, 6], cats_strings=["zero", "none"], default_int64=-3)],
                     {"i": index}, ["y"], {}, opsets)


# --- before version 9 -----------------------------------------------------------------------------------------------------------------------


def legacy():
    old = {"": 7}
    image = Numbers("legacy").normal(1, 2, 4, 5)
    one = lambda name, op, inputs, **attributes: node_case(f"legacy_{name}", op, inputs, ["y"], (), old, "", **attributes)
    yield one("Affine", "Affine", {"x": image}, alpha=2.0, beta=0.5)
    yield one("Crop", "Crop", {"x": image}, border=[1, 0, 2, 1])
    yield one("Crop_scale", "Crop", {"x": image}, border=[1, 1, 0, 0], scale=[2, 3])
    yield one("ImageScaler", "ImageScaler", {"x": image}, bias=[0.1, 0.2], scale=0.5)
    yield one("ParametricSoftplus", "ParametricSoftplus", {"x": image}, alpha=1.5, beta=0.7)
    yield one("ScaledTanh", "ScaledTanh", {"x": image}, alpha=1.5, beta=0.7)
    yield one("ThresholdedRelu", "ThresholdedRelu", {"x": image}, alpha=0.4)
    yield one("MeanVarianceNormalization", "MeanVarianceNormalization", {"x": image})
    yield one("MeanVarianceNormalization_across", "MeanVarianceNormalization", {"x": image}, across_channels=1)
    yield one("MeanVarianceNormalization_mean", "MeanVarianceNormalization", {"x": image}, normalize_variance=0)
    yield one("Upsample", "Upsample", {"x": image}, scales=[1.0, 1.0, 2.0, 3.0], mode="nearest")
    yield node_case("legacy_DynamicSlice", "DynamicSlice",
                    {"x": image, "starts": np.array([1, -3]), "ends": np.array([4, 5]), "axes": np.array([2, 3])}, ["y"],
                    ("starts", "ends", "axes"), old, "")


# --- as converters write them ----------------------------------------------------------------------------------------------------------------


def exported():
    from skl2onnx import to_onnx
    from sklearn import ensemble, linear_model, neighbors, pipeline, preprocessing, svm, tree

    def data(name, classes, features=4):
        numbers = Numbers(name)
        x = numbers.normal(60, features)
        y = (x[:, 0] + 0.5 * x[:, 1] > 0).astype(int) + (x[:, 2] > 0.8) * (classes > 2)
        return x, y if classes else x[:, 0] * 2 - np.abs(x[:, 1])

    def case(name, model, classes, **options):
        x, y = data(name, classes)
        model.fit(x, y)
        proto = to_onnx(model, x[:1], target_opset={"": 17, DOMAIN: 3}, options={id(model): {"zipmap": False}} if classes else None, **options)
        while proto.graph.node and proto.metadata_props:
            proto.metadata_props.pop()
        return Case(name, proto, [{"X": x[:8]}])

    for classes in (2, 3):
        yield case(f"sklearn_RandomForestClassifier_{classes}", ensemble.RandomForestClassifier(4, max_depth=3, random_state=0), classes)
        yield case(f"sklearn_GradientBoostingClassifier_{classes}", ensemble.GradientBoostingClassifier(n_estimators=3, random_state=0), classes)
        yield case(f"sklearn_DecisionTreeClassifier_{classes}", tree.DecisionTreeClassifier(max_depth=4, random_state=0), classes)
        yield case(f"sklearn_LogisticRegression_{classes}", linear_model.LogisticRegression(), classes)
        yield case(f"sklearn_SVC_{classes}", svm.SVC(probability=True, random_state=0), classes)
    yield case("sklearn_RandomForestRegressor", ensemble.RandomForestRegressor(4, max_depth=3, random_state=0), 0)
    yield case("sklearn_SVR", svm.SVR(), 0)
    yield case("sklearn_Scaler_LogisticRegression",
               pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression()), 2)
    yield case("sklearn_KNeighborsClassifier", neighbors.KNeighborsClassifier(3), 3)

    import lightgbm
    from onnxmltools import convert_lightgbm
    from onnxmltools.convert.common.data_types import FloatTensorType
    for classes in (0, 2, 3):
        name = f"lightgbm_{classes}"
        x, y = data(name, classes)
        x[::7, 1] = NAN
        options = dict(n_estimators=4, num_leaves=6, min_child_samples=2, verbose=-1, random_state=0)
        model = (lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor)(**options).fit(x, y)
        proto = convert_lightgbm(model, initial_types=[("X", FloatTensorType([None, 4]))], zipmap=False, target_opset=15)
        yield Case(name, proto, [{"X": x[:8]}])
