"""Trains a network that finds features of handwritten digits, and gradient-boosted trees that tell the digits by them, for the model
digits_trees: the weights of the network, and the trees as arrays over all their nodes and leaves.

    python3 models/data/digits_trees.py     # writes models/data/digits_trees.safetensors

Needs scikit-learn and lightgbm."""
import json
import pathlib

import lightgbm
import numpy as np
from sklearn.neural_network import MLPClassifier

HERE = pathlib.Path(__file__).parent
WIDTHS, ROUNDS, LEAVES, CLASSES = (64, 24), 15, 6, 10


def features(network, images):
    x = images.astype(np.float32) / 16
    for w, b in zip(network.coefs_[:2], network.intercepts_[:2]):
        x = np.maximum(x @ w.astype(np.float32) + b.astype(np.float32), 0)
    return x


class Forest:
    """The trees of LightGBM: nodes and leaves of all trees counted on, a node in front of its children, leaf k as the child -1 - k."""

    def __init__(self, booster):
        self.features, self.thresholds, self.children, self.leaves, self.targets = [], [], [], [], []
        trees = booster.dump_model()["tree_info"]
        self.roots = [self._add(tree["tree_structure"], number % CLASSES) for number, tree in enumerate(trees)]

    def _add(self, node, target):
        if "leaf_value" in node:
            self.leaves.append(node["leaf_value"])
            self.targets.append(target)
            return -len(self.leaves)
        number = len(self.features)
        self.features.append(node["split_feature"])
        threshold = np.float32(node["threshold"])  # the same features pass it as f32
        self.thresholds.append(np.nextafter(threshold, np.float32(-np.inf)) if threshold > node["threshold"] else threshold)
        self.children.append(None)
        self.children[number] = [self._add(node["left_child"], target), self._add(node["right_child"], target)]
        return number


def write(path, arrays):
    kinds = {"float32": "F32", "int16": "I16"}
    header, offset = {}, 0
    for name, array in arrays.items():
        header[name] = {"dtype": kinds[array.dtype.name], "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(array.tobytes() for array in arrays.values()))


def main():
    images, labels = np.load(HERE / "digits_train.npy"), np.load(HERE / "digits_train_labels.npy")
    test, expected = np.load(HERE / "digits_test.npy"), np.load(HERE / "digits_test_labels.npy")
    network = MLPClassifier(WIDTHS, random_state=0, max_iter=60, alpha=1e-3).fit(images / 16, labels)
    trees = lightgbm.LGBMClassifier(n_estimators=ROUNDS, num_leaves=LEAVES, learning_rate=0.3, random_state=0, verbose=-1, n_jobs=1)
    trees.fit(features(network, images), labels)
    forest = Forest(trees.booster_)
    found = trees.predict(features(network, test))
    print(f"{len(forest.roots)} trees, {len(forest.features)} nodes, {len(forest.leaves)} leaves; right: {np.mean(found == expected):.4f}")
    arrays = {f"{kind}{i + 1}": np.ascontiguousarray(array, np.float32)
              for kind, list_of in (("w", network.coefs_), ("b", network.intercepts_)) for i, array in enumerate(list_of[:2])}
    for name in ("roots", "features", "children", "targets"):
        arrays[name] = np.array(getattr(forest, name), np.int16)
    for name in ("thresholds", "leaves"):
        arrays[name] = np.array(getattr(forest, name), np.float32)
    write(HERE / "digits_trees.safetensors", arrays)


if __name__ == "__main__":
    main()
