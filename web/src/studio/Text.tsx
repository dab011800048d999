import { autocompletion, type CompletionSource, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab, isolateHistory } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { foldGutter, foldKeymap, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, nextDiagnostic, previousDiagnostic, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  type HoverTooltipSource,
  highlightActiveLineGutter,
  hoverTooltip,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { type Ref, useEffect, useImperativeHandle, useRef } from "react";
import type { Detail } from "../lib/api";
import type { Change } from "../lib/patch";

/** What the page does with the text besides reading it. */
export interface TextHandle {
  /** Makes a change of the text as it is now; one undo takes it back. */
  apply: (change: Change) => void;
  /** Selects what stands between two places, and shows it; the focus stays where it is. */
  select: (from: number, to: number) => void;
  /** Puts another text in the place of all of it. */
  replace: (text: string) => void;
  goTo: (line: number, column: number) => void;
}

interface Props {
  /** What it begins with; after that the editor has the text. */
  initial: string;
  label: string;
  readOnly: boolean;
  findings: Detail[];
  changed: (text: string) => void;
  /** The cursor is somewhere else. */
  moved: (at: number) => void;
  save: () => void;
  complete: CompletionSource;
  help: HoverTooltipSource;
  ref: Ref<TextHandle>;
}

/** The colours are the page's variables, so they follow its theme. */
const looks = EditorView.theme({
  "&": {
    height: "min(65vh, 60rem)",
    color: "var(--text)",
    backgroundColor: "var(--raised)",
    border: "1px solid var(--edge)",
    borderRadius: "4px",
    fontSize: "13px",
  },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "18px" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": {
    backgroundColor: "var(--raised)",
    color: "var(--faint)",
    borderRight: "1px solid var(--edge)",
  },
  ".cm-activeLineGutter": { backgroundColor: "var(--chosen)", color: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--chosen)",
  },
  ".cm-selectionMatch": { backgroundColor: "transparent", outline: "1px solid var(--control)" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--page)", color: "var(--faint)", borderColor: "var(--edge)" },
  ".cm-tooltip, .cm-panels": {
    backgroundColor: "var(--page)",
    color: "var(--text)",
    border: "1px solid var(--control)",
  },
  ".cm-help": { padding: "0.3rem 0.6rem", maxWidth: "32rem", whiteSpace: "pre-wrap" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent)",
    color: "var(--onaccent)",
  },
  ".cm-diagnostic": { borderLeftColor: "var(--bad)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--attention)" },
  ".cm-textfield, .cm-button": {
    backgroundColor: "var(--page)",
    backgroundImage: "none",
    color: "var(--text)",
    border: "1px solid var(--control)",
    fontSize: "inherit",
    minHeight: "24px",
  },
  ".cm-panel.cm-search [name=close]": { color: "var(--text)", minWidth: "24px", minHeight: "24px" },
});

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--info)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.lineComment, tags.blockComment], color: "var(--faint)", fontStyle: "italic" },
  { tag: [tags.labelName, tags.typeName, tags.keyword], color: "var(--attention)" },
]);

/**
 * Text is the editor. It is in a shadow root, where it adopts its style sheets in place of writing them into the page,
 * which the page's policy forbids.
 */
export function Text(props: Props) {
  const { initial, label, readOnly, findings, ref } = props;
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const writable = useRef(new Compartment());

  // biome-ignore lint/correctness/useExhaustiveDependencies: the editor is made once, and has the text from then on
  useEffect(() => {
    const at = host.current as HTMLDivElement;
    const root = at.shadowRoot ?? at.attachShadow({ mode: "open" });
    const saves = () => {
      latest.current.save();
      return true;
    };
    const made = new EditorView({
      parent: root,
      root,
      state: EditorState.create({
        doc: initial,
        extensions: [
          lineNumbers(),
          foldGutter(),
          lintGutter(),
          history(),
          drawSelection(),
          indentOnInput(),
          highlightActiveLineGutter(),
          highlightSelectionMatches(),
          yaml(),
          looks,
          syntaxHighlighting(colours),
          autocompletion({ override: [(c) => latest.current.complete(c)], icons: false }),
          hoverTooltip((v, pos, side) => latest.current.help(v, pos, side)),
          writable.current.of(EditorState.readOnly.of(readOnly)),
          EditorState.tabSize.of(2),
          EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", tabindex: "0" }),
          EditorView.domEventHandlers({ blur: (_, v) => v.setTabFocusMode(false) }),
          EditorView.updateListener.of((u) => {
            if (u.docChanged) latest.current.changed(u.state.sliceDoc());
            if (u.docChanged || u.selectionSet) latest.current.moved(u.state.selection.main.head);
          }),
          keymap.of([
            { key: "Mod-s", run: saves },
            { key: "F8", run: nextDiagnostic, shift: previousDiagnostic },
            ...completionKeymap,
            ...searchKeymap,
            ...foldKeymap,
            ...historyKeymap,
            // After Escape, Tab leaves the text as it leaves other fields.
            { key: "Escape", run: escaped },
            ...defaultKeymap,
            indentWithTab,
          ]),
        ],
      }),
    });
    view.current = made;
    // The page's keys aren't for who types here.
    const own = (e: KeyboardEvent) => e.stopPropagation();
    at.addEventListener("keydown", own);
    return () => {
      at.removeEventListener("keydown", own);
      made.destroy();
    };
  }, []);

  useEffect(() => {
    view.current?.dispatch({ effects: writable.current.reconfigure(EditorState.readOnly.of(readOnly)) });
  }, [readOnly]);

  useEffect(() => {
    const v = view.current;
    if (v)
      v.dispatch(
        setDiagnostics(
          v.state,
          findings.map((f) => diagnostic(v.state, f)),
        ),
      );
  }, [findings]);

  useImperativeHandle(ref, () => ({
    apply: (change) => view.current?.dispatch({ changes: change, annotations: isolateHistory.of("full") }),
    select: (from, to) => {
      const v = view.current;
      // The cursor is at the beginning: there nothing stands that is inside.
      const selection = { anchor: to, head: from };
      v?.dispatch({ selection, effects: EditorView.scrollIntoView(from, { y: "center" }) });
    },
    replace: (text) => {
      const v = view.current;
      v?.dispatch({ changes: { from: 0, to: v.state.doc.length, insert: text } });
    },
    goTo: (line, column) => {
      const v = view.current;
      if (!v) return;
      const at = offset(v.state, line, column);
      v.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
      v.focus();
    },
  }));
  return <div ref={host} className="editor" />;
}

/** escaped has Tab leave the text, and leaves the key to what else knows it. */
function escaped(v: EditorView): boolean {
  v.setTabFocusMode(true);
  return false;
}

/** offset is where a line and a column are in the text that there is by now. */
function offset(state: EditorState, line: number, column: number): number {
  const at = state.doc.line(Math.max(1, Math.min(line, state.doc.lines)));
  return Math.min(at.from + Math.max(0, column - 1), at.to);
}

/** diagnostic marks what the server found: from the place that it names to the end of the word or the line there. */
function diagnostic(state: EditorState, f: Detail): Diagnostic {
  const from = offset(state, f.line ?? 1, f.column ?? 1);
  const line = state.doc.lineAt(from);
  const to = state.wordAt(from)?.to ?? line.to;
  return { from, to: Math.max(from, to), severity: f.severity === "warning" ? "warning" : "error", message: f.message };
}
