import type { ReactNode } from "react";

/** Facts are names and what they stand for; those without are left out. */
export function Facts({ facts }: { facts: [string, ReactNode][] }) {
  return (
    <dl className="facts-list">
      {facts
        .filter(([, v]) => v !== undefined && v !== "" && v !== null && v !== false)
        .map(([name, v]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{v}</dd>
          </div>
        ))}
    </dl>
  );
}
