import { useRef, useState } from "react";
import { newKey } from "./api";
import { useExpired } from "./session";

/** useOnce sends what a person asks for, however often it is asked for while it is under way. Each try has its key. */
export function useOnce<T>(send: (key: string, what: T) => Promise<void>) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Error>();
  const going = useRef(false);
  const sent = useRef<{ text: string; key: string }>(undefined);
  const expired = useExpired();
  const act = async (what: T) => {
    if (going.current) return;
    going.current = true;
    setBusy(true);
    setProblem(undefined);
    const text = JSON.stringify(what ?? null);
    if (sent.current?.text !== text) sent.current = { text, key: newKey() }; // the same again is the same request
    try {
      await send(sent.current.key, what);
    } catch (e) {
      expired(e);
      setProblem(e as Error);
    } finally {
      going.current = false;
      setBusy(false);
    }
  };
  return { act, busy, problem };
}
