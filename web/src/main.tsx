import { QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Problem } from "./lib/api";
import { askWho, whenExpired, whoami } from "./lib/session";
import { router } from "./routes/router";
import "./style.css";

const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (e, query) => {
      if (query.queryKey[0] !== whoami) whenExpired(queries, e);
    },
  }),
  defaultOptions: {
    queries: {
      // What was refused stays refused; a server that is away or busy is asked again.
      retry: (times, e) => times < 2 && e instanceof Problem && (e.status === 0 || e.status === 429 || e.status >= 500),
      networkMode: "always",
      staleTime: 1000,
    },
    mutations: { networkMode: "always" },
  },
});

askWho(queries);
const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  );
}
