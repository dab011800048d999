import { useEffect, useState } from "react";

/** useSettled is a value that hasn't changed for a moment: what is typed is asked about once, not by the letter. */
export function useSettled<T>(value: T, ms = 300): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const t = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(t);
  }, [value, ms]);
  return settled;
}
