#!/usr/bin/env python3
"""Deep-learning work for a GPU or CPUs, in PyTorch, on random data: what the published DVFS studies ran.

    torch_workloads.py MODEL --mode training|inference --batch 64 --precision mixed --seconds 10

One region, `work`, holds nothing but steps at full speed; the metric `samples` counts what was done in it, so that
energy per sample is the objective  {minimise: energy, of: gpu, per: samples}. A step is a forward pass (inference),
or forward, backward and an SGD update (training). Data lie on the board before the region begins. Where several run at once they begin
together. --device cpu --threads N is the same work on CPUs, as a baseline.
"""
import argparse
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "regions"))
from dvfs_plan_regions import metric, region, wait_for_others  # noqa: E402

CLASSES = 1000
# N x N matrices; (channels in and out, height and width) of a 3 x 3 convolution.
MATMUL = {"small": 1024, "medium": 4096, "large": 8192}
CONV2D = {"small": (64, 56), "medium": (128, 56), "large": (256, 112)}
LSTM = {"input": 512, "hidden": 1024, "layers": 2, "steps": 128}
# DeepSpeech2 (arXiv 1512.02595) as in its reference implementations: two convolutions over a spectrogram of 161 frequencies, five bidirectional
# recurrent layers of 800, CTC over 29 characters; 3 s of speech at 100 frames a second.
DEEPSPEECH2 = {"frequencies": 161, "frames": 300, "hidden": 800, "layers": 5, "characters": 29, "letters": 40}
TRANSFORMER = {"width": 768, "heads": 12, "layers": 12, "feed_forward": 3072, "tokens": 128}

MODELS = ([f"matmul-{size}" for size in MATMUL] + [f"conv2d-{size}" for size in CONV2D] +
          ["resnet50", "vgg16", "inception_v3", "lstm", "deepspeech2", "transformer"])


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--mode", choices=["training", "inference"], default="training")
    parser.add_argument("--batch", type=int, default=64, help="samples a step")
    parser.add_argument("--precision", choices=["fp32", "tf32", "mixed"], default="fp32",
                        help="tf32: FP32 with TF32 matrix units; mixed: autocast to bfloat16, float16 on older boards")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--seconds", type=float, default=10, help="the region lasts at least this long")
    length.add_argument("--steps", type=int, help="the region does exactly so many steps: the same work at any clock")
    parser.add_argument("--warm-up", type=float, default=1.0, metavar="SECONDS", help="before the region")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--threads", type=int, help="of --device cpu; default: as PyTorch finds it")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.batch < 1 or options.seconds <= 0 or (options.steps is not None and options.steps < 1):
        parser.error("--batch, --seconds and --steps must be above 0")
    return options


def torchvision_model(name):
    try:
        from torchvision import models
    except ImportError:
        sys.exit(f"torch_workloads: {name} needs torchvision: pip install torchvision (of the version that goes with torch)")
    # The auxiliary classifier of Inception is part of its training; without weights nothing is fetched.
    extra = {"aux_logits": True, "init_weights": False} if name == "inception_v3" else {}
    return getattr(models, name)(weights=None, **extra)


class Product:
    """A batch of matrix products: nothing to train, so training adds the two products of the backward pass."""

    def __init__(self, torch, size, batch, device):
        self.left = torch.randn(batch, size, size, device=device)
        self.right = torch.randn(batch, size, size, device=device, requires_grad=True)

    def __call__(self, torch, training):
        with torch.set_grad_enabled(training):
            product = torch.bmm(self.left, self.right)
            if training:
                product.backward(torch.ones_like(product))
                self.right.grad = None


