import { createContext, type ReactNode, useCallback, useContext, useState } from 'react';
import { CallError } from 'reducerdb/client';
import type { Refusal } from './module_bindings/types.ts';

/** What a call came to; `undefined`: it failed, and the reader has been told why. */
type Attempt = <Value>(call: Promise<Value>) => Promise<{ readonly value: Value } | undefined>;

const AttemptContext = createContext<Attempt>(async () => undefined);

/** Waits for a call, and shows in words why it failed. */
export const useAttempt = () => useContext(AttemptContext);

/** The reducers of this module all throw a `Refusal`: not a text, but a value to be put into words. */
export function wordsFor(error: unknown): string {
  if (!(error instanceof CallError)) return error instanceof Error ? error.message : String(error);
  const refusal = error.error as Refusal;
  switch (refusal.tag) {
    case 'NoTicket':
      return `There is no ticket #${refusal.value}.`;
    case 'AgentsOnly':
      return 'Only the team can do that.';
    case 'Taken':
      return `${refusal.value} has taken this ticket already.`;
    case 'BadText':
      return refusal.value;
  }
}

interface Notice {
  readonly id: number;
  readonly text: string;
}

const shownMillis = 6_000;
let count = 0;

export function Notices({ children }: { children: ReactNode }) {
  const [notices, setNotices] = useState<readonly Notice[]>([]);
  const attempt = useCallback<Attempt>(async (call) => {
    try {
      return { value: await call };
    } catch (error) {
      count += 1;
      const notice = { id: count, text: wordsFor(error) };
      setNotices((all) => [...all, notice]);
      setTimeout(() => setNotices((all) => all.filter((each) => each !== notice)), shownMillis);
      return undefined;
    }
  }, []);
  return (
    <AttemptContext value={attempt}>
      {children}
      <div className="notices" role="alert">
        {notices.map(({ id, text }) => (
          <p key={id}>{text}</p>
        ))}
      </div>
    </AttemptContext>
  );
}
