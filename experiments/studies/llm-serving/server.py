#!/usr/bin/env python3
"""A language model over HTTP, small enough to be started often: a decoder with random weights and a key-value cache, completions streamed token by token.

    server.py --port 8000 --batch 16

POST /v1/completions {"prompt": [token numbers] or text, "max_tokens": 64, "stream": true}, answered with server-sent events as OpenAI's interface has
them. Requests join the running batch between two tokens (continuous batching), at most --batch at once; others wait their turn. What it says is
nonsense; what it computes for a prompt of n tokens and m new ones is what a trained model of this shape would.
"""
import argparse
import asyncio
import json
import sys
import time


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--batch", type=int, default=16, help="sequences that are decoded at once, at most")
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--vocabulary", type=int, default=32000)
    parser.add_argument("--context", type=int, default=2048, help="tokens of a prompt and its answer together, at most")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    return parser.parse_args()


def attention_of(torch):
    """PyTorch's own from 2.0 on; the same in plain words before."""
    def plain(q, k, v, attn_mask=None, is_causal=False):
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        if is_causal:
            attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril()
        return (scores if attn_mask is None else scores.masked_fill(~attn_mask, float("-inf"))).softmax(-1) @ v
    return getattr(torch.nn.functional, "scaled_dot_product_attention", plain)


class Model:
    """Slots of a batch, each with its place in the caches; all lengths differ."""

    def __init__(self, torch, options):
        self.torch, self.o, self.attention = torch, options, attention_of(torch)
        width, self.head = options.width, options.width // options.heads
        self.kind = torch.bfloat16 if options.device == "cuda" else torch.float32
        torch.manual_seed(1)

        def weights(*shape):
            return (torch.randn(*shape, device=options.device) * shape[-1] ** -0.5).to(self.kind)
        self.embedding = weights(options.vocabulary, width)
        self.layers = [{"qkv": weights(3 * width, width), "out": weights(width, width), "up": weights(4 * width, width), "down": weights(width, 4 * width)}
                       for _ in range(options.layers)]
        cache = (options.layers, options.batch, options.heads, options.context, self.head)
        self.keys, self.values = torch.zeros(cache, device=options.device, dtype=self.kind), torch.zeros(cache, device=options.device, dtype=self.kind)
        self.lengths = torch.zeros(options.batch, dtype=torch.long, device=options.device)

    def norm(self, x):
        return self.torch.nn.functional.layer_norm(x, x.shape[-1:])

    def prefill(self, slot, tokens):
        """One prompt; returns its first new token."""
        functional, n = self.torch.nn.functional, len(tokens)
        x = self.embedding[self.torch.tensor(tokens, device=self.o.device)]
        for index, layer in enumerate(self.layers):
            q, k, v = functional.linear(self.norm(x), layer["qkv"]).view(n, 3, self.o.heads, self.head).permute(1, 2, 0, 3)
            self.keys[index, slot, :, :n], self.values[index, slot, :, :n] = k, v
            seen = self.attention(q[None], k[None], v[None], is_causal=True)[0]
            x = x + functional.linear(seen.transpose(0, 1).reshape(n, -1), layer["out"])
            x = x + functional.linear(functional.gelu(functional.linear(self.norm(x), layer["up"])), layer["down"])
        self.lengths[slot] = n
        return int(functional.linear(self.norm(x[-1:]), self.embedding).argmax())

    def decode(self, slots, tokens):
        """The next token of each of these slots."""
        torch, functional = self.torch, self.torch.nn.functional
        at = torch.tensor(slots, device=self.o.device)
        where = self.lengths[at]
        most = int(where.max()) + 1
        mask = torch.arange(most, device=self.o.device)[None, :] <= where[:, None]
        x = self.embedding[torch.tensor(tokens, device=self.o.device)]
        for index, layer in enumerate(self.layers):
            q, k, v = functional.linear(self.norm(x), layer["qkv"]).view(len(slots), 3, self.o.heads, self.head).unbind(1)
            self.keys[index, at, :, where], self.values[index, at, :, where] = k, v
            seen = self.attention(q[:, :, None], self.keys[index, at, :, :most], self.values[index, at, :, :most],
                                                           attn_mask=mask[:, None, None, :])
            x = x + functional.linear(seen.reshape(len(slots), -1), layer["out"])
            x = x + functional.linear(functional.gelu(functional.linear(self.norm(x), layer["up"])), layer["down"])
        self.lengths[at] += 1
        return functional.linear(self.norm(x), self.embedding).argmax(-1).tolist()


