"""Models for text, speech and documents, as transformers defines them: their usual sizes, those of billions of weights with fewer layers."""
from zoo.entry import Entry, Made, image, tokens

LENGTH = 128


def _seeded(cls, config):
    import torch
    torch.manual_seed(0)
    return cls(config).eval()


def _part(model, names, pick, **options):
    """A module that takes `names` by position and returns `pick` of the model's output."""
    import torch

    class Part(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *inputs):
            return pick(self.model(**dict(zip(names, inputs)), **options))

    return Part().eval()


def _encoder(prefix, masked=True, dynamic=False, **changes):
    import torch
    import transformers
    config = getattr(transformers, f"{prefix}Config")(**changes)
    inputs = {"input_ids": tokens(config.vocab_size, 1, LENGTH)}
    if masked:
        inputs["attention_mask"] = torch.ones(1, LENGTH, dtype=torch.int64)
        inputs["attention_mask"][:, -20:] = 0
    model = _seeded(getattr(transformers, f"{prefix}Model"), config)
    axes = {name: {0: "batch", 1: "sequence"} for name in inputs} if dynamic else {}
    if dynamic:
        inputs = {name: value.repeat(2, 1) for name, value in inputs.items()}
    return Made(_part(model, list(inputs), lambda out: out.last_hidden_state), inputs, ["last_hidden_state"], axes)


def _causal(prefix, length=64, **changes):
    import transformers
    config = getattr(transformers, f"{prefix}Config")(**changes)
    model = _seeded(getattr(transformers, f"{prefix}ForCausalLM" if prefix != "GPT2" else "GPT2LMHeadModel"), config)
    return Made(_part(model, ["input_ids"], lambda out: out.logits, use_cache=False), {"input_ids": tokens(config.vocab_size, 1, length)}, ["logits"])


SMALL = {"hidden_size": 512, "intermediate_size": 1376, "num_hidden_layers": 4, "num_attention_heads": 8, "vocab_size": 32000}


def _step(prefix, past, dynamic=False, **changes):
    """One token with the cache of the tokens before it: keys and values of every layer, in and out."""
    import torch
    import transformers
    from transformers import DynamicCache
    config = getattr(transformers, f"{prefix}Config")(**changes)
    model = _seeded(getattr(transformers, f"{prefix}ForCausalLM" if prefix != "GPT2" else "GPT2LMHeadModel"), config)
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    depth = config.hidden_size // config.num_attention_heads
    layers = config.num_hidden_layers

    class Step(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, *past_values):
            cache = DynamicCache()
            for layer in range(layers):
                cache.update(past_values[2 * layer], past_values[2 * layer + 1], layer)
            out = self.model(input_ids=input_ids, past_key_values=cache, use_cache=True)
            return (out.logits, *[each for layer in cache.layers for each in (layer.keys, layer.values)])

    inputs, names = {"input_ids": tokens(config.vocab_size, 1, 1)}, ["logits"]
    for layer in range(layers):
        for i, part in enumerate(("key", "value")):
            inputs[f"past_{part}_{layer}"] = image(1, heads, past, depth, seed=10 + 2 * layer + i)
            names.append(f"present_{part}_{layer}")
    axes = {name: {2: "past"} for name in inputs if name != "input_ids"} if dynamic else {}
    return Made(Step().eval(), inputs, names, axes)


def _t5_decoder():
    import torch
    import transformers
    config = transformers.T5Config(decoder_start_token_id=0)
    model = _seeded(transformers.T5ForConditionalGeneration, config)

    class Decoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, decoder_input_ids, encoder_hidden_states):
            out = self.model.decoder(input_ids=decoder_input_ids, encoder_hidden_states=encoder_hidden_states, use_cache=False)
            return self.model.lm_head(out.last_hidden_state)

    return Made(Decoder().eval(), {"decoder_input_ids": tokens(config.vocab_size, 1, 32),
                                   "encoder_hidden_states": image(1, LENGTH, config.d_model)}, ["logits"])


def _t5_encoder():
    import transformers
    config = transformers.T5Config()
    model = _seeded(transformers.T5EncoderModel, config)
    return Made(_part(model, ["input_ids"], lambda out: out.last_hidden_state), {"input_ids": tokens(config.vocab_size, 1, LENGTH)}, ["hidden"])


def _whisper(part):
    import transformers
    config = transformers.WhisperConfig()
    model = _seeded(transformers.WhisperModel, config)
    if part == "encoder":
        return Made(_part(model.encoder, ["input_features"], lambda out: out.last_hidden_state),
                    {"input_features": image(1, config.num_mel_bins, 3000)}, ["hidden"])
    return Made(_part(model.decoder, ["input_ids", "encoder_hidden_states"], lambda out: out.last_hidden_state, use_cache=False),
                {"input_ids": tokens(config.vocab_size, 1, 16), "encoder_hidden_states": image(1, 1500, config.d_model)}, ["hidden"])


