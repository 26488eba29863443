"""Models for images and video, as torchvision defines them."""
from zoo.entry import Entry, Made, image, spread

CLASSIFIERS = {
    "alexnet": 224, "convnext_tiny": 224, "densenet121": 224, "efficientnet_b0": 224, "googlenet": 224, "inception_v3": 299, "maxvit_t": 224,
    "mnasnet1_0": 224, "mobilenet_v3_large": 224, "regnet_y_400mf": 224, "resnet50": 224, "shufflenet_v2_x1_0": 224, "squeezenet1_1": 224,
    "swin_t": 224, "vgg16": 224, "vit_b_16": 224
}
SEGMENTATION = {"fcn_resnet50": 224, "deeplabv3_mobilenet_v3_large": 224, "lraspp_mobilenet_v3_large": 224}
DETECTION = {"ssdlite320_mobilenet_v3_large": 320, "fasterrcnn_mobilenet_v3_large_320_fpn": 320, "retinanet_resnet50_fpn": 320}


def _built(name, **options):
    import torch
    import torchvision
    torch.manual_seed(0)
    return spread(torchvision.models.get_model(name, weights=None, **options))


def _classifier(name, size, dynamic=False):
    options = {"init_weights": True, "aux_logits": False} if name in ("googlenet", "inception_v3") else {}
    axes = {"x": {0: "batch"}} if dynamic else {}
    return Made(_built(name, **options), {"x": image(2 if dynamic else 1, 3, size, size)}, ["logits"], axes)


def _segmentation(name, size):
    import torch

    class Out(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, x):
            return self.model(x)["out"]

    return Made(Out(_built(name, weights_backbone=None)).eval(), {"x": image(1, 3, size, size)}, ["classes"])


def _detection(name, size):
    import torch

    class Boxes(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, x):
            found = self.model([x])[0]
            return found["boxes"], found["scores"], found["labels"]

    return Made(Boxes(_built(name, weights_backbone=None)).eval(), {"x": image(3, size, size).sigmoid()}, ["boxes", "scores", "labels"])


def _raft():
    import torch

    class Last(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, first, second):
            return self.model(first, second, num_flow_updates=4)[-1]

    return Made(Last(_built("raft_small")).eval(), {"first": image(1, 3, 128, 128), "second": image(1, 3, 128, 128, seed=2)}, ["flow"])


def entries():
    for name, size in CLASSIFIERS.items():
        yield Entry(name, "classification", lambda name=name, size=size: _classifier(name, size))
    yield Entry("resnet18_dynamic", "classification", lambda: _classifier("resnet18", 224, dynamic=True))
    for name, size in SEGMENTATION.items():
        yield Entry(name, "segmentation", lambda name=name, size=size: _segmentation(name, size))
    for name, size in DETECTION.items():
        yield Entry(name, "detection", lambda name=name, size=size: _detection(name, size), script=True, opset=18)
    yield Entry("r3d_18", "video", lambda: Made(_built("r3d_18"), {"x": image(1, 3, 8, 112, 112)}, ["logits"]))
    yield Entry("mvit_v2_s", "video", lambda: Made(_built("mvit_v2_s"), {"x": image(1, 3, 16, 224, 224)}, ["logits"]))
    yield Entry("raft_small", "optical flow", _raft)
