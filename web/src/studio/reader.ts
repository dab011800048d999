import { outline } from "../lib/outline";

/** A worker that reads outlines: of a long text that takes longer than a key may wait. */
addEventListener("message", ({ data: text }: MessageEvent<string>) => {
  postMessage({ of: text, lists: outline(text) });
});
