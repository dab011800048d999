import { type ReactNode, useEffect, useId, useRef } from "react";

/** Modal is a dialog over the page. The browser keeps the focus in it, first at data-first, and gives it back. */
export function Modal({
  title,
  close,
  wide,
  children,
}: {
  title: string;
  close: () => void;
  wide?: boolean;
  children: ReactNode;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const d = ref.current;
    if (d && !d.open) {
      d.showModal();
      d.querySelector<HTMLElement>("[data-first]")?.focus();
    }
    return () => d?.close();
  }, []);
  return (
    <dialog ref={ref} className={wide ? "wide" : undefined} aria-labelledby={id} onClose={close} onCancel={close}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}
