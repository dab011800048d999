import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { governance, type Level, type Section, sections } from "../lib/access";
import { call, type Schemas, type Scope } from "../lib/api";
import { listOf, roles } from "../lib/kinds";
import { nameOf } from "../lib/scope";
import { capital, DocumentPage, DocumentsPage, documentOf, type Part, usePlace } from "../ui/Document";
import { Go } from "../ui/Go";
import { Table } from "../ui/List";
import { Loading, ProblemCard, Title } from "../ui/states";
import { Explain } from "./Explain";
import { NotFound } from "./NotFound";

const levelOf = (s: Scope): Level => (s.project ? "project" : s.org ? "organization" : "account");

/** Access has the way to all that says who may do what in a scope, and tells what somebody may. */
export function Access() {
  const { scope } = usePlace();
  const here = sections.filter((s) => s.levels.includes(levelOf(scope)));
  return (
    <main id="main">
      <Title text="Access" />
      <p className="faint">to {nameOf(scope)}</p>
      <dl className="facts-list">
        {here.map((s) => (
          <div key={s.of.kind}>
            <dt>
              <Go scope={scope} page={listOf(s.of)} row>
                {capital(s.of.many)}
              </Go>
            </dt>
            <dd>{s.about}</dd>
          </div>
        ))}
        <div>
          <dt>
            <Go scope={scope} page={["tokens"]} row>
              Tokens
            </Go>
          </dt>
          <dd>With which people and programs ask the API.</dd>
        </div>
      </dl>
      {scope.org && (
        <p>
          <Go scope={scope.project ? { org: scope.org } : {}} page={["access"]}>
            {scope.project
              ? `Access to ${scope.org}, and its projects`
              : "Access to the account, its users and organizations"}
          </Go>
        </p>
      )}
      <Explain scope={scope} />
    </main>
  );
}

/** useSection is what the address names, of those that a scope has. */
function useSection(among: Section[]): { section?: Section; id: string; scope: Scope } {
  const { scope, params } = usePlace();
  const section = among.find((s) => s.of.page.split("/").at(-1) === params.section);
  return { section, id: params.id ?? "", scope };
}

/** Beside leads from one list to those beside it. */
function Beside(props: { among: Section[]; section: Section; scope: Scope; up?: ReactNode; more?: ReactNode }) {
  const { among, section, scope, up, more } = props;
  return (
    <nav aria-label="Lists beside this one" className="crumbs">
      {up}
      {among
        .filter((s) => s.levels.includes(levelOf(scope)))
        .map((s) => (
          <Go key={s.of.kind} scope={scope} page={listOf(s.of)} current={s === section}>
            {capital(s.of.many)}
          </Go>
        ))}
      {more}
    </nav>
  );
}

function Listed({
  among,
  section,
  up,
  more,
}: {
  among: Section[];
  section: Section;
  up?: ReactNode;
  more?: ReactNode;
}) {
  const { scope } = usePlace();
  if (!section.levels.includes(levelOf(scope))) return <Elsewhere section={section} scope={scope} />;
  return (
    <DocumentsPage
      key={section.of.kind}
      of={section.of}
      documents
      above={<Beside among={among} section={section} scope={scope} up={up} more={more} />}
      columns={section.columns.map(([name, value]) => [name, (e) => value(documentOf(e))])}
    >
      <p>{section.about}</p>
      {section.of === roles && <BuiltIn scope={scope} />}
    </DocumentsPage>
  );
}

/** Elsewhere says where documents live that this scope has none of. */
function Elsewhere({ section, scope }: { section: Section; scope: Scope }) {
  const up = section.levels.includes("organization") && scope.org ? { org: scope.org } : {};
  return (
    <main id="main">
      <Title text={capital(section.of.many)} />
      <p className="empty">
        {capital(section.of.many)} are kept by each {section.levels.join(" and ")}, not by a {levelOf(scope)}.{" "}
        {!(section.levels.includes("organization") && !scope.org) && (
          <Go scope={up} page={listOf(section.of)}>
            Those of {nameOf(up)}
          </Go>
        )}
      </p>
    </main>
  );
}

/** BuiltIn has the roles that are there without being saved. */
function BuiltIn({ scope }: { scope: Scope }) {
  const { data, error, refetch } = useQuery({
    queryKey: ["built-in", scope],
    queryFn: ({ signal }) => call<Schemas["BuiltIn"]>("/v1/access/built-in", { query: { ...scope }, signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (error) return <ProblemCard problem={error} again={() => void refetch()} />;
  if (!data) return <Loading what="the built-in roles" rows={2} />;
  return (
    <>
      <h2>Built in</h2>
      <Table
        rows={data.roles}
        id={(r) => r.identifier}
        columns={[
          ["Role", (r) => <code>{r.identifier}</code>],
          [
            "Permissions",
            (r) => (
              <details>
                <summary>{r.permissions.length === 1 ? "1 permission" : `${r.permissions.length} permissions`}</summary>
                <ul>
                  {r.permissions.map((p) => (
                    <li key={p}>
                      <code>{p}</code>
                    </li>
                  ))}
                </ul>
              </details>
            ),
          ],
        ]}
      />
      <h2>Saved here</h2>
    </>
  );
}

function Shown({ section, id }: { section: Section; id: string }) {
  return (
    <DocumentPage
      key={`${section.of.kind} ${id}`}
      of={section.of}
      id={id}
      facts={(doc) =>
        [...section.columns, ...(section.facts ?? [])].map(([name, value]): [string, ReactNode] => [name, value(doc)])
      }
      parts={(doc) =>
        (section.lists ?? [])
          .map(([tab, name, items]): [string, string, string[]] => [tab, name, items(doc)])
          .filter(([, , items]) => items.length > 0)
          .map(
            ([tab, name, items]): Part => [
              tab,
              name,
              () => (
                <ul>
                  {items.map((item) => (
                    <li key={item}>{item}</li>
                  ))}
                </ul>
              ),
            ],
          )
      }
    />
  );
}

/** AccessList lists the documents of a kind that has a say in who may do what. */
export function AccessList() {
  const { section, scope } = useSection(sections);
  if (!section) return <NotFound />;
  const up = (
    <Go scope={scope} page={["access"]}>
      Access
    </Go>
  );
  return <Listed among={sections} section={section} up={up} />;
}

/** AccessDocument is one of them. */
export function AccessDocument() {
  const { section, id } = useSection(sections);
  return section ? <Shown section={section} id={id} /> : <NotFound />;
}

const [rules, sets] = governance as [Section, Section];

/** ToEvaluations leads to what policies came to. */
function ToEvaluations() {
  const { scope } = usePlace();
  return (
    <Go scope={scope} page={["evaluations"]}>
      Evaluations
    </Go>
  );
}

/** Policies lists what decides on contents. */
export const Policies = () => <Listed among={governance} section={rules} more={<ToEvaluations />} />;

/** PolicySets lists when policies are asked. */
export const PolicySets = () => <Listed among={governance} section={sets} more={<ToEvaluations />} />;

/** Policy is one policy. */
export const Policy = () => <Shown section={rules} id={usePlace().params.id ?? ""} />;

/** PolicySet is one set of them. */
export const PolicySet = () => <Shown section={sets} id={usePlace().params.id ?? ""} />;
