import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call, newKey, part, type Schemas } from "../lib/api";
import { nameOf } from "../lib/scope";
import { Confirm } from "../ui/Confirm";
import { usePlace } from "../ui/Document";
import { List } from "../ui/List";
import { Modal } from "../ui/Modal";
import { Copy, Title } from "../ui/states";
import { Ago } from "../ui/Time";

type Token = Schemas["Token"];

/** TokensPage has the tokens with which people and programs ask the API. */
export function TokensPage() {
  const { scope } = usePlace();
  return (
    <main id="main">
      <Title text="Tokens" />
      <p className="faint">of {nameOf(scope)}, and of what is in it</p>
      <Tokens kind="user" />
    </main>
  );
}

/** Tokens lists the tokens of a kind, makes others and revokes them. */
export function Tokens({ kind }: { kind: Token["kind"] }) {
  const { scope } = usePlace();
  const [made, setMade] = useState<Schemas["NewToken"]>();
  const queries = useQueryClient();
  const again = () => queries.invalidateQueries({ queryKey: ["list", "/v1/tokens"] });
  return (
    <>
      <Confirm
        word="New token"
        question={kind === "delegate" ? "A new token for delegates" : "A new token"}
        act={async (form) => {
          const tags = String(form.get("tags") ?? "")
            .split(",")
            .map((t) => t.trim())
            .filter((t) => t !== "");
          const json: Schemas["CreateToken"] = { kind, name: String(form.get("name")) };
          if (tags.length > 0) json.binding = { tags };
          setMade(await call("/v1/tokens", { method: "POST", query: { ...scope }, json, key: newKey() }));
          await again();
        }}
      >
        <label>
          Name
          <input name="name" required maxLength={128} autoComplete="off" spellCheck={false} />
        </label>
        {kind === "delegate" && (
          <label>
            Tags, with commas between them; none: delegates say what they like
            <input name="tags" autoComplete="off" spellCheck={false} />
          </label>
        )}
        <p>
          {kind === "delegate"
            ? `Whoever has it can claim tasks of ${nameOf(scope)}, with the secrets that they need.`
            : `Whoever has it may do in ${nameOf(scope)} what you may.`}{" "}
          It is shown once.
        </p>
      </Confirm>
      {made && (
        <Modal title={`The token ${made.name}`} close={() => setMade(undefined)}>
          <p>Copy it now: it isn't shown again.</p>
          <pre className="secret-text">{made.secret}</pre>
          <form method="dialog" className="row">
            <Copy text={made.secret}>Copy the token</Copy>
            <button type="submit">Close</button>
          </form>
        </Modal>
      )}
      <List<Schemas["TokenList"], Token>
        what="tokens"
        path="/v1/tokens"
        query={{ ...scope, kind }}
        rows={(a) => a.tokens}
        id={(t) => t.id}
        text={(t) => `${t.name} ${t.id} ${t.actor} ${t.binding?.tags.join(" ") ?? ""}`}
        empty={<p>There are no tokens of this kind here.</p>}
        columns={[
          [
            "Name",
            (t) => (
              <>
                {t.name} <code className="faint">{t.id}</code>
              </>
            ),
          ],
          ["Acts as", (t) => t.actor],
          ["Scope", (t) => nameOf(t)],
          ...(kind === "delegate"
            ? ([["Bound to the tags", (t) => t.binding?.tags.join(", ")]] as [string, (t: Token) => React.ReactNode][])
            : []),
          ["Made", (t) => <Ago at={t.createdAt} />],
          ["Used", (t) => t.lastUsedDay ?? "never"],
          [
            "",
            (t) =>
              t.revoked ? (
                "revoked"
              ) : (
                <Confirm
                  word="Revoke"
                  question={`Revoke the token ${t.name}?`}
                  danger
                  act={async () => {
                    await call(`/v1/tokens/${part(t.id)}`, { method: "DELETE" });
                    await again();
                  }}
                >
                  <p>
                    {kind === "delegate"
                      ? "Delegates that have it are refused from then on, and what they do is given to others."
                      : "Whoever has it is refused from then on, and sessions that were opened with it end."}{" "}
                    A revoked token can't be brought back.
                  </p>
                </Confirm>
              ),
          ],
        ]}
      />
    </>
  );
}
