import type { Schemas } from "../lib/api";
import { nameOf } from "../lib/scope";
import { Parts, usePlace } from "../ui/Document";
import { Facts } from "../ui/Facts";
import { List } from "../ui/List";
import { Title } from "../ui/states";
import { Ago } from "../ui/Time";
import { Tokens } from "./Tokens";

type Delegate = Schemas["Delegate"];

/** Delegates shows who does the work of a scope, and the tokens by which they may. */
export function Delegates() {
  const { scope } = usePlace();
  return (
    <main id="main">
      <Title text="Delegates" />
      <p className="faint">that may work for {nameOf(scope)}</p>
      <Parts
        parts={[
          ["delegates", "Delegates", () => <All />],
          ["tokens", "Tokens", () => <Tokens kind="delegate" />],
        ]}
      />
    </main>
  );
}

/** stateOf is whether a delegate takes tasks, and if not, why. */
function stateOf(d: Delegate): string {
  if (!d.connected) return "not heard of";
  if (d.draining) return "stops, takes no more tasks";
  return d.running >= d.capacity ? "connected, full" : "connected";
}

function All() {
  const { scope } = usePlace();
  return (
    <List<Schemas["DelegateList"], Delegate>
      what="delegates"
      path="/v1/delegates"
      query={{ ...scope }}
      rows={(a) => a.delegates}
      id={(d) => d.id}
      text={(d) => `${d.name} ${d.host ?? ""} ${d.tags.join(" ")} ${stateOf(d)} ${d.kinds.join(" ")}`}
      every={5000}
      empty={
        <>
          <p>No delegate has been heard of in the last 24 hours. To make a token for one, and to run it:</p>
          <pre>{"slipway token create --delegate my-cluster --tags my-cluster\nslipway delegate"}</pre>
        </>
      }
      columns={[
        [
          "Name",
          (d) => (
            <details>
              <summary data-row>{d.name}</summary>
              <Facts
                facts={[
                  ["Id", <code key="id">{d.id}</code>],
                  ["Host", d.host],
                  ["Began", <Ago key="began" at={d.startedAt} />],
                  ["Runs tasks of", d.kinds.join(", ")],
                  ["Has the programs", d.tools?.map(String).join(", ")],
                ]}
              />
            </details>
          ),
        ],
        ["State", stateOf],
        ["Load", (d) => `${d.running} of ${d.capacity} tasks`],
        ["Tags", (d) => d.tags.join(", ")],
        ["For", (d) => nameOf(d)],
        ["Heard of", (d) => <Ago at={d.lastSeen} />],
        ["Version", (d) => d.version],
      ]}
    />
  );
}
