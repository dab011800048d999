import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useId } from "react";
import { call, type Entity, type EntityList, Problem, type Schemas, type Scope, save } from "../lib/api";
import { settings } from "../lib/kinds";
import { useMay } from "../lib/may";
import { applied, assign, type Edited, unset } from "../lib/patch";
import type { Schema } from "../lib/schema";
import { nameOf } from "../lib/scope";
import { whoami } from "../lib/session";
import { type Form, formOf, given, literalOf, scopeOf } from "../lib/settings";
import { starter } from "../lib/starters";
import { Confirm } from "../ui/Confirm";
import { documentOf, usePlace } from "../ui/Document";
import { Edit } from "../ui/Edit";
import { Go } from "../ui/Go";
import { Table } from "../ui/List";
import { Awaited, ProblemCard, Title } from "../ui/states";

type Holds = Schemas["Holds"];

/** What the document of a scope's settings is called; a scope has one. */
const id = "settings";

/** SettingsPage shows the settings as they hold in a scope, with what each scope around it says, and changes its own. */
export function SettingsPage() {
  const { scope } = usePlace();
  const { data, error, refetch } = useQuery({
    queryKey: ["settings", scope],
    queryFn: ({ signal }) => call<Schemas["SettingList"]>("/v1/settings", { query: { ...scope }, signal }),
  });
  const own = useQuery({
    queryKey: ["list", `/v1/entities/${settings.kind}`, scope],
    queryFn: ({ signal }) => saved(scope, signal),
  });
  const schema = useQuery({
    queryKey: ["schema", settings.kind],
    queryFn: ({ signal }) => call<Schema>(`/schema/${settings.kind}.json`, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const may = useMay(scope, "entity.save", settings.kind, id);
  const failed = error ?? own.error;
  if (!data || own.data === undefined) {
    return (
      <Awaited
        title="Settings"
        what="the settings"
        problem={failed}
        again={() => {
          void refetch();
          void own.refetch();
        }}
      />
    );
  }
  return (
    <main id="main">
      <div className="row">
        <Title text="Settings" />
        <span className="grow" />
        <Edit scope={scope} of={settings} id={own.data ? id : undefined} />
      </div>
      <p className="faint">
        of {nameOf(scope)}, as they hold here. Of what scopes around each other say the strictest counts, so that what
        is set above is only made stricter within.
      </p>
      {failed && <p role="status">The settings may be old: {failed.message}</p>}
      {schema.error && <ProblemCard problem={schema.error} again={() => void schema.refetch()} />}
      <Table<Holds>
        rows={data.settings}
        id={(h) => h.name}
        columns={[
          [
            "Setting",
            (h) => (
              <>
                <code>{h.name}</code>
                <br />
                <span className="faint">{h.doc}</span>
              </>
            ),
          ],
          ["Holds", (h) => h.value || <span className="faint">nothing</span>],
          ["Because of", (h) => (h.from ? <At name={h.from} scope={scope} /> : "nobody sets it")],
          ["Said by", (h) => <Said of={h} scope={scope} />],
          [
            "Change",
            (h) =>
              h.ofAccount && scope.org ? (
                <span className="faint">
                  The <AccountsSettings /> alone have it.
                </span>
              ) : (
                <Change
                  setting={h}
                  scope={scope}
                  document={own.data ?? undefined}
                  form={schema.data && formOf(schema.data, settings.kind, h.name)}
                  not={may.why}
                />
              ),
          ],
        ]}
      />
    </main>
  );
}

const AccountsSettings = () => (
  <Go scope={{}} page={[settings.page]}>
    account's settings
  </Go>
);

/** saved is the document of a scope's own settings; null: there is none. */
async function saved(scope: Scope, signal?: AbortSignal): Promise<Entity | null> {
  const list = await call<EntityList>(`/v1/entities/${settings.kind}`, {
    query: { ...scope, documents: true },
    signal,
  });
  return list.entities[0] ?? null;
}

/** At names a scope, and leads to its settings if it is another one. */
function At({ name, scope }: { name: string; scope: Scope }) {
  const of = scopeOf(name);
  if (of.org === scope.org && of.project === scope.project) return <>{nameOf(of)}</>;
  return (
    <Go scope={of} page={[settings.page]}>
      {nameOf(of)}
    </Go>
  );
}

/** Said is what each scope says of a setting, the account first. */
function Said({ of, scope }: { of: Holds; scope: Scope }) {
  if (!of.said) return null;
  return (
    <ul className="plain">
      {of.said.map((s) => (
        <li key={s.scope}>
          <At name={s.scope} scope={scope} />: {s.value}
        </li>
      ))}
    </ul>
  );
}

interface ChangeProps {
  setting: Holds;
  scope: Scope;
  document?: Entity;
  /** What is asked for; undefined: it isn't known yet, or more than a form can hold. */
  form?: Form;
  not?: string;
}

/** Change sets a setting in a scope, or has the scope say nothing of it any more. */
function Change({ setting, scope, document, form, not }: ChangeProps) {
  const queries = useQueryClient();
  const { name, own } = setting;
  const write = async (change: (text: string) => Edited) => {
    await keep(scope, change);
    await Promise.all([
      queries.invalidateQueries({ queryKey: ["settings"] }),
      queries.invalidateQueries({ queryKey: ["list", `/v1/entities/${settings.kind}`] }),
      queries.invalidateQueries({ queryKey: [whoami] }), // which has the banner
    ]);
  };
  const path = [settings.kind, name];
  return (
    <span className="row">
      <Confirm
        word={`Set ${name}`}
        question={`${name} of ${nameOf(scope)}`}
        not={not ?? (form ? undefined : "It is more than a form can hold; edit the document")}
        act={async (values) => {
          const literal =
            form &&
            literalOf(
              form,
              Object.fromEntries(form.fields.map((f) => [f.key, String(values.get(f.key || name) ?? "")])),
            );
          if (!literal) throw new Problem(400, `Nothing is given for ${name}. To set it no more, choose Unset.`);
          await write((text) => assign(text, path, literal));
        }}
      >
        <p>{setting.doc}. It counts from the next request on, here and in what is in it.</p>
        {form && <Fields form={form} name={name} values={given(form, name, document && documentOf(document))} />}
      </Confirm>
      {own !== undefined && (
        <Confirm
          word={`Unset ${name}`}
          danger
          question={`Unset ${name} of ${nameOf(scope)}?`}
          not={not}
          act={() => write((text) => unset(text, path))}
        >
          <p>
            {nameOf(scope)} then says nothing of it, and what is set above it holds, or what holds without. It says{" "}
            {own} now.
          </p>
        </Confirm>
      )}
    </span>
  );
}

/** Fields asks for the value of a setting. */
function Fields({ form, name, values }: { form: Form; name: string; values: Record<string, string> }) {
  const label = useId();
  return (
    <>
      {form.fields.map((f) => (
        <label key={f.key} htmlFor={`${label}-${f.key}`}>
          {f.key || name}
          {f.words ? (
            <select id={`${label}-${f.key}`} name={f.key || name} defaultValue={values[f.key]} required={f.required}>
              <option value="">(nothing)</option>
              {f.words.map((w) => (
                <option key={w}>{w}</option>
              ))}
            </select>
          ) : (
            <textarea
              id={`${label}-${f.key}`}
              name={f.key || name}
              rows={form.many || (f.key !== "" && f.required) ? 3 : 1}
              defaultValue={values[f.key]}
              required={f.required}
              spellCheck={false}
              autoComplete="off"
            />
          )}
        </label>
      ))}
      {form.many && <p className="faint">One in each line.</p>}
    </>
  );
}

/** keep changes the document of a scope's settings as it is now, or begins it; what others change meanwhile stays. */
async function keep(scope: Scope, change: (text: string) => Edited) {
  for (let tries = 0; ; tries++) {
    const now = await saved(scope);
    const text = now?.yaml ?? starter(settings.kind, settings.one, scope);
    const edited = change(text);
    if ("refused" in edited) throw new Problem(400, `It stays as it is: ${edited.refused}; edit the document.`);
    try {
      await save(scope, applied(text, edited.change), now?.version ?? 0);
      return;
    } catch (e) {
      const stale = e instanceof Problem && e.body?.code === "STALE_VERSION";
      if (!stale || tries === 4) throw e;
    }
  }
}
