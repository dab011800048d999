import type { ReactNode } from "react";
import { lookOf, type Shape } from "../lib/status";

const octagon = "M5.2 1.5h5.6l3.7 3.7v5.6l-3.7 3.7H5.2l-3.7-3.7V5.2z";
const disc = <circle cx="8" cy="8" r="6.5" fill="currentColor" stroke="none" />;
const hand = <path d="M5 8V4m2 3V3m2 4V3m2 5V4m0 4v2.5a3.5 3.5 0 0 1-6.5 1.5L3 9.5" />;

const shapes: Record<Shape, ReactNode> = {
  dotted: <circle cx="8" cy="8" r="6" strokeDasharray="2 2.7" />,
  dots: <path d="M3 8h.01M8 8h.01M13 8h.01" strokeWidth="3" />,
  ring: <path d="M8 2a6 6 0 1 1-6 6" />,
  plug: <path d="M8 2a6 6 0 1 1-6 6M6 6v2m4-2v2m-5 0h6v1a3 3 0 0 1-6 0z" strokeWidth="1.5" />,
  hand,
  ask: (
    <>
      {hand}
      <path d="M14 2v4m0 2.5v.01" />
    </>
  ),
  pencil: <path d="M3 13l.8-3L11 2.8 13.2 5 6 12.2z" />,
  stack: <path d="M3 4h10M3 8h10M3 12h10" />,
  clock: <path d="M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zm0 3v3l2 2" />,
  bars: <path d="M5.5 3v10m5-10v10" strokeWidth="2.5" />,
  tick: (
    <>
      {disc}
      <path d="M5 8.2l2.2 2.2L11.2 6" className="inner" />
    </>
  ),
  tickbang: (
    <>
      <circle cx="8" cy="8" r="6.2" />
      <path d="M3.8 8.2l2 2L9 6.5M11.3 5v3.5m0 2.2v.01" strokeWidth="1.5" />
    </>
  ),
  dash: <path d="M4 8h8" />,
  cross: (
    <>
      <path d={octagon} fill="currentColor" />
      <path d="M5.7 5.7l4.6 4.6m0-4.6l-4.6 4.6" className="inner" />
    </>
  ),
  question: (
    <>
      <path d={octagon} fill="currentColor" />
      <path d="M6.2 6.3a1.8 1.8 0 1 1 1.8 2v.8m0 2v.01" className="inner" />
    </>
  ),
  timeout: (
    <>
      <path d={octagon} fill="currentColor" />
      <path d="M8 4.5V8l2 1.7" className="inner" />
    </>
  ),
  reject: (
    <>
      <path d={octagon} fill="currentColor" />
      <path d="M4.8 8h6.4" className="inner" />
    </>
  ),
  slash: <path d="M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2zM4 4l8 8" />,
};

/** Status shows a status by shape, word and colour. Of a small one the word is for readers of screens alone. */
export function Status({ status, small, word }: { status: string; small?: boolean; word?: string }) {
  const look = lookOf(status);
  return (
    <span className={`status ${look.tone}`}>
      <svg className={look.shape === "ring" ? "turning" : undefined} viewBox="0 0 16 16" aria-hidden="true">
        {shapes[look.shape]}
      </svg>
      <span className={small ? "sr" : undefined}>{word ?? look.word}</span>
    </span>
  );
}
