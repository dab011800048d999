import { useEffect, useRef } from "react";

/** useRows has j and k go through the rows of a table: through its links with data-row. */
export function useRows() {
  const table = useRef<HTMLTableElement>(null);
  useEffect(() => {
    const press = (e: KeyboardEvent) => {
      const target = e.target as HTMLElement;
      if ((e.key !== "j" && e.key !== "k") || e.ctrlKey || e.metaKey || e.altKey) return;
      if (target.closest("input, textarea, select, dialog, [role=treegrid]")) return;
      const links = [...(table.current?.querySelectorAll<HTMLElement>("[data-row]") ?? [])];
      const at = links.indexOf(document.activeElement as HTMLElement);
      links[at < 0 ? 0 : Math.max(0, Math.min(links.length - 1, at + (e.key === "j" ? 1 : -1)))]?.focus();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
  return table;
}
