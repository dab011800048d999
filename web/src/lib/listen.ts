import { address, call, Problem, type Scope, type Whoami } from "./api";

/** What a page hears of, and of whom. */
export interface Listening extends Scope {
  /** of this execution alone */
  execution?: string;
}

/** How a page is told. Hint comes at once and then whenever something may have changed, lost when nothing comes any more. */
export interface Told {
  hint: () => void;
  /** over: the session has ended; later: it is no use to try again soon */
  lost: (why: "lost" | "later" | "over") => void;
}

/** How often a page says something over its socket, which API Gateway closes after ten silent minutes. */
const ping = 5 * 60_000;

/**
 * listen has a server tell a page which executions change: by server-sent events, or where no server stays for them
 * over a WebSocket that a ticket opens. It gives what ends it.
 */
export function listen(by: Whoami["live"], of: Listening, told: Told): () => void {
  return by === "socket" ? overSocket(of, told) : byEvents(of, told);
}

function byEvents(of: Scope, told: Told): () => void {
  const source = new EventSource(address("/v1/live", { org: of.org, project: of.project }));
  source.addEventListener("hint", told.hint);
  source.addEventListener("poll", () => {
    source.close();
    told.lost("later");
  });
  source.onerror = () => {
    source.close(); // a browser's own retry doesn't tell why it failed
    told.lost("lost");
  };
  return () => {
    source.onerror = null;
    source.close();
  };
}

function overSocket(of: Listening, told: Told): () => void {
  let socket: WebSocket | undefined;
  let pings: ReturnType<typeof setInterval> | undefined;
  const asking = new AbortController();
  const end = () => {
    asking.abort();
    clearInterval(pings);
    if (socket) socket.onclose = null;
    socket?.close();
  };
  const lose = (why: "lost" | "later" | "over") => {
    end();
    told.lost(why);
  };
  const open = async () => {
    let at: string;
    try {
      const t = await call<{ url: string; ticket: string }>("/v1/live/tickets", {
        method: "POST",
        query: { ...of },
        signal: asking.signal,
      });
      at = address(t.url, { ticket: t.ticket });
    } catch (e) {
      if (asking.signal.aborted) return;
      const status = e instanceof Problem ? e.status : 0;
      lose(status === 401 ? "over" : status >= 400 && status < 500 ? "later" : "lost");
      return;
    }
    if (asking.signal.aborted) return;
    const s = new WebSocket(at);
    socket = s;
    s.onopen = () => {
      pings = setInterval(() => s.send('{"action":"ping"}'), ping);
      told.hint(); // something may have changed before it was open
    };
    s.onmessage = (m) => {
      if ((JSON.parse(m.data) as { bye?: boolean }).bye) lose("over");
      else told.hint();
    };
    s.onclose = () => lose("lost");
  };
  void open();
  return end;
}
