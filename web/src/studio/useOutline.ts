import { useCallback, useEffect, useRef, useState } from "react";
import { type List, outline } from "../lib/outline";
import url from "./reader.ts?worker&url";

interface Known {
  of: string;
  lists: List[] | undefined;
}

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL: (url: string) => string },
  ): { createScriptURL(url: string): URL };
}

/** The one address that the page's policy lets become a script: the worker's. */
const trusted = (window as { trustedTypes?: TrustedTypes }).trustedTypes?.createPolicy("slipway", {
  createScriptURL: (wanted) => {
    if (wanted !== url) throw new TypeError(`${wanted} is no script of the console`);
    return wanted;
  },
});

/** useOutline reads the stages and steps of a text when nobody has typed for a moment, and keeps the last ones that it could. */
export function useOutline(text: string) {
  const [known, setKnown] = useState<Known>(() => ({ of: text, lists: outline(text) }));
  const worker = useRef<Worker>(undefined);
  useEffect(() => {
    const made = new Worker(trusted?.createScriptURL(url) ?? url, { type: "module" });
    made.onmessage = ({ data }: MessageEvent<Known>) => data.lists && setKnown(data);
    worker.current = made;
    return () => made.terminate();
  }, []);
  const current = known.of === text;
  useEffect(() => {
    if (current) return;
    const t = setTimeout(() => worker.current?.postMessage(text), 150);
    return () => clearTimeout(t);
  }, [current, text]);
  /** read reads a text at once: one that the graph has made, and shows. */
  const read = useCallback((of: string) => {
    const lists = outline(of);
    if (lists) setKnown({ of, lists });
    return lists;
  }, []);
  return { ...known, current, read };
}
