import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { call, type Schemas } from "../lib/api";
import { nameOf } from "../lib/scope";
import { Confirm } from "../ui/Confirm";
import { Head, usePlace } from "../ui/Document";
import { Facts } from "../ui/Facts";
import { Go } from "../ui/Go";
import { List } from "../ui/List";
import { Awaited, Title } from "../ui/states";
import { Ago } from "../ui/Time";
import { Yaml } from "../ui/Yaml";

const path = "/v1/files/content";

function bytes(n: number): string {
  return n < 1000 ? `${n} B` : n < 1_000_000 ? `${(n / 1000).toFixed(1)} kB` : `${(n / 1_000_000).toFixed(1)} MB`;
}

/** Files lists the files of a scope's file store. */
export function Files() {
  const { scope } = usePlace();
  const { folder } = useSearch({ strict: false }) as { folder?: string };
  const queries = useQueryClient();
  return (
    <main id="main">
      <Title text="Files" />
      <p className="faint">
        of {nameOf(scope)}
        {folder && (
          <>
            , in {folder}:{" "}
            <Go scope={scope} page={["files"]}>
              all folders
            </Go>
          </>
        )}
      </p>
      <Confirm
        word="New file"
        question="A new file"
        act={async (form) => {
          const file = form.get("file") as File;
          await call(path, {
            method: "PUT",
            query: { ...scope, path: String(form.get("path")), version: 0 },
            bytes: file,
          });
          await queries.invalidateQueries({ queryKey: ["list", "/v1/files"] });
        }}
      >
        <label>
          Path
          <input name="path" required pattern="/.+" defaultValue={`${folder ?? ""}/`} spellCheck={false} />
        </label>
        <label>
          Content
          <input type="file" name="file" required />
        </label>
        <p>A file that is there already isn't replaced.</p>
      </Confirm>
      <List<Schemas["FileList"], Schemas["File"]>
        what="files"
        path="/v1/files"
        query={{ ...scope, folder }}
        rows={(a) => a.files}
        id={(f) => f.path}
        text={(f) => f.path}
        empty={
          <>
            <p>No file is kept here yet. To keep one:</p>
            <pre>slipway files put FILE /folder/</pre>
          </>
        }
        columns={[
          [
            "Path",
            (f) => (
              <Go scope={scope} page={["files", "content"]} search={{ path: f.path }} row>
                {f.path}
              </Go>
            ),
          ],
          [
            "Folder",
            (f) => {
              const above = f.path.slice(0, f.path.lastIndexOf("/"));
              return (
                above && (
                  <Go scope={scope} page={["files"]} search={{ folder: above }}>
                    {above}
                  </Go>
                )
              );
            },
          ],
          ["Size", (f) => bytes(f.size)],
          ["Saved", (f) => <Ago at={f.updatedAt} />],
          ["By", (f) => f.updatedBy],
          ["Version", (f) => f.version],
        ]}
      />
    </main>
  );
}

/** textOf is what is in a file if that is text. */
function textOf(content: Uint8Array<ArrayBuffer>): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(content);
    return text.includes("\u0000") ? undefined : text;
  } catch {
    return undefined;
  }
}

/** FilePage is a file with its content. */
export function FilePage() {
  const { scope } = usePlace();
  const { path: name = "" } = useSearch({ strict: false }) as { path?: string };
  const { data, error, refetch } = useQuery({
    queryKey: ["file", scope, name],
    queryFn: ({ signal }) => call<Schemas["FileContent"]>(path, { query: { ...scope, path: name }, signal }),
  });
  if (!data) {
    return <Awaited title={name} what="the file" problem={error} again={() => void refetch()} />;
  }
  const content = Uint8Array.from(atob(data.content), (c) => c.charCodeAt(0));
  const text = textOf(content);
  return (
    <main id="main">
      <Head above={[[`Files of ${nameOf(scope)}`, ["files"]]]} name={data.path}>
        <button type="button" onClick={() => download(data.path, content)}>
          Download
        </button>
        <Confirm
          word="Replace"
          question={`Replace ${data.path}?`}
          act={async (form) => {
            const file = form.get("file") as File;
            await call(path, {
              method: "PUT",
              query: { ...scope, path: data.path, version: data.version },
              bytes: file,
            });
            await refetch();
          }}
        >
          <label>
            Content
            <input type="file" name="file" required />
          </label>
          <p>Steps that begin from then on have the new content. Nobody keeps the old one.</p>
        </Confirm>
      </Head>
      <Facts
        facts={[
          ["Size", bytes(data.size)],
          ["SHA-256", <code key="sum">{data.sha256}</code>],
          [
            "Saved",
            <span key="saved">
              <Ago at={data.updatedAt} /> by {data.updatedBy}, version {data.version}
            </span>,
          ],
        ]}
      />
      {text === undefined ? <p>What is in it isn't text.</p> : <Yaml text={text} label="Content" />}
    </main>
  );
}

function download(name: string, content: Uint8Array<ArrayBuffer>) {
  const url = URL.createObjectURL(new Blob([content]));
  const a = document.createElement("a");
  a.href = url;
  a.download = name.slice(name.lastIndexOf("/") + 1);
  a.click();
  URL.revokeObjectURL(url);
}
