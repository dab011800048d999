import { type FormEvent, type ReactNode, useState } from "react";
import { Modal } from "./Modal";
import { ProblemCard } from "./states";

interface Props {
  /** What the button says, and the question that it asks. */
  word: string;
  question: string;
  danger?: boolean;
  /** Why it can't be done now; the button then says so. */
  not?: string;
  /** Does it, with what the dialog's fields have. */
  act: (form: FormData) => Promise<void>;
  /** What will happen, and fields. */
  children: ReactNode;
}

/** Confirm is a button that says in a dialog what will happen before it does. */
export function Confirm({ word, question, danger, not, act, children }: Props) {
  const [asked, setAsked] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Error>();
  const close = () => {
    setAsked(false);
    setProblem(undefined);
  };
  const submit = async (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    if (busy) return;
    const form = new FormData(e.currentTarget);
    setBusy(true);
    setProblem(undefined);
    try {
      await act(form);
      close();
    } catch (e) {
      setProblem(e as Error);
    } finally {
      setBusy(false);
    }
  };
  const look = danger ? "danger" : undefined;
  return (
    <>
      <button type="button" className={look} disabled={Boolean(not)} title={not} onClick={() => setAsked(true)}>
        {word}
        {not && <span className="sr">: {not}</span>}
      </button>
      {asked && (
        <Modal title={question} close={close}>
          <form className="stack" onSubmit={submit}>
            {children}
            {problem && <ProblemCard problem={problem} />}
            <div className="row">
              <button type="submit" className={look ?? "primary"} disabled={busy}>
                {busy ? "One moment…" : word}
              </button>
              <button type="button" onClick={close}>
                Cancel
              </button>
            </div>
          </form>
        </Modal>
      )}
    </>
  );
}
