interface Props<T extends string> {
  /** what readers of screens call them together */
  label: string;
  tabs: readonly (readonly [T, string])[];
  at: T;
  go: (tab: T) => void;
  children: React.ReactNode;
}

/** Tabs shows one of several views of a thing. Arrows go from one to the next. */
export function Tabs<T extends string>({ label, tabs, at, go, children }: Props<T>) {
  return (
    <>
      <div className="tabs" role="tablist" aria-label={label}>
        {tabs.map(([tab, name], i) => (
          <button
            type="button"
            key={tab}
            role="tab"
            id={`tab-${tab}`}
            aria-selected={tab === at}
            aria-controls="panel"
            tabIndex={tab === at ? 0 : -1}
            onClick={() => go(tab)}
            onKeyDown={(e) => {
              const step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
              const next = step && tabs[(i + step + tabs.length) % tabs.length];
              if (!next) return;
              go(next[0]);
              document.getElementById(`tab-${next[0]}`)?.focus();
            }}
          >
            {name}
          </button>
        ))}
      </div>
      <div id="panel" role="tabpanel" aria-labelledby={`tab-${at}`} className="panel-body">
        {children}
      </div>
    </>
  );
}