def deepspeech2(torch):
    nn, shape = torch.nn, DEEPSPEECH2

    class DeepSpeech2(nn.Module):
        def __init__(self):
            super().__init__()
            self.front = nn.Sequential(
                nn.Conv2d(1, 32, (41, 11), stride=(2, 2), padding=(20, 5)), nn.BatchNorm2d(32), nn.Hardtanh(0, 20),
                nn.Conv2d(32, 32, (21, 11), stride=(2, 1), padding=(10, 5)), nn.BatchNorm2d(32), nn.Hardtanh(0, 20))
            height = ((shape["frequencies"] + 1) // 2 + 1) // 2
            self.recurrent = nn.GRU(32 * height, shape["hidden"], shape["layers"], bidirectional=True, batch_first=True)
            self.out = nn.Linear(2 * shape["hidden"], shape["characters"])

        def forward(self, spectrogram):
            features = self.front(spectrogram)
            features = features.flatten(1, 2).transpose(1, 2)
            return self.out(self.recurrent(features)[0])

    return DeepSpeech2()


class Network:
    """A network with a loss of its own and plain SGD."""

    def __init__(self, torch, module, data, target, device, training):
        self.module = module.to(device).train(training)
        self.data, self.target = data, target
        self.optimizer = torch.optim.SGD(self.module.parameters(), lr=1e-4, momentum=0.9) if training else None
        self.scaler = None

    def loss(self, torch, output):
        functional = torch.nn.functional
        if isinstance(output, tuple) and hasattr(output, "aux_logits"):
            return functional.cross_entropy(output.logits, self.target) + 0.4 * functional.cross_entropy(output.aux_logits, self.target)
        if isinstance(output, tuple):  # an LSTM's output and state
            output = output[0]
        if self.target is not None and self.target.dim() == 2 and self.target.dtype == torch.long:  # letters of speech
            chances = functional.log_softmax(output.float(), -1).transpose(0, 1)
            frames = torch.full((chances.shape[1],), chances.shape[0], dtype=torch.long)
            letters = torch.full((chances.shape[1],), self.target.shape[1], dtype=torch.long)
            return functional.ctc_loss(chances, self.target, frames, letters, zero_infinity=True)
        if self.target is not None and self.target.dtype == torch.long:
            return functional.cross_entropy(output, self.target)
        return functional.mse_loss(output, self.target)

    def __call__(self, torch, training, autocast):
        if not training:
            with torch.inference_mode(), autocast():
                self.module(self.data)
            return
        with autocast():
            loss = self.loss(torch, self.module(self.data))
        self.optimizer.zero_grad(set_to_none=True)
        if self.scaler is None:
            loss.backward()
            self.optimizer.step()
        else:
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()


def build(torch, options):
    """The work as a function of nothing: one step."""
    nn, device, batch, training = torch.nn, options.device, options.batch, options.mode == "training"
    family, _, size = options.model.partition("-")
    half = torch.bfloat16 if device == "cpu" or torch.cuda.get_device_capability()[0] >= 8 else torch.float16

    def autocast():
        return torch.autocast(device, dtype=half, enabled=options.precision == "mixed")

    if family == "matmul":
        product = Product(torch, MATMUL[size], batch, device)

        def step():
            with autocast():
                product(torch, training)
        return step
    if family == "conv2d":
        channels, side = CONV2D[size]
        module = nn.Conv2d(channels, channels, 3, padding=1)
        data = torch.randn(batch, channels, side, side, device=device)
        target = torch.randn_like(data)
    elif family == "lstm":
        module = nn.LSTM(LSTM["input"], LSTM["hidden"], LSTM["layers"], batch_first=True)
        data = torch.randn(batch, LSTM["steps"], LSTM["input"], device=device)
        target = torch.randn(batch, LSTM["steps"], LSTM["hidden"], device=device)
    elif family == "deepspeech2":
        module = deepspeech2(torch)
        data = torch.randn(batch, 1, DEEPSPEECH2["frequencies"], DEEPSPEECH2["frames"], device=device)
        target = torch.randint(1, DEEPSPEECH2["characters"], (batch, DEEPSPEECH2["letters"]), device=device)
    elif family == "transformer":
        layer = nn.TransformerEncoderLayer(TRANSFORMER["width"], TRANSFORMER["heads"], TRANSFORMER["feed_forward"],
                                           dropout=0.0, batch_first=True)
        module = nn.TransformerEncoder(layer, TRANSFORMER["layers"])
        data = torch.randn(batch, TRANSFORMER["tokens"], TRANSFORMER["width"], device=device)
        target = torch.randn_like(data)
    else:
        module = torchvision_model(options.model)
        side = 299 if options.model == "inception_v3" else 224
        data = torch.randn(batch, 3, side, side, device=device)
        target = torch.randint(CLASSES, (batch,), device=device)
    network = Network(torch, module, data, target, device, training)
    if training and options.precision == "mixed" and half == torch.float16:
        network.scaler = torch.amp.GradScaler("cuda")
    return lambda: network(torch, training, autocast)


def main():
    options = arguments()
    try:
        import torch
    except ImportError:
        sys.exit("torch_workloads: PyTorch is not installed for this python3; name the right one in the experiment's 'command'")
    on_board = options.device == "cuda"
    if options.threads:
        torch.set_num_threads(options.threads)
    synchronize = torch.cuda.synchronize if on_board else lambda: None
    if on_board and not torch.cuda.is_available():
        sys.exit("torch_workloads: PyTorch sees no GPU (CUDA_VISIBLE_DEVICES, the driver, or a build of PyTorch without CUDA)")
    torch.manual_seed(options.seed)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = options.precision == "tf32"
    torch.backends.cudnn.benchmark = True  # the fastest kernels, found during the warm-up
    try:
        step = build(torch, options)
        step()
        synchronize()
        # Warm up, and learn how many steps fill a quarter of a second: the board never waits for Python longer than
        # it takes to look at the clock, and the region ends soon after its time.
        began, steps = time.monotonic(), 0
        while steps < 3 or time.monotonic() - began < options.warm_up:
            step()
            synchronize()
            steps += 1
        at_once = max(1, round(0.25 * steps / (time.monotonic() - began)))
        done = 0
        wait_for_others()
        with region("work"):
            until = time.monotonic() + options.seconds
            while (done < options.steps) if options.steps else (time.monotonic() < until):
                now = min(at_once, options.steps - done) if options.steps else at_once
                for _ in range(now):
                    step()
                synchronize()
                done += now
    except torch.cuda.OutOfMemoryError:
        sys.exit(f"torch_workloads: {options.model} with a batch of {options.batch} does not fit on this board; use a smaller --batch")
    metric("samples", done * options.batch)
    if on_board:
        metric("peak_memory", torch.cuda.max_memory_allocated(), "B")


if __name__ == "__main__":
    main()