def _wav2vec2():
    import transformers
    model = _seeded(transformers.Wav2Vec2Model, transformers.Wav2Vec2Config())
    return Made(_part(model, ["input_values"], lambda out: out.last_hidden_state), {"input_values": image(1, 16000)}, ["hidden"])


def _clip():
    import transformers
    config = transformers.CLIPConfig()
    model = _seeded(transformers.CLIPModel, config)
    names = ["input_ids", "pixel_values"]
    ids = tokens(49405, 1, 77)
    ids[:, -1] = config.text_config.eos_token_id
    return Made(_part(model, names, lambda out: (out.logits_per_image, out.text_embeds, out.image_embeds)),
                {"input_ids": ids, "pixel_values": image(1, 3, 224, 224)}, ["logits_per_image", "text_embeds", "image_embeds"])


def _pixels(prefix, pick, output, size=224, suffix="Model", **changes):
    import transformers
    model = _seeded(getattr(transformers, f"{prefix}{suffix}"), getattr(transformers, f"{prefix}Config")(**changes))
    return Made(_part(model, ["pixel_values"], pick), {"pixel_values": image(1, 3, size, size)}, output)


def _detr():
    import transformers
    config = transformers.DetrConfig(use_timm_backbone=False, use_pretrained_backbone=False, backbone=None,
                                     backbone_config=transformers.ResNetConfig(out_features=["stage4"]))
    model = _seeded(transformers.DetrForObjectDetection, config)
    return Made(_part(model, ["pixel_values"], lambda out: (out.logits, out.pred_boxes)), {"pixel_values": image(1, 3, 256, 256)},
                ["logits", "boxes"])


def _layoutlm():
    import torch
    import transformers
    config = transformers.LayoutLMConfig()
    model = _seeded(transformers.LayoutLMModel, config)
    corners = torch.sort(tokens(1000, 1, LENGTH, 2, 2, seed=4), dim=2).values.flatten(2)
    return Made(_part(model, ["input_ids", "bbox"], lambda out: out.last_hidden_state),
                {"input_ids": tokens(config.vocab_size, 1, LENGTH), "bbox": corners}, ["hidden"])


def _bart():
    import transformers
    config = transformers.BartConfig(encoder_layers=6, decoder_layers=6, d_model=768)
    model = _seeded(transformers.BartModel, config)
    return Made(_part(model, ["input_ids", "decoder_input_ids"], lambda out: out.last_hidden_state, use_cache=False),
                {"input_ids": tokens(config.vocab_size, 1, LENGTH), "decoder_input_ids": tokens(config.vocab_size, 1, 32, seed=5)}, ["hidden"])


def entries():
    for name, prefix in (("albert_base", "Albert"), ("bert_base", "Bert"), ("distilbert", "DistilBert"), ("electra_small", "Electra"),
                         ("mobilebert", "MobileBert"), ("roberta_base", "Roberta")):
        changes = {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072} if prefix == "Albert" else {}
        yield Entry(name, "encoder", lambda prefix=prefix, changes=changes: _encoder(prefix, **changes))
    yield Entry("bert_dynamic", "encoder", lambda: _encoder("Bert", dynamic=True, num_hidden_layers=4))
    yield Entry("gpt2", "decoder", lambda: _causal("GPT2"))
    yield Entry("gpt2_step", "decoder step", lambda: _step("GPT2", 1023 - 512))
    yield Entry("gpt2_step_dynamic", "decoder step", lambda: _step("GPT2", 100, dynamic=True, n_layer=4))
    yield Entry("gpt_neox", "decoder", lambda: _causal("GPTNeoX", **SMALL))
    yield Entry("llama", "decoder", lambda: _causal("Llama", **SMALL))
    yield Entry("llama_step", "decoder step", lambda: _step("Llama", 255, **SMALL))
    yield Entry("mistral", "decoder", lambda: _causal("Mistral", num_key_value_heads=2, **SMALL))
    yield Entry("qwen2", "decoder", lambda: _causal("Qwen2", num_key_value_heads=2, **SMALL))
    yield Entry("t5_encoder", "encoder", _t5_encoder)
    yield Entry("t5_decoder", "decoder", _t5_decoder)
    yield Entry("bart", "encoder and decoder", _bart)
    yield Entry("whisper_encoder", "speech", lambda: _whisper("encoder"))
    yield Entry("whisper_decoder", "speech", lambda: _whisper("decoder"))
    yield Entry("wav2vec2", "speech", _wav2vec2)
    yield Entry("clip", "text and image", _clip)
    yield Entry("layoutlm", "documents", _layoutlm)
    yield Entry("deit", "classification", lambda: _pixels("DeiT", lambda out: out.last_hidden_state, ["hidden"]))
    yield Entry("beit", "classification", lambda: _pixels("Beit", lambda out: out.last_hidden_state, ["hidden"]))
    yield Entry("segformer", "segmentation", lambda: _pixels("Segformer", lambda out: out.logits, ["classes"], 256, "ForSemanticSegmentation"))
    yield Entry("detr", "detection", _detr)
