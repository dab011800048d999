/** A draft is a text that isn't saved, with what it was made from. This tab keeps it until it is. */
export interface Draft {
  version: number;
  base: string;
  text: string;
}

const prefix = "draft ";

/** Texts that look as if they had a secret in them; none such is written anywhere but to the server. */
const secret = [
  /-----BEGIN [A-Z ]*PRIVATE KEY/,
  /\b(AKIA[0-9A-Z]{16}|gh[pousr]_\w{30,}|glpat-\S{20,}|(pat|ses|dlg)\.\w+\.\w+\.\w+)/,
  /^[ \t-]*\w*(password|passwd|secret|token|apikey|api_key|secretkey|accesskey)\w*:[ \t]+(?!<\+|["']?<\+|["']{2}|account\.|org\.|[|>{[])\S{12,}/im,
];

/** mayKeep says whether a text may be kept as a draft. */
export const mayKeep = (text: string) => !secret.some((s) => s.test(text));

/** keep keeps a draft; false: it may not be kept, or there is no place for it. */
export function keep(key: string, draft: Draft): boolean {
  if (!mayKeep(draft.text)) {
    drop(key);
    return false;
  }
  try {
    sessionStorage.setItem(prefix + key, JSON.stringify(draft));
    return true;
  } catch {
    return false;
  }
}

/** kept is the draft of a document, if there is one. */
export function kept(key: string): Draft | undefined {
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(prefix + key) ?? "null");
    if (typeof found !== "object" || found === null) return undefined;
    const { version, base, text } = found as Partial<Draft>;
    if (typeof version !== "number" || typeof base !== "string" || typeof text !== "string") return undefined;
    return { version, base, text };
  } catch {
    return undefined;
  }
}

/** drop forgets a draft; without a key it forgets all. */
export function drop(key?: string) {
  if (key !== undefined) sessionStorage.removeItem(prefix + key);
  else for (const k of Object.keys(sessionStorage)) if (k.startsWith(prefix)) sessionStorage.removeItem(k);
}