class Engine:
    def __init__(self, model, options):
        self.model, self.o = model, options
        self.free, self.running = list(range(options.batch)), {}
        self.waiting = asyncio.Queue()

    async def run(self):
        # Steps run on the loop's own thread: a thread of their own would wait for the interpreter's lock at each kernel it launches while tokens are written.
        while True:
            if not self.running and self.waiting.empty():
                self.admitted(await self.waiting.get())
            while self.free and not self.waiting.empty():
                self.admitted(self.waiting.get_nowait())
            for slot, (request, work) in list(self.running.items()):
                if work:  # its prompt, one after another: they fill the board by themselves
                    self.running[slot] = (request, False)
                    self.told(slot, self.model.prefill(slot, request["tokens"]))
                    await asyncio.sleep(0)
            slots = list(self.running)
            if slots:
                for slot, token in zip(slots, self.model.decode(slots, [self.running[slot][0]["last"] for slot in slots])):
                    self.told(slot, token)
            for _ in range(3):  # the queue, its reader and the socket each take a turn
                await asyncio.sleep(0)

    def admitted(self, request):
        self.running[self.free.pop()] = (request, True)

    def told(self, slot, token):
        request, _ = self.running[slot]
        request["last"], request["left"] = token, request["left"] - 1
        request["out"].put_nowait(token)
        if request["left"] <= 0 or request["gone"]:
            request["out"].put_nowait(None)
            del self.running[slot]
            self.free.append(slot)


async def serve(engine, options):
    async def answer(reader, writer):
        try:
            while line := await reader.readline():
                method, path, _ = line.decode().split(" ", 2)
                length = 0
                while (header := await reader.readline()) not in (b"\r\n", b""):
                    name, _, value = header.decode().partition(":")
                    length = int(value) if name.lower() == "content-length" else length
                body = await reader.readexactly(length)
                if method != "POST" or path != "/v1/completions":
                    writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                    continue
                asked = json.loads(body)
                prompt = asked.get("prompt", "")
                tokens = prompt if isinstance(prompt, list) else [sum(word.encode()) % options.vocabulary for word in prompt.split()] or [1]
                new = int(asked.get("max_tokens", 16))
                if len(tokens) + new > options.context:
                    text = json.dumps({"error": f"{len(tokens)} + {new} tokens are more than {options.context}"}).encode()
                    writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
                    continue
                request = {"tokens": tokens, "left": new, "last": 0, "out": asyncio.Queue(), "gone": False}
                engine.waiting.put_nowait(request)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
                def chunk(text):
                    return b"%x\r\n%s\r\n" % (len(text), text)
                try:
                    while (token := await request["out"].get()) is not None:
                        writer.write(chunk(b"data: " + json.dumps({"object": "text_completion", "choices": [{"index": 0, "text": f" {token}"}]}).encode() + b"\n\n"))
                        await writer.drain()
                    writer.write(chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
                    await writer.drain()
                except ConnectionError:
                    request["gone"] = True
                    raise
        except (ConnectionError, asyncio.IncompleteReadError, ValueError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", options.port)
    print(f"listening on 127.0.0.1:{options.port}, batch {options.batch}", flush=True)
    task = asyncio.create_task(engine.run())
    async with server:
        await asyncio.wait({asyncio.create_task(server.serve_forever()), task}, return_when=asyncio.FIRST_COMPLETED)
    task.result()


def main():
    options = arguments()
    try:
        import torch
    except ImportError:
        sys.exit("server: PyTorch is not installed for this python3")
    with torch.inference_mode():
        began = time.monotonic()
        model = Model(torch, options)
        for slot in range(options.batch):
            model.prefill(slot, [1] * 32)
        model.decode(list(range(options.batch)), [1] * options.batch)
        print(f"{sum(w.numel() for layer in model.layers for w in layer.values()) + model.embedding.numel():,} weights, up in {time.monotonic() - began:.1f} s", flush=True)
        asyncio.run(serve(Engine(model, options), options))


if __name__ == "__main__":
    main()
